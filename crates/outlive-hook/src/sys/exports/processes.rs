//! Threads that are started, children that are waited for, forks.

#![expect(unsafe_code, reason = "C functions around threads and processes")]

use core::ffi::{c_int, c_void};
use core::mem::transmute;

use crate::python::bootstrap;
use crate::sys::bindings::opening;
use crate::sys::c_library::next_symbol;
use crate::sys::real::rare;
use crate::sys::thread::{self, Entered};
use crate::sys::{interpreter, signal};
use crate::{arena, children, recorder};

/// Has the C library call us around `fork`. Called in the constructor.
pub(super) fn prepare() {
    type Handler = Option<unsafe extern "C" fn()>;
    type Register = unsafe extern "C" fn(Handler, Handler, Handler, *mut c_void) -> c_int;
    let address = next_symbol(c"__register_atfork");
    if address.is_null() {
        return;
    }
    // SAFETY: `pthread_atfork` itself is a wrapper around this function, in the program.
    let register: Register = unsafe { transmute(address) };
    // SAFETY: the handlers stay: the library is never unloaded (`-z nodelete`).
    unsafe { register(None, Some(in_parent), Some(in_child), core::ptr::null_mut()) };
}

unsafe extern "C" fn in_parent() {
    if let Some(entered) = Entered::try_enter().filter(|_| recorder::is_enabled()) {
        children::forked(&entered);
    }
}

unsafe extern "C" fn in_child() {
    arena::after_fork_in_child();
    signal::belong_to_this_process();
}

/// # Safety
///
/// The contract of the C function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_create(
    thread: *mut libc::pthread_t,
    attributes: *const c_void,
    start: *mut c_void,
    argument: *mut c_void,
) -> c_int {
    type Create = unsafe extern "C" fn(
        *mut libc::pthread_t,
        *const c_void,
        *mut c_void,
        *mut c_void,
    ) -> c_int;
    let address = rare::PTHREAD_CREATE.address();
    if address.is_null() {
        return libc::EAGAIN;
    }
    opening::see_to_it();
    // Before the thread runs: its first exception may be its last.
    if recorder::is_enabled() && interpreter::this_thread_state() != 0 {
        bootstrap::request_for_threads();
    }
    // Also before: the sooner the note is there, the fewer threads are faster than it.
    let creator = Entered::try_enter()
        .filter(|_| recorder::is_enabled())
        .map_or(0, |entered| children::creator_of_next(&entered));
    // SAFETY: the C library's function of this name has this signature.
    let create: Create = unsafe { transmute(address) };
    // SAFETY: the caller's own call.
    let result = unsafe { create(thread, attributes, start, argument) };
    if result == 0 && recorder::is_enabled() {
        // SAFETY: success means the handle was stored there.
        children::thread_created(unsafe { *thread }, creator);
    }
    result
}

/// # Safety
///
/// The contract of the C function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_setname_np(
    thread: libc::pthread_t,
    name: *const core::ffi::c_char,
) -> c_int {
    type SetName = unsafe extern "C" fn(libc::pthread_t, *const core::ffi::c_char) -> c_int;
    let address = rare::PTHREAD_SETNAME.address();
    if address.is_null() {
        return libc::ENOSYS;
    }
    // Its next event asks for the name again. Another thread's memory fades by itself.
    thread::current().native.forget();
    // SAFETY: the C library's function of this name has this signature.
    let set_name: SetName = unsafe { transmute(address) };
    // SAFETY: the caller's own call.
    unsafe { set_name(thread, name) }
}

fn note_reaped(pid: c_int, status: c_int) {
    if let Some(entered) = Entered::try_enter() {
        children::reaped(&entered, pid, status);
    }
}

/// All of `wait`, `waitpid`, `wait3` and `wait4`.
unsafe fn wait_any(
    pid: c_int,
    status: *mut c_int,
    options: c_int,
    usage: *mut libc::rusage,
) -> c_int {
    type Wait4 = unsafe extern "C" fn(c_int, *mut c_int, c_int, *mut libc::rusage) -> c_int;
    let address = rare::WAIT4.address();
    if address.is_null() {
        return -1;
    }
    // SAFETY: the C library's function of this name has this signature.
    let wait: Wait4 = unsafe { transmute(address) };
    let mut seen: c_int = 0;
    // SAFETY: the caller's own call, with a status of ours.
    let result = unsafe { wait(pid, &raw mut seen, options, usage) };
    if result > 0 {
        if !status.is_null() {
            // SAFETY: a non-null status is valid by the contract.
            unsafe { *status = seen };
        }
        note_reaped(result, seen);
    }
    result
}

/// # Safety
///
/// The contract of the C function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn waitpid(pid: c_int, status: *mut c_int, options: c_int) -> c_int {
    // SAFETY: the caller's own call, by its definition.
    unsafe { wait_any(pid, status, options, core::ptr::null_mut()) }
}

/// # Safety
///
/// The contract of the C function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wait(status: *mut c_int) -> c_int {
    // SAFETY: the caller's own call, by its definition.
    unsafe { wait_any(-1, status, 0, core::ptr::null_mut()) }
}

/// # Safety
///
/// The contract of the C function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wait3(
    status: *mut c_int,
    options: c_int,
    usage: *mut libc::rusage,
) -> c_int {
    // SAFETY: the caller's own call, by its definition.
    unsafe { wait_any(-1, status, options, usage) }
}

/// # Safety
///
/// The contract of the C function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wait4(
    pid: c_int,
    status: *mut c_int,
    options: c_int,
    usage: *mut libc::rusage,
) -> c_int {
    // SAFETY: the caller's own call.
    unsafe { wait_any(pid, status, options, usage) }
}

/// # Safety
///
/// The contract of the C function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn waitid(
    kind: libc::idtype_t,
    id: libc::id_t,
    info: *mut libc::siginfo_t,
    options: c_int,
) -> c_int {
    type Waitid =
        unsafe extern "C" fn(libc::idtype_t, libc::id_t, *mut libc::siginfo_t, c_int) -> c_int;
    let address = rare::WAITID.address();
    if address.is_null() {
        return -1;
    }
    // SAFETY: the C library's function of this name has this signature.
    let wait: Waitid = unsafe { transmute(address) };
    // SAFETY: the caller's own call.
    let result = unsafe { wait(kind, id, info, options) };
    if result == 0 && !info.is_null() && options & libc::WNOWAIT == 0 {
        // SAFETY: success fills the structure in.
        let (pid, code, status) =
            unsafe { ((*info).si_pid(), (*info).si_code, (*info).si_status()) };
        if pid > 0 {
            let status = match code {
                libc::CLD_EXITED => (status & 0xFF) << 8,
                libc::CLD_KILLED => status & 0x7F,
                libc::CLD_DUMPED => (status & 0x7F) | 0x80,
                _ => return result,
            };
            note_reaped(pid, status);
        }
    }
    result
}
