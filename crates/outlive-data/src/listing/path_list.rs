//! Lists of paths: one a line, or with zero bytes between them, as `find -print0` writes them.

use std::io::{BufRead, BufReader, ErrorKind, Read};

use super::error::ListingError;
use super::input::Separator;

/// Bytes that are read at a time; what decides about the separator is among the first of them.
const BUFFER: usize = 64 << 10;
/// No path that can be opened is longer.
const LONGEST: usize = 8 << 10;

/// Hands over each path of a list that is not empty.
pub(super) fn each_path(
    name: &str,
    reader: impl Read,
    separator: Separator,
    sink: &mut dyn FnMut(&[u8]) -> Result<(), ListingError>,
) -> Result<(), ListingError> {
    let failure = |source| ListingError::List {
        name: name.to_owned(),
        source,
    };
    let mut reader = BufReader::with_capacity(BUFFER, reader);
    let mut end = (separator == Separator::Zero).then_some(0);
    let mut path = Vec::new();
    loop {
        let bytes = match reader.fill_buf() {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            read => read.map_err(failure)?,
        };
        let end = *end.get_or_insert(if bytes.contains(&0) { 0 } else { b'\n' });
        if bytes.is_empty() {
            return give(&path, end, sink);
        }
        let stop = bytes.iter().position(|byte| *byte == end);
        let piece = bytes.get(..stop.unwrap_or(bytes.len())).unwrap_or_default();
        // What is longer gives an error that names it, and takes no memory.
        let room = LONGEST.saturating_sub(path.len());
        path.extend_from_slice(piece.get(..room).unwrap_or(piece));
        let used = piece.len() + usize::from(stop.is_some());
        reader.consume(used);
        if stop.is_some() {
            give(&path, end, sink)?;
            path.clear();
        }
    }
}

fn give(
    path: &[u8],
    end: u8,
    sink: &mut dyn FnMut(&[u8]) -> Result<(), ListingError>,
) -> Result<(), ListingError> {
    // Lists that were written on Windows end their lines with two characters.
    let path = match path.strip_suffix(b"\r") {
        Some(path) if end == b'\n' => path,
        _ => path,
    };
    // A zero byte after the first lines of a list: nothing that can be opened.
    let path = path.split(|byte| *byte == 0).next().unwrap_or_default();
    if path.is_empty() { Ok(()) } else { sink(path) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(bytes: &[u8], separator: Separator) -> Vec<Vec<u8>> {
        let mut all = Vec::new();
        let mut keep = |path: &[u8]| {
            all.push(path.to_vec());
            Ok(())
        };
        each_path("-", bytes, separator, &mut keep).unwrap();
        all
    }

    #[test]
    fn lines_and_zero_bytes_separate_paths() {
        let detect = Separator::Detect;
        assert_eq!(
            paths(b"a\nb c\r\n\n\xff", detect),
            [&b"a"[..], b"b c", b"\xff"]
        );
        assert_eq!(paths(b"a\nb\0c\r\0", detect), [&b"a\nb"[..], b"c\r"]);
        assert_eq!(paths(b"a\nb", Separator::Zero), [b"a\nb"]);
        assert_eq!(paths(b"", detect), Vec::<Vec<u8>>::new());
    }

    #[test]
    fn a_line_without_end_takes_no_memory() {
        let mut long = vec![b'x'; 1 << 20];
        long.extend_from_slice(b"\nshort");
        let all = paths(&long, Separator::Detect);
        assert_eq!(all.iter().map(Vec::len).collect::<Vec<_>>(), [LONGEST, 5]);
    }
}
