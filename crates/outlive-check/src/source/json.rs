//! Walks JSON text without building it, and says where each string stands.
//!
//! What is not asked for is skipped without recursion, and strings by searching for their end, so
//! that depth and megabytes of output do not matter.

use std::ops::Range;

use super::SourceError;

/// A place in JSON text, moving forward.
#[derive(Debug)]
pub(super) struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

/// What a skipped container expects next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    Value,
    /// After a value: `,` or the end.
    Rest,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let mark = if text.starts_with('\u{feff}') { 3 } else { 0 };
        Self { text, at: mark }
    }

    /// A part of the text.
    pub(super) fn slice(&self, range: Range<usize>) -> &'a str {
        self.text.get(range).unwrap_or_default()
    }

    /// Where it is.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// The byte that begins the next value or punctuation.
    pub(super) fn peek(&mut self) -> Option<u8> {
        let rest = self.bytes().get(self.at..).unwrap_or_default();
        let blank = rest.iter().position(|byte| !byte.is_ascii_whitespace());
        self.at += blank.unwrap_or(rest.len());
        self.bytes().get(self.at).copied()
    }

    /// Visits the members of an object; `member` must read or skip the value. Something else than
    /// an object is skipped.
    pub(super) fn members(
        &mut self,
        mut member: impl FnMut(&mut Self, &str) -> Result<(), SourceError>,
    ) -> Result<(), SourceError> {
        if self.peek() != Some(b'{') {
            return self.skip();
        }
        self.at += 1;
        if self.found(b'}') {
            return Ok(());
        }
        loop {
            let key = self.string()?;
            self.expect(b':')?;
            member(self, self.slice(key))?;
            if self.found(b'}') {
                return Ok(());
            }
            self.expect(b',')?;
        }
    }

    /// Visits the elements of an array; `element` must read or skip the value. Something else than
    /// an array is skipped.
    pub(super) fn elements(
        &mut self,
        mut element: impl FnMut(&mut Self) -> Result<(), SourceError>,
    ) -> Result<(), SourceError> {
        if self.peek() != Some(b'[') {
            return self.skip();
        }
        self.at += 1;
        if self.found(b']') {
            return Ok(());
        }
        loop {
            element(self)?;
            if self.found(b']') {
                return Ok(());
            }
            self.expect(b',')?;
        }
    }

    /// Reads a string: the range of what is between the quotes.
    pub(super) fn string(&mut self) -> Result<Range<usize>, SourceError> {
        self.expect(b'"')?;
        let start = self.at;
        loop {
            let rest = self.bytes().get(self.at..).unwrap_or_default();
            match memchr::memchr2(b'"', b'\\', rest) {
                Some(found) if rest.get(found) == Some(&b'"') => {
                    let end = self.at + found;
                    self.at = end + 1;
                    return Ok(start..end);
                }
                Some(found) => self.at += found + 2,
                None => {
                    self.at = self.text.len();
                    return Err(self.error());
                }
            }
        }
    }

    /// Passes over a value of any kind and depth.
    pub(super) fn skip(&mut self) -> Result<(), SourceError> {
        // What closes each open container.
        let mut open: Vec<u8> = Vec::new();
        let mut next = Next::Value;
        loop {
            match (next, self.peek(), open.last()) {
                (Next::Rest, _, None) => return Ok(()),
                (Next::Rest, Some(byte), Some(end)) if byte == *end => {
                    self.at += 1;
                    open.pop();
                }
                (Next::Rest, Some(b','), Some(end)) => {
                    self.at += 1;
                    if *end == b'}' {
                        self.key()?;
                    }
                    next = Next::Value;
                }
                (Next::Value, Some(b'{'), _) => {
                    self.at += 1;
                    open.push(b'}');
                    if self.peek() == Some(b'}') {
                        next = Next::Rest;
                    } else {
                        self.key()?;
                    }
                }
                (Next::Value, Some(b'['), _) => {
                    self.at += 1;
                    open.push(b']');
                    if self.peek() == Some(b']') {
                        next = Next::Rest;
                    }
                }
                (Next::Value, Some(b'"'), _) => {
                    self.string()?;
                    next = Next::Rest;
                }
                (Next::Value, Some(_), _) => {
                    self.word()?;
                    next = Next::Rest;
                }
                _ => return Err(self.error()),
            }
        }
    }

    /// Makes sure that nothing follows.
    pub(super) fn end(&mut self) -> Result<(), SourceError> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.error()),
        }
    }

    /// What is wrong here.
    pub(super) fn error(&self) -> SourceError {
        let line = line_of(self.text, self.at);
        let here = self.text.get(self.at..).unwrap_or_default();
        if here.is_empty() {
            return SourceError::new(format!("Not valid JSON: it breaks off in line {line}"));
        }
        if ["<<<<<<<", "=======", ">>>>>>>"]
            .iter()
            .any(|mark| here.starts_with(mark))
        {
            return SourceError::new(format!("Not valid JSON: a merge conflict in line {line}"));
        }
        SourceError::new(format!("Not valid JSON in line {line}"))
    }

    fn key(&mut self) -> Result<(), SourceError> {
        self.string()?;
        self.expect(b':')
    }

    /// A number or a name. Python also writes `NaN` and `Infinity`.
    fn word(&mut self) -> Result<(), SourceError> {
        let rest = self.bytes().get(self.at..).unwrap_or_default();
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
        let end = rest.iter().position(|byte| !is_part(byte));
        let word = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
        let is_number = word.first().is_some_and(|byte| !byte.is_ascii_alphabetic());
        let names: [&[u8]; 5] = [b"true", b"false", b"null", b"NaN", b"Infinity"];
        if !is_number && !names.contains(&word) {
            return Err(self.error());
        }
        self.at += word.len();
        Ok(())
    }

    fn expect(&mut self, byte: u8) -> Result<(), SourceError> {
        if self.found(byte) {
            Ok(())
        } else {
            Err(self.error())
        }
    }

    fn found(&mut self, byte: u8) -> bool {
        let is_here = self.peek() == Some(byte);
        self.at += usize::from(is_here);
        is_here
    }

    fn bytes(&self) -> &'a [u8] {
        self.text.as_bytes()
    }
}

/// The line of an offset, counted from one.
pub(super) fn line_of(text: &str, at: usize) -> u32 {
    let before = text.as_bytes().get(..at).unwrap_or(text.as_bytes());
    1 + memchr::memchr_iter(b'\n', before).count() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skipped(text: &str) -> Result<(), String> {
        let mut scanner = Scanner::new(text);
        let result = scanner.skip().and_then(|()| scanner.end());
        result.map_err(|error| error.message)
    }

    #[test]
    fn every_kind_of_value_is_passed_over() {
        for text in [
            "{}",
            " [ ] ",
            r#"{"a": [1, -2.5e+3, true, null, NaN, -Infinity, "\"\\"], "b": {"c": {}}}"#,
            r#""x""#,
        ] {
            assert_eq!(skipped(text), Ok(()), "{text}");
        }
    }

    #[test]
    fn broken_text_is_told_with_its_line() {
        for (text, message) in [
            ("", "Not valid JSON: it breaks off in line 1"),
            ("{\"a\": [\n1,", "Not valid JSON: it breaks off in line 2"),
            ("{\"a\": \"b\\\"", "Not valid JSON: it breaks off in line 1"),
            ("[1\n 2]", "Not valid JSON in line 2"),
            ("[1}", "Not valid JSON in line 1"),
            ("{\"a\" 1}", "Not valid JSON in line 1"),
            ("{1: 1}", "Not valid JSON in line 1"),
            ("[1] x", "Not valid JSON in line 1"),
            ("[hello]", "Not valid JSON in line 1"),
            (
                "[\n<<<<<<< HEAD\n1]",
                "Not valid JSON: a merge conflict in line 2",
            ),
        ] {
            assert_eq!(skipped(text), Err(message.to_owned()), "{text}");
        }
    }

    #[test]
    fn depth_does_not_matter() {
        let deep = "[".repeat(1 << 20);
        assert!(skipped(&deep).is_err());
        let closed = deep + &"]".repeat(1 << 20);
        assert_eq!(skipped(&closed), Ok(()));
    }
}
