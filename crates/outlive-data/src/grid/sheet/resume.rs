//! What is needed to go on with a sheet: a small file beside it, written again after every row of
//! cells, so that a kill at any time loses one row at most.

use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use fs_err as fs;
use serde::{Deserialize, Serialize};

use super::png::Point;
use crate::grid::own_file::{self, RESUME, beside};

/// The file beside the sheet.
#[derive(Debug)]
pub(super) struct Record {
    path: PathBuf,
    what: String,
}

/// What a record says.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Known {
    /// Where the sheet can be continued.
    pub(super) point: Point,
    /// The picture that was left when it was stopped.
    pub(super) stopped: Option<Seal>,
}

/// By what a finished file is known again: its length, and the checksum of its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Seal {
    length: u64,
    sum: u32,
}

#[derive(Debug, Serialize, Deserialize)]
struct Content {
    version: u32,
    what: String,
    known: Known,
}

const VERSION: u32 = 2;
/// Bytes that a seal looks at.
const SEALED: u64 = 64 << 10;

impl Record {
    /// For the sheet at `output`. `what` says which sheet it is: the caller's fingerprint, and all
    /// that decides about its bytes.
    pub(super) fn new(output: &Path, what: String) -> Self {
        Self {
            path: beside(output, RESUME),
            what,
        }
    }

    /// What is known of the sheet, if the record is of the same one.
    pub(super) fn read(&self) -> Option<Known> {
        if !own_file::is_plain(&self.path) {
            return None;
        }
        let content: Content = serde_json::from_slice(&fs::read(&self.path).ok()?).ok()?;
        (content.version == VERSION && content.what == self.what).then_some(content.known)
    }

    /// Whether `file` can be continued at the point.
    pub(super) fn fits(point: &Point, file: &Path) -> bool {
        own_file::is_plain(file) && last_check(point, file).is_ok_and(|check| check == point.check)
    }

    /// Replaces the record in one step.
    pub(super) fn write(&self, known: Known) -> io::Result<()> {
        let content = Content {
            version: VERSION,
            what: self.what.clone(),
            known,
        };
        let new = beside(&self.path, ".new");
        let (mut file, _claim) = own_file::create(&new)?;
        file.write_all(&serde_json::to_vec(&content)?)?;
        fs::rename(&new, &self.path)
    }

    /// Takes the record away.
    pub(super) fn remove(&self) {
        // One that is not there need not go; one that stays fits no later sheet.
        let _ = fs::remove_file(&self.path);
        let _ = fs::remove_file(beside(&self.path, ".new"));
    }
}

impl Seal {
    /// That of a file.
    pub(super) fn of(file: &Path) -> io::Result<Self> {
        let mut file = fs::File::open(file)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(SEALED)))?;
        let mut end = Vec::new();
        file.take(SEALED).read_to_end(&mut end)?;
        Ok(Self {
            length,
            sum: crc32fast::hash(&end),
        })
    }

    /// Whether a file has it.
    pub(super) fn fits(&self, file: &Path) -> bool {
        own_file::is_plain(file) && Self::of(file).is_ok_and(|seal| seal == *self)
    }
}

/// The checksum that ends the file at the point.
fn last_check(point: &Point, file: &Path) -> io::Result<u32> {
    let mut file = fs::File::open(file)?;
    let at = point
        .offset
        .checked_sub(4)
        .ok_or(io::ErrorKind::InvalidData)?;
    file.seek(SeekFrom::Start(at))?;
    let mut bytes = [0; 4];
    file.read_exact(&mut bytes)?;
    Ok(u32::from_be_bytes(bytes))
}
