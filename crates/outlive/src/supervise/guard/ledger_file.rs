//! Makes the file that all processes of a run share as their ledger, and maps it.
#![expect(unsafe_code, reason = "a shared mapping has no safe interface")]

use std::fs::OpenOptions;
use std::io;
use std::path::Path;
use std::ptr::{self, NonNull};

use outlive_record::ledger::{Ledger, SIZE};
use outlive_record::region::Region;
use rustix::fs::{FallocateFlags, fallocate};
use rustix::mm::{MapFlags, ProtFlags, mmap};

/// Makes a ledger at `path`. `limit` is `--limit` in bytes.
pub(super) fn make(path: &Path, limit: Option<u64>, allow_sparse: bool) -> io::Result<Ledger> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .open(path)?;
    // Without space of its own, a page of it could not be filled later: SIGBUS.
    fallocate(&file, FallocateFlags::empty(), 0, SIZE)?;
    let protection = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a new mapping wherever the kernel likes; nothing else is at that address.
    let base = unsafe {
        mmap(
            ptr::null_mut(),
            SIZE as usize,
            protection,
            MapFlags::SHARED,
            &file,
            0,
        )
    }?;
    let base = NonNull::new(base.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
    // SAFETY: page-aligned, `SIZE` bytes long, and never unmapped: it lives as long as the
    // supervisor.
    let region = unsafe { Region::new(base, SIZE) };
    Ok(Ledger::create(region, limit, allow_sparse))
}

#[cfg(test)]
mod tests {
    use super::make;
    use outlive_record::ledger::SIZE;

    #[test]
    fn a_ledger_is_one_file_with_space_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger");
        let ledger = make(&path, Some(5 << 30), true).unwrap();
        assert_eq!(
            (ledger.limit(), ledger.allows_sparse()),
            (Some(5 << 30), true)
        );
        assert_eq!(fs_err::metadata(&path).unwrap().len(), SIZE);
        ledger.count_refusal();
        let bytes = fs_err::read(&path).unwrap();
        assert!(
            bytes.starts_with(b"OUTLEDG"),
            "what is mapped is in the file"
        );
        assert!(
            make(&path, None, false).is_err(),
            "nobody's ledger is taken over"
        );
    }
}
