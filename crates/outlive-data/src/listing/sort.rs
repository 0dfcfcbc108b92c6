//! Sorting more than memory holds: runs of a bounded size are sorted and put into a work file, and
//! merged at the end. What fits into one run never leaves memory.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::ops::Range;
use std::path::Path;

use super::error::ListingError;
use super::work_file::WorkFile;

/// Bytes of a run.
pub(super) const RUN_BYTES: usize = 6 << 20;
/// Runs that are merged at a time.
const FAN_IN: usize = 64;
/// How much is read from a run at a time.
const READ: usize = 32 << 10;
/// Lengths of key and record, in front of both.
const HEAD: usize = 8;

/// Takes keys and records, and gives the records in the order of keys, then of records.
#[derive(Debug)]
pub(super) struct Sorter {
    run_bytes: usize,
    arena: Vec<u8>,
    places: Vec<Place>,
    file: WorkFile,
    runs: Vec<Range<u64>>,
}

/// A record of the arena. Most comparisons end with the first bytes in which keys differ.
#[derive(Clone, Copy, Debug)]
struct Place {
    first_bytes: u64,
    offset: u32,
}

impl Sorter {
    pub(super) fn new(folder: &Path, run_bytes: usize) -> Self {
        Self {
            run_bytes,
            arena: Vec::new(),
            places: Vec::new(),
            file: WorkFile::new(folder),
            runs: Vec::new(),
        }
    }

    pub(super) fn push(&mut self, key: &[u8], record: &[u8]) -> Result<(), ListingError> {
        let length = HEAD + key.len() + record.len();
        if !self.places.is_empty() && self.arena.len() + length > self.run_bytes {
            self.spill()?;
        }
        self.places.push(Place {
            first_bytes: 0,
            offset: self.arena.len() as u32,
        });
        self.arena
            .extend_from_slice(&(key.len() as u32).to_le_bytes());
        self.arena
            .extend_from_slice(&(record.len() as u32).to_le_bytes());
        self.arena.extend_from_slice(key);
        self.arena.extend_from_slice(record);
        Ok(())
    }

    /// Hands over all records in order.
    pub(super) fn finish(
        mut self,
        sink: &mut dyn FnMut(&[u8]) -> Result<(), ListingError>,
    ) -> Result<(), ListingError> {
        if self.runs.is_empty() {
            self.sort();
            let records = self
                .places
                .iter()
                .map(|place| split(&self.arena, place.offset).1);
            return records.into_iter().try_for_each(sink);
        }
        self.spill()?;
        self.arena = Vec::new();
        self.places = Vec::new();
        while self.runs.len() > FAN_IN {
            self.merge_groups()?;
        }
        merge(&self.file, &self.runs, &mut |head| {
            sink(split(&head.bytes, 0).1)
        })
    }

    fn sort(&mut self) {
        let arena = &self.arena;
        let Some(first) = self.places.first() else {
            return;
        };
        // Paths begin alike; what they share is left out of the first comparison.
        let first = split(arena, first.offset).0;
        let alike = self.places.iter().fold(first.len(), |alike, place| {
            let key = split(arena, place.offset).0;
            let pairs = first.iter().zip(key).take(alike);
            pairs.take_while(|(one, other)| one == other).count()
        });
        for place in &mut self.places {
            let mut bytes = [0; 8];
            let key = split(arena, place.offset).0.iter().skip(alike);
            bytes
                .iter_mut()
                .zip(key)
                .for_each(|(byte, key)| *byte = *key);
            place.first_bytes = u64::from_be_bytes(bytes);
        }
        self.places.sort_unstable_by(|one, other| {
            let by_first = one.first_bytes.cmp(&other.first_bytes);
            by_first.then_with(|| split(arena, one.offset).cmp(&split(arena, other.offset)))
        });
    }

    fn spill(&mut self) -> Result<(), ListingError> {
        self.sort();
        let start = self.file.len();
        for place in &self.places {
            self.file.append(whole(&self.arena, place.offset))?;
        }
        self.runs.push(start..self.file.len());
        self.arena.clear();
        self.places.clear();
        Ok(())
    }

    /// Makes one run of every few.
    fn merge_groups(&mut self) -> Result<(), ListingError> {
        let mut file = WorkFile::new(self.file.folder());
        let mut runs = Vec::new();
        for group in self.runs.chunks(FAN_IN) {
            let start = file.len();
            merge(&self.file, group, &mut |head| file.append(&head.bytes))?;
            runs.push(start..file.len());
        }
        self.file = file;
        self.runs = runs;
        Ok(())
    }
}

/// Key and record at an offset; empty where there are none.
fn split(bytes: &[u8], offset: u32) -> (&[u8], &[u8]) {
    let all = whole(bytes, offset);
    let (key, _) = lengths(all);
    let rest = all.get(HEAD..).unwrap_or_default();
    rest.split_at_checked(key).unwrap_or_default()
}

fn whole(bytes: &[u8], offset: u32) -> &[u8] {
    let rest = bytes.get(offset as usize..).unwrap_or_default();
    let (key, record) = lengths(rest);
    rest.get(..HEAD + key + record).unwrap_or_default()
}

fn lengths(bytes: &[u8]) -> (usize, usize) {
    let Some((key, rest)) = bytes.split_first_chunk() else {
        return (0, 0);
    };
    let record = rest.first_chunk().copied().unwrap_or_default();
    let length = |bytes| u32::from_le_bytes(bytes) as usize;
    (length(*key), length(record))
}

/// The first record of a run that was not handed over yet, with its key, and the way to the next.
#[derive(Debug)]
struct Head<'a> {
    bytes: Vec<u8>,
    file: &'a WorkFile,
    left: Range<u64>,
    buffer: Vec<u8>,
    at: usize,
}

impl<'a> Head<'a> {
    fn new(file: &'a WorkFile, left: Range<u64>) -> Self {
        Self {
            bytes: Vec::new(),
            file,
            left,
            buffer: Vec::new(),
            at: 0,
        }
    }

    /// Goes to the next record; `false` at the end of the run.
    fn advance(&mut self) -> Result<bool, ListingError> {
        self.bytes.clear();
        self.take(HEAD)?;
        let (key, record) = lengths(&self.bytes);
        self.take(key + record)?;
        Ok(!self.bytes.is_empty())
    }

    fn take(&mut self, count: usize) -> Result<(), ListingError> {
        let wanted = self.bytes.len() + count;
        while self.bytes.len() < wanted {
            let rest = self.buffer.get(self.at..).unwrap_or_default();
            if rest.is_empty() {
                let length = (self.left.end - self.left.start).min(READ as u64);
                if length == 0 {
                    return Ok(());
                }
                self.buffer.resize(length as usize, 0);
                self.file.read(&mut self.buffer, self.left.start)?;
                self.left.start += length;
                self.at = 0;
                continue;
            }
            let piece = rest.len().min(wanted - self.bytes.len());
            self.bytes
                .extend_from_slice(rest.get(..piece).unwrap_or_default());
            self.at += piece;
        }
        Ok(())
    }
}

impl PartialEq for Head<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Head<'_> {}

impl PartialOrd for Head<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Head<'_> {
    /// The other way round: the heap gives its greatest.
    fn cmp(&self, other: &Self) -> Ordering {
        split(&other.bytes, 0).cmp(&split(&self.bytes, 0))
    }
}

fn merge(
    file: &WorkFile,
    runs: &[Range<u64>],
    sink: &mut dyn FnMut(&Head<'_>) -> Result<(), ListingError>,
) -> Result<(), ListingError> {
    let mut heads = BinaryHeap::new();
    for run in runs {
        let mut head = Head::new(file, run.clone());
        if head.advance()? {
            heads.push(head);
        }
    }
    while let Some(mut first) = heads.peek_mut() {
        sink(&first)?;
        if !first.advance()? {
            PeekMut::pop(first);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Sorter;

    type Records = Vec<(Vec<u8>, Vec<u8>)>;

    fn sorted(records: &Records, run_bytes: usize) -> Vec<Vec<u8>> {
        let mut sorter = Sorter::new(&std::env::temp_dir(), run_bytes);
        for (key, record) in records {
            sorter.push(key, record).unwrap();
        }
        let mut all = Vec::new();
        let mut keep = |record: &[u8]| {
            all.push(record.to_vec());
            Ok(())
        };
        sorter.finish(&mut keep).unwrap();
        all
    }

    fn expected(mut records: Records) -> Vec<Vec<u8>> {
        records.sort();
        records.into_iter().map(|(_, record)| record).collect()
    }

    #[test]
    fn more_runs_than_are_merged_at_a_time() {
        let records: Records = (0..20_000_u64)
            .map(|i| {
                (
                    i.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes().to_vec(),
                    i.to_le_bytes().to_vec(),
                )
            })
            .collect();
        // A run of one record: 20,000 runs, three levels.
        assert_eq!(sorted(&records, 1), expected(records));
    }

    proptest! {
        #[test]
        fn it_sorts_as_a_plain_sort_does(
            records in prop::collection::vec(
                (prop::collection::vec(0_u8..4, 0..12), prop::collection::vec(any::<u8>(), 0..20)),
                0..300,
            ),
            run_bytes in 1_usize..2000,
        ) {
            prop_assert_eq!(sorted(&records, run_bytes), expected(records));
        }
    }
}
