//! Small files of `/proc` and `/sys`: kept open and read again and again, or read once.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Enough for most of the files that are read this way; it doubles for the others.
const FIRST_BUFFER: usize = 256;
/// The kernel fills at most a page of most such files at once.
const ONE_READ: usize = 4 << 10;

/// An open file and room for its text.
#[derive(Debug)]
pub(super) struct KeptFile {
    file: File,
    buffer: Vec<u8>,
}

impl KeptFile {
    /// Opens it.
    pub(super) fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        Ok(Self {
            file: File::open(path)?,
            buffer: vec![0; FIRST_BUFFER],
        })
    }

    /// Its text now, or `None` when it cannot be read (any more).
    pub(super) fn read_text(&mut self) -> Option<&str> {
        let mut length = self.file.read_at(&mut self.buffer, 0).ok()?;
        while length > self.buffer.len() / 2 {
            // A read may end early, at the end of a record; with room to spare it does not.
            self.buffer.resize(2 * self.buffer.len(), 0);
            length = self.file.read_at(&mut self.buffer, 0).ok()?;
        }
        std::str::from_utf8(self.buffer.get(..length)?).ok()
    }

    /// Its text as one number.
    pub(super) fn read_number(&mut self) -> Option<u64> {
        self.read_text()?.trim().parse().ok()
    }
}

/// The bytes of a small file that is read once, with fewer system calls than the general way.
pub(super) fn bytes_of(path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let mut bytes = vec![0; ONE_READ];
    let mut length = 0;
    while let Some(room) = bytes.get_mut(length..) {
        // Many of these files end a read early, at the end of a record: only 0 is the end.
        let read = file.read(room)?;
        if read == 0 {
            break;
        }
        length += read;
        if length == bytes.len() {
            bytes.resize(2 * length, 0);
        }
    }
    bytes.truncate(length);
    Ok(bytes)
}

/// The same as text.
pub(super) fn text_of(path: impl AsRef<Path>) -> io::Result<String> {
    Ok(String::from_utf8_lossy(&bytes_of(path)?).into_owned())
}
