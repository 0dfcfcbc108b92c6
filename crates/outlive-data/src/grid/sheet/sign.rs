//! What a sheet is known by: a note near its start of who wrote it. A WebP has none.

use std::io::{self, Read};
use std::path::Path;

use fs_err as fs;

/// What the note says.
pub(super) const SIGN: &[u8] = b"Outlive grid";
/// Bytes from the start of a file in which it is looked for.
const START: u64 = 256;

/// Whether a file says that it is a sheet.
pub fn is_sheet(path: &Path) -> io::Result<bool> {
    let mut start = Vec::new();
    fs::File::open(path)?.take(START).read_to_end(&mut start)?;
    Ok(start.windows(SIGN.len()).any(|part| part == SIGN))
}
