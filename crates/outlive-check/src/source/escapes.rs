//! Lines for `IPython` alone: `?name`, `/f x`, `,f x`, `;f x`.
//!
//! None of them tells anything about memory. The parser knows them, but gives up the process when
//! it meets one where it expects an expression, which happens in a broken cell: so they are blanked.

use std::borrow::Cow;

use crate::front;

/// What makes a line a command, at its start. The first two are safe for the parser everywhere.
const MAGIC: [char; 2] = ['%', '!'];
const HELP: char = '?';
const CALL: [char; 3] = ['/', ',', ';'];

/// A cell without such lines. Offsets stay.
pub(super) fn without_commands(cell: &str) -> Cow<'_, str> {
    let is_suspect = |line: &str| starts(line, |first| first == HELP || CALL.contains(&first));
    if !lines(cell).any(is_suspect) {
        return Cow::Borrowed(cell);
    }
    // Some people begin the lines within brackets with a comma.
    let rest = blanked(cell, |first| first == HELP || MAGIC.contains(&first));
    if front::is_python(&rest) {
        return Cow::Owned(rest);
    }
    Cow::Owned(blanked(cell, |first| {
        first == HELP || CALL.contains(&first)
    }))
}

fn blanked(cell: &str, is_command: impl Fn(char) -> bool) -> String {
    let mut text = String::with_capacity(cell.len());
    for line in lines(cell) {
        if starts(line, &is_command) {
            blank_to(&mut text, line);
        } else {
            text.push_str(line);
        }
    }
    text
}

/// Appends as many spaces as a line has bytes, and its end.
pub(super) fn blank_to(text: &mut String, line: &str) {
    let content = line.trim_end_matches(['\n', '\r']);
    text.extend(std::iter::repeat_n(' ', content.len()));
    text.push_str(line.get(content.len()..).unwrap_or_default());
}

/// The lines with their ends; a `\r` ends one too.
fn lines(cell: &str) -> impl Iterator<Item = &str> {
    cell.split_inclusive(['\n', '\r'])
}

/// What a line begins with, after what the parser passes over: blanks, a lone backslash, and signs
/// that no word begins with.
fn starts(line: &str, is_wanted: impl Fn(char) -> bool) -> bool {
    let is_passed = |sign: char| matches!(sign, ' ' | '\t' | '\u{c}' | '\\') || !sign.is_ascii();
    let line = line.trim_start_matches(is_passed);
    line.chars().next().is_some_and(is_wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_blanked() {
        for (cell, expected) in [
            ("?torch\nx = 1", "      \nx = 1"),
            ("x = 1\n  /f é\r\ny", "x = 1\n       \r\ny"),
            ("!ls\n,f a\n", "!ls\n    \n"),
            ("{{)@\n\u{fffd}\\ ,", "{{)@\n      "),
            ("x?\n%time y\n", "x?\n%time y\n"),
        ] {
            assert_eq!(without_commands(cell), expected, "{cell}");
        }
    }

    #[test]
    fn commas_and_slashes_in_brackets_stay() {
        let cell = "x = [1\n  , 2\n  / 3]\n";
        assert_eq!(without_commands(cell), cell);
        let cell = "%matplotlib inline\nx = [1\n  , 2]\n";
        let expected = "                  \nx = [1\n  , 2]\n";
        assert_eq!(without_commands(cell), expected);
    }
}
