//! Stand-ins for the malloc family until the real functions are known: the first calls come from
//! the loader, and looking the real ones up may itself ask for memory. Blocks come from a small
//! static buffer and are never given back.

#![expect(unsafe_code, reason = "hands out raw memory")]

use core::cell::UnsafeCell;
use core::ffi::{c_int, c_void};
use core::sync::atomic::AtomicUsize;
use core::sync::atomic::Ordering::Relaxed;

use super::real::{self, resolve};
use crate::filter::FILTER;

const SIZE: usize = 256 << 10;
const ALIGN: usize = 64;

#[repr(C, align(4096))]
struct Buffer(UnsafeCell<[u8; SIZE]>);
// SAFETY: blocks are handed out once each, by an atomic cursor; nobody else looks inside.
unsafe impl Sync for Buffer {}

static BUFFER: Buffer = Buffer(UnsafeCell::new([0; SIZE]));
static CURSOR: AtomicUsize = AtomicUsize::new(0);

pub(super) fn holds(address: usize) -> bool {
    let start = BUFFER.0.get() as usize;
    address >= start && address < start.wrapping_add(SIZE)
}

pub(super) fn size_of(address: usize) -> usize {
    // SAFETY: only called for blocks of the buffer, whose size stands ALIGN bytes before.
    unsafe { *(address.wrapping_sub(ALIGN) as *const usize) }
}

/// A block of the buffer: its size, then its bytes, 64-aligned. Null when the buffer is full:
/// callers of `malloc` must live with that, and no loader asks for this much.
fn take(alignment: usize, size: usize) -> *mut c_void {
    let Some(padded) = size.checked_add(2 * ALIGN + alignment) else {
        return core::ptr::null_mut();
    };
    let start = CURSOR.fetch_add(padded & !(ALIGN - 1), Relaxed);
    if start.checked_add(padded).is_none_or(|end| end > SIZE) {
        return core::ptr::null_mut();
    }
    let base = (BUFFER.0.get() as usize)
        .wrapping_add(start)
        .wrapping_add(ALIGN);
    let address = base.wrapping_add(alignment.wrapping_sub(1)) & !alignment.wrapping_sub(1);
    // SAFETY: ALIGN bytes before the block belong to it (they are part of `padded`).
    unsafe { *(address.wrapping_sub(ALIGN) as *mut usize) = size };
    // `free` asks the filter first; it must never miss one of these.
    FILTER.always(address);
    address as *mut c_void
}

pub(super) unsafe extern "C" fn malloc(size: usize) -> *mut c_void {
    if resolve() {
        // SAFETY: the same call, now to the real function.
        return unsafe { real::malloc(size) };
    }
    take(ALIGN, size)
}

pub(super) unsafe extern "C" fn free(pointer: *mut c_void) {
    if !holds(pointer as usize) && resolve() {
        // SAFETY: the same call, now to the real function.
        unsafe { real::free(pointer) };
    }
}

pub(super) unsafe extern "C" fn calloc(count: usize, size: usize) -> *mut c_void {
    if resolve() {
        // SAFETY: the same call, now to the real function.
        return unsafe { real::calloc(count, size) };
    }
    // The buffer is zero and every block is handed out once.
    count
        .checked_mul(size)
        .map_or(core::ptr::null_mut(), |bytes| take(ALIGN, bytes))
}

pub(super) unsafe extern "C" fn realloc(pointer: *mut c_void, size: usize) -> *mut c_void {
    if resolve() {
        // SAFETY: the same call, now to the real function.
        return unsafe { real::realloc(pointer, size) };
    }
    let fresh = take(ALIGN, size);
    if !fresh.is_null() && holds(pointer as usize) {
        let kept = size_of(pointer as usize).min(size);
        // SAFETY: both blocks belong to the buffer and hold `kept` bytes.
        unsafe { core::ptr::copy_nonoverlapping(pointer.cast::<u8>(), fresh.cast(), kept) };
    }
    fresh
}

pub(super) unsafe extern "C" fn posix_memalign(
    out: *mut *mut c_void,
    alignment: usize,
    size: usize,
) -> c_int {
    if resolve() {
        // SAFETY: the same call, now to the real function.
        return unsafe { real::posix_memalign(out, alignment, size) };
    }
    let block = take(alignment.max(ALIGN), size);
    if block.is_null() {
        return libc::ENOMEM;
    }
    // SAFETY: `out` is valid by the contract of `posix_memalign`.
    unsafe { *out = block };
    0
}

pub(super) unsafe extern "C" fn memalign(alignment: usize, size: usize) -> *mut c_void {
    if resolve() {
        // SAFETY: the same call, now to the real function.
        return unsafe { real::memalign(alignment, size) };
    }
    take(alignment.max(ALIGN), size)
}

pub(super) unsafe extern "C" fn valloc(size: usize) -> *mut c_void {
    if resolve() {
        // SAFETY: the same call, now to the real function.
        return unsafe { real::valloc(size) };
    }
    take(4096, size)
}

pub(super) unsafe extern "C" fn malloc_usable_size(pointer: *mut c_void) -> usize {
    if holds(pointer as usize) {
        return size_of(pointer as usize);
    }
    if !resolve() {
        return 0;
    }
    // SAFETY: the same call, now to the real function.
    unsafe { real::malloc_usable_size(pointer) }
}
