//! The inside of a JSON string: read, written, and where a character of the one is in the other.

use std::fmt::Write;

/// How characters outside ASCII are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// As they are.
    Plain,
    /// As `\u…`.
    Escaped,
}

impl Style {
    /// That of a file.
    pub(super) fn of(file: &str) -> Self {
        if file.is_ascii() && memchr::memmem::find(file.as_bytes(), b"\\u").is_some() {
            Self::Escaped
        } else {
            Self::Plain
        }
    }
}

/// Appends what the inside of a string says; `None` if it has an escape that JSON does not know.
/// Half of a surrogate pair becomes a replacement character.
pub(super) fn unescape_to(text: &mut String, inside: &str) -> Option<()> {
    let mut rest = inside;
    while let Some(at) = memchr::memchr(b'\\', rest.as_bytes()) {
        let (plain, escape) = rest.split_at(at);
        text.push_str(plain);
        let (character, len) = first_escape(escape)?;
        text.push(character);
        rest = escape.get(len..)?;
    }
    text.push_str(rest);
    Some(())
}

/// The offset inside a string at which so many bytes of what it says have passed.
pub(super) fn offset_inside(inside: &str, bytes: usize) -> usize {
    let mut passed = 0;
    let mut at = 0;
    while passed < bytes {
        let rest = inside.get(at..).unwrap_or_default();
        let plain = memchr::memchr(b'\\', rest.as_bytes()).unwrap_or(rest.len());
        let step = plain.min(bytes - passed);
        passed += step;
        at += step;
        if passed == bytes || step == rest.len() {
            break;
        }
        let escape = rest.get(step..).unwrap_or_default();
        let (character, len) = first_escape(escape).unwrap_or(('\0', escape.len()));
        passed += character.len_utf8();
        at += len;
    }
    at
}

/// Appends a text as the inside of a string.
pub(super) fn escape_to(inside: &mut String, text: &str, style: Style) {
    for character in text.chars() {
        let letter = match character {
            '"' => '"',
            '\\' => '\\',
            '\n' => 'n',
            '\r' => 'r',
            '\t' => 't',
            '\u{8}' => 'b',
            '\u{c}' => 'f',
            ' '..='~' => {
                inside.push(character);
                continue;
            }
            _ if character >= '\u{80}' && style == Style::Plain => {
                inside.push(character);
                continue;
            }
            _ => {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    // Writing into a string cannot fail.
                    let _ = write!(inside, "\\u{unit:04x}");
                }
                continue;
            }
        };
        inside.push('\\');
        inside.push(letter);
    }
}

/// The character of the escape that a text begins with, and the length of the escape.
fn first_escape(text: &str) -> Option<(char, usize)> {
    let character = match text.as_bytes().get(1)? {
        b'n' => '\n',
        b't' => '\t',
        b'r' => '\r',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'u' => return unicode_escape(text),
        byte @ (b'"' | b'\\' | b'/') => char::from(*byte),
        _ => return None,
    };
    Some((character, 2))
}

fn unicode_escape(text: &str) -> Option<(char, usize)> {
    let first = code_unit(text)?;
    if let Some(character) = char::from_u32(u32::from(first)) {
        return Some((character, 6));
    }
    let second = text.get(6..).and_then(code_unit);
    let units = [first, second.unwrap_or_default()];
    let pair = char::decode_utf16(units).next()?;
    Some(pair.map_or((char::REPLACEMENT_CHARACTER, 6), |character| {
        (character, 12)
    }))
}

/// The number of a `\u…` that a text begins with.
fn code_unit(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    u16::from_str_radix(digits, 16).ok().filter(|_| is_hex)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn said(inside: &str) -> Option<String> {
        let mut text = String::new();
        unescape_to(&mut text, inside)?;
        Some(text)
    }

    #[test]
    fn escapes_are_read() {
        assert_eq!(said(r#"a\n\t\"\\\/é\u00e9"#).unwrap(), "a\n\t\"\\/éé");
        assert_eq!(said(r"\ud83d\ude00").unwrap(), "😀");
        assert_eq!(
            said(r"\ud83d-\ude00\ud83d\u0041").unwrap(),
            "\u{fffd}-\u{fffd}\u{fffd}A"
        );
        assert_eq!(said(r"\x41"), None);
        assert_eq!(said(r"\u12"), None);
        assert_eq!(said(r"\u+123"), None);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(text: String, escaped: bool) {
            let style = if escaped { Style::Escaped } else { Style::Plain };
            let mut inside = String::new();
            escape_to(&mut inside, &text, style);
            prop_assert_eq!(said(&inside).unwrap(), text.as_str());
            prop_assert!(!escaped || inside.is_ascii());
            for (at, _) in text.char_indices() {
                let (before, after) = inside.split_at(offset_inside(&inside, at));
                prop_assert_eq!(said(before).unwrap(), &text[..at]);
                prop_assert_eq!(said(after).unwrap(), &text[at..]);
            }
        }
    }
}
