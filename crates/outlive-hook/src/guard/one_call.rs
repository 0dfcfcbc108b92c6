//! Requests that go on inside a single call, though they were refused.
//!
//! No bytecode runs there, so no exception can arrive. `text.split()` or `json.loads()` make
//! millions of small objects in one go, and a handler may swallow every stop. When hardly anything
//! is left and growth went on after all, what Python asks for itself is refused, whatever its size:
//! an arena of small objects and the object it would take from `malloc` instead, or a block. The
//! call fails with a `MemoryError`, as it would on a machine without over-commitment. The same goes
//! for the first piece of a large request that a library tries again in pieces.

use core::ops::ControlFlow;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

use outlive_record::ledger::{Ledger, Measurement};
use outlive_record::write::BoxWriter;

use super::{callers, moment, refusal, stop};
use crate::arena::Arena;
use crate::python::{self, Memory, walk};
use crate::sys::thread::Entered;
use crate::sys::{guard_calls, interpreter, peek, process};

/// Where a thread was when it was stopped. Zeroed memory is nowhere.
#[derive(Debug)]
#[repr(C)]
pub struct StoppedAt {
    thread: AtomicU64,
    code: AtomicU64,
    offset: AtomicU64,
}

impl StoppedAt {
    /// Remembers where a thread with this state is.
    pub fn set<M: Memory>(&self, memory: &M, thread: u64, state: usize) {
        let (code, offset) = innermost(memory, state);
        self.code.store(code, Relaxed);
        self.offset.store(offset, Relaxed);
        self.thread.store(thread, Relaxed);
    }

    /// Whether the calling thread was stopped, and has not moved since.
    fn is_here(&self) -> bool {
        let state = interpreter::this_thread_state();
        if state == 0 || self.thread.load(Relaxed) != process::thread_handle() {
            return false;
        }
        let here = innermost(&peek::own_frames(), state);
        here.0 != 0 && here == (self.code.load(Relaxed), self.offset.load(Relaxed))
    }

    fn forget(&self) {
        self.thread.store(0, Relaxed);
    }
}

/// Code object and instruction of the innermost frame; zeros when there is none.
fn innermost<M: Memory>(memory: &M, state: usize) -> (u64, u64) {
    let mut place = (0, 0);
    if let Some(layout) = python::layout() {
        walk::walk(memory, layout, state, |found| {
            place = (found.code as u64, u64::from(found.offset));
            ControlFlow::Break(())
        });
    }
    place
}

/// Whether something that Python asks for itself is to be refused: it is the last moment, growth
/// went on or is still in the very call that was told, and the answer becomes a `MemoryError` right
/// here. Between two pieces of work a worker needs little, and without that little it would end.
fn is_refusable(arena: &Arena, ledger: &Ledger) -> bool {
    stop::is_last_moment(arena, ledger)
        && (stop::grew_on(arena, ledger) || arena.guard.stopped_at.is_here())
        && guard_calls::holds_gil()
        && refusal::has_frames()
        && !moment::is_spared(ledger)
}

/// Whether an arena of Python's small objects is to be refused; if so, the next object is too.
pub fn refuses_arena(entered: &Entered, arena: &Arena, ledger: &Ledger) -> bool {
    let is_refused = is_refusable(arena, ledger);
    if is_refused {
        entered.thread.deny_next();
    }
    is_refused
}

/// A large request was refused: if its caller tries it again in pieces, the first is refused too.
pub fn refuses_pieces(entered: &Entered, arena: &Arena, caller: usize) {
    if callers::tries_pieces(caller) {
        let state = interpreter::this_thread_state();
        let handle = process::thread_handle();
        arena
            .guard
            .stopped_at
            .set(&peek::own_frames(), handle, state);
        entered.thread.deny_next();
    }
}

/// Whether a small request is refused: Python's own, at the last moment or in place of an arena;
/// or a piece of what was refused as a whole, at the same instruction.
pub fn refuses(
    arena: &Arena,
    ledger: &Ledger,
    is_denied: bool,
    is_python: bool,
    caller: usize,
) -> bool {
    if is_python {
        is_denied || is_refusable(arena, ledger)
    } else {
        is_denied && callers::tries_pieces(caller) && arena.guard.stopped_at.is_here()
    }
}

/// The object that Python takes from `malloc` instead is refused: the call fails.
pub fn refuse_object(
    entered: &Entered,
    arena: &Arena,
    black_box: &BoxWriter,
    ledger: &Ledger,
    size: usize,
    caller: usize,
) {
    arena.guard.stopped_at.forget();
    let request = refusal::Request {
        size: size as u64,
        caller,
        purpose: super::Purpose::Arena,
    };
    let measured: Measurement = ledger.measured();
    refusal::refuse(entered, arena, black_box, ledger, &request, &measured);
}
