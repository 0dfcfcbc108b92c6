//! Folders that are still to be looked into, last come first. A folder with a million folders in
//! it does not lie in memory.

use std::path::Path;

use super::error::ListingError;
use super::work_file::WorkFile;

/// Bytes behind each path: its length, and how deep it lies.
const TAIL: u64 = 8;

/// A stack of paths.
#[derive(Debug)]
pub(super) struct Pending(WorkFile);

/// A folder to look into.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Folder {
    pub(super) path: Vec<u8>,
    /// Steps below the start of a pattern; `None` if everything below it is wanted.
    pub(super) depth: Option<u32>,
}

impl Pending {
    pub(super) fn new(folder: &Path) -> Self {
        Self(WorkFile::new(folder))
    }

    pub(super) fn push(&mut self, path: &[u8], depth: Option<u32>) -> Result<(), ListingError> {
        self.0.append(path)?;
        self.0.append(&(path.len() as u32).to_le_bytes())?;
        let depth = depth.map_or(0, |depth| depth.saturating_add(1));
        self.0.append(&depth.to_le_bytes())
    }

    pub(super) fn pop(&mut self) -> Result<Option<Folder>, ListingError> {
        let Some(end) = self.0.len().checked_sub(TAIL) else {
            return Ok(None);
        };
        let [mut length, mut depth] = [[0; 4]; 2];
        self.0.read(&mut length, end)?;
        self.0.read(&mut depth, end + 4)?;
        let length = u64::from(u32::from_le_bytes(length));
        let start = end.saturating_sub(length);
        let mut path = vec![0; length as usize];
        self.0.read(&mut path, start)?;
        self.0.shorten(start);
        let depth = u32::from_le_bytes(depth).checked_sub(1);
        Ok(Some(Folder { path, depth }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_comes_first_also_from_the_disk() {
        let mut pending = Pending::new(&std::env::temp_dir());
        let path = |i: u32| format!("folder/{i}").into_bytes();
        let depth = |i: u32| (!i.is_multiple_of(3)).then_some(i);
        for _ in 0..2 {
            (0..40_000).for_each(|i| pending.push(&path(i), depth(i)).unwrap());
            for i in (0..40_000).rev() {
                let expected = Folder {
                    path: path(i),
                    depth: depth(i),
                };
                assert_eq!(pending.pop().unwrap(), Some(expected));
            }
        }
        assert_eq!(pending.pop().unwrap(), None);
    }
}
