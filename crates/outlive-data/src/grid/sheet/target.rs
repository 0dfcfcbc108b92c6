//! Where an encoder writes, and how it ends.

use std::io::{self, Seek, Write};

use super::error::SheetError;
use crate::grid::progress::End;

/// A file in which one can go back.
pub(super) trait Target: Write + Seek {}
impl<T: Write + Seek> Target for T {}

/// What became of the picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Written {
    /// It can be opened.
    Picture(End),
    /// It was stopped before anything was drawn.
    Nothing,
}

/// Why there is no picture.
#[derive(Debug)]
pub(super) enum EncodeError {
    /// The file, whose name the encoder does not know.
    Target(io::Error),
    /// Anything else.
    Other(SheetError),
}

impl From<io::Error> for EncodeError {
    fn from(error: io::Error) -> Self {
        Self::Target(error)
    }
}
