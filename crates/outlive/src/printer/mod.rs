//! The one place where text for people is drawn: width, colour, labels, wrapping.
//!
//! Colour only on a terminal that has it and never with `NO_COLOR`; what is said is complete
//! without it.

mod cause;
pub(crate) mod check_summary;
mod excerpt;
pub mod explanation;
pub(crate) mod findings;
mod holding;
pub(crate) mod rule_pages;
pub mod runs;
pub(crate) mod visible;

use std::io::{self, ErrorKind, IsTerminal, Write};
use std::os::fd::AsFd;

use crate::env;

/// Columns where the width of the terminal is not known.
const WIDTH: usize = 100;
/// Columns that labels take: the longest is `memory`.
const LABEL: usize = 8;
/// A space at which no line is broken.
const GLUE: &str = "\u{a0}";
/// Space before labels.
const MARGIN: usize = 2;

/// How text is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    colour: bool,
    width: usize,
}

/// What a piece of text is, as far as colour goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    /// A bad end.
    Bad,
    /// Something to look at.
    Caution,
    /// A good end.
    Good,
    /// What the eye looks for.
    Strong,
    /// Less important than what surrounds it.
    Faint,
}

impl Style {
    /// No colour, 100 columns.
    pub const PLAIN: Self = Self {
        colour: false,
        width: WIDTH,
    };

    /// What suits a stream: colour and its width on a terminal, plain text elsewhere.
    pub fn for_stream(stream: &(impl IsTerminal + AsFd)) -> Self {
        if !stream.is_terminal() {
            return Self::PLAIN;
        }
        let columns = rustix::termios::tcgetwinsize(stream).map_or(0, |size| size.ws_col.into());
        let width = if columns == 0 {
            WIDTH
        } else {
            usize::clamp(columns, 60, 120)
        };
        Self {
            colour: env::text(env::NO_COLOR).is_none()
                && env::text(env::TERM).is_none_or(|kind| kind != "dumb"),
            width,
        }
    }

    /// The same without colour.
    #[must_use]
    pub fn without_colour(self) -> Self {
        Self {
            colour: false,
            ..self
        }
    }

    fn paint(self, tone: Tone, text: &str) -> String {
        if !self.colour {
            return text.to_owned();
        }
        let code = match tone {
            Tone::Bad => "1;31",
            Tone::Caution => "1;33",
            Tone::Good => "1;32",
            Tone::Strong => "1",
            Tone::Faint => "2",
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }

    /// Writes lines under a label that stands before the first of them.
    fn section(self, out: &mut dyn Write, label: &str, lines: &[String]) -> io::Result<()> {
        let indent = " ".repeat(MARGIN + LABEL);
        let mut label = Some(label);
        for line in lines {
            let line = visible::short_cgroups(&visible::visible(line));
            for part in wrap(&line, self.width.saturating_sub(MARGIN + LABEL)) {
                match label.take() {
                    Some(label) => {
                        let padded = format!("{label:<LABEL$}");
                        let margin = " ".repeat(MARGIN);
                        writeln!(out, "{margin}{}{part}", self.paint(Tone::Faint, &padded))?;
                    }
                    None => writeln!(out, "{indent}{part}")?,
                }
            }
        }
        Ok(())
    }
}

/// A number with a comma between thousands.
pub(crate) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut shown = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

/// A closed pipe is the reader's choice, not a fault.
pub(crate) fn finish_output(written: io::Result<()>) -> io::Result<()> {
    match written {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// Breaks a line between words; what follows the first is indented by two. A word that is too
/// long for any line is broken where it must be.
fn wrap(line: &str, width: usize) -> Vec<String> {
    let mut parts = Vec::new();
    let mut current = String::new();
    // Leading space carries the alignment of tables.
    let lead: String = line
        .chars()
        .take_while(|character| *character == ' ')
        .collect();
    let words = line.trim_start().split(' ');
    for word in words.flat_map(|word| pieces(word, width.saturating_sub(2 + lead.len()))) {
        let length = current.chars().count();
        if length > 0 && length + 1 + word.chars().count() > width {
            parts.push(std::mem::take(&mut current));
            current.push_str("  ");
            current.push_str(&word);
        } else if current.is_empty() {
            current.push_str(&lead);
            current.push_str(&word);
        } else {
            current.push(' ');
            current.push_str(&word);
        }
    }
    parts.push(current);
    parts.iter().map(|part| part.replace(GLUE, " ")).collect()
}

/// Makes a text one word to [`wrap`]: it stays on one line.
fn glued(text: &str) -> String {
    // While its words can still be told apart.
    visible::short_cgroups(text).replace(' ', GLUE)
}

/// A word in pieces of at most `width` characters.
fn pieces(word: &str, width: usize) -> Vec<String> {
    if word.chars().count() <= width {
        return vec![word.to_owned()];
    }
    // What is glued together for looks comes apart first.
    if word.contains(GLUE) {
        return word
            .split(GLUE)
            .flat_map(|word| pieces(word, width))
            .collect();
    }
    let characters: Vec<char> = word.chars().collect();
    let pieces = characters.chunks(width.max(1));
    pieces.map(|piece| piece.iter().collect()).collect()
}

/// Takes out the middle of a text that has more columns than this: paths and names are known by
/// their ends.
fn cut_middle(text: &str, width: usize) -> String {
    let length = text.chars().count();
    if length <= width {
        return text.to_owned();
    }
    let head = width.saturating_sub(1) / 3;
    let tail = width.saturating_sub(1) - head;
    let start: String = text.chars().take(head).collect();
    let end: String = text.chars().skip(length - tail).collect();
    format!("{start}…{end}")
}

/// Cuts `FILE:LINE in FUNCTION`; the line number always stays.
fn cut_place(text: &str, width: usize) -> String {
    /// Columns that a function gets, however long the path is.
    const FUNCTION: usize = 14;
    let Some((place, function)) = text.split_once(" in ") else {
        return cut_middle(text, width);
    };
    let room = width.saturating_sub(place.chars().count() + " in ".len());
    let function = cut(function, room.max(FUNCTION));
    let room = width.saturating_sub(function.chars().count() + " in ".len());
    format!("{} in {function}", cut_middle(place, room))
}

/// Cuts a text to this many columns, with an ellipsis where something is missing.
fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(width.saturating_sub(1)).collect();
    short.push('…');
    short
}

#[cfg(test)]
mod tests {
    use super::{Style, Tone, cut, cut_middle, cut_place, wrap};

    #[test]
    fn long_lines_break_between_words_and_hang() {
        assert_eq!(wrap("one two three", 8), ["one two", "  three"]);
        assert_eq!(wrap("  12 MiB  x", 40), ["  12 MiB  x"]);
        assert_eq!(
            wrap(&format!("one {}", super::glued("two 3")), 7),
            ["one", "  two 3"]
        );
        assert_eq!(wrap("long-word", 6), ["long", "  -wor", "  d"]);
    }

    #[test]
    fn plain_text_has_no_escapes() {
        assert_eq!(Style::PLAIN.paint(Tone::Bad, "x"), "x");
        let colourful = Style {
            colour: true,
            ..Style::PLAIN
        };
        assert_eq!(colourful.paint(Tone::Bad, "x"), "\u{1b}[1;31mx\u{1b}[0m");
    }

    #[test]
    fn large_numbers_are_readable() {
        let shown = [0, 999, 1_000, 12_034, 1_000_000].map(super::thousands);
        assert_eq!(shown, ["0", "999", "1,000", "12,034", "1,000,000"]);
    }

    #[test]
    fn cuts_leave_a_mark() {
        assert_eq!(cut("abcdef", 4), "abc…");
        assert_eq!(cut("abc", 4), "abc");
        assert_eq!(cut_middle("/some/long/path.py:12", 10), "/so….py:12");
        assert_eq!(cut_middle("short", 10), "short");
    }

    #[test]
    fn a_place_keeps_its_line_number() {
        let long = "mingpt/model.py:215 in GPT.configure_optimizers";
        assert_eq!(
            cut_place(long, 44),
            "mingpt/model.py:215 in GPT.configure_optimi…"
        );
        let longer = "<frozen importlib._bootstrap_external>:729 in _compile_bytecode";
        assert_eq!(
            cut_place(longer, 44),
            "<frozen …rap_external>:729 in _compile_byte…"
        );
        assert_eq!(cut_place("train.py:7 in step", 44), "train.py:7 in step");
    }
}
