//! Lines of source under a finding, with marks below what it is about.

use std::io::{self, Write};

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::visible::visible;
use super::{Style, Tone};
use crate::check::{Excerpt, ExcerptLine};

/// How a tab is drawn, so that marks stand where they should.
const TAB: &str = "    ";
/// Columns of a long line that are shown before what is marked.
const LEAD: usize = 20;

/// Prints the lines; gives the space that stands before what follows.
pub(super) fn print(
    excerpt: &Excerpt,
    out: &mut dyn Write,
    style: Style,
    tone: Tone,
) -> io::Result<String> {
    let last = excerpt.lines.last().map_or(1, |line| line.number);
    let width = last.to_string().len();
    let margin = " ".repeat(width);
    let bar = style.paint(Tone::Faint, "|");
    if excerpt.lines.is_empty() {
        return Ok(margin);
    }
    writeln!(out, "{margin} {bar}")?;
    let room = style.width.saturating_sub(width + 3);
    for line in &excerpt.lines {
        let drawn = draw(line, room);
        let number = style.paint(Tone::Faint, &format!("{:>width$}", line.number));
        writeln!(
            out,
            "{}",
            format!("{number} {bar} {}", drawn.text).trim_end()
        )?;
        if let Some((before, marked)) = drawn.marks {
            let marks = style.paint(tone, &"^".repeat(marked));
            writeln!(out, "{margin} {bar} {}{marks}", " ".repeat(before))?;
        }
    }
    Ok(margin)
}

/// A line as it is shown, and the columns before and of its marks.
#[derive(Debug, PartialEq, Eq)]
struct Drawn {
    text: String,
    marks: Option<(usize, usize)>,
}

fn draw(line: &ExcerptLine, room: usize) -> Drawn {
    let characters: Vec<char> = line.text.chars().collect();
    let (start, end) = line.marked.unwrap_or((0, 0));
    let columns = |part: Option<&[char]>| shown(part.unwrap_or_default()).width();
    let is_long = shown(&characters).width() > room;
    // A mark far to the right would not be seen: the line is moved.
    let from = if is_long && columns(characters.get(..end)) >= room {
        start.saturating_sub(LEAD)
    } else {
        0
    };
    let dots = if from > 0 { "…" } else { "" };
    let rest = shown(characters.get(from..).unwrap_or_default());
    let text = cut(&format!("{dots}{rest}"), room);
    let marks = line.marked.map(|_| {
        let before = dots.width() + columns(characters.get(from..start));
        let marked = columns(characters.get(start..end)).max(1);
        (before, marked.min(room.saturating_sub(before).max(1)))
    });
    Drawn { text, marks }
}

fn shown(characters: &[char]) -> String {
    let text: String = characters.iter().collect();
    visible(&text.replace('\t', TAB))
}

/// Cuts a text to this many columns.
fn cut(text: &str, room: usize) -> String {
    if text.width() <= room {
        return text.to_owned();
    }
    let mut short = String::new();
    let mut columns = 1;
    for character in text.chars() {
        columns += character.width().unwrap_or(0);
        if columns > room {
            break;
        }
        short.push(character);
    }
    short.push('…');
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(text: &str, marked: (usize, usize), room: usize) -> (String, (usize, usize)) {
        let line = ExcerptLine {
            number: 1,
            text: text.to_owned(),
            marked: Some(marked),
        };
        let drawn = draw(&line, room);
        (drawn.text, drawn.marks.unwrap())
    }

    #[test]
    fn marks_stand_below_what_they_mark() {
        assert_eq!(
            drawn("\tx = y", (5, 6), 80),
            ("    x = y".to_owned(), (8, 1))
        );
        assert_eq!(
            drawn("'漢字', y", (6, 7), 80),
            ("'漢字', y".to_owned(), (8, 1))
        );
        assert_eq!(drawn("x", (1, 1), 80), ("x".to_owned(), (1, 1)));
    }

    #[test]
    fn a_long_line_is_moved_until_its_mark_is_seen() {
        let text = format!("{}x = y{}", "a".repeat(200), "b".repeat(200));
        let (text, (before, marked)) = drawn(&text, (200, 201), 40);
        assert_eq!(text, format!("…{}x = y{}…", "a".repeat(20), "b".repeat(13)));
        assert_eq!((before, marked), (21, 1));
        let (text, marks) = drawn(&"z".repeat(100), (2, 90), 40);
        assert_eq!(text.chars().count(), 40);
        assert_eq!(marks, (2, 38));
    }
}
