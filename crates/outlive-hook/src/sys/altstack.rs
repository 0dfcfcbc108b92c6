//! A second stack for signal handlers: without one, a stack overflow cannot be told.

#![expect(unsafe_code, reason = "raw system calls")]

use crate::kernel;
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::Relaxed;

use super::map;
use super::thread::Thread;

const SIZE: usize = 64 << 10;
/// Below each stack, so that an overflow of it faults instead of writing elsewhere.
const GUARD: usize = 4096;
/// The stacks are never unmapped, so only the first threads get one: a program that starts a
/// hundred thousand threads must not run out of mappings because of us.
const MOST: u32 = 128;

static GIVEN: AtomicU32 = AtomicU32::new(0);

/// Gives the calling thread an alternate signal stack, unless the program gave it one.
pub fn provide(thread: &Thread) {
    if thread.signal_stack.swap(1, Relaxed) != 0 {
        return;
    }
    let mut current = libc::stack_t {
        ss_sp: core::ptr::null_mut(),
        ss_flags: 0,
        ss_size: 0,
    };
    // SAFETY: asks for the current one.
    let asked = unsafe {
        kernel!(
            libc::SYS_sigaltstack,
            core::ptr::null::<libc::stack_t>(),
            &raw mut current
        )
    };
    if asked != 0 || current.ss_flags & libc::SS_DISABLE == 0 {
        return;
    }
    if GIVEN.fetch_add(1, Relaxed) >= MOST {
        return;
    }
    // SAFETY: a fresh private mapping; only touched pages cost memory.
    let Some(base) = (unsafe {
        map::map(
            core::ptr::null_mut(),
            SIZE,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_STACK,
            -1,
            0,
        )
    }) else {
        return;
    };
    // SAFETY: the lowest page of our own fresh mapping.
    unsafe { kernel!(libc::SYS_mprotect, base.as_ptr(), GUARD, libc::PROT_NONE) };
    let stack = libc::stack_t {
        ss_sp: base.as_ptr().wrapping_add(GUARD).cast(),
        ss_flags: 0,
        ss_size: SIZE - GUARD,
    };
    // SAFETY: a live stack of the stated size.
    unsafe {
        kernel!(
            libc::SYS_sigaltstack,
            &raw const stack,
            core::ptr::null_mut::<libc::stack_t>(),
        )
    };
}
