//! The lines around a finding, kept when the source itself is dropped.

use outlive_check::Source;
use outlive_check::front::{TextRange, TextSize};

/// Lines before the first that is marked.
const BEFORE: usize = 2;
/// At most this many of the lines that a finding spans.
const SPANNED: usize = 4;
/// Characters of a line that are kept: more are never seen.
const LONGEST: usize = 1 << 10;
/// Of these, before what is marked.
const LEAD: usize = 64;

/// Lines of a source and what is marked in them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Excerpt {
    /// The lines, in order.
    pub lines: Vec<ExcerptLine>,
}

/// One line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExcerptLine {
    /// Its number, as in a position.
    pub number: u32,
    /// Its text, without the newline.
    pub text: String,
    /// What of it is marked, in characters from the start of `text`.
    pub marked: Option<(usize, usize)>,
}

impl Excerpt {
    /// Cuts it out.
    pub fn of(source: &Source, range: TextRange) -> Self {
        let text = source.text();
        let bound = source
            .cells()
            .iter()
            .find(|cell| cell.range.contains_inclusive(range.start()))
            .map_or(TextRange::up_to(TextSize::of(text)), |cell| cell.range);
        let part = text.get(bound.start().to_usize()..bound.end().to_usize());
        let Some(part) = part else {
            return Self::default();
        };
        let inside = |offset: TextSize| {
            let offset = offset.clamp(bound.start(), bound.end());
            (offset - bound.start()).to_usize()
        };
        let (start, end) = (inside(range.start()), inside(range.end()));
        let first = source.position(range.start()).line;
        cut(part, start, end, first)
    }
}

/// The lines of `text` from a few before offset `start` to offset `end`; `first` is the number of
/// the line in which `start` lies.
fn cut(text: &str, start: usize, end: usize, first: u32) -> Excerpt {
    let mut from = line_start(text, start);
    let mut number = first;
    for _ in 0..BEFORE {
        if from == 0 {
            break;
        }
        from = line_start(text, from - 1);
        number -= 1;
    }
    let mut lines = Vec::new();
    let mut spanned = 0;
    for line in text.get(from..).unwrap_or_default().split_inclusive('\n') {
        let here = from;
        from += line.len();
        let line = line.trim_end_matches(['\n', '\r']);
        let is_marked = from > start || from == text.len();
        let marked = is_marked.then(|| mark(line, start.saturating_sub(here), end - here));
        lines.push(kept(number, line, marked));
        number += 1;
        spanned += usize::from(is_marked);
        if from >= end && is_marked || spanned == SPANNED {
            break;
        }
    }
    Excerpt { lines }
}

fn line_start(text: &str, offset: usize) -> usize {
    let before = text.get(..offset).unwrap_or_default();
    before.rfind('\n').map_or(0, |newline| newline + 1)
}

/// The part of a line between two offsets, in characters, without the space around it.
fn mark(line: &str, start: usize, end: usize) -> (usize, usize) {
    let (start, end) = (start.min(line.len()), end.min(line.len()));
    let part = line.get(start..end).unwrap_or_default();
    let indent = part.len() - part.trim_start().len();
    let characters = |offset: usize| line.get(..offset).unwrap_or_default().chars().count();
    let first = characters(start + indent);
    let last = characters(start + indent + part.trim().len());
    (first, last.max(first))
}

/// A line, or of a very long one what is around its mark.
fn kept(number: u32, line: &str, marked: Option<(usize, usize)>) -> ExcerptLine {
    let first = marked.map_or(0, |(start, _)| start.saturating_sub(LEAD));
    let is_long = line.len() > LONGEST && line.chars().nth(LONGEST).is_some();
    if !is_long || first == 0 {
        return ExcerptLine {
            number,
            text: line.chars().take(LONGEST).collect(),
            marked,
        };
    }
    let part = line.chars().skip(first).take(LONGEST);
    ExcerptLine {
        number,
        text: std::iter::once('…').chain(part).collect(),
        marked: marked.map(|(start, end)| (start - first + 1, end - first + 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn excerpt(text: &str, marked: &str) -> Vec<ExcerptLine> {
        let source = Source::new("a.py", text.as_bytes()).unwrap();
        let start = text.find(marked).unwrap();
        let range = TextRange::at(TextSize::new(start as u32), TextSize::of(marked));
        Excerpt::of(&source, range).lines
    }

    fn line(number: u32, text: &str, marked: Option<(usize, usize)>) -> ExcerptLine {
        ExcerptLine {
            number,
            text: text.to_owned(),
            marked,
        }
    }

    #[test]
    fn two_lines_before_are_shown_and_the_range_is_marked() {
        assert_eq!(
            excerpt("a\nb\nc\n  é = x + y\nd\n", "x + y"),
            [
                line(2, "b", None),
                line(3, "c", None),
                line(4, "  é = x + y", Some((6, 11))),
            ]
        );
        assert_eq!(excerpt("ab", "b"), [line(1, "ab", Some((1, 2)))]);
        assert_eq!(excerpt("ab\r\n", "a"), [line(1, "ab", Some((0, 1)))]);
    }

    #[test]
    fn a_long_range_is_cut_after_a_few_lines() {
        let call = "f(\n  1,\n  2,\n  3,\n  4,\n)";
        let marks: Vec<_> = excerpt(call, call).iter().map(|line| line.marked).collect();
        assert_eq!(
            marks,
            [Some((0, 2)), Some((2, 4)), Some((2, 4)), Some((2, 4))]
        );
    }

    #[test]
    fn a_very_long_line_is_kept_around_its_mark() {
        let text = format!("{}x + y{}", "a".repeat(5_000), "b".repeat(5_000));
        let lines = excerpt(&text, "x + y");
        assert_eq!(lines[0].text.chars().count(), LONGEST + 1);
        assert_eq!(lines[0].marked, Some((LEAD + 1, LEAD + 6)));
        assert!(lines[0].text.starts_with("…aaa"));
        let marked: String = lines[0].text.chars().skip(LEAD + 1).take(5).collect();
        assert_eq!(marked, "x + y");
    }

    #[test]
    fn an_empty_range_at_the_end_is_a_place() {
        let source = Source::new("a.py", b"ab\n").unwrap();
        let end = TextRange::empty(TextSize::new(3));
        let lines = Excerpt::of(&source, end).lines;
        assert_eq!(lines, [line(1, "ab", Some((2, 2)))]);
    }
}
