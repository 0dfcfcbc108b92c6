//! What `outlive grid` needs around the renderers: what is shown, where it goes, how far it is, and
//! what came of it.

mod allocator;
mod broken_list;
mod destination;
mod images;
mod progress;
pub mod serve;
mod source;
mod stop;
mod summary;

pub(crate) use self::allocator::give_large_blocks_back;
pub(crate) use self::broken_list::BrokenList;
pub(crate) use self::destination::Destination;
pub(crate) use self::images::{entries, listing};
pub(crate) use self::progress::{Bar, Watcher};
pub(crate) use self::source::ListedSource;
pub(crate) use self::stop::{INTERRUPTED, Stop};
pub(crate) use self::summary::{Summary, tell_problems};

/// An error of the library, whose message says its cause already.
pub(crate) fn told(error: impl std::fmt::Display) -> anyhow::Error {
    anyhow::anyhow!("{error}")
}
