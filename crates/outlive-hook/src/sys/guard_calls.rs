//! Calls into Python for the guard: the GIL for the watchdog, and the exception for a thread.
//!
//! Inside an allocation only [`holds_gil`], [`raise_soon`], [`raise_and_wake`], [`withdraw`] and
//! [`explain_soon`] are called: they read a thread-local, set a flag, send a signal or add a pending
//! call, which is made for signal handlers. Raising in another thread takes the lock of Python's
//! list of threads, and who holds that may be allocating; so it is the watchdog's.

#![expect(unsafe_code, reason = "calls the C API of the interpreter by address")]

use core::ffi::{CStr, c_int, c_ulong, c_void};
use core::mem::transmute;
use core::sync::atomic::Ordering::{Acquire, Relaxed, SeqCst};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64};

use super::bootstrap::{self, Object};
use super::c_library::symbol;
use super::once::SetOnce;
use super::{clock, interpreter, loaded, process, wake};
use crate::guard::stop;

/// Functions of the interpreter; 0 where there is none.
#[derive(Clone, Copy, Debug)]
struct Functions {
    ensure: usize,
    release: usize,
    current: usize,
    raise: usize,
    save_thread: usize,
    restore_thread: usize,
    memory_error: usize,
    set_error: usize,
}

static FUNCTIONS: SetOnce<Functions> = SetOnce::new();
/// The class, and functions of the guard's Python part.
static CLASS: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());
static EXPLAIN: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());
static RECLAIM: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());
static SPARE: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());
static USE_ALL: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());
static MAIN_THREAD: AtomicU64 = AtomicU64::new(0);
/// The interpreter is about to go down.
static IS_CLOSED: AtomicBool = AtomicBool::new(false);
/// How many threads are about to call the interpreter, or inside it, from outside Python.
static IS_INSIDE: AtomicU32 = AtomicU32::new(0);
/// The main thread is to get an exception.
static IS_WANTED: AtomicBool = AtomicBool::new(false);
/// Python's collector spares what forked processes share. Stays true in a forked child.
static IS_SPARED: AtomicBool = AtomicBool::new(false);
/// The main thread is to look at the room that is left.
static IS_TO_LOOK: AtomicBool = AtomicBool::new(false);
/// The thread in which the watchdog raised last.
static RAISED_IN: AtomicU64 = AtomicU64::new(0);

/// Looks the functions up. Called in the constructor.
pub fn prepare() {
    let address = |name: &CStr| symbol(name) as usize;
    FUNCTIONS.set(Functions {
        ensure: address(c"PyGILState_Ensure"),
        release: address(c"PyGILState_Release"),
        current: match address(c"PyThreadState_GetUnchecked") {
            0 => address(c"_PyThreadState_UncheckedGet"),
            public => public,
        },
        raise: address(c"PyThreadState_SetAsyncExc"),
        save_thread: address(c"PyEval_SaveThread"),
        restore_thread: address(c"PyEval_RestoreThread"),
        memory_error: address(c"PyExc_MemoryError"),
        set_error: address(c"PyErr_SetNone"),
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
    keep(&SPARE, c"_spare_shared");
    keep(&USE_ALL, c"_use_all");
    find_main_thread();
    IS_CLOSED.store(false, SeqCst);
}

/// Notes which thread is Python's main one. Loaded late, this may be any; pending calls are made in
/// the main one.
fn find_main_thread() {
    let is_first = process::tid() == process::pid();
    if is_first || !loaded::came_late() || !interpreter::call_soon(note_main_thread) {
        MAIN_THREAD.store(process::thread_handle(), Relaxed);
    }
}

unsafe extern "C" fn note_main_thread(_: *mut c_void) -> c_int {
    MAIN_THREAD.store(process::thread_handle(), Relaxed);
    0
}

/// The main thread; 0 until it is known.
pub fn main_thread() -> u64 {
    MAIN_THREAD.load(Relaxed)
}

/// Whether the calling thread holds the GIL: Python's current state is its own.
pub fn holds_gil() -> bool {
    let functions = FUNCTIONS.get().filter(|functions| functions.current != 0);
    let own = interpreter::this_thread_state();
    let Some(functions) = functions.filter(|_| own != 0) else {
        return false;
    };
    // SAFETY: the symbol has this signature.
    let current: unsafe extern "C" fn() -> usize = unsafe { transmute(functions.current) };
    // SAFETY: needs no GIL; reads one pointer.
    unsafe { current() == own }
}

/// The class that is raised.
fn class(functions: &Functions) -> Object {
    let class = CLASS.load(Relaxed);
    if !class.is_null() || functions.memory_error == 0 {
        return class;
    }
    // SAFETY: the symbol is a variable that holds the class.
    unsafe { *(functions.memory_error as *const Object) }
}

/// Has an exception raised in the main thread, as soon as it runs bytecode again.
pub fn raise_soon() {
    IS_WANTED.store(true, SeqCst);
    interpreter::call_soon(raise_in_main);
}

/// The same, where the main thread waits for a lock.
pub fn raise_and_wake() {
    raise_soon();
    wake::main_thread();
}

/// Pending call: raises what was asked for, unless it was taken back.
unsafe extern "C" fn raise_in_main(_: *mut c_void) -> c_int {
    let functions = FUNCTIONS.get().filter(|functions| functions.set_error != 0);
    let Some(functions) = functions.filter(|_| IS_WANTED.swap(false, SeqCst)) else {
        return 0;
    };
    // One stop is enough: a second would strike in the `__init__` of the first, and the place where
    // that was raised would be lost.
    withdraw_raised();
    // SAFETY: the C API keeps this signature.
    let set: unsafe extern "C" fn(Object) = unsafe { transmute(functions.set_error) };
    // SAFETY: a pending call has the GIL; the class lives as long as the interpreter.
    unsafe { set(class(functions)) };
    -1
}

/// Has an exception raised in a thread at its next bytecode; `false` when there is no such thread.
/// The caller holds the GIL.
pub fn raise_in(thread: u64) -> bool {
    type Raise = unsafe extern "C" fn(c_ulong, Object) -> c_int;
    let Some(functions) = FUNCTIONS.get().filter(|functions| functions.raise != 0) else {
        return false;
    };
    // SAFETY: the C API keeps this signature.
    let raise: Raise = unsafe { transmute(functions.raise) };
    // SAFETY: the GIL is held, no allocation is under way in this thread, and the class lives as
    // long as the interpreter.
    let raised = unsafe { raise(thread, class(functions)) == 1 };
    if raised {
        RAISED_IN.store(thread, SeqCst);
        if thread == main_thread() {
            withdraw();
        }
    }
    raised
}

/// Takes an exception back that the main thread has not seen yet: it got another one meanwhile, and
/// would be struck while it handles that. What the watchdog raised is taken back by [`explain`].
pub fn withdraw() {
    IS_WANTED.store(false, SeqCst);
}

/// Takes back all that the calling thread has not seen yet. The caller holds the GIL.
pub fn withdraw_all() {
    withdraw();
    withdraw_raised();
}

/// Takes back what the watchdog raised in the calling thread, if it was not seen yet. The caller
/// holds the GIL and is in no allocation.
fn withdraw_raised() {
    type Raise = unsafe extern "C" fn(c_ulong, Object) -> c_int;
    let own = process::thread_handle();
    let ours = RAISED_IN.compare_exchange(own, 0, SeqCst, SeqCst).is_ok();
    let functions = FUNCTIONS.get().filter(|functions| functions.raise != 0);
    if let Some(functions) = functions.filter(|_| ours) {
        // SAFETY: the C API keeps this signature.
        let raise: Raise = unsafe { transmute(functions.raise) };
        // SAFETY: the GIL is held; no exception means that a waiting one is dropped.
        unsafe { raise(own, core::ptr::null_mut()) };
    }
}

/// Has the exception that a refusal became explained, once the main thread runs bytecode again.
pub fn explain_soon() {
    IS_INSIDE.fetch_add(1, SeqCst);
    if is_open() {
        interpreter::call_soon(explain);
    }
    IS_INSIDE.fetch_sub(1, SeqCst);
}

/// Has the main thread look at the room that is left, between two bytecodes. Whoever waits for the
/// GIL may wait for five milliseconds, and for some programs that is too late.
pub fn look_soon() {
    IS_INSIDE.fetch_add(1, SeqCst);
    if is_open() && !IS_TO_LOOK.swap(true, SeqCst) && !interpreter::call_soon(look) {
        IS_TO_LOOK.store(false, SeqCst);
    }
    IS_INSIDE.fetch_sub(1, SeqCst);
}

/// Pending call: the main thread stops itself, if it is the one that grows.
unsafe extern "C" fn look(_: *mut c_void) -> c_int {
    IS_TO_LOOK.store(false, SeqCst);
    if is_open() {
        stop::look();
    }
    0
}

/// Whether the interpreter is up, and will be as long as `IS_INSIDE` is not 0: its exit waits.
fn is_open() -> bool {
    !IS_CLOSED.load(SeqCst) && !interpreter::is_going_down() && interpreter::is_initialized()
}

/// Runs something with the GIL, from the watchdog; nothing once the interpreter goes down.
pub fn with_gil(work: impl FnOnce()) {
    let Some(functions) = FUNCTIONS.get().filter(|functions| functions.ensure != 0) else {
        return;
    };
    IS_INSIDE.fetch_add(1, SeqCst);
    if !is_open() {
        IS_INSIDE.fetch_sub(1, SeqCst);
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
    IS_INSIDE.fetch_sub(1, SeqCst);
}

/// Frees what nobody would miss. The caller holds the GIL.
pub fn reclaim() {
    bootstrap::call_quietly(RECLAIM.load(Acquire));
}

/// Keeps Python's collector away from what forked processes share, or lets it at it again, once
/// the main thread runs bytecode: nobody waits for the GIL here.
pub fn spare_shared_soon(on: bool) {
    IS_INSIDE.fetch_add(1, SeqCst);
    if is_open() && IS_SPARED.load(SeqCst) != on && !SPARE.load(Acquire).is_null() {
        interpreter::call_soon(if on { spare } else { spare_no_more });
    }
    IS_INSIDE.fetch_sub(1, SeqCst);
}

/// Pending call.
unsafe extern "C" fn spare(_: *mut c_void) -> c_int {
    if is_open() && !IS_SPARED.swap(true, SeqCst) {
        bootstrap::call_quietly(SPARE.load(Acquire));
    }
    0
}

/// Pending call.
unsafe extern "C" fn spare_no_more(_: *mut c_void) -> c_int {
    use_all();
    0
}

/// Lets the collector at everything again. The caller holds the GIL.
pub fn use_all() {
    if IS_SPARED.swap(false, SeqCst) {
        bootstrap::call_quietly(USE_ALL.load(Acquire));
    }
}

/// Pending call: adds the facts of a refusal to the exception it became.
///
/// # Safety
///
/// Called by the interpreter, with the GIL.
pub unsafe extern "C" fn explain(_: *mut c_void) -> c_int {
    let thread = super::thread::current();
    thread.set_handling(true);
    withdraw_all();
    bootstrap::call_quietly(EXPLAIN.load(Acquire));
    thread.set_handling(false);
    0
}

/// The interpreter is about to go down: from now on the watchdog leaves it alone, and the calling
/// thread is not told anything any more. What comes now is the note of how the program ended, and
/// an exception would end that instead. The caller holds the GIL.
pub fn close() {
    IS_CLOSED.store(true, SeqCst);
    wait_for_watchdog();
    use_all();
    super::thread::current().set_handling(true);
    withdraw_all();
}

/// The end of the program was noted. What runs from now on is the program's own again.
pub fn noted() {
    super::thread::current().set_handling(false);
}

/// Lets go of the GIL while the watchdog is inside.
fn wait_for_watchdog() {
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
    while IS_INSIDE.load(SeqCst) > 0 && turn < 2000 {
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
    IS_INSIDE.store(0, SeqCst);
    IS_TO_LOOK.store(false, SeqCst);
    MAIN_THREAD.store(process::thread_handle(), Relaxed);
}
