//! The user's program as text that can be checked: a file, or the cells of a notebook that ran.

use outlive_check::front::{TextRange, TextSize};
use outlive_check::{
    Finding, Settings, Source, SourceKind, Surroundings, findings_despite_comments, surroundings,
};

use crate::cells::{Cell, Cells};
use crate::diagnosis::SourceFile;
use crate::place::Line;

/// More text than this is not checked as one notebook: the latest cells are.
const LARGEST_NOTEBOOK: usize = 1 << 20;
/// Longer lines are cut.
const WIDEST: usize = 160;

/// A program and what `check` finds in it.
pub(crate) struct Program {
    source: Source,
    /// Its file, or those of the cells it is made of.
    files: Vec<String>,
    /// Whether it may not be what ran.
    pub(crate) is_later: bool,
    /// What is wrong with it.
    pub(crate) findings: Vec<Finding>,
}

impl Program {
    /// A script or a module.
    pub(crate) fn of_file(name: &str, file: &SourceFile, settings: &Settings) -> Option<Self> {
        // Not by the ending of its name: what Python ran is Python.
        let source = Source::new("program.py", file.text.as_bytes()).ok()?;
        Some(Self {
            findings: findings_despite_comments(&source, settings),
            source,
            files: vec![name.to_owned()],
            is_later: file.is_later,
        })
    }

    /// A notebook.
    pub(crate) fn of_cells(cells: &Cells, settings: &Settings) -> Option<Self> {
        let cells: Vec<&Cell> = latest(cells.program()).collect();
        let numbers = 1_u32..;
        let texts = cells.iter().map(|cell| as_counted(&cell.source));
        let texts: Vec<(u32, String)> = numbers.zip(texts).collect();
        let source = Source::cells_of("notebook", &texts).ok()?;
        Some(Self {
            findings: findings_despite_comments(&source, settings),
            source,
            files: cells.iter().map(|cell| cell.file.clone()).collect(),
            is_later: false,
        })
    }

    /// Where a line stands in the text.
    pub(crate) fn range_of(&self, line: &Line) -> Option<TextRange> {
        let part = self.files.iter().position(|file| *file == line.file)?;
        let is_notebook = self.source.kind() == SourceKind::Notebook;
        let cell = is_notebook.then_some(part as u32 + 1);
        let number = line.line?;
        let start = self.source.offset(cell, number, 1)?;
        let end = self.source.offset(cell, number, u32::MAX)?;
        Some(TextRange::new(start, end.max(start)))
    }

    /// The line at an offset of the text.
    pub(crate) fn line_at(&self, offset: TextSize) -> Line {
        let position = self.source.position(offset);
        let part = position.cell.map_or(0, |cell| cell.saturating_sub(1));
        Line {
            file: self.files.get(part as usize).cloned().unwrap_or_default(),
            line: Some(position.line),
            function: String::new(),
            cell: None,
        }
    }

    /// What stands in the line at an offset.
    pub(crate) fn text_at(&self, offset: TextSize) -> Option<String> {
        let line = self.range_of(&self.line_at(offset))?;
        let text = self.text_of(line).trim();
        (!text.is_empty()).then(|| text.chars().take(WIDEST).collect())
    }

    /// Whether its text has a word.
    pub(crate) fn says(&self, word: &str) -> bool {
        self.source.text().contains(word)
    }

    /// The text of a range.
    pub(crate) fn text_of(&self, range: TextRange) -> &str {
        let range = range.start().to_usize()..range.end().to_usize();
        self.source.text().get(range).unwrap_or_default()
    }

    /// What stands around a line.
    pub(crate) fn around(&self, line: &Line) -> Option<Surroundings> {
        let range = self.range_of(line)?;
        Some(surroundings(&self.source, range))
    }
}

/// The last cells whose text is not too long in all.
fn latest(cells: Vec<&Cell>) -> impl Iterator<Item = &Cell> {
    let mut length = 0;
    let too_old = cells.iter().rposition(|cell| {
        length += cell.source.len();
        length > LARGEST_NOTEBOOK
    });
    let first = too_old.map_or(0, |place| place + 1);
    cells.into_iter().skip(first)
}

/// The text of a cell as `IPython` counts its lines: from the first that is not empty.
fn as_counted(source: &str) -> String {
    let lines = source.lines();
    let lines = lines.skip_while(|line| line.trim().is_empty());
    lines.collect::<Vec<_>>().join("\n")
}
