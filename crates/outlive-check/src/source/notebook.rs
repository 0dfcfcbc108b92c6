//! Reads the cells of an `.ipynb` file (nbformat 4; 3 and 2 too) and where their lines stand in it.

use std::ops::Range;

use super::SourceError;
use super::json::{Scanner, line_of};
use super::literal;

/// What is of interest in a notebook.
#[derive(Debug, Default)]
pub(super) struct Notebook {
    /// All its cells, those with text for people too.
    pub(super) cells: Vec<RawCell>,
    /// The language of its notebook kernel, if the file says so.
    pub(super) language: Option<String>,
    has_cells: bool,
}

/// A cell as it stands in the file.
#[derive(Debug, Default)]
pub(super) struct RawCell {
    /// Whether it can be run.
    pub(super) is_code: bool,
    /// Its language, if it differs from the notebook's.
    pub(super) language: Option<String>,
    /// Where its source is.
    pub(super) source: RawSource,
}

/// The source of a cell: one string, or a list of them.
#[derive(Clone, Debug, Default)]
pub(super) struct RawSource {
    /// The whole value.
    pub(super) value: Range<usize>,
    /// The inside of each string.
    pub(super) strings: Vec<Range<usize>>,
    /// Whether it is a list.
    pub(super) is_list: bool,
}

/// Reads the text of a file.
pub(super) fn read(file: &str) -> Result<Notebook, SourceError> {
    let mut notebook = Notebook::default();
    let mut scanner = Scanner::new(file);
    if scanner.peek() == Some(b'{') {
        scanner.members(|scanner, key| notebook.member(scanner, key))?;
    } else {
        scanner.skip()?;
    }
    scanner.end()?;
    if notebook.has_cells {
        Ok(notebook)
    } else {
        Err(SourceError::new("Not a notebook: it has no `cells`"))
    }
}

impl Notebook {
    fn member(&mut self, scanner: &mut Scanner<'_>, key: &str) -> Result<(), SourceError> {
        match key {
            "cells" => self.cells(scanner),
            "worksheets" => scanner.elements(|scanner| {
                scanner.members(|scanner, key| match key {
                    "cells" => self.cells(scanner),
                    _ => scanner.skip(),
                })
            }),
            "metadata" => self.metadata(scanner),
            _ => scanner.skip(),
        }
    }

    fn cells(&mut self, scanner: &mut Scanner<'_>) -> Result<(), SourceError> {
        self.has_cells = true;
        scanner.elements(|scanner| {
            let mut cell = RawCell::default();
            scanner.members(|scanner, key| cell.member(scanner, key))?;
            self.cells.push(cell);
            Ok(())
        })
    }

    /// `language_info` is what the notebook kernel said when it ran; it counts more than what the
    /// kernel was listed as.
    fn metadata(&mut self, scanner: &mut Scanner<'_>) -> Result<(), SourceError> {
        let mut listed = None;
        let mut told = None;
        scanner.members(|scanner, key| {
            let (wanted, place) = match key {
                "kernelspec" => ("language", &mut listed),
                "language_info" => ("name", &mut told),
                _ => return scanner.skip(),
            };
            scanner.members(|scanner, key| {
                if key == wanted {
                    *place = string(scanner)?;
                    Ok(())
                } else {
                    scanner.skip()
                }
            })
        })?;
        self.language = told.or(listed);
        Ok(())
    }
}

impl RawCell {
    fn member(&mut self, scanner: &mut Scanner<'_>, key: &str) -> Result<(), SourceError> {
        match key {
            "cell_type" => self.is_code = string(scanner)?.as_deref() == Some("code"),
            // The first of nbformat 4, the second of 3.
            "source" | "input" => {
                let found = source(scanner)?;
                if key == "source" || self.source.strings.is_empty() {
                    self.source = found;
                }
            }
            "language" => self.language = string(scanner)?,
            "metadata" => scanner.members(|scanner, key| match key {
                "vscode" => scanner.members(|scanner, key| match key {
                    "languageId" => string(scanner).map(|found| self.language = found),
                    _ => scanner.skip(),
                }),
                _ => scanner.skip(),
            })?,
            _ => scanner.skip()?,
        }
        Ok(())
    }
}

/// The string that comes next; something else is skipped.
fn string(scanner: &mut Scanner<'_>) -> Result<Option<String>, SourceError> {
    if scanner.peek() != Some(b'"') {
        scanner.skip()?;
        return Ok(None);
    }
    let inside = scanner.string()?;
    let mut text = String::new();
    Ok(literal::unescape_to(&mut text, scanner.slice(inside)).map(|()| text))
}

fn source(scanner: &mut Scanner<'_>) -> Result<RawSource, SourceError> {
    let mut source = RawSource::default();
    let first = scanner.peek();
    source.value.start = scanner.at();
    match first {
        Some(b'"') => source.strings.push(scanner.string()?),
        Some(b'[') => {
            source.is_list = true;
            scanner.elements(|scanner| {
                if scanner.peek() == Some(b'"') {
                    source.strings.push(scanner.string()?);
                    Ok(())
                } else {
                    scanner.skip()
                }
            })?;
        }
        _ => scanner.skip()?,
    }
    source.value.end = scanner.at();
    Ok(source)
}

/// Appends what a string of a cell says.
pub(super) fn append(
    text: &mut String,
    file: &str,
    inside: &Range<usize>,
) -> Result<(), SourceError> {
    let raw = file.get(inside.clone()).unwrap_or_default();
    literal::unescape_to(text, raw).ok_or_else(|| {
        let line = line_of(file, inside.start);
        SourceError::new(format!("Not valid JSON: an unknown escape in line {line}"))
    })
}
