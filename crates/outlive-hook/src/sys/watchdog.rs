//! The watchdog's thread, and the word it sleeps on.

#![expect(unsafe_code, reason = "starts a thread of the C library; futexes")]

use core::ffi::{c_int, c_void};
use core::mem::{MaybeUninit, transmute};
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use super::real::rare;
use crate::guard::watchdog::{ABSENT, RUNNING, run};
use crate::kernel;

/// Starts the thread, unless it runs. `state` says which.
///
/// Signals are blocked in it: they belong to the program's own threads.
pub fn start(state: &AtomicU32) {
    if state
        .compare_exchange(ABSENT, RUNNING, Acquire, Relaxed)
        .is_err()
    {
        return;
    }
    let mut before = MaybeUninit::<libc::sigset_t>::zeroed();
    let mut all = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: a live set.
    unsafe { libc::sigfillset(all.as_mut_ptr()) };
    // SAFETY: two live sets; only the calling thread's mask changes, and is put back below.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr()) };
    let started = create();
    // SAFETY: the set that the call above filled in.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), core::ptr::null_mut()) };
    if !started {
        state.store(ABSENT, Release);
    }
}

fn create() -> bool {
    type Start = extern "C" fn(*mut c_void) -> *mut c_void;
    type Create = unsafe extern "C" fn(
        *mut libc::pthread_t,
        *const libc::pthread_attr_t,
        Start,
        *mut c_void,
    ) -> c_int;
    let address = rare::PTHREAD_CREATE.address();
    if address.is_null() {
        return false;
    }
    // SAFETY: the C library's function of this name has this signature.
    let create: Create = unsafe { transmute(address) };
    let mut thread: libc::pthread_t = 0;
    // SAFETY: default attributes; the function below never unwinds.
    let result = unsafe {
        create(
            &raw mut thread,
            core::ptr::null(),
            body,
            core::ptr::null_mut(),
        )
    };
    if result == 0 {
        // SAFETY: a thread that was just started and that nobody else knows.
        unsafe { libc::pthread_detach(thread) };
    }
    result == 0
}

extern "C" fn body(_: *mut c_void) -> *mut c_void {
    // SAFETY: a NUL-ended name of less than 16 bytes.
    unsafe {
        kernel!(
            libc::SYS_prctl,
            libc::PR_SET_NAME,
            c"outlive".as_ptr(),
            0,
            0,
            0
        )
    };
    run();
    core::ptr::null_mut()
}

/// Sleeps until somebody rings, at most so many nanoseconds.
pub fn wait(bell: &AtomicU32, nanoseconds: u64) {
    let time = super::clock::timespec(nanoseconds);
    let seen = bell.load(Acquire);
    // SAFETY: a live word in shared memory and a live time.
    unsafe {
        kernel!(
            libc::SYS_futex,
            core::ptr::from_ref(bell),
            libc::FUTEX_WAIT,
            seen,
            &raw const time,
            0,
            0
        )
    };
}

/// Wakes whoever sleeps on a bell, in any process.
pub fn ring(bell: &AtomicU32) {
    bell.fetch_add(1, Release);
    // SAFETY: a live word in shared memory.
    unsafe {
        kernel!(
            libc::SYS_futex,
            core::ptr::from_ref(bell),
            libc::FUTEX_WAKE,
            1,
            0,
            0,
            0
        )
    };
}
