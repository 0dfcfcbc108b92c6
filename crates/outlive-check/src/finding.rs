//! What a rule reports: where, why it is sure, and what to change.
//!
//! All places are ranges of [`Source::text`](crate::Source::text); what a person sees of them
//! (cell, line, column, line of the JSON file) is asked of the source.

use ruff_text_size::TextRange;

use crate::Rule;

/// How bad it is, by what it was measured to cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// May matter; off unless asked for.
    Info,
    /// Grows or wastes memory.
    Warning,
    /// Kills soon.
    Error,
}

impl Level {
    /// The word for it, in every output.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// One pattern at one place.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// Which pattern.
    pub rule: &'static Rule,
    /// How bad.
    pub level: Level,
    /// What to underline: the expression or statement to change.
    pub range: TextRange,
    /// One sentence, without a full stop: what happens, with the figures that are known.
    pub message: String,
    /// Why the rule is sure, as a chain of places: where the value comes from, what is missing.
    pub witness: Vec<Note>,
    /// One sentence: what to write instead. Also there when no edit can be offered.
    pub help: String,
    /// The change, if it can be made by a program.
    pub fix: Option<Fix>,
    /// What the finding is about in bytes, where it could be computed.
    pub bytes: Option<u64>,
    /// The loop, function or handler in which memory grows: a line that grew at run time and lies
    /// in here belongs to this finding.
    pub region: TextRange,
}

/// A place and what it shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Where.
    pub range: TextRange,
    /// What is there, as part of a sentence: "`loss` comes from `criterion(…)`".
    pub text: String,
}

/// Whether a change may be made unasked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Applicability {
    /// Only to be shown.
    Display,
    /// Right in most programs, but may change a result; needs to be asked for.
    Unsafe,
    /// Changes no gradient, no result and no data.
    Safe,
}

impl Applicability {
    /// The word for it, in every output.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Display => "display",
            Self::Unsafe => "unsafe",
            Self::Safe => "safe",
        }
    }
}

/// A change of the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fix {
    /// What it does, as an order: "Add `loss.detach()` instead".
    pub title: String,
    /// Whether it may be made unasked.
    pub applicability: Applicability,
    /// The edits, in order, without overlap; all of them or none.
    pub edits: Vec<Edit>,
}

/// A range of text and what replaces it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// What goes; empty for an insertion.
    pub range: TextRange,
    /// What comes.
    pub content: String,
}
