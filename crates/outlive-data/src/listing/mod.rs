//! Which images there are, and in which order: files, folders, patterns, lists of paths and tar
//! archives in, numbered items out.
//!
//! Memory does not grow with the number of images: paths are sorted in runs of a bounded size, and
//! everything else lies in work files that have no name. A path that cannot be read is a
//! [`Problem`], never the end.

mod archive;
mod captions;
mod entries;
mod error;
mod exclusion;
mod fingerprint;
mod gather;
mod input;
mod item;
mod order;
mod path_list;
mod pattern;
mod pending;
mod problem;
mod shelf;
mod sort;
#[cfg(test)]
mod tests;
mod walk;
mod work_file;

pub use self::captions::{Captions, Columns};
pub use self::entries::{Labels, ListedEntries, Place};
pub use self::error::ListingError;
pub use self::exclusion::Exclusion;
pub use self::fingerprint::Fingerprint;
pub use self::gather::{Details, Options};
pub use self::input::{Input, Separator, is_image_name};
pub use self::item::{Item, Kind};
pub use self::order::{Direction, Order};
pub use self::problem::{Origin, Problem, Problems};

use self::gather::Gatherer;
use self::shelf::Shelf;

/// All images, numbered from 0 in their order. Shared between threads as it is.
#[derive(Debug)]
pub struct Listing {
    items: Shelf,
    direction: Direction,
    fingerprint: Fingerprint,
    problems: Problems,
    has_left_out: bool,
}

impl Listing {
    /// Looks up everything that is asked for, and puts it in order.
    pub fn new(inputs: Vec<Input>, options: Options<'_>) -> Result<Self, ListingError> {
        let folder = options.folder;
        let direction = options.direction;
        let mut gatherer = Gatherer::new(options);
        for input in inputs {
            input::gather(input, &mut gatherer)?;
        }
        let has_left_out = gatherer.has_left_out();
        let mut items = Shelf::new(folder);
        let mut fingerprint = Fingerprint::default();
        fingerprint.add(&[u8::from(direction == Direction::Reverse)]);
        let problems = gatherer.finish(&mut |record| {
            fingerprint.add(record);
            items.push(record)
        })?;
        Ok(Self {
            items,
            direction,
            fingerprint,
            problems,
            has_left_out,
        })
    }

    /// Whether the excluded file lies in a folder that was searched.
    pub fn has_left_out(&self) -> bool {
        self.has_left_out
    }

    /// How many images there are.
    pub fn len(&self) -> u64 {
        self.items.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// An image by its number; `None` beyond the last.
    pub fn item(&self, index: u64) -> Result<Option<Item>, ListingError> {
        if index >= self.len() {
            return Ok(None);
        }
        let place = match self.direction {
            Direction::Forward => index,
            Direction::Reverse => self.len() - 1 - index,
        };
        self.items.with(place, Item::decode)
    }

    /// Stands for all images, their order, and what is known of them: the same in every run over
    /// the same files.
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// What could not be listed.
    pub fn problems(&self) -> &Problems {
        &self.problems
    }
}
