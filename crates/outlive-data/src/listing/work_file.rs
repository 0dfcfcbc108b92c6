//! Bytes that are too many for memory: a buffer, and behind it a file that has no name and is gone
//! with the process. Short ones never touch the disk.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use super::error::ListingError;

/// How much is held back before it is written.
const BUFFER: usize = 128 << 10;

/// Grows at its end and is read anywhere.
#[derive(Debug)]
pub(super) struct WorkFile {
    folder: PathBuf,
    file: Option<File>,
    /// How much of it is in the file.
    written: u64,
    /// What follows that.
    tail: Vec<u8>,
}

impl WorkFile {
    pub(super) fn new(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            file: None,
            written: 0,
            tail: Vec::new(),
        }
    }

    pub(super) fn len(&self) -> u64 {
        self.written + self.tail.len() as u64
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<(), ListingError> {
        if self.tail.len() + bytes.len() > BUFFER {
            self.write_out()?;
        }
        self.tail.extend_from_slice(bytes);
        Ok(())
    }

    /// Takes bytes off the end.
    pub(super) fn shorten(&mut self, length: u64) {
        if let Some(left) = length.checked_sub(self.written) {
            self.tail.truncate(left as usize);
        } else {
            // What lies behind in the file is written over.
            self.tail.clear();
            self.written = length;
        }
    }

    /// Fills `bytes` from `offset` on.
    pub(super) fn read(&self, bytes: &mut [u8], offset: u64) -> Result<(), ListingError> {
        let in_file = self.written.saturating_sub(offset).min(bytes.len() as u64) as usize;
        let (from_file, from_tail) = bytes.split_at_mut(in_file);
        if let (Some(file), false) = (&self.file, from_file.is_empty()) {
            let read = file.read_exact_at(from_file, offset);
            read.map_err(|error| failure(&self.folder, error))?;
        }
        let start = (offset + in_file as u64).saturating_sub(self.written) as usize;
        let Some(tail) = self.tail.get(start..start + from_tail.len()) else {
            return Err(failure(&self.folder, io::ErrorKind::UnexpectedEof.into()));
        };
        from_tail.copy_from_slice(tail);
        Ok(())
    }

    fn write_out(&mut self) -> Result<(), ListingError> {
        let file = if let Some(file) = &self.file {
            file
        } else {
            let made = tempfile::tempfile_in(&self.folder);
            let made = made.map_err(|error| failure(&self.folder, error))?;
            self.file.insert(made)
        };
        let wrote = file.write_all_at(&self.tail, self.written);
        wrote.map_err(|error| failure(&self.folder, error))?;
        self.written += self.tail.len() as u64;
        self.tail.clear();
        Ok(())
    }
}

fn failure(folder: &Path, source: io::Error) -> ListingError {
    let full = [Errno::NOSPC, Errno::DQUOT].map(Errno::raw_os_error);
    let folder = folder.to_owned();
    if source
        .raw_os_error()
        .is_some_and(|code| full.contains(&code))
    {
        ListingError::NoRoom { folder }
    } else {
        ListingError::WorkFile { folder, source }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_appended_is_read_across_the_edge_of_the_file() {
        let mut file = WorkFile::new(&std::env::temp_dir());
        let bytes: Vec<u8> = (0..BUFFER * 2 + 100).map(|i| (i % 251) as u8).collect();
        for piece in bytes.chunks(1000) {
            file.append(piece).unwrap();
        }
        assert_eq!(file.len(), bytes.len() as u64);
        for offset in [0, 17, BUFFER - 5, BUFFER * 2 - 3, bytes.len() - 40] {
            let mut read = [0; 40];
            file.read(&mut read, offset as u64).unwrap();
            assert_eq!(read, bytes[offset..offset + 40]);
        }
        assert!(file.read(&mut [0; 41], bytes.len() as u64 - 40).is_err());
        file.shorten(10);
        file.append(b"end").unwrap();
        let mut read = [0; 5];
        file.read(&mut read, 8).unwrap();
        assert_eq!(&read, &[8, 9, b'e', b'n', b'd']);
    }

    #[test]
    fn a_folder_that_is_not_there_is_named() {
        let mut file = WorkFile::new(Path::new("/nowhere/at/all"));
        let error = file
            .append(&vec![0; BUFFER])
            .and_then(|()| file.append(&[0; 1]));
        let message = error.unwrap_err().to_string();
        assert!(message.contains("/nowhere/at/all"), "{message}");
        assert!(message.contains("TMPDIR"), "{message}");
    }
}
