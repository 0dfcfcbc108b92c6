//! Files, by raw system calls: small reads, and the black box itself.

#![expect(unsafe_code, reason = "raw system calls")]

use crate::kernel;
use core::ffi::{CStr, c_int};

use outlive_record::region::Region;

use super::map;

/// A descriptor that closes itself.
#[derive(Debug)]
pub struct Descriptor(c_int);

impl Descriptor {
    /// Its number.
    pub const fn number(&self) -> c_int {
        self.0
    }
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        // SAFETY: the descriptor is ours.
        unsafe { kernel!(libc::SYS_close, self.0) };
    }
}

fn open(path: &CStr, flags: c_int, mode: u32) -> Option<Descriptor> {
    // SAFETY: the path ends with a NUL.
    let fd = unsafe {
        kernel!(
            libc::SYS_openat,
            libc::AT_FDCWD,
            path.as_ptr(),
            flags | libc::O_CLOEXEC,
            mode,
        )
    };
    (fd >= 0).then_some(Descriptor(fd as c_int))
}

/// Opens an existing file to map all of it; `None` if it is shorter than it should be.
pub fn open_whole(path: &CStr, size: u64) -> Option<Descriptor> {
    let file = open(path, libc::O_RDWR | libc::O_NOFOLLOW, 0)?;
    // SAFETY: a query about our own descriptor.
    let end = unsafe { kernel!(libc::SYS_lseek, file.0, 0, libc::SEEK_END) };
    (end as i64 >= size as i64).then_some(file)
}

/// Reads the start of a file; returns how much.
pub fn read(path: &CStr, buffer: &mut [u8]) -> usize {
    let Some(file) = open(path, libc::O_RDONLY, 0) else {
        return 0;
    };
    let mut filled = 0_usize;
    while let Some(rest) = buffer.get_mut(filled..) {
        // SAFETY: `rest` is a live slice.
        let count = unsafe { kernel!(libc::SYS_read, file.0, rest.as_mut_ptr(), rest.len()) };
        if count <= 0 || rest.is_empty() {
            break;
        }
        filled = filled.wrapping_add(count as usize);
    }
    filled.min(buffer.len())
}

/// Where a link leads; returns its length.
pub fn read_link(path: &CStr, buffer: &mut [u8]) -> usize {
    // SAFETY: the path ends with a NUL and `buffer` is a live slice.
    let count = unsafe {
        kernel!(
            libc::SYS_readlinkat,
            libc::AT_FDCWD,
            path.as_ptr(),
            buffer.as_mut_ptr(),
            buffer.len(),
        )
    };
    usize::try_from(count).unwrap_or(0)
}

/// Makes the file of a black box, with all its space taken from the file system beforehand (a full
/// disk must not become SIGBUS later), and maps it shared, hidden from forked children.
pub fn make_box(path: &CStr, size: u64) -> Option<Region> {
    if !may_be_as_large_as(size) {
        return None;
    }
    let flags = libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC | libc::O_NOFOLLOW;
    let file = open(path, flags, 0o600)?;
    let region = take_space(&file, size).and_then(|()| map_box(&file, size));
    if region.is_none() {
        // SAFETY: the path ends with a NUL; a file without room is of no use.
        unsafe { kernel!(libc::SYS_unlinkat, libc::AT_FDCWD, path.as_ptr(), 0) };
    }
    region
}

/// Gives a finished box its name, so that a file of that name is always readable. A box that bears
/// it already is that of the program this process was before `exec`: it is set aside.
pub fn publish_box(path: &CStr, name: &CStr, before: &CStr) {
    rename(name, before);
    rename(path, name);
}

fn rename(from: &CStr, to: &CStr) {
    let here = libc::AT_FDCWD;
    // SAFETY: both paths end with a NUL.
    unsafe {
        kernel!(
            libc::SYS_renameat2,
            here,
            from.as_ptr(),
            here,
            to.as_ptr(),
            0
        )
    };
}

/// Takes the space of a box from the file system: `None` when there is not enough for this one and
/// another, since the last bytes of a disk belong to the program.
///
/// On tmpfs, space is memory: there the pages are taken when they are touched.
fn take_space(file: &Descriptor, size: u64) -> Option<()> {
    // SAFETY: zero is a valid value of this structure of integers.
    let mut space: libc::statfs64 = unsafe { core::mem::zeroed() };
    // SAFETY: a live structure; a query about our own descriptor.
    let asked = unsafe { kernel!(libc::SYS_fstatfs, file.0, &raw mut space) };
    let available = space.f_bavail.saturating_mul(space.f_bsize as u64);
    if asked != 0 || available < size.saturating_mul(2) {
        return None;
    }
    // SAFETY: a system call on our own descriptor.
    let promised = space.f_type != libc::TMPFS_MAGIC
        && unsafe { kernel!(libc::SYS_fallocate, file.0, 0, 0_i64, size as i64) } == 0;
    if promised {
        return Some(());
    }
    // Some file systems cannot promise space; others are full, and were asked above.
    // SAFETY: as above.
    let grown = unsafe { kernel!(libc::SYS_ftruncate, file.0, size as i64) };
    (grown == 0).then_some(())
}

/// Whether files may grow to this size: beyond the limit, the kernel would not refuse but kill.
fn may_be_as_large_as(size: u64) -> bool {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: a live structure; a query of this process.
    let asked = unsafe {
        kernel!(
            libc::SYS_prlimit64,
            0,
            libc::RLIMIT_FSIZE,
            core::ptr::null::<libc::rlimit>(),
            &raw mut limit
        )
    };
    asked == 0 && limit.rlim_cur >= size
}

fn map_box(file: &Descriptor, size: u64) -> Option<Region> {
    // SAFETY: a fresh shared mapping of our own file.
    let base = unsafe {
        map::map(
            core::ptr::null_mut(),
            size as usize,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED,
            file.0,
            0,
        )
    }?;
    // Pages are touched here and there: without this the kernel reads and zeroes whole
    // neighbourhoods at the first touch of each section, milliseconds in all.
    // SAFETY: advice about our own mapping.
    unsafe { kernel!(libc::SYS_madvise, base.as_ptr(), size, libc::MADV_RANDOM) };
    // SAFETY: advice about our own mapping: a forked child gets a box of its own.
    unsafe { kernel!(libc::SYS_madvise, base.as_ptr(), size, libc::MADV_DONTFORK) };
    // SAFETY: page-aligned, `size` bytes long, and never unmapped.
    Some(unsafe { Region::new(base, size) })
}
