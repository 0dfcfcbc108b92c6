//! Memory from the kernel, by raw system calls: neither the C library nor our own `mmap` sees it.

#![expect(
    unsafe_code,
    reason = "raw system calls, and references into fresh mappings"
)]

use crate::kernel;
use core::ffi::{c_int, c_void};
use core::ptr::NonNull;

use outlive_record::region::Region;

/// Advises the kernel to give forked children zeroes instead of a copy (Linux 4.14).
const MADV_WIPEONFORK: c_int = 18;

/// Maps memory as `mmap` does; errors as the kernel gives them, a negative number.
///
/// # Safety
///
/// The contract of `mmap`.
pub unsafe fn map(
    address: *mut c_void,
    length: usize,
    protection: c_int,
    flags: c_int,
    fd: c_int,
    offset: i64,
) -> Option<NonNull<u8>> {
    // SAFETY: promised by the caller.
    let result = unsafe {
        kernel!(
            libc::SYS_mmap,
            address,
            length,
            protection,
            flags,
            fd,
            offset
        )
    };
    if result == -1 {
        None
    } else {
        NonNull::new(result as *mut u8)
    }
}

/// Unmaps a range; `true` when the kernel agreed.
///
/// # Safety
///
/// The contract of `munmap`.
pub unsafe fn unmap(address: *mut c_void, length: usize) -> bool {
    // SAFETY: promised by the caller.
    unsafe { kernel!(libc::SYS_munmap, address, length) == 0 }
}

/// Room for a text that is longer than a small stack can bear.
pub type Buffer = [u8; 8192];

/// Gives zeroed buffers for a piece of work; nothing if the kernel has none.
pub fn with_buffers<const COUNT: usize, R>(
    work: impl FnOnce(&mut [Buffer; COUNT]) -> R,
) -> Option<R> {
    let length = size_of::<[Buffer; COUNT]>();
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a fresh anonymous mapping.
    let base = unsafe { map(core::ptr::null_mut(), length, protection, flags, -1, 0) }?;
    // SAFETY: the mapping is that long, aligned to pages, zeroed, and nobody else's.
    let result = work(unsafe { &mut *base.as_ptr().cast::<[Buffer; COUNT]>() });
    // SAFETY: our own mapping, to which no reference is left.
    unsafe { unmap(base.as_ptr().cast(), length) };
    Some(result)
}

/// A private place for a value made only of atomics, zeroed now and again in every forked child.
/// The second part tells whether the kernel promised the latter.
pub fn private<T: Sync>() -> Option<(&'static T, bool)> {
    let length = size_of::<T>();
    // SAFETY: a fresh anonymous mapping.
    let base = unsafe {
        map(
            core::ptr::null_mut(),
            length,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
            -1,
            0,
        )
    }?;
    // SAFETY: advice about our own fresh mapping.
    let wiped = unsafe { kernel!(libc::SYS_madvise, base.as_ptr(), length, MADV_WIPEONFORK) };
    // SAFETY: keeps huge pages out: a few touched pages must not become megabytes of residence.
    unsafe {
        kernel!(
            libc::SYS_madvise,
            base.as_ptr(),
            length,
            libc::MADV_NOHUGEPAGE
        )
    };
    // SAFETY: page-aligned, large enough, never unmapped; zero is valid for atomics, and callers
    // only name types made of them.
    Some((unsafe { base.cast::<T>().as_ref() }, wiped == 0))
}

/// Replaces the pages of a box by private memory, so that writes go nowhere instead of faulting.
pub fn replace(region: &Region) -> bool {
    // SAFETY: the range is our own mapping, and everything that points into it stays valid.
    let place = unsafe {
        map(
            region.start() as *mut c_void,
            region.len() as usize,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED,
            -1,
            0,
        )
    };
    place.is_some()
}

/// Zeroes a place made by [`private`], for kernels that did not promise to.
pub fn wipe<T: Sync>(place: &'static T) {
    let address = core::ptr::from_ref(place);
    // SAFETY: the whole mapping of `private`, whose pages become zero again.
    unsafe {
        kernel!(
            libc::SYS_madvise,
            address,
            size_of::<T>(),
            libc::MADV_DONTNEED,
        )
    };
}
