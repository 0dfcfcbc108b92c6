//! A finding on its own: with its file and its places in numbers, so that the source can go.

use std::path::Path;
use std::sync::Arc;

use outlive_check::front::TextRange;
use outlive_check::{Applicability, Finding, Level, Position, Rule, Source};

use super::excerpt::Excerpt;

/// One pattern at one place of one file.
#[derive(Clone, Debug)]
pub struct Found {
    /// The file, as it is shown.
    pub path: Arc<Path>,
    /// Which pattern.
    pub rule: &'static Rule,
    /// How bad.
    pub level: Level,
    /// Where.
    pub span: Span,
    /// What happens.
    pub message: String,
    /// Why the rule is sure.
    pub witness: Vec<Noted>,
    /// What to write instead.
    pub help: String,
    /// The change, if it can be made by a program.
    pub fix: Option<Change>,
    /// What it is about in bytes.
    pub bytes: Option<u64>,
    /// The lines around it.
    pub excerpt: Excerpt,
}

/// A range of a file, in numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Where it begins.
    pub start: Position,
    /// Where it ends; the column is the one behind it.
    pub end: Position,
    /// Both columns in the file itself: for a notebook, of its JSON.
    pub file_columns: (u32, u32),
}

/// A place and what it shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Noted {
    /// Where.
    pub span: Span,
    /// What is there.
    pub text: String,
}

/// A change of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// What it does.
    pub title: String,
    /// Whether it may be made unasked.
    pub applicability: Applicability,
    /// The pieces of it.
    pub replacements: Vec<Replacement>,
}

/// A range and what replaces it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replacement {
    /// Where.
    pub span: Span,
    /// What comes.
    pub content: String,
}

impl Found {
    /// Takes what is needed of the source.
    pub fn new(path: &Arc<Path>, source: &Source, finding: Finding) -> Self {
        let witness = finding.witness.into_iter().map(|note| Noted {
            span: Span::of(source, note.range),
            text: note.text,
        });
        let fix = finding.fix.map(|fix| Change {
            title: fix.title,
            applicability: fix.applicability,
            replacements: fix
                .edits
                .into_iter()
                .map(|edit| Replacement {
                    span: Span::of(source, edit.range),
                    content: edit.content,
                })
                .collect(),
        });
        Self {
            path: Arc::clone(path),
            rule: finding.rule,
            level: finding.level,
            span: Span::of(source, finding.range),
            message: finding.message,
            witness: witness.collect(),
            help: finding.help,
            fix,
            bytes: finding.bytes,
            excerpt: Excerpt::of(source, finding.range),
        }
    }

    /// Whether a program can make the change, as far as this.
    pub fn is_fixable(&self, least: Applicability) -> bool {
        self.fix
            .as_ref()
            .is_some_and(|fix| fix.applicability >= least)
    }
}

impl Span {
    /// A range of the text.
    pub fn of(source: &Source, range: TextRange) -> Self {
        let (start, end) = (range.start(), range.end());
        Self {
            start: source.position(start),
            end: source.position(end),
            file_columns: (source.file_column(start), source.file_column(end)),
        }
    }

    /// Whether it lies in one line.
    pub fn is_in_one_line(&self) -> bool {
        self.start.file_line == self.end.file_line
    }
}
