//! What a notebook's kernel leaves in a run's folder beside the black boxes: `kernel.json`, who it
//! is, and `cells.jsonl`, what it was asked to run. Both are written by the user's own process, so
//! anything may stand there: what makes no sense is passed over.

use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use outlive_diagnose::cells::{Cell, Cells};
use outlive_diagnose::notebook::Notebook;

const KERNEL_FILE: &str = "kernel.json";
const CELLS_FILE: &str = "cells.jsonl";
/// No kernel has so much to say of itself.
const LARGEST_KERNEL_FILE: u64 = 64 << 10;
/// Twice what the writer lets the file grow to. The end of the file is what is read.
const MOST_CELLS: u64 = 16 << 20;

/// The notebook that the run in this folder belongs to.
pub(crate) fn notebook(directory: &Path) -> Option<Notebook> {
    let end = end_of(&directory.join(KERNEL_FILE), LARGEST_KERNEL_FILE)?;
    serde_json::from_slice(&end.bytes).ok()
}

/// The cells that ran in it.
pub(crate) fn cells(directory: &Path) -> Cells {
    let Some(end) = end_of(&directory.join(CELLS_FILE), MOST_CELLS) else {
        return Cells::default();
    };
    let lines = end.bytes.split(|&byte| byte == b'\n');
    // The first line may be the rest of one.
    let lines = lines.skip(usize::from(!end.is_whole));
    let cells = lines.filter_map(|line| serde_json::from_slice::<Cell>(line).ok());
    Cells::new(cells.collect())
}

/// The last bytes of a file.
struct End {
    bytes: Vec<u8>,
    is_whole: bool,
}

/// Reads the end of a plain file: links are not followed, and pipes are not waited for.
fn end_of(path: &Path, most: u64) -> Option<End> {
    let mut file = std::fs::OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(path)
        .ok()?;
    let metadata = file.metadata().ok()?;
    if !metadata.is_file() {
        return None;
    }
    let start = metadata.len().saturating_sub(most);
    file.seek(SeekFrom::Start(start)).ok()?;
    let mut bytes = Vec::new();
    // It may grow meanwhile.
    file.take(most).read_to_end(&mut bytes).ok()?;
    Some(End {
        bytes,
        is_whole: start == 0,
    })
}
