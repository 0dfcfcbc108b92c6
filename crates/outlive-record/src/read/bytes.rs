//! Reading integers and texts from untrusted bytes: what lies outside is absent, never a panic.

use std::borrow::Cow;

use crate::layout::Section;

/// A window into the file.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bytes<'a>(pub(super) &'a [u8]);

impl<'a> Bytes<'a> {
    /// The part of the file that a section covers, cut at the end of the file.
    pub(super) fn section(self, section: Section) -> Self {
        let start = usize::try_from(section.offset)
            .unwrap_or(usize::MAX)
            .min(self.0.len());
        let length = usize::try_from(section.length).unwrap_or(usize::MAX);
        let end = start.saturating_add(length).min(self.0.len());
        Self(self.0.get(start..end).unwrap_or(&[]))
    }

    pub(super) fn slice(self, offset: u64, length: u64) -> Option<&'a [u8]> {
        let start = usize::try_from(offset).ok()?;
        let end = start.checked_add(usize::try_from(length).ok()?)?;
        self.0.get(start..end)
    }

    pub(super) fn u32(self, offset: u64) -> u32 {
        self.slice(offset, 4)
            .and_then(|bytes| bytes.try_into().ok())
            .map_or(0, u32::from_le_bytes)
    }

    pub(super) fn u64(self, offset: u64) -> u64 {
        self.slice(offset, 8)
            .and_then(|bytes| bytes.try_into().ok())
            .map_or(0, u64::from_le_bytes)
    }

    pub(super) fn i64(self, offset: u64) -> i64 {
        self.u64(offset) as i64
    }

    /// A text field: `u32` length, then bytes, at most `capacity` of them.
    pub(super) fn text(self, offset: u64, capacity: u64) -> Cow<'a, str> {
        let length = u64::from(self.u32(offset)).min(capacity);
        text_of(self.slice(offset.saturating_add(4), length).unwrap_or(&[]))
    }
}

/// Bytes as text. What is not UTF-8 becomes question marks, one a byte, so that a text never takes
/// more memory than the bytes it came from.
pub(super) fn text_of(bytes: &[u8]) -> Cow<'_, str> {
    std::str::from_utf8(bytes).map_or_else(|_| Cow::Owned(into_text(bytes.to_vec())), Cow::Borrowed)
}

/// The same, in the memory that the bytes have already.
pub(super) fn into_text(mut bytes: Vec<u8>) -> String {
    let mut start = 0;
    while let Err(error) = std::str::from_utf8(bytes.get(start..).unwrap_or(&[])) {
        start += error.valid_up_to();
        let length = error.error_len().unwrap_or(usize::MAX);
        let end = start.saturating_add(length).min(bytes.len());
        if let Some(invalid) = bytes.get_mut(start..end) {
            invalid.fill(b'?');
        }
        start = end;
    }
    String::from_utf8(bytes).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::text_of;

    #[test]
    fn bytes_that_are_no_text_become_question_marks() {
        assert_eq!(text_of("größer".as_bytes()), "größer");
        assert_eq!(text_of(b"a\xff\xfeb\xc3"), "a??b?");
        assert_eq!(text_of(b"\xe2\x82"), "??");
        assert_eq!(text_of(b""), "");
    }
}
