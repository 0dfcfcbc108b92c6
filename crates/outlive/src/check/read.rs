//! A file's bytes, of regular files only: a pipe in place of a file would never end.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use outlive_diagnose::size::Size;

/// Larger files are not source code; a notebook with its pictures stays far below.
const LARGEST: u64 = 512 << 20;

/// What was read, and what is known of the file at that moment.
#[derive(Debug)]
pub(super) struct Contents {
    pub(super) bytes: Vec<u8>,
    pub(super) metadata: Metadata,
}

/// Reads a file, or says in one line why it cannot be read.
pub(super) fn read(path: &Path) -> Result<Contents, String> {
    let cannot = |error: io::Error| format!("Cannot be read: {}", reason(&error));
    let mut file = open(path).map_err(cannot)?;
    let metadata = file.metadata().map_err(cannot)?;
    if !metadata.is_file() {
        return Err("Cannot be read: not a regular file".to_owned());
    }
    if metadata.len() > LARGEST {
        return Err(format!("Not checked: larger than {}", Size(LARGEST)));
    }
    let mut bytes = Vec::with_capacity(metadata.len() as usize + 1);
    file.read_to_end(&mut bytes).map_err(cannot)?;
    Ok(Contents { bytes, metadata })
}

/// Opens without waiting for whoever would write into a pipe.
fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(libc::O_NONBLOCK);
    options.open(path)
}

/// What the system says, without its number for it.
pub(super) fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    let words = text.split(" (os error ").next();
    words.unwrap_or(&text).to_owned()
}
