//! The code cells of a notebook as one text, and the way back into its file.

use std::ops::Range;

use ruff_text_size::{TextRange, TextSize};

use super::escapes;
use super::json::line_of;
use super::literal::{Style, offset_inside};
use super::magic::{self, Content};
use super::notebook::{self, RawSource};
use super::{Cell, LONGEST, SourceError};
use crate::quoted::quoted;
use crate::{Problem, ProblemKind};

/// Cells put together.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    pub(super) text: String,
    pub(super) cells: Vec<Cell>,
    pub(super) skipped: Vec<Problem>,
}

/// A notebook's file, and where in it the text is.
#[derive(Clone, Debug)]
pub(super) struct NotebookFile {
    pub(super) file: String,
    /// The strings of all cells in the text, in order.
    pub(super) pieces: Vec<Piece>,
    /// Of each cell in the text: its value in the file.
    pub(super) sources: Vec<CellSource>,
    pub(super) style: Style,
}

/// One JSON string with source in it.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    /// Where what it says begins in the text.
    pub(super) start: TextSize,
    /// What is between its quotes in the file.
    pub(super) inside: Range<usize>,
    /// The line of the file that it begins in, counted from one.
    line: u32,
}

/// Where the source of a cell is in the file.
#[derive(Clone, Debug)]
pub(super) struct CellSource {
    /// Its value, with quotes or brackets.
    pub(super) value: Range<usize>,
    /// Its pieces.
    pub(super) pieces: Range<usize>,
    /// Whether it is a list.
    pub(super) is_list: bool,
}

/// Reads a notebook.
pub(super) fn of_file(bytes: Vec<u8>) -> Result<(Gathered, NotebookFile), SourceError> {
    let file = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let before = error.as_bytes().get(..at).unwrap_or_default();
        let line = 1 + memchr::memchr_iter(b'\n', before).count();
        SourceError::new(format!("Not UTF-8 in line {line}: save it as UTF-8"))
    })?;
    let found = notebook::read(&file)?;
    let style = Style::of(&file);
    let mut read = NotebookFile {
        file,
        pieces: Vec::new(),
        sources: Vec::new(),
        style,
    };
    let mut gathered = Gathered::default();
    if let Some(language) = found.language.as_ref().filter(|name| !is_python(name)) {
        gathered.skip(format!("Not checked: a notebook in {}", quoted(language)));
        return Ok((gathered, read));
    }
    for (index, cell) in found.cells.iter().enumerate() {
        let number = index as u32 + 1;
        if !cell.is_code {
            continue;
        }
        match cell.language.as_ref().filter(|name| !is_python(name)) {
            Some(language) => gathered.skip_cell(number, language),
            None => read.add_cell(&mut gathered, number, &cell.source)?,
        }
    }
    Ok((gathered, read))
}

/// Puts cells together that an editor holds.
pub(super) fn of_editor(cells: &[(u32, impl AsRef<str>)]) -> Result<Gathered, SourceError> {
    let mut gathered = Gathered::default();
    for (number, text) in cells {
        gathered.add(*number, text.as_ref())?;
    }
    Ok(gathered)
}

/// The cell that an offset is in; the newline behind a cell belongs to it.
pub(super) fn index(cells: &[Cell], offset: TextSize) -> usize {
    let after = cells.partition_point(|cell| cell.range.start() <= offset);
    after.saturating_sub(1)
}

fn is_python(language: &str) -> bool {
    let language = language.to_ascii_lowercase();
    language.is_empty() || language.contains("python") || language == "py"
}

impl Gathered {
    /// Adds a cell if it is Python; says where it begins.
    fn add(&mut self, number: u32, cell: &str) -> Result<Option<TextSize>, SourceError> {
        let magics = match magic::content(cell) {
            Content::Python { magics } => magics,
            Content::Other { command } => {
                self.skip_cell(number, &command);
                return Ok(None);
            }
        };
        if self.text.len() + cell.len() > LONGEST {
            return Err(SourceError::too_large());
        }
        if !self.cells.is_empty() {
            self.text.push('\n');
        }
        let start = self.end();
        let (head, body) = cell.split_at(magics);
        for line in head.split_inclusive('\n') {
            if line.trim_start().starts_with("%%") {
                escapes::blank_to(&mut self.text, line);
            } else {
                self.text.push_str(line);
            }
        }
        self.text.push_str(&escapes::without_commands(body));
        let range = TextRange::new(start, self.end());
        self.cells.push(Cell { number, range });
        Ok(Some(start))
    }

    fn skip_cell(&mut self, number: u32, reason: &str) {
        self.skip(format!("Cell {number} skipped: {}", quoted(reason)));
    }

    fn skip(&mut self, message: String) {
        self.skipped.push(Problem {
            range: TextRange::empty(self.end()),
            kind: ProblemKind::Skipped,
            message,
        });
    }

    fn end(&self) -> TextSize {
        TextSize::of(self.text.as_str())
    }
}

impl NotebookFile {
    fn add_cell(
        &mut self,
        gathered: &mut Gathered,
        number: u32,
        source: &RawSource,
    ) -> Result<(), SourceError> {
        let mut cell = String::new();
        let mut starts = Vec::with_capacity(source.strings.len());
        for inside in &source.strings {
            // An escape is at most six times as long as what it says.
            if inside.len() / 6 + cell.len() > LONGEST {
                return Err(SourceError::too_large());
            }
            starts.push(TextSize::of(cell.as_str()));
            notebook::append(&mut cell, &self.file, inside)?;
        }
        let Some(start) = gathered.add(number, &cell)? else {
            return Ok(());
        };
        let first = self.pieces.len();
        for (inside, within) in source.strings.iter().zip(starts) {
            let line = self.next_line(inside.start);
            self.pieces.push(Piece {
                start: start + within,
                inside: inside.clone(),
                line,
            });
        }
        self.sources.push(CellSource {
            value: source.value.clone(),
            pieces: first..self.pieces.len(),
            is_list: source.is_list,
        });
        Ok(())
    }

    /// The line of a place behind all pieces, counted on from the last of them.
    fn next_line(&self, at: usize) -> u32 {
        let last = self.pieces.last();
        let (start, line) = last.map_or((0, 1), |piece| (piece.inside.start, piece.line));
        let between = self.file.get(start..at).unwrap_or_default();
        line + line_of(between, between.len()) - 1
    }

    /// The line of the file in which an offset of the text stands.
    pub(super) fn line(&self, offset: TextSize) -> u32 {
        self.piece(offset).map_or(1, |piece| piece.line)
    }

    /// The column there, counted from one.
    pub(super) fn column(&self, offset: TextSize) -> u32 {
        let at = self
            .piece(offset)
            .map_or(0, |piece| self.place(piece, offset));
        let before = self.file.get(..at).unwrap_or_default();
        let start = memchr::memrchr(b'\n', before.as_bytes()).map_or(0, |newline| newline + 1);
        let line = before.get(start..).unwrap_or_default();
        line.chars().count() as u32 + 1
    }

    /// Where an offset of the text stands in the file, if it is in this piece.
    pub(super) fn place(&self, piece: &Piece, offset: TextSize) -> usize {
        let inside = self.file.get(piece.inside.clone()).unwrap_or_default();
        let within = offset.checked_sub(piece.start).unwrap_or_default();
        piece.inside.start + offset_inside(inside, within.to_usize())
    }

    /// The last piece that begins at or before an offset.
    fn piece(&self, offset: TextSize) -> Option<&Piece> {
        let after = self.pieces.partition_point(|piece| piece.start <= offset);
        self.pieces.get(after.saturating_sub(1))
    }
}
