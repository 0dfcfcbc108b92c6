//! Where the lines of a text begin, and the columns in them.

use ruff_text_size::TextSize;

/// The starts of the lines, in order; there is always one.
#[derive(Clone, Debug)]
pub(super) struct Lines {
    starts: Vec<u32>,
}

/// What one column counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Character,
    /// As editors count.
    Utf16,
}

impl Lines {
    /// Finds them. A line ends as Python says: with `\n`, `\r\n`, or `\r` alone.
    pub(super) fn of(text: &str) -> Self {
        let bytes = text.as_bytes();
        let ends = memchr::memchr2_iter(b'\n', b'\r', bytes)
            .filter(|at| bytes.get(*at) == Some(&b'\n') || bytes.get(at + 1) != Some(&b'\n'));
        let starts = std::iter::once(0).chain(ends.map(|at| at as u32 + 1));
        Self {
            starts: starts.collect(),
        }
    }

    /// The line of an offset, counted from zero.
    pub(super) fn index(&self, offset: TextSize) -> usize {
        let after = self
            .starts
            .partition_point(|start| *start <= offset.to_u32());
        after.saturating_sub(1)
    }

    /// Where a line begins; the end of the text for one that is not there.
    pub(super) fn start(&self, index: usize, text: &str) -> usize {
        let start = self.starts.get(index);
        start.map_or(text.len(), |start| *start as usize)
    }

    /// Units between the start of its line and an offset.
    pub(super) fn column(&self, offset: TextSize, text: &str, unit: Unit) -> u32 {
        let start = self.start(self.index(offset), text);
        let end = floor_boundary(text, offset.to_usize());
        let before = text.get(start..end).unwrap_or_default();
        before.chars().map(|character| unit.width(character)).sum()
    }

    /// The offset of a column, no further than the end of its line.
    pub(super) fn offset(&self, index: usize, column: u32, text: &str, unit: Unit) -> TextSize {
        let start = self.start(index, text);
        let line = text
            .get(start..self.start(index + 1, text))
            .unwrap_or_default();
        let line = line.trim_end_matches(['\n', '\r']);
        let mut passed = 0;
        let mut at = start;
        for character in line.chars() {
            if passed >= column {
                break;
            }
            passed += unit.width(character);
            at += character.len_utf8();
        }
        TextSize::new(at as u32)
    }
}

impl Unit {
    fn width(self, character: char) -> u32 {
        match self {
            Self::Character => 1,
            Self::Utf16 => character.len_utf16() as u32,
        }
    }
}

/// The nearest start of a character at or before an offset.
pub(super) fn floor_boundary(text: &str, offset: usize) -> usize {
    text.floor_char_boundary(offset)
}
