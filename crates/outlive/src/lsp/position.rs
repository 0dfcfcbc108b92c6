//! Places as the protocol counts them: lines from zero, and columns in the units that client and
//! server agreed upon. Lines end at `\n`, `\r\n` or `\r`.

use lsp_types::{Position, PositionEncodingKind, Range};

/// What a column counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    /// Bytes.
    Utf8,
    /// Units of UTF-16; what a client without a choice means.
    Utf16,
    /// Characters.
    Utf32,
}

impl Encoding {
    /// The best of those a client offers: bytes need no conversion.
    pub(super) fn best_of<'a>(offered: impl Iterator<Item = &'a str>) -> Self {
        let rank = |encoding: &Self| match encoding {
            Self::Utf8 => 0,
            Self::Utf16 => 1,
            Self::Utf32 => 2,
        };
        offered
            .filter_map(|name| match name {
                "utf-8" => Some(Self::Utf8),
                "utf-16" => Some(Self::Utf16),
                "utf-32" => Some(Self::Utf32),
                _ => None,
            })
            .min_by_key(rank)
            .unwrap_or(Self::Utf16)
    }

    /// Its name in the protocol.
    pub(super) const fn kind(self) -> PositionEncodingKind {
        match self {
            Self::Utf8 => PositionEncodingKind::UTF8,
            Self::Utf16 => PositionEncodingKind::UTF16,
            Self::Utf32 => PositionEncodingKind::UTF32,
        }
    }

    const fn units(self, character: char) -> usize {
        match self {
            Self::Utf8 => character.len_utf8(),
            Self::Utf16 => character.len_utf16(),
            Self::Utf32 => 1,
        }
    }
}

/// A text's lines.
#[derive(Debug)]
pub(super) struct Lines<'a> {
    text: &'a str,
    /// Where each begins.
    starts: Vec<usize>,
    encoding: Encoding,
}

impl<'a> Lines<'a> {
    /// Finds them.
    pub(super) fn of(text: &'a str, encoding: Encoding) -> Self {
        let bytes = text.as_bytes();
        let breaks = bytes.iter().enumerate().filter(|&(at, byte)| match byte {
            b'\n' => true,
            b'\r' => bytes.get(at + 1) != Some(&b'\n'),
            _ => false,
        });
        let starts = std::iter::once(0)
            .chain(breaks.map(|(at, _)| at + 1))
            .collect();
        Self {
            text,
            starts,
            encoding,
        }
    }

    /// The offset of a position. One behind the end of its line is the end of the line, as the
    /// protocol has it; one behind the last line is the end of the text.
    pub(super) fn offset(&self, position: Position) -> usize {
        let Some(&start) = self.starts.get(position.line as usize) else {
            return self.text.len();
        };
        let mut left = position.character as usize;
        let mut offset = start;
        for character in self.line(position.line as usize).chars() {
            let units = self.encoding.units(character);
            if units > left {
                break;
            }
            left -= units;
            offset += character.len_utf8();
        }
        offset
    }

    /// The position of an offset.
    pub(super) fn position(&self, offset: usize) -> Position {
        let line = self.starts.partition_point(|start| *start <= offset).max(1) - 1;
        let start = self.starts.get(line).copied().unwrap_or_default();
        let before = self.text.get(start..offset).unwrap_or_default();
        let units: usize = before
            .chars()
            .map(|character| self.encoding.units(character))
            .sum();
        Position::new(line as u32, units as u32)
    }

    /// The positions of two offsets.
    pub(super) fn range(&self, start: usize, end: usize) -> Range {
        Range::new(self.position(start), self.position(end))
    }

    /// A line without what ends it.
    fn line(&self, index: usize) -> &'a str {
        let start = self.starts.get(index).copied().unwrap_or_default();
        let end = self.starts.get(index + 1).copied();
        let line = self.text.get(start..end.unwrap_or(self.text.len()));
        line.unwrap_or_default().trim_end_matches(['\r', '\n'])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "a = '😀é'\r\nb\rc\n\nd";

    #[test]
    fn every_offset_comes_back_from_its_position() {
        for encoding in [Encoding::Utf8, Encoding::Utf16, Encoding::Utf32] {
            let lines = Lines::of(TEXT, encoding);
            for (offset, _) in TEXT.char_indices() {
                // Between `\r` and `\n` there is no position.
                if TEXT[..offset].ends_with('\r') && TEXT[offset..].starts_with('\n') {
                    continue;
                }
                assert_eq!(lines.offset(lines.position(offset)), offset, "{encoding:?}");
            }
            assert_eq!(lines.position(TEXT.len()), Position::new(4, 1));
        }
    }

    #[test]
    fn a_column_counts_the_units_of_the_encoding() {
        let quote = TEXT.rfind('\'').unwrap();
        for (encoding, column) in [
            (Encoding::Utf8, 11),
            (Encoding::Utf16, 8),
            (Encoding::Utf32, 7),
        ] {
            let position = Lines::of(TEXT, encoding).position(quote);
            assert_eq!(position, Position::new(0, column), "{encoding:?}");
        }
    }

    #[test]
    fn a_place_that_is_not_there_is_the_nearest_that_is() {
        let lines = Lines::of(TEXT, Encoding::Utf16);
        let end_of_first = TEXT.find('\r').unwrap();
        assert_eq!(lines.offset(Position::new(0, 99)), end_of_first);
        assert_eq!(lines.offset(Position::new(99, 0)), TEXT.len());
        // The middle of a surrogate pair.
        assert_eq!(lines.offset(Position::new(0, 6)), 5);
    }

    #[test]
    fn bytes_are_taken_if_offered_and_utf_16_if_nothing_is() {
        let best = |offered: &[&str]| Encoding::best_of(offered.iter().copied());
        assert_eq!(best(&["utf-32", "utf-16", "utf-8"]), Encoding::Utf8);
        assert_eq!(best(&["utf-32"]), Encoding::Utf32);
        assert_eq!(best(&["utf-7"]), Encoding::Utf16);
        assert_eq!(best(&[]), Encoding::Utf16);
    }
}
