//! `sigaction` and `signal`: the program keeps its own view of the fatal signals.

#![expect(unsafe_code, reason = "C functions that take handlers")]

use core::ffi::c_int;
use core::mem::transmute;

use crate::sys::real::rare;
use crate::sys::signal as fatal_signals;

/// # Safety
///
/// The contract of the C function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigaction(
    signal: c_int,
    action: *const libc::sigaction,
    before: *mut libc::sigaction,
) -> c_int {
    // SAFETY: the caller's own call.
    unsafe { fatal_signals::sigaction(signal, action, before) }
}

/// # Safety
///
/// The contract of the C function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn signal(number: c_int, handler: usize) -> usize {
    if fatal_signals::is_watched(number) {
        // SAFETY: the caller's own call.
        return unsafe { fatal_signals::set_handler(number, handler) };
    }
    let address = rare::SIGNAL.address();
    if address.is_null() {
        return libc::SIG_ERR;
    }
    // SAFETY: the C library's function of this name has this signature.
    let function: unsafe extern "C" fn(c_int, usize) -> usize = unsafe { transmute(address) };
    // SAFETY: the caller's own call.
    unsafe { function(number, handler) }
}
