//! The malloc family.
//!
//! Each function has a two-instruction front that adds the return address as a last argument (who
//! asks decides what a refusal may do), then the path of an unrecorded call, then a cold path.

#![expect(unsafe_code, reason = "C functions that hand memory to the program")]

use core::ffi::{c_int, c_void};
use core::sync::atomic::Ordering::Relaxed;

use super::mapping;
use crate::filter::FILTER;
use crate::guard::{self, Answer, Purpose};
use crate::recorder;
use crate::sampling::EXACT_FROM;
use crate::sys::thread::{self, Entered, Thread};
use crate::sys::{c_library, real, residency};

/// Defines an exported function whose front passes the return address on in the given register.
macro_rules! front {
    ($name:ident($($argument:ident: $type:ty),*) -> $result:ty => $entry:path, $register:literal, $arm:literal) => {
        /// # Safety
        ///
        /// The contract of the C function of this name.
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> $result {
            #[cfg(target_arch = "x86_64")]
            core::arch::naked_asm!(
                concat!("mov ", $register, ", qword ptr [rsp]"),
                "jmp {entry}",
                entry = sym $entry,
            );
            #[cfg(target_arch = "aarch64")]
            core::arch::naked_asm!(
                concat!("mov ", $arm, ", x30"),
                "b {entry}",
                entry = sym $entry,
            );
        }
    };
}

front!(malloc(size: usize) -> *mut c_void => malloc_entry, "rsi", "x1");
front!(calloc(count: usize, size: usize) -> *mut c_void => calloc_entry, "rdx", "x2");
front!(realloc(pointer: *mut c_void, size: usize) -> *mut c_void => realloc_entry, "rdx", "x2");
front!(reallocarray(pointer: *mut c_void, count: usize, size: usize) -> *mut c_void
    => reallocarray_entry, "rcx", "x3");
front!(posix_memalign(out: *mut *mut c_void, alignment: usize, size: usize) -> c_int
    => posix_memalign_entry, "rcx", "x3");
front!(aligned_alloc(alignment: usize, size: usize) -> *mut c_void
    => aligned_alloc_entry, "rdx", "x2");
front!(memalign(alignment: usize, size: usize) -> *mut c_void => memalign_entry, "rdx", "x2");
front!(valloc(size: usize) -> *mut c_void => valloc_entry, "rsi", "x1");
front!(pvalloc(size: usize) -> *mut c_void => pvalloc_entry, "rsi", "x1");

/// Counts a request down; `true` when nothing is recorded about it.
#[inline]
fn passes(thread: &Thread, size: usize) -> bool {
    let left = thread.countdown.load(Relaxed).wrapping_sub(size as i64);
    let passes = size < EXACT_FROM && left >= 0;
    if passes {
        thread.countdown.store(left, Relaxed);
    }
    passes
}

/// After a call that is recorded: the block, or the failure.
#[inline]
fn note(pointer: *mut c_void, size: usize, caller: usize) -> *mut c_void {
    if let Some(entered) = Entered::try_enter() {
        if pointer.is_null() {
            recorder::failed(&entered, size, caller);
        } else {
            recorder::acquired(&entered, pointer as usize, size, caller);
        }
    }
    pointer
}

/// A call that is recorded, and that the guard may refuse.
#[cold]
#[inline(never)]
fn guarded(size: usize, caller: usize, allocate: impl FnOnce() -> *mut c_void) -> *mut c_void {
    let is_denied = thread::current().take_denial();
    let is_python = mapping::INTERPRETER.holds(caller);
    if guard::refuses_small(size, caller, is_denied, is_python) {
        c_library::set_errno(libc::ENOMEM);
        return core::ptr::null_mut();
    }
    let answer = guard::ask(size, size, caller, Purpose::Data);
    if answer.is_refused() {
        c_library::set_errno(libc::ENOMEM);
        return core::ptr::null_mut();
    }
    let pointer = allocate();
    answer.settle(pointer as usize, size, caller);
    note(pointer, size, caller)
}

unsafe extern "C" fn malloc_entry(size: usize, caller: usize) -> *mut c_void {
    if passes(thread::current(), size) {
        // SAFETY: the caller's own call.
        return unsafe { real::malloc(size) };
    }
    // SAFETY: the caller's own call.
    guarded(size, caller, || unsafe { real::malloc(size) })
}

unsafe extern "C" fn calloc_entry(count: usize, size: usize, caller: usize) -> *mut c_void {
    let total = count.saturating_mul(size);
    if passes(thread::current(), total) {
        // SAFETY: the caller's own call.
        return unsafe { real::calloc(count, size) };
    }
    // SAFETY: the caller's own call.
    guarded(total, caller, || unsafe { real::calloc(count, size) })
}

unsafe extern "C" fn realloc_entry(
    pointer: *mut c_void,
    size: usize,
    caller: usize,
) -> *mut c_void {
    let thread = thread::current();
    let recorded = !pointer.is_null() && FILTER.may_hold(pointer as usize);
    let passes = passes(thread, size);
    if passes && !recorded {
        // SAFETY: the caller's own call.
        return unsafe { real::realloc(pointer, size) };
    }
    // SAFETY: the caller's own call.
    unsafe { realloc_noted(thread, pointer, size, caller, passes) }
}

/// A `realloc` whose old or new block is recorded: a release and an acquisition.
#[cold]
#[inline(never)]
unsafe fn realloc_noted(
    thread: &Thread,
    pointer: *mut c_void,
    size: usize,
    caller: usize,
    passes: bool,
) -> *mut c_void {
    if real::is_early(pointer) {
        // SAFETY: an early block is moved to the real allocator.
        return unsafe { leave_early(pointer, size) };
    }
    // SAFETY: a live block of the caller's.
    let answer = unsafe { ask_to_grow(pointer, size, caller) };
    if answer.is_refused() {
        c_library::set_errno(libc::ENOMEM);
        return core::ptr::null_mut();
    }
    guard::leaving(pointer as usize);
    let block = recorder::released(thread, pointer as usize);
    // SAFETY: the caller's own call.
    let fresh = unsafe { real::realloc(pointer, size) };
    answer.settle(fresh as usize, size, caller);
    if fresh.is_null() {
        // With size 0 the block is gone, otherwise it is still there.
        if let Some(block) = block.filter(|_| size != 0) {
            recorder::put_back(pointer as usize, block);
        }
        return if size == 0 {
            fresh
        } else {
            note(fresh, size, caller)
        };
    }
    if passes {
        fresh
    } else {
        note(fresh, size, caller)
    }
}

/// Asks the guard for a block that changes its size. One that is a mapping of its own, or the last
/// of its heap, grows where it is; any other may have to be copied, and be there twice for a while.
unsafe fn ask_to_grow(pointer: *mut c_void, size: usize, caller: usize) -> Answer {
    if size < guard::LARGE {
        return Answer::Passed;
    }
    let mut fresh = size;
    if !pointer.is_null() {
        // SAFETY: a live block of the caller's.
        let (in_place, kept) = unsafe {
            let mapped = residency::is_mapped_block(pointer);
            let last = residency::is_last_block(pointer);
            (mapped || last, real::malloc_usable_size(pointer))
        };
        if in_place {
            fresh = size.saturating_sub(kept);
        }
    }
    guard::ask(size, fresh, caller, Purpose::Data)
}

unsafe fn leave_early(pointer: *mut c_void, size: usize) -> *mut c_void {
    // SAFETY: an ordinary request.
    let fresh = unsafe { real::malloc(size) };
    if !fresh.is_null() {
        let kept = real::early_size(pointer).min(size);
        // SAFETY: both blocks hold `kept` bytes and do not overlap.
        unsafe { core::ptr::copy_nonoverlapping(pointer.cast::<u8>(), fresh.cast(), kept) };
    }
    fresh
}

unsafe extern "C" fn reallocarray_entry(
    pointer: *mut c_void,
    count: usize,
    size: usize,
    caller: usize,
) -> *mut c_void {
    let Some(total) = count.checked_mul(size) else {
        c_library::set_errno(libc::ENOMEM);
        return core::ptr::null_mut();
    };
    // SAFETY: the caller's own call, by its definition.
    unsafe { realloc_entry(pointer, total, caller) }
}

unsafe extern "C" fn posix_memalign_entry(
    out: *mut *mut c_void,
    alignment: usize,
    size: usize,
    caller: usize,
) -> c_int {
    if passes(thread::current(), size) {
        // SAFETY: the caller's own call.
        return unsafe { real::posix_memalign(out, alignment, size) };
    }
    // What remains if the guard says no.
    let mut result = libc::ENOMEM;
    let errno = c_library::errno();
    guarded(size, caller, || {
        // SAFETY: the caller's own call.
        result = unsafe { real::posix_memalign(out, alignment, size) };
        if result == 0 {
            // SAFETY: success means the block was stored there.
            unsafe { *out }
        } else {
            core::ptr::null_mut()
        }
    });
    // This function reports by its result alone.
    c_library::set_errno(errno);
    result
}

/// The functions that take an alignment or none and give a pointer.
macro_rules! aligned {
    ($($entry:ident = $real:ident($($alignment:ident)?);)+) => {$(
        unsafe extern "C" fn $entry(
            $($alignment: usize,)?
            size: usize,
            caller: usize,
        ) -> *mut c_void {
            if passes(thread::current(), size) {
                // SAFETY: the caller's own call.
                return unsafe { real::$real($($alignment,)? size) };
            }
            // SAFETY: the caller's own call.
            guarded(size, caller, || unsafe { real::$real($($alignment,)? size) })
        }
    )+};
}

aligned! {
    aligned_alloc_entry = aligned_alloc(alignment);
    memalign_entry = memalign(alignment);
    valloc_entry = valloc();
    pvalloc_entry = pvalloc();
}

/// # Safety
///
/// The contract of the C function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn free(pointer: *mut c_void) {
    if FILTER.may_hold(pointer as usize) && free_noted(pointer) {
        return;
    }
    // SAFETY: the caller's own call.
    unsafe { real::free(pointer) };
}

/// A `free` that may be of a recorded block. `true` when there is nothing left to do.
#[cold]
#[inline(never)]
fn free_noted(pointer: *mut c_void) -> bool {
    if real::is_early(pointer) {
        return true;
    }
    if pointer.is_null() {
        return false;
    }
    let block = recorder::released(thread::current(), pointer as usize);
    if block.is_some_and(|block| !block.sampled && block.bytes >= guard::LARGE as u64) {
        guard::leaving(pointer as usize);
    }
    false
}

/// # Safety
///
/// The contract of the C function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn free_sized(pointer: *mut c_void, _size: usize) {
    // SAFETY: the caller's own call; the size is only a hint.
    unsafe { free(pointer) };
}

/// # Safety
///
/// The contract of the C function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn free_aligned_sized(pointer: *mut c_void, _alignment: usize, _size: usize) {
    // SAFETY: the caller's own call; size and alignment are only hints.
    unsafe { free(pointer) };
}

/// # Safety
///
/// The contract of the C function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn malloc_usable_size(pointer: *mut c_void) -> usize {
    if real::is_early(pointer) {
        return real::early_size(pointer);
    }
    // SAFETY: the caller's own call.
    unsafe { real::malloc_usable_size(pointer) }
}
