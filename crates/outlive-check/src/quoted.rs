//! Text of a file as it is shown in a message: on one line, visible, and short.

/// Characters of a longer text that are shown.
const LONGEST: usize = 60;

/// A text with what cannot be seen written as a number.
pub(crate) fn visible(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for character in text.chars() {
        let is_blank = character.is_whitespace() && character != ' ';
        if character.is_control() || is_blank {
            line.extend(character.escape_default());
        } else {
            line.push(character);
        }
    }
    line
}

/// The same in backticks, cut where it becomes long.
pub(crate) fn quoted(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("`{}…`", visible(&text[..end])),
        None => format!("`{}`", visible(text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_strange_is_shown_and_what_is_long_is_cut() {
        assert_eq!(quoted("a\nb\u{a0}é\0"), "`a\\nb\\u{a0}é\\u{0}`");
        assert_eq!(quoted(&"é".repeat(61)), format!("`{}…`", "é".repeat(60)));
    }
}
