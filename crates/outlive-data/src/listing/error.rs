//! Why there is no listing at all. What is wrong with one path is a [`super::Problem`].

use std::io;
use std::path::PathBuf;

/// A listing that could not be made, or not be read back.
#[derive(Debug, thiserror::Error)]
pub enum ListingError {
    /// The work files found no room.
    #[error(
        "No room for the list of images in `{}`\n\
         hint: set TMPDIR to a folder on a disk with room",
        folder.display()
    )]
    NoRoom {
        /// Where the work files lie.
        folder: PathBuf,
    },
    /// The work files failed otherwise.
    #[error(
        "Work file in `{}` failed: {source}\n\
         hint: set TMPDIR to a folder that can be written to",
        folder.display()
    )]
    WorkFile {
        /// Where the work files lie.
        folder: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A list of paths could not be read to its end.
    #[error("List of paths `{name}` cannot be read: {source}")]
    List {
        /// What the user called it.
        name: String,
        /// What the system said.
        source: io::Error,
    },
    /// A file with captions is not what it should be.
    #[error("Captions cannot be read: {reason}")]
    Captions {
        /// What is wrong with it.
        reason: String,
    },
    /// Somebody asked to stop.
    #[error("Stopped")]
    Stopped,
}
