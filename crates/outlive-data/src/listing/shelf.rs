//! Records on disk, numbered: written once in order, read by number from any thread.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use super::error::ListingError;
use super::work_file::WorkFile;

/// Records that are read at a time.
const CHUNK: u64 = 64;
/// Chunks that are kept in memory.
const KEPT: usize = 16;

/// Numbered records.
#[derive(Debug)]
pub(super) struct Shelf {
    records: WorkFile,
    /// Where every chunk starts.
    starts: WorkFile,
    length: u64,
    kept: Mutex<Vec<(u64, Arc<Vec<u8>>)>>,
}

impl Shelf {
    pub(super) fn new(folder: &Path) -> Self {
        Self {
            records: WorkFile::new(folder),
            starts: WorkFile::new(folder),
            length: 0,
            kept: Mutex::new(Vec::new()),
        }
    }

    pub(super) fn len(&self) -> u64 {
        self.length
    }

    pub(super) fn push(&mut self, record: &[u8]) -> Result<(), ListingError> {
        if self.length.is_multiple_of(CHUNK) {
            self.starts.append(&self.records.len().to_le_bytes())?;
        }
        self.records.append(&(record.len() as u32).to_le_bytes())?;
        self.records.append(record)?;
        self.length += 1;
        Ok(())
    }

    /// What `use_record` makes of a record; `None` beyond the last.
    pub(super) fn with<T>(
        &self,
        index: u64,
        use_record: impl FnOnce(&[u8]) -> Option<T>,
    ) -> Result<Option<T>, ListingError> {
        if index >= self.length {
            return Ok(None);
        }
        let chunk = self.chunk(index / CHUNK)?;
        let mut rest = chunk.as_slice();
        for _ in 0..index % CHUNK {
            rest = next(rest).map(|(_, rest)| rest).unwrap_or_default();
        }
        Ok(next(rest).and_then(|(record, _)| use_record(record)))
    }

    fn chunk(&self, number: u64) -> Result<Arc<Vec<u8>>, ListingError> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = kept.iter().position(|(known, _)| *known == number) {
            // The last one used stands last, the first one goes.
            kept[place..].rotate_left(1);
            return Ok(kept
                .last()
                .map(|(_, chunk)| Arc::clone(chunk))
                .unwrap_or_default());
        }
        drop(kept);
        let chunk = Arc::new(self.read(number)?);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= KEPT {
            kept.remove(0);
        }
        kept.push((number, Arc::clone(&chunk)));
        Ok(chunk)
    }

    fn read(&self, number: u64) -> Result<Vec<u8>, ListingError> {
        let start = self.start(number)?;
        let is_last = (number + 1) * 8 >= self.starts.len();
        let end = if is_last {
            self.records.len()
        } else {
            self.start(number + 1)?
        };
        let mut bytes = vec![0; (end - start) as usize];
        self.records.read(&mut bytes, start)?;
        Ok(bytes)
    }

    fn start(&self, number: u64) -> Result<u64, ListingError> {
        let mut bytes = [0; 8];
        self.starts.read(&mut bytes, number * 8)?;
        Ok(u64::from_le_bytes(bytes))
    }
}

fn next(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk()?;
    rest.split_at_checked(u32::from_le_bytes(*length) as usize)
}

#[cfg(test)]
mod tests {
    use super::Shelf;

    #[test]
    fn records_are_found_by_number_from_several_threads() {
        let mut shelf = Shelf::new(&std::env::temp_dir());
        let record = |i: u64| vec![(i % 251) as u8; (i % 300) as usize];
        let count = 5_000;
        (0..count).for_each(|i| shelf.push(&record(i)).unwrap());
        let shelf = &shelf;
        std::thread::scope(|scope| {
            for step in [1, 7, 4_999] {
                scope.spawn(move || {
                    for i in (0..count).map(|i| i * step % count) {
                        let read = shelf.with(i, |bytes| Some(bytes.to_vec())).unwrap();
                        assert_eq!(read, Some(record(i)), "{i}");
                    }
                });
            }
        });
        assert_eq!(shelf.with(count, |_| Some(())).unwrap(), None);
    }
}
