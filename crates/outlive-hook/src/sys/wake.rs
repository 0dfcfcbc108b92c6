//! Wakes the main thread where it waits for a lock, so that it makes its pending calls.
//!
//! Python makes them when a signal interrupts the wait, and then waits on. The signal has to have a
//! handler for that: `SIGURG`, which does nothing by default and which hardly anybody uses. Where
//! the program has a handler of its own for it, that one runs, and whether the wait ends is up to
//! its flags.

#![expect(unsafe_code, reason = "installs a signal handler and sends a signal")]

use core::ffi::c_int;
use core::mem::zeroed;

use super::process;
use super::signal::real_sigaction;
use crate::kernel;

const SIGNAL: c_int = libc::SIGURG;

/// Wakes the process's first thread, which is Python's main one unless Python is embedded.
pub fn main_thread() {
    if !is_handled() {
        // SAFETY: zero is a valid action (default, no flags, empty mask).
        let mut ours: libc::sigaction = unsafe { zeroed() };
        // Without `SA_RESTART`: the wait is to end.
        ours.sa_sigaction = ignore as *const () as usize;
        // SAFETY: a live action; its handler does nothing. It stays: a signal that is under way
        // when the default is back would be dropped.
        unsafe { real_sigaction(SIGNAL, &raw const ours, core::ptr::null_mut()) };
    }
    let pid = process::pid();
    // SAFETY: a raw system call on ourselves, with a signal that ends nothing.
    unsafe { kernel!(libc::SYS_tgkill, pid, pid, SIGNAL) };
}

extern "C" fn ignore(_: c_int) {}

fn is_handled() -> bool {
    // SAFETY: zero is a valid action.
    let mut present: libc::sigaction = unsafe { zeroed() };
    // SAFETY: a live place for the answer; nothing is changed.
    let asked = unsafe { real_sigaction(SIGNAL, core::ptr::null(), &raw mut present) };
    asked != 0 || !matches!(present.sa_sigaction, libc::SIG_DFL | libc::SIG_IGN)
}
