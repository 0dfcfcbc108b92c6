//! The text of one document or cell, as the editor has it.

use std::sync::Arc;

use lsp_types::{TextDocumentContentChangeEvent, TextDocumentItem, Uri};

use super::position::{Encoding, Lines};

/// A text and its version.
#[derive(Clone, Debug)]
pub(super) struct Text {
    /// Whose.
    pub(super) uri: Uri,
    /// The editor's count of its changes.
    pub(super) version: i32,
    /// Shared with the check that reads it.
    pub(super) content: Arc<String>,
    is_python: bool,
}

impl Text {
    /// As it was opened.
    pub(super) fn new(item: TextDocumentItem) -> Self {
        Self {
            uri: item.uri,
            version: item.version,
            content: Arc::new(item.text),
            is_python: item.language_id.eq_ignore_ascii_case("python"),
        }
    }

    /// Whether the editor says that it is Python.
    pub(super) const fn is_python(&self) -> bool {
        self.is_python
    }

    /// Makes changes, each of which counts from the text that the one before it left.
    pub(super) fn change(
        &mut self,
        version: i32,
        changes: Vec<TextDocumentContentChangeEvent>,
        encoding: Encoding,
    ) {
        self.version = version;
        let content = Arc::make_mut(&mut self.content);
        for change in changes {
            let Some(range) = change.range else {
                *content = change.text;
                continue;
            };
            let lines = Lines::of(content, encoding);
            let start = lines.offset(range.start);
            let end = lines.offset(range.end).max(start);
            content.replace_range(start..end, &change.text);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::str::FromStr;

    use lsp_types::{Position, Range};

    use super::*;

    fn opened(text: &str) -> Text {
        let uri = Uri::from_str("file:///a.py").unwrap();
        let language = "python".to_owned();
        Text::new(TextDocumentItem::new(uri, language, 1, text.to_owned()))
    }

    fn change(range: Option<(u32, u32, u32, u32)>, text: &str) -> TextDocumentContentChangeEvent {
        TextDocumentContentChangeEvent {
            range: range.map(|(line, character, to_line, to_character)| {
                Range::new(
                    Position::new(line, character),
                    Position::new(to_line, to_character),
                )
            }),
            range_length: None,
            text: text.to_owned(),
        }
    }

    #[test]
    fn changes_are_made_one_after_the_other() {
        let mut text = opened("a😀b\nc\n");
        let before = Arc::clone(&text.content);
        text.change(
            2,
            vec![
                change(Some((0, 3, 0, 4)), "B"),
                change(Some((2, 0, 2, 0)), "d"),
                // Backwards, and behind the end: nothing is lost and nothing breaks.
                change(Some((9, 9, 0, 0)), "\n"),
            ],
            Encoding::Utf16,
        );
        assert_eq!(*text.content, "a😀B\nc\nd\n");
        assert_eq!(*before, "a😀b\nc\n", "a check keeps what it reads");
        assert_eq!(text.version, 2);
        text.change(3, vec![change(None, "x")], Encoding::Utf16);
        assert_eq!(*text.content, "x");
    }

    proptest::proptest! {
        #[test]
        fn any_edit_of_any_text_leaves_what_is_outside_of_it(
            before in "[aé😀\r\n]{0,12}",
            range in proptest::prelude::any::<(u8, u8, u8, u8)>(),
            new in "[xé\n]{0,3}",
        ) {
            for encoding in [Encoding::Utf8, Encoding::Utf16, Encoding::Utf32] {
                let mut text = opened(&before);
                let (line, character, to_line, to_character) = range;
                let [line, character, to_line, to_character] =
                    [line % 8, character % 8, to_line % 8, to_character % 8].map(u32::from);
                let edit = change(Some((line, character, to_line, to_character)), &new);
                text.change(2, vec![edit], encoding);
                let after = text.content.as_str();
                let cuts = (0..=before.len()).filter(|at| before.is_char_boundary(*at));
                let is_edit = cuts.clone().any(|start| {
                    cuts.clone().filter(|end| *end >= start).any(|end| {
                        after == [&before[..start], &new, &before[end..]].concat()
                    })
                });
                proptest::prop_assert!(is_edit, "{before:?} {range:?} {new:?} {after:?}");
            }
        }
    }
}
