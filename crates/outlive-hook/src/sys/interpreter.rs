//! The interpreter's exported symbols: found in the constructor, called where that is safe.

#![expect(unsafe_code, reason = "calls functions of the interpreter by address")]

use core::ffi::{CStr, c_char, c_int, c_void};
use core::mem::transmute;

use super::c_library::{bounded_text, symbol};
use super::once::SetOnce;

/// Addresses of symbols; 0 where there is none.
#[derive(Clone, Copy, Debug)]
struct Symbols {
    this_thread_state: usize,
    is_initialized: usize,
    is_finalizing: usize,
    version: usize,
    version_text: usize,
    runtime: usize,
    code_type: usize,
    text_type: usize,
    bytes_type: usize,
    add_pending_call: usize,
    interpreter_head: usize,
    thread_head: usize,
    thread_next: usize,
}

static SYMBOLS: SetOnce<Symbols> = SetOnce::new();

/// Looks the interpreter up; `true` when there is one. Called in the constructor.
pub fn prepare() -> bool {
    let address = |name: &CStr| symbol(name) as usize;
    let this_thread_state = address(c"PyGILState_GetThisThreadState");
    if this_thread_state == 0 {
        return false;
    }
    SYMBOLS.set(Symbols {
        this_thread_state,
        is_initialized: address(c"Py_IsInitialized"),
        is_finalizing: match address(c"Py_IsFinalizing") {
            0 => address(c"_Py_IsFinalizing"),
            public => public,
        },
        version: address(c"Py_Version"),
        version_text: address(c"Py_GetVersion"),
        runtime: address(c"_PyRuntime"),
        code_type: address(c"PyCode_Type"),
        text_type: address(c"PyUnicode_Type"),
        bytes_type: address(c"PyBytes_Type"),
        add_pending_call: address(c"Py_AddPendingCall"),
        interpreter_head: address(c"PyInterpreterState_Head"),
        thread_head: address(c"PyInterpreterState_ThreadHead"),
        thread_next: address(c"PyThreadState_Next"),
    });
    true
}

/// Whether this process has an interpreter at all.
pub fn exists() -> bool {
    SYMBOLS.get().is_some()
}

/// Whether it is up.
pub fn is_initialized() -> bool {
    let Some(symbols) = SYMBOLS.get().filter(|symbols| symbols.is_initialized != 0) else {
        return false;
    };
    // SAFETY: the symbol has this signature; it reads one flag.
    let function: unsafe extern "C" fn() -> c_int = unsafe { transmute(symbols.is_initialized) };
    // SAFETY: callable at any time.
    unsafe { function() != 0 }
}

/// Whether it is going down. From then on the states of other threads are freed under their feet:
/// a daemon thread still inside a native library has a state that must not be looked at.
fn is_finalizing(symbols: &Symbols) -> bool {
    if symbols.is_finalizing == 0 {
        return true;
    }
    // SAFETY: the symbol has this signature; it reads one pointer.
    let function: unsafe extern "C" fn() -> c_int = unsafe { transmute(symbols.is_finalizing) };
    // SAFETY: callable at any time.
    unsafe { function() != 0 }
}

/// Whether it is going down, or was never there.
pub fn is_going_down() -> bool {
    SYMBOLS.get().is_none_or(is_finalizing)
}

/// The calling thread's state, or 0: reads a thread-local of the interpreter.
#[inline]
pub fn this_thread_state() -> usize {
    let symbols = SYMBOLS.get().filter(|symbols| !is_finalizing(symbols));
    symbols.map_or(0, state_in)
}

/// Whether the calling thread has a state, though it may not be looked at any more.
pub fn knows_thread() -> bool {
    SYMBOLS.get().is_some_and(|symbols| state_in(symbols) != 0)
}

#[inline]
fn state_in(symbols: &Symbols) -> usize {
    // SAFETY: the symbol has this signature in all versions from 3.9 to 3.14.
    let function: unsafe extern "C" fn() -> usize = unsafe { transmute(symbols.this_thread_state) };
    // SAFETY: documented to need neither the GIL nor an initialised interpreter.
    unsafe { function() }
}

/// `PY_VERSION_HEX` of the running interpreter, or 0.
pub fn version_hex() -> u32 {
    let Some(symbols) = SYMBOLS.get() else {
        return 0;
    };
    if symbols.version != 0 {
        // SAFETY: a constant `unsigned long` since 3.11.
        return unsafe { *(symbols.version as *const u64) as u32 };
    }
    if symbols.version_text == 0 {
        return 0;
    }
    // SAFETY: the symbol has this signature; it gives a static text and is callable at any time.
    let function: unsafe extern "C" fn() -> *const c_char =
        unsafe { transmute(symbols.version_text) };
    // SAFETY: as above.
    let text = unsafe { function() };
    // SAFETY: a NUL-ended text.
    let text = unsafe { bounded_text(text, 32) };
    parse_version(text)
}

/// `3.9.18 (…)` → `0x030912F0`.
fn parse_version(text: &[u8]) -> u32 {
    let digits = text
        .split(|byte| !byte.is_ascii_digit() && *byte != b'.')
        .next()
        .unwrap_or(&[]);
    let mut parts = digits.split(|&byte| byte == b'.').map(|part| {
        part.iter().fold(0_u32, |sum, &digit| {
            sum.wrapping_mul(10)
                .wrapping_add(u32::from(digit.wrapping_sub(b'0')))
        })
    });
    let mut next = || parts.next().unwrap_or(0) & 0xFF;
    let (major, minor, micro) = (next(), next(), next());
    major << 24 | minor << 16 | micro << 8 | 0xF0
}

/// Address of `_PyRuntime`.
pub fn runtime_address() -> Option<usize> {
    SYMBOLS
        .get()
        .map(|symbols| symbols.runtime)
        .filter(|&address| address != 0)
}

/// Address of the type of code objects.
#[inline]
pub fn code_type() -> usize {
    SYMBOLS.get().map_or(0, |symbols| symbols.code_type)
}

/// Address of the type of texts.
pub fn text_type() -> usize {
    SYMBOLS.get().map_or(0, |symbols| symbols.text_type)
}

/// Address of the type of bytes.
pub fn bytes_type() -> usize {
    SYMBOLS.get().map_or(0, |symbols| symbols.bytes_type)
}

/// A function the interpreter calls for us.
pub type PendingCall = unsafe extern "C" fn(*mut c_void) -> c_int;

/// Asks the interpreter to call a function in the main thread at the next safe point.
pub fn call_soon(function: PendingCall) -> bool {
    type AddPendingCall = unsafe extern "C" fn(PendingCall, *mut c_void) -> c_int;
    let Some(symbols) = SYMBOLS
        .get()
        .filter(|symbols| symbols.add_pending_call != 0)
    else {
        return false;
    };
    // SAFETY: the symbol has this signature.
    let add: AddPendingCall = unsafe { transmute(symbols.add_pending_call) };
    // SAFETY: documented to need no GIL; made for signal handlers, so it does not allocate.
    unsafe { add(function, core::ptr::null_mut()) == 0 }
}

/// Calls `visit` with every thread state of the first interpreter. The three functions behind this
/// only follow pointers. The caller holds the GIL, without which no state is taken off the list, or
/// the process is dying and nothing better is left.
pub fn each_thread_state(mut visit: impl FnMut(usize)) {
    let Some(symbols) = SYMBOLS.get() else { return };
    if symbols.interpreter_head == 0 || symbols.thread_head == 0 || symbols.thread_next == 0 {
        return;
    }
    // SAFETY: the symbols have these signatures in all versions.
    let head: unsafe extern "C" fn() -> usize = unsafe { transmute(symbols.interpreter_head) };
    // SAFETY: as above.
    let first: unsafe extern "C" fn(usize) -> usize = unsafe { transmute(symbols.thread_head) };
    // SAFETY: as above.
    let next: unsafe extern "C" fn(usize) -> usize = unsafe { transmute(symbols.thread_next) };
    // SAFETY: reads one pointer.
    let interpreter = unsafe { head() };
    if interpreter == 0 {
        return;
    }
    // SAFETY: the interpreter exists; reads one pointer.
    let mut thread = unsafe { first(interpreter) };
    let mut count = 0_u32;
    while thread != 0 && count < 1024 {
        visit(thread);
        // SAFETY: `thread` came from the list and, with the GIL held, is still on it. In a process
        // that is dying it may be stale, which the caller accepts.
        thread = unsafe { next(thread) };
        count = count.wrapping_add(1);
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn version_texts_become_numbers() {
        assert_eq!(
            super::parse_version(b"3.9.18 (main, Aug 24 2023)"),
            0x0309_12F0
        );
        assert_eq!(super::parse_version(b"3.10.13+ (heads)"), 0x030A_0DF0);
        assert_eq!(super::parse_version(b""), 0xF0);
    }
}
