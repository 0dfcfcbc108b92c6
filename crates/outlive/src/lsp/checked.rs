//! A document that was checked: the findings, and the texts they were found in.

use std::sync::Arc;
use std::time::Duration;

use lsp_types::{Position, Range, Uri};
use outlive_check::front::{TextRange, TextSize};
use outlive_check::{Edit, Finding, Report, Source};

use super::position::{Encoding, Lines};

/// One text that an editor has a URI for: a script, or a cell of a notebook.
#[derive(Clone, Debug)]
pub(super) struct Part {
    /// Its name.
    pub(super) uri: Uri,
    /// The editor's count of its changes.
    pub(super) version: i32,
    /// Its number among all cells, in a notebook.
    pub(super) cell: Option<u32>,
    /// The text.
    pub(super) content: Arc<String>,
}

/// What was found, and in what.
#[derive(Debug)]
pub(super) struct Checked {
    /// The document's URI.
    pub(super) document: String,
    /// Which state of it.
    pub(super) revision: u64,
    /// How long it took.
    pub(super) took: Duration,
    /// Why it was not checked as the project wants, or not at all.
    pub(super) trouble: Option<String>,
    /// The texts.
    pub(super) parts: Vec<Part>,
    /// Where each of them begins in the text that was checked.
    starts: Vec<Option<TextSize>>,
    report: Report,
    /// For each finding, the edit that silences it.
    silencing: Vec<Option<Edit>>,
}

/// A range in one of the parts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'a> {
    /// Which part.
    pub(super) part: &'a Part,
    /// Where in it.
    pub(super) range: Range,
}

/// The parts, with their lines.
#[derive(Debug)]
pub(super) struct Places<'a> {
    parts: Vec<(TextRange, &'a Part, Lines<'a>)>,
}

impl Checked {
    /// Puts a report beside the texts it is about. Without a source nothing could be read, and
    /// nothing was found.
    pub(super) fn new(document: String, revision: u64, parts: Vec<Part>) -> Self {
        Self {
            document,
            revision,
            took: Duration::ZERO,
            trouble: None,
            starts: Vec::new(),
            parts,
            report: Report::default(),
            silencing: Vec::new(),
        }
    }

    /// Adds what was found.
    pub(super) fn with_report(mut self, source: &Source, report: Report) -> Self {
        self.starts = self.parts.iter().map(|part| start(source, part)).collect();
        // Here, because it needs the deep stack of the threads that check.
        self.silencing = outlive_check::silencing_edits(source, &report.findings);
        self.report = report;
        self
    }

    /// The findings, in the order of the text.
    pub(super) fn findings(&self) -> &[Finding] {
        &self.report.findings
    }

    /// The findings, each with the edit that silences it.
    pub(super) fn silenceable(&self) -> impl Iterator<Item = (&Finding, Option<&Edit>)> {
        let edits = self.silencing.iter().map(Option::as_ref);
        self.report.findings.iter().zip(edits)
    }

    /// Whether the parts are cells.
    pub(super) fn is_notebook(&self) -> bool {
        self.parts.iter().any(|part| part.cell.is_some())
    }

    /// The parts as an editor counts in them.
    pub(super) fn places(&self, encoding: Encoding) -> Places<'_> {
        let parts = self.parts.iter().zip(&self.starts);
        let parts = parts.filter_map(|(part, start)| {
            let text = part.content.as_str();
            let range = TextRange::at((*start)?, TextSize::try_from(text.len()).ok()?);
            Some((range, part, Lines::of(text, encoding)))
        });
        Places {
            parts: parts.collect(),
        }
    }
}

/// Where a part begins in the source; nowhere if it was left out, such as a cell in another
/// language.
fn start(source: &Source, part: &Part) -> Option<TextSize> {
    let Some(number) = part.cell else {
        return Some(TextSize::default());
    };
    let cell = source.cells().iter().find(|cell| cell.number == number)?;
    Some(cell.range.start())
}

impl<'a> Places<'a> {
    /// Where a range of the source is. One that goes on in the next cell ends with its own.
    pub(super) fn place(&self, range: TextRange) -> Option<Place<'a>> {
        let (whole, part, lines) = self
            .parts
            .iter()
            .find(|(whole, ..)| whole.contains_inclusive(range.start()))?;
        let start = range.start() - whole.start();
        let end = range.end().min(whole.end()) - whole.start();
        Some(Place {
            part,
            range: lines.range(start.to_usize(), end.to_usize()),
        })
    }

    /// Where a range of the source is, if all of it is in one part.
    pub(super) fn whole_place(&self, range: TextRange) -> Option<Place<'a>> {
        let is_whole = self
            .parts
            .iter()
            .any(|(whole, ..)| whole.contains_range(range));
        is_whole.then(|| self.place(range)).flatten()
    }

    /// The range of the source that an editor means.
    pub(super) fn source_range(&self, uri: &Uri, range: Range) -> Option<TextRange> {
        let (whole, _, lines) = self.parts.iter().find(|(_, part, _)| part.uri == *uri)?;
        let offset = |position: Position| {
            let offset = TextSize::try_from(lines.offset(position)).ok()?;
            Some(whole.start() + offset)
        };
        let start = offset(range.start)?;
        Some(TextRange::new(start, offset(range.end)?.max(start)))
    }
}
