//! Which pages of a range are there (`mincore`), and giving back what the C library keeps.

#![expect(unsafe_code, reason = "raw system calls, and a function by address")]

use core::ffi::{c_int, c_void};
use core::mem::transmute;
use core::sync::atomic::AtomicPtr;
use core::sync::atomic::Ordering::Relaxed;

use super::c_library::next_symbol;
use super::library;
use crate::kernel;

const PAGE: u64 = 4096;
/// Pages asked for at a time: the kernel works through its answer in pieces of one page, too.
const AT_ONCE: usize = 4096;
/// In the size word before a block of the C library: the block is a mapping of its own.
const IS_MAPPED: usize = 2;
/// In the same word: the block lies in the heap of another thread.
const OTHER_HEAP: usize = 4;

static TRIM: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());
/// What tcmalloc has in its place.
static RELEASE: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());

/// Looks the C library's functions up, if its allocator is the one in use. Called in the
/// constructor.
pub fn prepare() {
    let allocator = library::of(next_symbol(c"malloc") as usize);
    let trim = next_symbol(c"malloc_trim");
    let same = library::of(trim as usize);
    let starts = [allocator, same].map(|found| found.map_or(0, |library| library.start));
    if starts[0] != 0 && starts[0] == starts[1] {
        TRIM.store(trim, Relaxed);
        return;
    }
    let release = next_symbol(c"MallocExtension_ReleaseFreeMemory");
    let its = library::of(release as usize).map_or(0, |library| library.start);
    if !release.is_null() && its == starts[0] {
        RELEASE.store(release, Relaxed);
    }
}

/// Has the allocator give back pages that no block lies in.
pub fn trim() {
    let release = RELEASE.load(Relaxed);
    if !release.is_null() {
        // SAFETY: tcmalloc's function of this name has this signature.
        let release: unsafe extern "C" fn() = unsafe { transmute(release) };
        // SAFETY: as below.
        unsafe { release() };
    }
    let address = TRIM.load(Relaxed);
    if address.is_null() {
        return;
    }
    // SAFETY: the C library's function of this name has this signature.
    let trim: unsafe extern "C" fn(usize) -> c_int = unsafe { transmute(address) };
    // SAFETY: callable from any thread that holds none of the allocator's locks; callers stand in
    // front of the allocator or behind it.
    unsafe { trim(0) };
}

/// Whether a block is a mapping of its own, whose pages go back to the kernel when it is freed.
///
/// # Safety
///
/// The block is live and was allocated by the allocator in use.
pub unsafe fn is_mapped_block(pointer: *mut c_void) -> bool {
    if TRIM.load(Relaxed).is_null() {
        return false;
    }
    // SAFETY: the C library keeps a block's size and flags in the word before it.
    let size = unsafe { *pointer.cast::<usize>().wrapping_sub(1) };
    size & IS_MAPPED != 0
}

/// Whether a block of the C library is the last one of its heap, behind which only free space
/// lies: then it grows where it is.
///
/// # Safety
///
/// The block is live and was allocated by the allocator in use.
pub unsafe fn is_last_block(pointer: *mut c_void) -> bool {
    if TRIM.load(Relaxed).is_null() {
        return false;
    }
    let flags = 7_usize;
    // SAFETY: the C library keeps a block's size and flags in the word before it.
    let size = unsafe { *pointer.cast::<usize>().wrapping_sub(1) };
    let next = (pointer as usize).wrapping_add(size & !flags);
    // SAFETY: moves nothing; gives the end of the heap.
    let end = unsafe { libc::sbrk(0) } as usize;
    let heap = end.wrapping_sub(next);
    // Blocks of other heaps are far away; then what follows must not be read.
    if next >= end || heap > 1 << 40 || size & (IS_MAPPED | OTHER_HEAP) != 0 {
        return false;
    }
    // SAFETY: below the end of the heap, where the header of the next block lies.
    let next_size = unsafe { *(next as *const usize).wrapping_sub(1) };
    next.wrapping_add(next_size & !flags) == end.wrapping_add(16)
}

/// Bytes of a block whose pages are not there; `None` when part of it is not mapped any more.
pub fn untouched(address: u64, size: u64) -> Option<u64> {
    let mut start = address & !(PAGE - 1);
    let end = address.saturating_add(size).saturating_add(PAGE - 1) & !(PAGE - 1);
    let mut answer = [0_u8; AT_ONCE];
    let mut missing = 0_u64;
    while start < end {
        let length = end.wrapping_sub(start).min(AT_ONCE as u64 * PAGE);
        // SAFETY: the kernel checks the range, and writes one byte for each page into `answer`.
        let asked = unsafe { kernel!(libc::SYS_mincore, start, length, answer.as_mut_ptr()) };
        if asked != 0 {
            return None;
        }
        let pages = (length / PAGE) as usize;
        let absent = answer.iter().take(pages).filter(|&&page| page & 1 == 0);
        missing = missing.saturating_add((absent.count() as u64).wrapping_mul(PAGE));
        start = start.wrapping_add(length);
    }
    Some(missing.min(size))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_there_once_they_are_touched() {
        let size = 64 << 20;
        let mut block: Vec<u8> = Vec::with_capacity(size);
        let address = block.as_ptr() as u64;
        let before = untouched(address, size as u64).unwrap();
        assert!(before > 63 << 20, "{before}");
        block.resize(size / 2, 1);
        let after = untouched(address, size as u64).unwrap();
        assert!((31 << 20..33 << 20).contains(&after), "{after}");
        assert_eq!(untouched(16, 4096), None);
    }
}
