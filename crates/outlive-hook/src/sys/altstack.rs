//! A second stack for signal handlers: without one, a stack overflow cannot be told.
//!
//! A thread gets one at its first recorded event and gives it back when it ends; a program that
//! starts a hundred thousand threads, one after the other, uses as many as run at a time.

#![expect(
    unsafe_code,
    reason = "raw system calls, and a destructor of the thread library"
)]

use core::ffi::{c_int, c_void};
use core::mem::transmute;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicU32, AtomicUsize};

use super::c_library::next_symbol;
use super::map;
use super::thread::Thread;
use crate::kernel;

const SIZE: usize = 64 << 10;
/// Below each stack, so that an overflow of it faults instead of writing elsewhere.
const GUARD: usize = 4096;
/// At most this many at a time: they are mappings, and a process may only have so many.
const MOST: usize = 256;

/// Addresses of stacks that ended threads left behind; 0 is a free place.
static SPARE: [AtomicUsize; MOST] = [const { AtomicUsize::new(0) }; MOST];
static MADE: AtomicU32 = AtomicU32::new(0);
/// The thread library's key plus one; its destructor takes a stack back.
static KEY: AtomicU32 = AtomicU32::new(0);
static SET: AtomicUsize = AtomicUsize::new(0);

/// Has the thread library tell us when threads end. Called in the constructor, which is early
/// enough for one of the keys that need no memory of their own.
pub fn prepare() {
    type Create = unsafe extern "C" fn(*mut u32, unsafe extern "C" fn(*mut c_void)) -> c_int;
    let create = next_symbol(c"pthread_key_create");
    let set = next_symbol(c"pthread_setspecific");
    if create.is_null() || set.is_null() {
        return;
    }
    // SAFETY: the C library's function of this name has this signature.
    let create: Create = unsafe { transmute(create) };
    let mut key = 0;
    // SAFETY: a live key and a destructor that stays.
    if unsafe { create(&raw mut key, take_back) } == 0 && key < 32 {
        SET.store(set as usize, Relaxed);
        KEY.store(key.wrapping_add(1), Release);
    }
}

/// Gives the calling thread an alternate signal stack, unless the program gave it one.
pub fn provide(thread: &Thread) {
    if thread.signal_stack.swap(1, Relaxed) != 0 || has_one() {
        return;
    }
    let Some(base) = spare().or_else(make) else {
        return;
    };
    set(base.wrapping_add(GUARD), SIZE - GUARD, 0);
    let key = KEY.load(Acquire);
    if key != 0 {
        type Set = unsafe extern "C" fn(u32, usize) -> c_int;
        // SAFETY: the C library's function of this name has this signature.
        let remember: Set = unsafe { transmute(SET.load(Relaxed)) };
        // SAFETY: the key exists; the first 32 keys have their place in the thread itself.
        unsafe { remember(key.wrapping_sub(1), base) };
    }
}

/// The thread ends: its stack goes to the next one.
unsafe extern "C" fn take_back(base: *mut c_void) {
    set(0, 0, libc::SS_DISABLE);
    for place in &SPARE {
        if place
            .compare_exchange(0, base as usize, Release, Relaxed)
            .is_ok()
        {
            return;
        }
    }
}

fn spare() -> Option<usize> {
    SPARE.iter().find_map(|place| match place.swap(0, Acquire) {
        0 => None,
        base => Some(base),
    })
}

fn make() -> Option<usize> {
    if MADE.fetch_add(1, Relaxed) as usize >= MOST {
        return None;
    }
    // SAFETY: a fresh private mapping; only touched pages cost memory.
    let base = unsafe {
        map::map(
            core::ptr::null_mut(),
            SIZE,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_STACK,
            -1,
            0,
        )
    }?;
    // SAFETY: the lowest page of our own fresh mapping.
    unsafe { kernel!(libc::SYS_mprotect, base.as_ptr(), GUARD, libc::PROT_NONE) };
    Some(base.as_ptr() as usize)
}

fn has_one() -> bool {
    let mut current = stack(0, 0, 0);
    // SAFETY: asks for the current one.
    let asked = unsafe {
        kernel!(
            libc::SYS_sigaltstack,
            core::ptr::null::<libc::stack_t>(),
            &raw mut current
        )
    };
    asked != 0 || current.ss_flags & libc::SS_DISABLE == 0
}

fn set(start: usize, size: usize, flags: c_int) {
    let stack = stack(start, size, flags);
    // SAFETY: a live stack of the stated size, or none.
    unsafe {
        kernel!(
            libc::SYS_sigaltstack,
            &raw const stack,
            core::ptr::null_mut::<libc::stack_t>()
        )
    };
}

const fn stack(start: usize, size: usize, flags: c_int) -> libc::stack_t {
    libc::stack_t {
        ss_sp: start as *mut c_void,
        ss_flags: flags,
        ss_size: size,
    }
}
