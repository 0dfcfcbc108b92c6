//! Edits that take a comment, or a part of it, out of a text.

use ruff_text_size::{TextRange, TextSize};

use super::comment::Name;
use crate::{Edit, Source};

/// Takes out a directive, the comment if nothing else is in it, and the line if it was alone there.
pub(super) fn whole(source: &Source, comment: TextRange, directive: TextRange) -> Edit {
    let text = source.text();
    let first = comment.start() == directive.start();
    let last = comment.end() == directive.end();
    let range = match (first, last) {
        (true, true) => line_or_comment(source, comment),
        (_, true) => TextRange::new(blank_before(text, directive.start()), directive.end()),
        (_, false) => directive,
    };
    Edit {
        range,
        content: String::new(),
    }
}

/// Takes these names out of a list, which keeps others.
pub(super) fn names(names: &[Name], out: &[usize]) -> Edit {
    let kept = names.iter().enumerate().filter(|(at, _)| !out.contains(at));
    let kept: Vec<&str> = kept.map(|(_, name)| name.text.as_str()).collect();
    let start = names
        .first()
        .map_or(TextSize::new(0), |name| name.range.start());
    let end = names.last().map_or(start, |name| name.range.end());
    Edit {
        range: TextRange::new(start, end),
        content: kept.join(", "),
    }
}

fn line_or_comment(source: &Source, comment: TextRange) -> TextRange {
    let text = source.text();
    let start = blank_before(text, comment.start());
    // A newline between two cells is in no file.
    let (before, after) = match source.cell_at(comment.start()) {
        Some(cell) => (
            &text[TextRange::new(cell.range.start(), start)],
            &text[TextRange::new(comment.end(), cell.range.end())],
        ),
        None => text_around(text, TextRange::new(start, comment.end())),
    };
    if !before.is_empty() && !before.ends_with(['\n', '\r']) {
        return TextRange::new(start, comment.end());
    }
    let ends = ["\r\n", "\n", "\r"];
    if let Some(end) = ends.iter().find(|end| after.starts_with(**end)) {
        return TextRange::new(start, comment.end() + TextSize::of(*end));
    }
    let end = ends.iter().find(|end| before.ends_with(**end));
    let end = TextSize::of(end.copied().unwrap_or_default());
    TextRange::new(start - end, comment.end())
}

fn text_around(text: &str, range: TextRange) -> (&str, &str) {
    (
        &text[..range.start().to_usize()],
        &text[range.end().to_usize()..],
    )
}

/// The end of what is before the blanks before an offset.
fn blank_before(text: &str, offset: TextSize) -> TextSize {
    let before = text[..offset.to_usize()].trim_end_matches([' ', '\t', '\u{c}']);
    TextSize::of(before)
}
