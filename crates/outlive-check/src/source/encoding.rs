//! The bytes of a script as text and back, the way Python reads them (PEP 263): a byte order mark,
//! or a comment in the first two lines, else UTF-8.
//!
//! Only encodings that give every byte back as it was: a changed file must be the same outside the
//! change.

use super::SourceError;
use crate::quoted::quoted;

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// How the bytes of a script are to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    Utf8,
    /// With a mark at the start of the file, which is not part of the text.
    Utf8WithMark,
    /// One byte a character; the array has those from 0x80 to 0x9f, or of Latin 9 from 0xa0 on.
    Latin1,
    Latin9,
    Windows1252,
}

/// The characters of Windows-1252 from 0x80 to 0x9f. Five bytes mean nothing.
const WINDOWS_1252: [char; 32] = [
    '€', '\0', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\0', 'Ž', '\0', '\0', '‘',
    '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\0', 'ž', 'Ÿ',
];

/// Where Latin 9 differs from Latin 1.
const LATIN_9: [(u8, char); 8] = [
    (0xa4, '€'),
    (0xa6, 'Š'),
    (0xa8, 'š'),
    (0xb4, 'Ž'),
    (0xb8, 'ž'),
    (0xbc, 'Œ'),
    (0xbd, 'œ'),
    (0xbe, 'Ÿ'),
];

/// The text of a script, and how it was written.
pub(super) fn decode(bytes: &[u8]) -> Result<(String, Encoding), SourceError> {
    if let Some(rest) = bytes.strip_prefix(BYTE_ORDER_MARK) {
        return Ok((utf8(rest)?, Encoding::Utf8WithMark));
    }
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        return Err(SourceError::new("UTF-16 cannot be read: save it as UTF-8"));
    }
    let encoding = match declared(bytes) {
        Some(name) if !bytes.is_ascii() => named(&name),
        _ => Some(Encoding::Utf8),
    };
    match encoding {
        Some(Encoding::Utf8) => Ok((utf8(bytes)?, Encoding::Utf8)),
        Some(encoding) => {
            let characters = bytes.iter().map(|byte| encoding.character(*byte));
            let text = characters.collect::<Option<String>>().ok_or_else(|| {
                SourceError::new("Some bytes are none of the declared encoding: save it as UTF-8")
            })?;
            Ok((text, encoding))
        }
        // Many files of other encodings are UTF-8 in truth.
        None => match str::from_utf8(bytes) {
            Ok(text) => Ok((text.to_owned(), Encoding::Utf8)),
            Err(_) => Err(SourceError::new(format!(
                "Encoding {} cannot be read: save it as UTF-8",
                quoted(&declared(bytes).unwrap_or_default())
            ))),
        },
    }
}

impl Encoding {
    /// The bytes of a text; `None` if it has a character that cannot be written.
    pub(super) fn encode(self, text: String) -> Option<Vec<u8>> {
        match self {
            Self::Utf8 => Some(text.into_bytes()),
            Self::Utf8WithMark => Some([BYTE_ORDER_MARK, text.as_bytes()].concat()),
            _ => text.chars().map(|character| self.byte(character)).collect(),
        }
    }

    fn character(self, byte: u8) -> Option<char> {
        match (self, byte) {
            (Self::Windows1252, 0x80..=0x9f) => {
                let character = WINDOWS_1252.get(usize::from(byte - 0x80)).copied();
                character.filter(|character| *character != '\0')
            }
            (Self::Latin9, _) => {
                let differs = LATIN_9.iter().find(|(at, _)| *at == byte);
                Some(differs.map_or(char::from(byte), |(_, character)| *character))
            }
            _ => Some(char::from(byte)),
        }
    }

    fn byte(self, character: char) -> Option<u8> {
        if character.is_ascii() {
            return u8::try_from(character).ok();
        }
        (0x80..=0xff).find(|byte| self.character(*byte) == Some(character))
    }
}

fn utf8(bytes: &[u8]) -> Result<String, SourceError> {
    match str::from_utf8(bytes) {
        Ok(text) => Ok(text.to_owned()),
        Err(error) => {
            let before = bytes.get(..error.valid_up_to()).unwrap_or_default();
            let line = 1 + memchr::memchr_iter(b'\n', before).count();
            Err(SourceError::new(format!(
                "Not UTF-8 in line {line}: save it as UTF-8, or declare its encoding in line 1"
            )))
        }
    }
}

/// What `# -*- coding: … -*-` says in one of the first two lines.
fn declared(bytes: &[u8]) -> Option<String> {
    for line in bytes.split(|byte| *byte == b'\n').take(2) {
        let line = line.trim_ascii();
        if line.is_empty() {
            continue;
        }
        let comment = str::from_utf8(line.strip_prefix(b"#")?).ok()?;
        for (at, word) in comment.match_indices("coding") {
            let rest = comment.get(at + word.len()..).unwrap_or_default();
            let Some(rest) = rest.strip_prefix([':', '=']) else {
                continue;
            };
            let is_name = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
            let rest = rest.trim_start_matches([' ', '\t']);
            let name = rest.split(|c| !is_name(c)).next().unwrap_or_default();
            if !name.is_empty() {
                return Some(name.to_ascii_lowercase().replace('_', "-"));
            }
        }
    }
    None
}

/// The encoding of a name; editors append the kind of line ends (`utf-8-unix`).
fn named(name: &str) -> Option<Encoding> {
    let is = |known: &str| {
        let rest = name.strip_prefix(known);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    };
    let any = |known: &[&str]| known.iter().any(|known| is(known));
    if any(&["iso-8859-15", "iso8859-15", "latin-9", "latin9"]) {
        Some(Encoding::Latin9)
    } else if any(&[
        "latin-1",
        "latin1",
        "iso-8859-1",
        "iso8859-1",
        "iso-latin-1",
        "l1",
    ]) {
        Some(Encoding::Latin1)
    } else if any(&["cp1252", "windows-1252"]) {
        Some(Encoding::Windows1252)
    } else if any(&["utf-8", "utf8"]) {
        Some(Encoding::Utf8)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declared_encodings_are_read_and_give_every_byte_back() {
        for (head, byte, character) in [
            ("# -*- coding: latin-1 -*-", 0xe9, 'é'),
            (
                "#!/usr/bin/python\n# vim: set fileencoding=cp1252 :",
                0x80,
                '€',
            ),
            ("# coding=ISO_8859_15", 0xa4, '€'),
            ("\n# coding: iso-8859-1-unix", 0xff, 'ÿ'),
        ] {
            let bytes = [head.as_bytes(), b"\r\nx = '", &[byte], b"'\n"].concat();
            let (text, encoding) = decode(&bytes).unwrap();
            assert!(text.contains(character), "{head}");
            assert_eq!(encoding.encode(text).unwrap(), bytes, "{head}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_said_in_one_line() {
        let cases: [(&[u8], &str); 5] = [
            (b"a\nb = '\xe9'", "Not UTF-8 in line 2"),
            (b"x = 1\n# coding: latin-1\n'\xe9'", "Not UTF-8 in line 3"),
            (
                b"# coding: gbk\n'\xc4\xe3'",
                "Encoding `gbk` cannot be read",
            ),
            (b"# coding: cp1252\n'\x81'", "Some bytes are none"),
            (b"\xff\xfeh\0", "UTF-16"),
        ];
        for (bytes, message) in cases {
            let error = decode(bytes).unwrap_err();
            assert!(error.message.starts_with(message), "{}", error.message);
        }
    }

    #[test]
    fn an_unknown_encoding_does_not_matter_for_plain_text() {
        let (text, _) = decode(b"# coding: gbk\nx = 1\n").unwrap();
        assert!(text.ends_with("x = 1\n"));
        let (text, _) = decode("# coding: gbk\nx = '你'\n".as_bytes()).unwrap();
        assert!(text.ends_with("x = '你'\n"));
    }

    #[test]
    fn a_mark_is_kept_and_is_not_text() {
        let bytes = "\u{feff}x = 1\r\n".as_bytes();
        let (text, encoding) = decode(bytes).unwrap();
        assert_eq!(text, "x = 1\r\n");
        assert_eq!(encoding.encode(text).unwrap(), bytes);
    }
}
