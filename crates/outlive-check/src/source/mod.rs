//! A script or a notebook as text, and where in its file each piece of the text stands.

mod cells;
mod encoding;
mod escapes;
mod json;
mod lines;
mod literal;
mod magic;
mod notebook;
mod splice;

use std::fmt;

use ruff_text_size::{TextRange, TextSize};

use self::cells::NotebookFile;
use self::encoding::Encoding;
use self::lines::{Lines, Unit};
use crate::{Edit, Problem};

/// Longer texts are not checked: no person wrote them, and an answer would take seconds.
const LONGEST: usize = 8 << 20;

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceKind {
    /// A `.py` or `.pyi` file.
    Python,
    /// An `.ipynb` file, or the cells of one that an editor holds.
    Notebook,
}

/// The text of a file that can be checked.
#[derive(Clone, Debug)]
pub struct Source {
    path: String,
    text: String,
    cells: Vec<Cell>,
    skipped: Vec<Problem>,
    lines: Lines,
    origin: Origin,
}

/// Where the text comes from, and so what a change of it has to be written into.
#[derive(Clone, Debug)]
enum Origin {
    Script(Encoding),
    Notebook(NotebookFile),
    Editor,
}

/// A cell of a notebook with Python in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// Its number among all cells of the notebook, counted from one.
    pub number: u32,
    /// Its text in [`Source::text`], without the newline that parts it from the next.
    pub range: TextRange,
}

/// A place as people and programs name it. All numbers count from one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The cell, in a notebook.
    pub cell: Option<u32>,
    /// The line in the cell or in the script.
    pub line: u32,
    /// The column, in characters.
    pub column: u32,
    /// The line in the file: for a notebook, of its JSON.
    pub file_line: u32,
}

/// A place as editors name it. Lines and characters count from zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EditorPosition {
    /// The cell, in a notebook; its number counts from one.
    pub cell: Option<u32>,
    /// The line in the cell or in the script.
    pub line: u32,
    /// UTF-16 units before it in its line.
    pub character: u32,
}

/// Why a file cannot be checked, in one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceError {
    /// What is wrong, without the file's name.
    pub message: String,
}

impl SourceError {
    fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
        }
    }

    fn too_large() -> Self {
        let limit = LONGEST >> 20;
        Self::new(format!(
            "Too large to check: more than {limit} MiB of Python"
        ))
    }
}

impl fmt::Display for SourceError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for SourceError {}

impl Source {
    /// Reads a file by the ending of its name.
    pub fn new(path: &str, bytes: &[u8]) -> Result<Self, SourceError> {
        if is_notebook(path) {
            return Self::owning(path, bytes.to_vec());
        }
        if bytes.len() > LONGEST {
            return Err(SourceError::too_large());
        }
        let (text, encoding) = encoding::decode(bytes)?;
        Ok(Self {
            path: path.to_owned(),
            lines: Lines::of(&text),
            text,
            cells: Vec::new(),
            skipped: Vec::new(),
            origin: Origin::Script(encoding),
        })
    }

    /// The same; a notebook's bytes, which may be many, are not copied.
    pub fn owning(path: &str, bytes: Vec<u8>) -> Result<Self, SourceError> {
        if !is_notebook(path) {
            return Self::new(path, &bytes);
        }
        let (gathered, file) = cells::of_file(bytes)?;
        Ok(Self::from_cells(path, gathered, Origin::Notebook(file)))
    }

    /// A script that an editor holds: whatever its name is, and whatever encoding it says that its
    /// file has.
    pub fn script(path: &str, text: &str) -> Result<Self, SourceError> {
        if text.len() > LONGEST {
            return Err(SourceError::too_large());
        }
        Ok(Self {
            path: path.to_owned(),
            lines: Lines::of(text),
            text: text.to_owned(),
            cells: Vec::new(),
            skipped: Vec::new(),
            origin: Origin::Script(Encoding::Utf8),
        })
    }

    /// The code cells of a notebook that an editor holds, each with its number among all cells.
    pub fn cells_of<T: AsRef<str>>(path: &str, cells: &[(u32, T)]) -> Result<Self, SourceError> {
        let gathered = cells::of_editor(cells)?;
        Ok(Self::from_cells(path, gathered, Origin::Editor))
    }

    fn from_cells(path: &str, gathered: cells::Gathered, origin: Origin) -> Self {
        Self {
            path: path.to_owned(),
            lines: Lines::of(&gathered.text),
            text: gathered.text,
            cells: gathered.cells,
            skipped: gathered.skipped,
            origin,
        }
    }

    /// The name it was given.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// What it is.
    pub fn kind(&self) -> SourceKind {
        match self.origin {
            Origin::Script(_) => SourceKind::Python,
            Origin::Notebook(_) | Origin::Editor => SourceKind::Notebook,
        }
    }

    /// The Python text: of a notebook, its code cells, joined by newlines. Line ends are as in the
    /// file; cell magics, and lines that call functions without brackets, are blank.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The cells of the text; none in a script.
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// The cell that an offset is in.
    pub(crate) fn cell_at(&self, offset: TextSize) -> Option<&Cell> {
        self.cells.get(cells::index(&self.cells, offset))
    }

    /// The cells that are not in the text although they can be run.
    pub(crate) fn skipped(&self) -> &[Problem] {
        &self.skipped
    }

    /// Where an offset of the text is.
    pub fn position(&self, offset: TextSize) -> Position {
        let (cell, line) = self.line(offset);
        let file_line = match &self.origin {
            Origin::Notebook(file) => file.line(offset),
            Origin::Script(_) | Origin::Editor => line + 1,
        };
        Position {
            cell,
            line: line + 1,
            column: self.lines.column(offset, &self.text, Unit::Character) + 1,
            file_line,
        }
    }

    /// The column in its line of the file, in characters from one: for a notebook, of its JSON.
    pub fn file_column(&self, offset: TextSize) -> u32 {
        match &self.origin {
            Origin::Notebook(file) => file.column(offset),
            Origin::Script(_) | Origin::Editor => self.position(offset).column,
        }
    }

    /// Where an offset of the text is for an editor.
    pub fn position_utf16(&self, offset: TextSize) -> EditorPosition {
        let (cell, line) = self.line(offset);
        EditorPosition {
            cell,
            line,
            character: self.lines.column(offset, &self.text, Unit::Utf16),
        }
    }

    /// The offset of a place; `None` if there is no such cell or line. A column behind the end of
    /// its line means the end.
    pub fn offset(&self, cell: Option<u32>, line: u32, column: u32) -> Option<TextSize> {
        let index = self.line_index(cell, line.checked_sub(1)?)?;
        let column = column.saturating_sub(1);
        Some(
            self.lines
                .offset(index, column, &self.text, Unit::Character),
        )
    }

    /// The same for a place in an editor.
    pub fn offset_utf16(&self, position: EditorPosition) -> Option<TextSize> {
        let index = self.line_index(position.cell, position.line)?;
        Some(
            self.lines
                .offset(index, position.character, &self.text, Unit::Utf16),
        )
    }

    /// The file with these edits made, the same byte for byte outside them. The edits must not
    /// overlap; one that does, or that no file can hold, is left out. An inserted line ends as the
    /// others do.
    pub fn edited(&self, edits: &[Edit]) -> Vec<u8> {
        let edits = splice::in_order(&self.text, edits);
        match &self.origin {
            Origin::Notebook(file) => file.edited(&self.text, &self.cells, &edits),
            Origin::Editor => splice::applied(&self.text, &edits).into_bytes(),
            Origin::Script(encoding) => {
                let changed = encoding.encode(splice::applied(&self.text, &edits));
                let unchanged = || encoding.encode(self.text.clone());
                changed.or_else(unchanged).unwrap_or_default()
            }
        }
    }

    /// The cell of an offset, and its line there, counted from zero.
    pub(crate) fn line(&self, offset: TextSize) -> (Option<u32>, u32) {
        let index = self.lines.index(offset);
        let cell = self.cell_at(offset);
        let first = cell.map_or(0, |cell| self.lines.index(cell.range.start()));
        (
            cell.map(|cell| cell.number),
            index.saturating_sub(first) as u32,
        )
    }

    /// The line of the whole text for a line of a cell, both counted from zero.
    fn line_index(&self, cell: Option<u32>, line: u32) -> Option<usize> {
        let (first, end) = match cell {
            Some(number) => {
                let cell = self.cells.iter().find(|cell| cell.number == number)?;
                let first = self.lines.index(cell.range.start());
                (first, self.lines.index(cell.range.end()))
            }
            None => (0, self.lines.index(TextSize::of(self.text.as_str()))),
        };
        let index = first + line as usize;
        (index <= end).then_some(index)
    }
}

fn is_notebook(path: &str) -> bool {
    let ending = path.rsplit('.').next().unwrap_or_default();
    ending.eq_ignore_ascii_case("ipynb")
}
