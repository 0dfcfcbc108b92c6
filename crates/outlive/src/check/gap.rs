//! What was not checked, and why.

use std::path::PathBuf;

use outlive_check::Position;

/// A file, or a part of one, that was left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The file or folder, as it is shown.
    pub path: PathBuf,
    /// Where in it.
    pub position: Option<Position>,
    /// What kind.
    pub kind: GapKind,
    /// Why, in one line.
    pub message: String,
}

/// How much a gap matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum GapKind {
    /// Is not meant for Python, such as a cell of shell commands.
    Skipped,
    /// Is not Python, or not a notebook.
    Syntax,
    /// Cannot be read, and was found by walking.
    Unreadable,
    /// Was asked for by name and cannot be read, or cannot be written.
    Failed,
}

impl GapKind {
    /// The word for it in JSON.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Skipped => "skipped",
            Self::Syntax => "syntax",
            Self::Unreadable => "unreadable",
            Self::Failed => "failed",
        }
    }

    /// Whether something that was asked for could not be done.
    pub const fn is_failure(self) -> bool {
        matches!(self, Self::Failed)
    }
}
