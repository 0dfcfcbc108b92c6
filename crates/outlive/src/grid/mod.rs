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

/// Beside the hints of the library, which knows nothing of the option.
pub(crate) fn told_with_budget(error: &impl std::fmt::Display, needed: u64) -> anyhow::Error {
    // Twice over at most: other columns may need a little more.
    let enough = needed.div_ceil(1 << 20).next_power_of_two();
    told(format!(
        "{error}\nhint: or allow it, with `--budget {enough}MiB`"
    ))
}
