//! Changes of the text, made in the file.
//!
//! In a notebook only the part of a JSON string that says the changed text is replaced. Where a
//! cell is a list of its lines, a new line becomes a string of its own, set apart as the others are.

use ruff_text_size::{TextRange, TextSize};

use super::Cell;
use super::cells::{self, CellSource, NotebookFile};
use super::literal::escape_to;
use crate::Edit;

/// An edit that can be made, with the line ends of the file.
#[derive(Debug)]
pub(super) struct Change {
    range: TextRange,
    content: String,
}

/// The edits that can be made, in order.
pub(super) fn in_order(text: &str, edits: &[Edit]) -> Vec<Change> {
    let mut edits: Vec<&Edit> = edits.iter().collect();
    edits.sort_by_key(|edit| (edit.range.start(), edit.range.end()));
    let windows_lines = text.find('\n').is_some_and(|at| text[..at].ends_with('\r'));
    let mut end = TextSize::new(0);
    let mut changes = Vec::with_capacity(edits.len());
    for edit in edits {
        let range = edit.range.start().to_usize()..edit.range.end().to_usize();
        if edit.range.start() < end || text.get(range).is_none() {
            continue;
        }
        end = edit.range.end();
        let content = if windows_lines {
            edit.content.replace("\r\n", "\n").replace('\n', "\r\n")
        } else {
            edit.content.clone()
        };
        changes.push(Change {
            range: edit.range,
            content,
        });
    }
    changes
}

/// The text with changes made.
pub(super) fn applied(text: &str, changes: &[Change]) -> String {
    let mut output = String::with_capacity(text.len());
    let mut copied = 0;
    for change in changes {
        let start = change.range.start().to_usize();
        output.push_str(text.get(copied..start).unwrap_or_default());
        output.push_str(&change.content);
        copied = change.range.end().to_usize();
    }
    output.push_str(text.get(copied..).unwrap_or_default());
    output
}

impl NotebookFile {
    /// The file with changes made. One across two cells is left out.
    pub(super) fn edited(&self, text: &str, cells: &[Cell], changes: &[Change]) -> Vec<u8> {
        let mut output = String::with_capacity(self.file.len());
        let mut copied = 0;
        for change in changes {
            let index = cells::index(cells, change.range.start());
            let (Some(cell), Some(source)) = (cells.get(index), self.sources.get(index)) else {
                continue;
            };
            if !cell.range.contains_range(change.range) {
                continue;
            }
            let piece = Splice {
                file: self,
                source,
                text,
                change,
            };
            let (start, end, content) = piece.of_strings(cell, copied);
            output.push_str(self.file.get(copied..start).unwrap_or_default());
            output.push_str(&content);
            copied = end;
        }
        output.push_str(self.file.get(copied..).unwrap_or_default());
        output.into_bytes()
    }
}

/// A change on its way into a cell of a file.
#[derive(Debug)]
struct Splice<'a> {
    file: &'a NotebookFile,
    source: &'a CellSource,
    text: &'a str,
    change: &'a Change,
}

impl Splice<'_> {
    /// The range of the file to replace, none of it before `free`, and what comes there.
    fn of_strings(&self, cell: &Cell, free: usize) -> (usize, usize, String) {
        let pieces = self
            .file
            .pieces
            .get(self.source.pieces.clone())
            .unwrap_or_default();
        let content = &self.change.content;
        let range = self.change.range;
        let piece_of = |offset: TextSize| {
            let after = pieces.partition_point(|piece| piece.start <= offset);
            pieces.get(after.saturating_sub(1))
        };
        let (Some(first), Some(last)) = (piece_of(range.start()), piece_of(range.end())) else {
            return self.of_empty_cell(free);
        };
        let mut start = self.file.place(first, range.start());
        let end = self.file.place(last, range.end());
        let rest_of_string = last.inside.end - end;
        if !self.is_list_of_lines() {
            return (start, end, self.escaped(content));
        }
        let nothing_left = content.is_empty() && rest_of_string == 0 && !range.is_empty();
        if nothing_left && start == first.inside.start && range.end() == cell.range.end() {
            // The last line goes, and its string with it.
            let before = pieces.partition_point(|piece| piece.start < first.start);
            let previous = pieces
                .get(before.wrapping_sub(1))
                .map(|piece| piece.inside.end);
            start = previous.filter(|end| *end >= free).unwrap_or(start);
        }
        let follows_line = start == first.inside.end
            && start > first.inside.start
            && self.text[..range.start().to_usize()].ends_with('\n');
        let mut lines = String::new();
        if follows_line && !content.is_empty() {
            lines.push_str(&self.separator());
        }
        let mut written = 0;
        for line in content.split_inclusive('\n') {
            lines.push_str(&self.escaped(line));
            written += line.len();
            if line.ends_with('\n') && (written < content.len() || rest_of_string > 0) {
                lines.push_str(&self.separator());
            }
        }
        (start, end, lines)
    }

    /// A cell without strings becomes a list of one.
    fn of_empty_cell(&self, free: usize) -> (usize, usize, String) {
        let value = &self.source.value;
        if value.is_empty() || value.start < free || self.change.content.is_empty() {
            return (free, free, String::new());
        }
        let content = format!("[\"{}\"]", self.escaped(&self.change.content));
        (value.start, value.end, content)
    }

    fn escaped(&self, content: &str) -> String {
        let mut inside = String::with_capacity(content.len());
        escape_to(&mut inside, content, self.file.style);
        inside
    }

    fn is_list_of_lines(&self) -> bool {
        let pieces = self
            .file
            .pieces
            .get(self.source.pieces.clone())
            .unwrap_or_default();
        let follows_newline = |start: TextSize| self.text[..start.to_usize()].ends_with('\n');
        let mut others = pieces.iter().skip(1);
        self.source.is_list && others.all(|piece| follows_newline(piece.start))
    }

    /// What stands between two strings of this list, with their quotes.
    fn separator(&self) -> String {
        let mut pieces = self
            .file
            .pieces
            .get(self.source.pieces.clone())
            .unwrap_or_default()
            .iter();
        let file = &self.file.file;
        let first = pieces.next().map_or(0..0, |piece| piece.inside.clone());
        let between = match pieces.next() {
            Some(second) => file.get(first.end + 1..second.inside.start - 1),
            None => None,
        };
        if let Some(between) = between {
            return format!("\"{between}\"");
        }
        let before = file.get(self.source.value.start + 1..first.start - 1);
        format!("\",{}\"", before.unwrap_or_default())
    }
}
