//! Why there is no pyramid.

use std::io;
use std::path::{Path, PathBuf};

use crate::grid::own_file::reason;
use crate::grid::sheet::mebibytes;

/// Why a pyramid was not written.
#[derive(Debug, thiserror::Error)]
pub enum PyramidError {
    /// A grid of nothing.
    #[error("There are no cells to draw")]
    Empty,
    /// No columns, or cells without pixels.
    #[error("A grid needs a column and cells of at least one pixel")]
    NoRoom,
    /// Pixels could not be counted by those who show them.
    #[error(
        "A grid of {width} x {height} pixels, a page can hold {limit} a side\n\
         hint: take smaller cells or a number of columns near the number of rows"
    )]
    TooLarge {
        /// Width of the grid.
        width: u64,
        /// Height of the grid.
        height: u64,
        /// Pixels a side.
        limit: u64,
    },
    /// The tiles that must be in memory at once are over the limit.
    #[error(
        "Tiles of {side} x {side} pixels need {} in memory, the limit is {}\n\
         hint: take smaller cells", mebibytes(*needed), mebibytes(*limit)
    )]
    TooMuchMemory {
        /// Side of a tile.
        side: u64,
        /// Bytes that are needed.
        needed: u64,
        /// Bytes that are allowed.
        limit: u64,
    },
    /// The folder holds something else.
    #[error(
        "`{}` is not empty, and not a grid of Outlive\n\
         hint: name a folder that does not exist", path.display()
    )]
    NotOurs {
        /// The folder.
        path: PathBuf,
    },
    /// A file cannot be written.
    #[error("Cannot write `{}`: {}", path.display(), reason(path, cause))]
    Write {
        /// The file, the archive or the folder.
        path: PathBuf,
        /// What the system says.
        cause: io::Error,
    },
    /// A tile that is there cannot be read any more.
    #[error("Cannot read `{}` back", path.display())]
    Read {
        /// The tile.
        path: PathBuf,
    },
    /// The source of the cells failed.
    #[error("{0}")]
    Source(String),
    /// The encoder of tiles failed.
    #[error("Cannot encode a tile: {0}")]
    Encode(String),
}

impl PyramidError {
    /// For `map_err` on operations with a file.
    pub(super) fn write(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |cause| Self::Write {
            path: path.to_owned(),
            cause,
        }
    }
}
