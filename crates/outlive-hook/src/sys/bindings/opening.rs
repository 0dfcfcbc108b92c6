//! `dlopen` in a process that we came into late: what it brings is seen to before its caller uses it.
//!
//! The loader looks for a library on behalf of whoever calls it: a name without a slash is looked
//! for where the caller's object says, and the objects that brought it in. So such a call is passed
//! on with the caller's return address untouched. What it brought is seen to at the first `dlsym`
//! that follows, or when Python next runs a bytecode, whichever comes first.

#![expect(unsafe_code, reason = "stands in front of the loader's functions")]

use core::ffi::{CStr, c_char, c_int, c_void};
use core::mem::transmute;
use core::sync::atomic::AtomicBool;
use core::sync::atomic::Ordering::{AcqRel, Relaxed, Release};

use crate::sys::interpreter;
use crate::sys::real::rare;

/// A call was passed on.
static IS_PASSED_ON: AtomicBool = AtomicBool::new(false);

/// Stands in front of `dlopen`.
///
/// # Safety
///
/// The contract of the C function of this name.
#[unsafe(naked)]
pub unsafe extern "C" fn dlopen(file: *const c_char, flags: c_int) -> *mut c_void {
    #[cfg(target_arch = "x86_64")]
    core::arch::naked_asm!(
        "push rdi",
        "push rsi",
        "sub rsp, 8",
        "call {passed_on}",
        "add rsp, 8",
        "pop rsi",
        "pop rdi",
        "test rax, rax",
        "jz {here}",
        "jmp rax",
        passed_on = sym passed_on,
        here = sym open_here,
    );
    #[cfg(target_arch = "aarch64")]
    core::arch::naked_asm!(
        "stp x0, x1, [sp, #-32]!",
        "str x30, [sp, #16]",
        "bl {passed_on}",
        "mov x9, x0",
        "ldr x30, [sp, #16]",
        "ldp x0, x1, [sp], #32",
        "cbz x9, {here}",
        "br x9",
        passed_on = sym passed_on,
        here = sym open_here,
    );
}

/// Stands in front of `dlsym`, whose answer depends on the caller too: always passed on.
///
/// # Safety
///
/// The contract of the C function of this name.
#[unsafe(naked)]
pub unsafe extern "C" fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void {
    #[cfg(target_arch = "x86_64")]
    core::arch::naked_asm!(
        "push rdi",
        "push rsi",
        "sub rsp, 8",
        "call {before}",
        "add rsp, 8",
        "pop rsi",
        "pop rdi",
        "jmp rax",
        before = sym before_dlsym,
    );
    #[cfg(target_arch = "aarch64")]
    core::arch::naked_asm!(
        "stp x0, x1, [sp, #-32]!",
        "str x30, [sp, #16]",
        "bl {before}",
        "mov x9, x0",
        "ldr x30, [sp, #16]",
        "ldp x0, x1, [sp], #32",
        "br x9",
        before = sym before_dlsym,
    );
}

/// The real `dlopen`, if the call must reach it as the caller's own; 0 otherwise.
unsafe extern "C" fn passed_on(file: *const c_char) -> usize {
    if file.is_null() {
        return 0;
    }
    // SAFETY: a name that the caller hands in ends with a NUL.
    let name = unsafe { CStr::from_ptr(file) }.to_bytes();
    // `$ORIGIN` is where the caller's object lies.
    if name.contains(&b'/') && !name.contains(&b'$') {
        return 0;
    }
    IS_PASSED_ON.store(true, Release);
    interpreter::call_soon(see_to_it_soon);
    rare::DLOPEN.address() as usize
}

unsafe extern "C" fn open_here(file: *const c_char, flags: c_int) -> *mut c_void {
    // SAFETY: the loader's function of this name has this signature.
    let open: unsafe extern "C" fn(*const c_char, c_int) -> *mut c_void =
        unsafe { transmute(rare::DLOPEN.address()) };
    // SAFETY: the caller's own call. It comes through a binding that held this very function.
    let handle = unsafe { open(file, flags) };
    if !handle.is_null() {
        super::patch();
    }
    handle
}

/// The real `dlsym`, to go on with.
unsafe extern "C" fn before_dlsym() -> usize {
    see_to_it();
    rare::DLSYM.address() as usize
}

/// Sees to what calls that were passed on have brought.
pub fn see_to_it() {
    if IS_PASSED_ON.load(Relaxed) && IS_PASSED_ON.swap(false, AcqRel) {
        super::patch();
    }
}

/// Pending call. It may come before the library, and the flag stays for whoever comes later.
unsafe extern "C" fn see_to_it_soon(_: *mut c_void) -> c_int {
    super::patch();
    0
}
