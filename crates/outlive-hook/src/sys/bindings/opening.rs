//! `dlopen` in a process that was patched: what it brings is patched before its caller goes on.
//!
//! The loader looks for a library on behalf of whoever calls it: a name without a slash is looked
//! for where the caller's own object says. So where that matters the call is passed on with the
//! caller's return address untouched, and the new objects are seen to a moment later, when Python
//! next runs a bytecode.

#![expect(unsafe_code, reason = "stands in front of the loader's function")]

use core::ffi::{CStr, c_char, c_int, c_void};
use core::mem::transmute;
use core::ops::ControlFlow;

use crate::sys::interpreter;
use crate::sys::loaded::{self, DT_RPATH, DT_RUNPATH};
use crate::sys::real::Lazy;

static DLOPEN: Lazy = Lazy::new();

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
        "mov rsi, qword ptr [rsp + 16]",
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
        "mov x1, x30",
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

/// The real function, if the call must reach it as the caller's own; 0 otherwise.
unsafe extern "C" fn passed_on(file: *const c_char, caller: usize) -> usize {
    if file.is_null() {
        return 0;
    }
    // SAFETY: a name that the caller hands in ends with a NUL.
    let name = unsafe { CStr::from_ptr(file) }.to_bytes();
    let is_path = name.contains(&b'/');
    // `$ORIGIN` is where the caller's object lies.
    let depends = name.contains(&b'$') || (!is_path && has_own_path(caller));
    if !depends {
        return 0;
    }
    interpreter::call_soon(see_to_the_rest);
    DLOPEN.address(c"dlopen") as usize
}

/// Whether the object of an address says itself where its libraries are.
fn has_own_path(address: usize) -> bool {
    let mut has_path = false;
    loaded::each(|object| {
        if !object.holds(address, |_| true) {
            return ControlFlow::Continue(());
        }
        has_path = [DT_RPATH, DT_RUNPATH]
            .iter()
            .any(|&tag| object.entry(tag).is_some());
        ControlFlow::Break(())
    });
    has_path
}

unsafe extern "C" fn open_here(file: *const c_char, flags: c_int) -> *mut c_void {
    let address = DLOPEN.address(c"dlopen");
    if address.is_null() {
        return core::ptr::null_mut();
    }
    // SAFETY: the loader's function of this name has this signature.
    let open: unsafe extern "C" fn(*const c_char, c_int) -> *mut c_void =
        unsafe { transmute(address) };
    // SAFETY: the caller's own call.
    let handle = unsafe { open(file, flags) };
    if !handle.is_null() {
        super::patch();
    }
    handle
}

/// Pending call.
unsafe extern "C" fn see_to_the_rest(_: *mut c_void) -> c_int {
    super::patch();
    0
}
