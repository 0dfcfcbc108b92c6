//! Where everything that is found comes together: each image gets its key and goes to the sorter,
//! each trouble to the problems.

use std::ops::ControlFlow;
use std::path::Path;

use rustix::fs::Stat;
use rustix::io::Errno;

use super::error::ListingError;
use super::exclusion::{Exclusion, Identity};
use super::input::is_image_name;
use super::item::{Item, Kind};
use super::order::{Direction, Order, push_natural};
use super::problem::{Origin, Problem, Problems};
use super::sort::{RUN_BYTES, Sorter};

/// After how many images the observer is asked again.
const ASK_EVERY: u64 = 1024;

/// How a listing is made.
pub struct Options<'a> {
    /// How images are sorted.
    pub order: Order,
    /// From which end.
    pub direction: Direction,
    /// What must be known of every file.
    pub details: Details,
    /// What folders are searched without: the grid that is being made.
    pub excluded: Exclusion,
    /// Where work files go: a folder on a disk with room.
    pub folder: &'a Path,
    /// Hears how many images were found so far, from time to time, and can stop it.
    pub observer: &'a mut dyn FnMut(u64) -> ControlFlow<()>,
}

/// What is looked up for every file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Details {
    /// Names only, unless the order needs more: no system call for a file.
    #[default]
    Names,
    /// Size and time as well, one system call for each file.
    All,
}

/// Collects what the inputs have.
pub(super) struct Gatherer<'a> {
    options: Options<'a>,
    sorter: Sorter,
    problems: Problems,
    /// Which of the given things is being looked at.
    sequence: u64,
    found: u64,
    ticks: u64,
    /// Whether the excluded file was come by under the name of an image.
    has_left_out: bool,
    key: Vec<u8>,
    record: Vec<u8>,
}

impl<'a> Gatherer<'a> {
    pub(super) fn new(options: Options<'a>) -> Self {
        Self::with_runs_of(RUN_BYTES, options)
    }

    pub(super) fn with_runs_of(run_bytes: usize, options: Options<'a>) -> Self {
        Self {
            sorter: Sorter::new(options.folder, run_bytes),
            problems: Problems::new(options.folder),
            options,
            sequence: 0,
            found: 0,
            ticks: 0,
            has_left_out: false,
            key: Vec::new(),
            record: Vec::new(),
        }
    }

    pub(super) fn folder(&self) -> &'a Path {
        self.options.folder
    }

    pub(super) fn excluded(&self) -> &Exclusion {
        &self.options.excluded
    }

    /// Whether an entry of a folder is the excluded file.
    pub(super) fn leaves_out(&mut self, folder: Identity, name: &[u8]) -> bool {
        let is_excluded = self.options.excluded.is_entry(folder, name);
        self.has_left_out |= is_excluded && is_image_name(name);
        is_excluded
    }

    pub(super) fn has_left_out(&self) -> bool {
        self.has_left_out
    }

    pub(super) fn found(&self) -> u64 {
        self.found
    }

    /// Whether each file must be asked for its size and time.
    pub(super) fn needs_details(&self) -> bool {
        self.options.details == Details::All || self.options.order.needs_details()
    }

    /// What follows was given after what came before.
    pub(super) fn next_given(&mut self) {
        self.sequence += 1;
    }

    /// Takes in a file.
    pub(super) fn file(&mut self, path: &[u8], stat: Option<&Stat>) -> Result<(), ListingError> {
        let item = Item {
            path: path.to_vec(),
            kind: Kind::File,
            bytes: stat.map(|stat| stat.st_size as u64),
            modified: stat.map(modified),
        };
        self.item(&item)
    }

    /// Takes in an image of any kind.
    pub(super) fn item(&mut self, item: &Item) -> Result<(), ListingError> {
        self.key.clear();
        let path = item.full_path();
        match self.options.order {
            Order::Name => push_natural(&path, &mut self.key),
            Order::Path => self.key.extend_from_slice(&path),
            Order::Time => {
                // Signed numbers in the order of their bytes.
                let time = item.modified.unwrap_or_default() as u64 ^ (1 << 63);
                self.key.extend_from_slice(&time.to_be_bytes());
                push_natural(&path, &mut self.key);
            }
            Order::Size => {
                let bytes = item.bytes.unwrap_or_default();
                self.key.extend_from_slice(&bytes.to_be_bytes());
                push_natural(&path, &mut self.key);
            }
            Order::List => {
                self.key.extend_from_slice(&self.sequence.to_be_bytes());
                push_natural(&path, &mut self.key);
            }
        }
        self.record.clear();
        item.encode(&mut self.record);
        self.sorter.push(&self.key, &self.record)?;
        self.found += 1;
        self.tick()
    }

    pub(super) fn problem(
        &mut self,
        path: &[u8],
        reason: impl Into<String>,
        origin: Origin,
    ) -> Result<(), ListingError> {
        self.problems.add(Problem {
            path: path.to_vec(),
            reason: reason.into(),
            origin,
        })
    }

    /// A step of work was done; an observer that has enough ends it here.
    pub(super) fn tick(&mut self) -> Result<(), ListingError> {
        self.ticks += 1;
        if self.ticks.is_multiple_of(ASK_EVERY) && (self.options.observer)(self.found).is_break() {
            return Err(ListingError::Stopped);
        }
        Ok(())
    }

    /// Hands over all records in order, and then the problems.
    pub(super) fn finish(
        self,
        sink: &mut dyn FnMut(&[u8]) -> Result<(), ListingError>,
    ) -> Result<Problems, ListingError> {
        let observer = self.options.observer;
        let mut handed = 0_u64;
        self.sorter.finish(&mut |record| {
            handed += 1;
            if handed.is_multiple_of(ASK_EVERY) && observer(self.found).is_break() {
                return Err(ListingError::Stopped);
            }
            sink(record)
        })?;
        Ok(self.problems)
    }
}

/// When a file was last written, in nanoseconds; as far as they can be counted.
fn modified(stat: &Stat) -> i64 {
    let seconds = stat.st_mtime.saturating_mul(1_000_000_000);
    seconds.saturating_add(i64::try_from(stat.st_mtime_nsec).unwrap_or_default())
}

/// What the system said, without its number.
pub(super) fn reason(error: Errno) -> String {
    let text = std::io::Error::from(error).to_string();
    let end = text.find(" (os error").unwrap_or(text.len());
    text.get(..end).unwrap_or_default().to_owned()
}
