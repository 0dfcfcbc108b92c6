//! Calls into Python for the guard: the GIL for the watchdog, and the exception for a thread.
//!
//! Nothing here runs inside an allocation but [`holds_gil`] and [`raise_in`] (the thread holds the
//! GIL then, and the latter only stores a pointer).

#![expect(unsafe_code, reason = "calls the C API of the interpreter by address")]

use core::ffi::{CStr, c_int, c_ulong, c_void};
use core::mem::transmute;
use core::sync::atomic::Ordering::{Acquire, Relaxed, SeqCst};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64};

use super::bootstrap::{self, Object};
use super::c_library::symbol;
use super::once::SetOnce;
use super::{clock, interpreter, process};

/// Functions of the interpreter; 0 where there is none.
#[derive(Clone, Copy, Debug)]
struct Functions {
    ensure: usize,
    release: usize,
    check: usize,
    raise: usize,
    save_thread: usize,
    restore_thread: usize,
    memory_error: usize,
}

static FUNCTIONS: SetOnce<Functions> = SetOnce::new();
/// The class, and functions of the guard's Python part.
static CLASS: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());
static EXPLAIN: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());
static RECLAIM: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());
static MAIN_THREAD: AtomicU64 = AtomicU64::new(0);
/// The interpreter is about to go down.
static IS_CLOSED: AtomicBool = AtomicBool::new(false);
/// The watchdog has the GIL, or waits for it.
static IS_INSIDE: AtomicBool = AtomicBool::new(false);

/// Looks the functions up. Called in the constructor.
pub fn prepare() {
    let address = |name: &CStr| symbol(name) as usize;
    FUNCTIONS.set(Functions {
        ensure: address(c"PyGILState_Ensure"),
        release: address(c"PyGILState_Release"),
        check: address(c"PyGILState_Check"),
        raise: address(c"PyThreadState_SetAsyncExc"),
        save_thread: address(c"PyEval_SaveThread"),
        restore_thread: address(c"PyEval_RestoreThread"),
        memory_error: address(c"PyExc_MemoryError"),
    });
}

/// Takes over what the guard's Python part defines. Called by the bootstrap, in the main thread.
///
/// # Safety
///
/// A live dictionary, and the GIL is held.
pub unsafe fn adopt(namespace: Object) {
    let keep = |place: &AtomicPtr<c_void>, name| {
        // SAFETY: promised by the caller.
        place.store(unsafe { bootstrap::item(namespace, name) }, Relaxed);
    };
    keep(&CLASS, c"OutOfHeadroom");
    keep(&EXPLAIN, c"_explain");
    keep(&RECLAIM, c"_reclaim");
    MAIN_THREAD.store(process::thread_handle(), Relaxed);
    IS_CLOSED.store(false, SeqCst);
}

/// The main thread.
pub fn main_thread() -> u64 {
    MAIN_THREAD.load(Relaxed)
}

/// Whether the calling thread holds the GIL.
pub fn holds_gil() -> bool {
    let functions = FUNCTIONS.get().filter(|functions| functions.check != 0);
    let Some(functions) = functions.filter(|_| interpreter::this_thread_state() != 0) else {
        return false;
    };
    // SAFETY: the symbol has this signature.
    let check: unsafe extern "C" fn() -> c_int = unsafe { transmute(functions.check) };
    // SAFETY: needs no GIL; compares two pointers.
    unsafe { check() == 1 }
}

/// Has an exception raised in a thread at its next bytecode; `false` when there is no such thread.
/// The caller holds the GIL.
pub fn raise_in(thread: u64) -> bool {
    type Raise = unsafe extern "C" fn(c_ulong, Object) -> c_int;
    let Some(functions) = FUNCTIONS.get().filter(|functions| functions.raise != 0) else {
        return false;
    };
    let mut class = CLASS.load(Relaxed);
    if class.is_null() && functions.memory_error != 0 {
        // SAFETY: the symbol is a variable that holds the class.
        class = unsafe { *(functions.memory_error as *const Object) };
    }
    // SAFETY: the C API keeps this signature.
    let raise: Raise = unsafe { transmute(functions.raise) };
    // SAFETY: the GIL is held and the class lives as long as the interpreter. The call takes the
    // lock of the list of threads, stores the class and sets a flag; it allocates nothing.
    unsafe { raise(thread, class) == 1 }
}

/// Takes an exception back that the calling thread has not seen yet: it got another one meanwhile,
/// and would be struck while it handles that. Nothing happens without the GIL.
pub fn withdraw() {
    type Raise = unsafe extern "C" fn(c_ulong, Object) -> c_int;
    let Some(functions) = FUNCTIONS.get().filter(|functions| functions.raise != 0) else {
        return;
    };
    if holds_gil() {
        // SAFETY: the C API keeps this signature.
        let raise: Raise = unsafe { transmute(functions.raise) };
        // SAFETY: the GIL is held; no exception means that a waiting one is dropped.
        unsafe { raise(process::thread_handle(), core::ptr::null_mut()) };
    }
}

/// Runs something with the GIL, from the watchdog; nothing once the interpreter goes down.
pub fn with_gil(work: impl FnOnce()) {
    let Some(functions) = FUNCTIONS.get().filter(|functions| functions.ensure != 0) else {
        return;
    };
    IS_INSIDE.store(true, SeqCst);
    if IS_CLOSED.load(SeqCst) || interpreter::is_going_down() || !interpreter::is_initialized() {
        IS_INSIDE.store(false, SeqCst);
        return;
    }
    // SAFETY: the symbols have these signatures.
    let ensure: unsafe extern "C" fn() -> c_int = unsafe { transmute(functions.ensure) };
    // SAFETY: as above.
    let release: unsafe extern "C" fn(c_int) = unsafe { transmute(functions.release) };
    // SAFETY: the interpreter is up and cannot go down while `IS_INSIDE` is set: its exit waits.
    let state = unsafe { ensure() };
    work();
    // SAFETY: the state that `ensure` gave.
    unsafe { release(state) };
    IS_INSIDE.store(false, SeqCst);
}

/// Frees what nobody would miss. The caller holds the GIL.
pub fn reclaim() {
    bootstrap::call_quietly(RECLAIM.load(Acquire));
}

/// Pending call: adds the facts of a refusal to the exception it became.
///
/// # Safety
///
/// Called by the interpreter, with the GIL.
pub unsafe extern "C" fn explain(_: *mut c_void) -> c_int {
    let thread = super::thread::current();
    thread.set_handling(true);
    withdraw();
    bootstrap::call_quietly(EXPLAIN.load(Acquire));
    thread.set_handling(false);
    0
}

/// The interpreter is about to go down: from now on the watchdog leaves it alone. The caller holds
/// the GIL, and lets go of it while the watchdog is inside.
pub fn close() {
    IS_CLOSED.store(true, SeqCst);
    let Some(functions) = FUNCTIONS
        .get()
        .filter(|functions| functions.save_thread != 0)
    else {
        return;
    };
    // SAFETY: the symbols have these signatures.
    let save: unsafe extern "C" fn() -> *mut c_void = unsafe { transmute(functions.save_thread) };
    // SAFETY: as above.
    let restore: unsafe extern "C" fn(*mut c_void) = unsafe { transmute(functions.restore_thread) };
    let mut turn = 0_u32;
    while IS_INSIDE.load(SeqCst) && turn < 2000 {
        // SAFETY: the GIL is held, and is taken back below.
        let state = unsafe { save() };
        clock::sleep(1_000_000);
        // SAFETY: the state that `save` gave.
        unsafe { restore(state) };
        turn = turn.wrapping_add(1);
    }
}

/// In a forked child, where no watchdog is.
pub fn after_fork_in_child() {
    IS_INSIDE.store(false, SeqCst);
    MAIN_THREAD.store(process::thread_handle(), Relaxed);
}
