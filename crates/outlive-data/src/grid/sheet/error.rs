//! Why there is no sheet.

use std::io;
use std::path::{Path, PathBuf};

use crate::grid::cells::DrawError;
use crate::grid::own_file::reason;

/// Why a sheet was not written.
#[derive(Debug, thiserror::Error)]
pub enum SheetError {
    /// A grid of nothing.
    #[error("There are no cells to draw")]
    Empty,
    /// No columns, or cells without pixels.
    #[error("A grid needs a column and cells of at least one pixel")]
    NoRoom,
    /// The format cannot hold the sheet.
    #[error(
        "A sheet of {width} x {height} pixels, {format} holds at most {limit} a side\n\
         hint: take fewer columns or smaller cells{way_out}, or make a page to zoom into with \
         `-o DIR/`"
    )]
    TooLarge {
        /// Name of the format.
        format: &'static str,
        /// Width of the sheet.
        width: u64,
        /// Height of the sheet.
        height: u64,
        /// Pixels a side.
        limit: u64,
        /// Other formats that hold more, as a part of the hint.
        way_out: &'static str,
    },
    /// What has to be in memory at once is over the limit.
    #[error(
        "{what} of {width} x {height} pixels needs {} in memory, the limit is {}\n\
         hint: {way_out}", mebibytes(*needed), mebibytes(*limit)
    )]
    TooMuchMemory {
        /// What has to be in memory.
        what: &'static str,
        /// Its width.
        width: u64,
        /// Its height.
        height: u64,
        /// Bytes of it.
        needed: u64,
        /// Bytes that are allowed.
        limit: u64,
        /// What needs less.
        way_out: String,
    },
    /// The file cannot be written.
    #[error("Cannot write `{}`: {}", path.display(), reason(path, cause))]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system says.
        cause: io::Error,
    },
    /// The source of the cells failed.
    #[error("{0}")]
    Source(String),
    /// The encoder failed.
    #[error("Cannot encode as {format}: {reason}")]
    Encode {
        /// Name of the format.
        format: &'static str,
        /// What the encoder says.
        reason: String,
    },
}

impl SheetError {
    /// For `map_err` on operations with a file.
    pub(crate) fn write(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |cause| Self::Write {
            path: path.to_owned(),
            cause,
        }
    }

    /// The source failed; a stop is no error and is told apart before.
    pub(crate) fn source(error: &DrawError) -> Self {
        Self::Source(error.to_string())
    }
}

/// Bytes for people.
pub(crate) fn mebibytes(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / (1024.0 * 1024.0))
}
