//! What was found out about cells so far: a tiny thumbnail of each, its mean colour, its size, and
//! what is wrong with it. All of it lies in files without names, so memory stays the same for a
//! million cells; what is not known takes no room in them.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use outlive_data::grid::cells::Drawn;
use outlive_data::grid::pyramid::{Fact, Facts, MOST_BROKEN};

/// Pixels of a thumbnail from left to right, and from top to bottom.
pub(super) const SIDE: usize = 8;
/// Bytes of a thumbnail.
pub(super) const THUMBNAIL: usize = SIDE * SIDE * 3;
/// Bytes of a mean: 1 if the cell is known, and its colour.
pub(super) const MEAN: usize = 4;

/// A cell at its smallest.
pub(super) type Thumbnail = [u8; THUMBNAIL];

/// What is known.
#[derive(Debug)]
pub(super) struct Known {
    thumbnails: File,
    means: File,
    inside: Mutex<Inside>,
    count: AtomicU64,
    broken: AtomicU64,
}

#[derive(Debug)]
struct Inside {
    facts: Facts,
    /// The first of the broken cells.
    broken: BTreeSet<u64>,
}

impl Known {
    /// Nothing yet. The files go to `folder`.
    pub(super) fn new(cells: u64, folder: &Path) -> io::Result<Self> {
        let file = || tempfile::tempfile_in(folder);
        let (thumbnails, means) = (file()?, file()?);
        thumbnails.set_len(cells * THUMBNAIL as u64)?;
        means.set_len(cells * MEAN as u64)?;
        Ok(Self {
            thumbnails,
            means,
            inside: Mutex::new(Inside {
                facts: Facts::new(file()?, file()?, cells)?,
                broken: BTreeSet::new(),
            }),
            count: AtomicU64::new(0),
            broken: AtomicU64::new(0),
        })
    }

    /// Keeps what drawing a cell has shown.
    pub(super) fn record(
        &self,
        index: u64,
        thumbnail: &Thumbnail,
        drawn: &Drawn,
    ) -> io::Result<()> {
        let mut inside = self.lock();
        let before = inside.facts.read(index, 1)?.pop().unwrap_or_default();
        let size = (before.width, before.height) == (drawn.width, drawn.height);
        if before.is_drawn && size && before.problem == drawn.problem {
            return Ok(());
        }
        self.thumbnails
            .write_all_at(thumbnail, index * THUMBNAIL as u64)?;
        inside.facts.write(index, drawn)?;
        // The mean says that the cell is known, and so comes last.
        self.means
            .write_all_at(&mean(thumbnail), index * MEAN as u64)?;
        self.count
            .fetch_add(u64::from(!before.is_drawn), Ordering::Relaxed);
        match (before.problem, &drawn.problem) {
            (None, Some(_)) => {
                self.broken.fetch_add(1, Ordering::Relaxed);
                inside.broken.insert(index);
                if inside.broken.len() > MOST_BROKEN {
                    inside.broken.pop_last();
                }
            }
            (Some(_), None) => {
                self.broken.fetch_sub(1, Ordering::Relaxed);
                inside.broken.remove(&index);
            }
            _ => {}
        }
        Ok(())
    }

    /// How many cells are known.
    pub(super) fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// How many of them are broken.
    pub(super) fn broken(&self) -> u64 {
        self.broken.load(Ordering::Relaxed)
    }

    /// The first of those, with what is wrong.
    pub(super) fn first_broken(&self) -> io::Result<Vec<(u64, String)>> {
        let inside = self.lock();
        let mut all = Vec::with_capacity(inside.broken.len());
        for &index in &inside.broken {
            let fact = inside.facts.read(index, 1)?.pop();
            let problem = fact.and_then(|fact| fact.problem);
            all.push((index, problem.unwrap_or_default()));
        }
        Ok(all)
    }

    /// Whether a cell is known.
    pub(super) fn has(&self, index: u64) -> bool {
        let mut first = [0];
        let read = self.means.read_exact_at(&mut first, index * MEAN as u64);
        read.is_ok() && first != [0]
    }

    /// Sizes and problems of `count` cells from `first` on.
    pub(super) fn facts(&self, first: u64, count: usize) -> io::Result<Vec<Fact>> {
        self.lock().facts.read(first, count)
    }

    /// The means of `count` cells from `first` on.
    pub(super) fn means(&self, first: u64, count: usize, bytes: &mut Vec<u8>) -> io::Result<()> {
        bytes.resize(count * MEAN, 0);
        self.means.read_exact_at(bytes, first * MEAN as u64)
    }

    /// The thumbnails of `count` cells from `first` on.
    pub(super) fn thumbnails(
        &self,
        first: u64,
        count: usize,
        bytes: &mut Vec<u8>,
    ) -> io::Result<()> {
        bytes.resize(count * THUMBNAIL, 0);
        self.thumbnails
            .read_exact_at(bytes, first * THUMBNAIL as u64)
    }

    fn lock(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn mean(thumbnail: &Thumbnail) -> [u8; MEAN] {
    let mut sums = [0_usize; 3];
    for pixel in thumbnail.chunks_exact(3) {
        for (sum, part) in sums.iter_mut().zip(pixel) {
            *sum += usize::from(*part);
        }
    }
    let [red, green, blue] = sums.map(|sum| (sum / (SIDE * SIDE)) as u8);
    [1, red, green, blue]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(width: u32, problem: Option<&str>) -> Drawn {
        Drawn {
            width,
            height: 5,
            problem: problem.map(str::to_owned),
        }
    }

    #[test]
    fn counts_follow_what_is_recorded() {
        let known = Known::new(1000, &std::env::temp_dir()).unwrap();
        let record = |index, drawn: &Drawn| known.record(index, &[9; THUMBNAIL], drawn).unwrap();
        record(7, &drawn(4, None));
        record(7, &drawn(4, None));
        record(999, &drawn(0, Some("Cut off")));
        assert_eq!((known.count(), known.broken()), (2, 1));
        assert_eq!(known.first_broken().unwrap(), [(999, "Cut off".to_owned())]);
        assert!(known.has(7) && known.has(999) && !known.has(8) && !known.has(1000));
        record(999, &drawn(3, None));
        record(7, &drawn(0, Some("Gone")));
        assert_eq!((known.count(), known.broken()), (2, 1));
        assert_eq!(known.first_broken().unwrap(), [(7, "Gone".to_owned())]);
        assert_eq!(known.facts(999, 1).unwrap()[0].width, 3);
        let mut means = Vec::new();
        known.means(6, 3, &mut means).unwrap();
        assert_eq!(means, [0, 0, 0, 0, 1, 9, 9, 9, 0, 0, 0, 0]);
        assert!(known.means(998, 3, &mut means).is_err());
    }
}
