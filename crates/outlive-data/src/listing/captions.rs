//! Captions from a file: a path and a text in each line, any number of them, looked up on disk.

use std::cmp::Ordering;
use std::io::{BufReader, Read};
use std::path::Path;

use super::error::ListingError;
use super::fingerprint::Fingerprint;
use super::item::split_at_zero;
use super::shelf::Shelf;
use super::sort::{RUN_BYTES, Sorter};

/// A line with more bytes is not one of captions.
const LONGEST: usize = 16 << 10;

/// Texts by path.
#[derive(Debug)]
pub struct Captions {
    lines: Shelf,
    fingerprint: Fingerprint,
}

/// What stands between a path and its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Columns {
    /// A tab; everything else is taken as it is.
    Tabs,
    /// A comma; fields may stand in quotes, a quote in them is doubled.
    Commas,
}

impl Captions {
    /// Reads all lines. `folder` is where the work files go.
    pub fn read(reader: impl Read, columns: Columns, folder: &Path) -> Result<Self, ListingError> {
        let mut sorter = Sorter::new(folder, RUN_BYTES);
        let mut lines = Lines::new(columns);
        for byte in BufReader::with_capacity(LONGEST, reader).bytes() {
            let byte = byte.map_err(|error| wrong(error.to_string()))?;
            if lines.push(byte) {
                lines.finish(&mut sorter)?;
            }
            if lines.path.len() + lines.text.len() > LONGEST {
                return Err(wrong(format!("line {} is too long", lines.number)));
            }
        }
        lines.finish(&mut sorter)?;
        let mut shelf = Shelf::new(folder);
        let mut fingerprint = Fingerprint::default();
        sorter.finish(&mut |record| {
            fingerprint.add(record);
            shelf.push(record)
        })?;
        Ok(Self {
            lines: shelf,
            fingerprint,
        })
    }

    /// Stands for all texts and their paths.
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// The text of a path.
    pub fn caption(&self, path: &[u8]) -> Option<String> {
        let (mut low, mut high) = (0, self.lines.len());
        while low < high {
            let middle = low + (high - low) / 2;
            let found = self.lines.with(middle, |record| {
                let (known, text) = split_at_zero(record)?;
                let order = known.cmp(path);
                let text =
                    (order == Ordering::Equal).then(|| String::from_utf8_lossy(text).into_owned());
                Some((order, text))
            });
            match found.ok()?? {
                (Ordering::Less, _) => low = middle + 1,
                (Ordering::Greater, _) => high = middle,
                (Ordering::Equal, text) => return text,
            }
        }
        None
    }
}

/// The line that is being read.
struct Lines {
    columns: Columns,
    path: Vec<u8>,
    text: Vec<u8>,
    /// How many separators the line had so far.
    separators: usize,
    state: State,
    number: u64,
}

/// Where in a field the reader stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Start,
    Plain,
    Quoted,
    /// After a quote that ends the field, or is the first of two.
    AfterQuote,
}

impl Lines {
    fn new(columns: Columns) -> Self {
        Self {
            columns,
            path: Vec::new(),
            text: Vec::new(),
            separators: 0,
            state: State::Start,
            number: 1,
        }
    }

    /// Takes a byte; `true` at the end of a line.
    fn push(&mut self, byte: u8) -> bool {
        let separator = match self.columns {
            Columns::Tabs => b'\t',
            Columns::Commas => b',',
        };
        let is_quote = byte == b'"' && self.columns == Columns::Commas;
        match self.state {
            State::Start if is_quote => self.state = State::Quoted,
            State::Quoted if is_quote => self.state = State::AfterQuote,
            State::AfterQuote if is_quote => {
                self.state = State::Quoted;
                self.keep(byte);
            }
            State::Quoted => self.keep(byte),
            _ if byte == b'\n' => return true,
            _ if byte == separator => {
                self.separators += 1;
                self.state = State::Start;
            }
            _ => {
                self.state = State::Plain;
                self.keep(byte);
            }
        }
        false
    }

    /// Columns after the second are not for us.
    fn keep(&mut self, byte: u8) {
        match self.separators {
            0 => self.path.push(byte),
            1 => self.text.push(byte),
            _ => {}
        }
    }

    fn finish(&mut self, sorter: &mut Sorter) -> Result<(), ListingError> {
        let number = self.number;
        let text = self.text.strip_suffix(b"\r").unwrap_or(&self.text);
        if self.separators > 0 {
            let record = [self.path.as_slice(), text].join(&0);
            sorter.push(&self.path, &record)?;
        } else if !matches!(self.path.as_slice(), b"" | b"\r") {
            let wanted = match self.columns {
                Columns::Tabs => "tab",
                Columns::Commas => "comma",
            };
            return Err(wrong(format!(
                "line {number} has no {wanted} after its path"
            )));
        }
        *self = Self::new(self.columns);
        self.number = number + 1;
        Ok(())
    }
}

fn wrong(reason: String) -> ListingError {
    ListingError::Captions { reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn captions(text: &str, columns: Columns) -> Result<Captions, ListingError> {
        Captions::read(text.as_bytes(), columns, &std::env::temp_dir())
    }

    #[test]
    fn tabs_separate_and_nothing_is_quoted() {
        let captions = captions("b.jpg\tone \"two\"\r\na,1.jpg\tx\ty\n\n", Columns::Tabs).unwrap();
        assert_eq!(captions.caption(b"b.jpg").unwrap(), "one \"two\"");
        assert_eq!(captions.caption(b"a,1.jpg").unwrap(), "x");
        assert_eq!(captions.caption(b"c.jpg"), None);
    }

    #[test]
    fn commas_separate_and_quotes_hold() {
        let text = "\"a,\"\"b\"\"\n.jpg\",\"cat, \"\"big\"\"\",0.9\r\nc.jpg,dog";
        let captions = captions(text, Columns::Commas).unwrap();
        assert_eq!(captions.caption(b"a,\"b\"\n.jpg").unwrap(), "cat, \"big\"");
        assert_eq!(captions.caption(b"c.jpg").unwrap(), "dog");
    }

    #[test]
    fn a_line_without_text_is_named() {
        let error = captions("a\tb\nnothing\n", Columns::Tabs).unwrap_err();
        assert!(error.to_string().contains("line 2"), "{error}");
        let long = "x".repeat(LONGEST + 2);
        assert!(captions(&long, Columns::Tabs).is_err());
    }

    #[test]
    fn every_path_of_many_is_found() {
        let line = |i| format!("{}.png\t{i}\n", i * 7919 % 3_000);
        let text = (0..3_000).map(line).collect::<Vec<_>>().concat();
        let captions = captions(&text, Columns::Tabs).unwrap();
        for i in 0..3_000 {
            let path = format!("{}.png", i * 7919 % 3_000);
            assert_eq!(captions.caption(path.as_bytes()), Some(i.to_string()));
        }
    }
}
