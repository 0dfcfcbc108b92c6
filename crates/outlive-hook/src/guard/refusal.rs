//! A large request that seems not to fit: looked at closely, and refused if nothing helps.
//!
//! Refused is only who can be told. On a thread with Python frames the answer becomes an
//! exception; without them only where the caller is an allocator that is known, and tested, to
//! report a failure as an error. Everybody else gets the memory, and the watchdog does the rest.

use outlive_record::kind::EventKind;
use outlive_record::ledger::{Ledger, Measurement};
use outlive_record::write::BoxWriter;

use core::ops::ControlFlow;
use core::sync::atomic::Ordering::{Relaxed, SeqCst};

use super::measure::{bury_the_dead, measure};
use super::rivals::ring_others;
use super::{Answer, GuardState, Purpose, callers, facts, moment, one_call, reserve, stop};
use crate::arena::Arena;
use crate::attribution::stack_of_caller;
use crate::python::{self, walk};
use crate::sys::thread::Entered;
use crate::sys::{clock, guard_calls, interpreter, peek, process, residency};

/// How often others get a millisecond to free what they are about to free.
const PATIENCE: u32 = 5;

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// Bytes that are new to the process.
    pub size: u64,
    /// Who asks.
    pub caller: usize,
    /// What for.
    pub purpose: Purpose,
}

impl Request {
    /// Measures, and reserves the bytes if they fit now. A pool has to fit beside those that are
    /// there and not filled yet.
    fn try_reserve(&self, state: &GuardState, ledger: &Ledger) -> (bool, Measurement) {
        if !callers::pools(self.caller, self.size) {
            let measured = measure(state, ledger, self.size);
            return (reserve(state, ledger, self.size), measured);
        }
        let measured = measure(state, ledger, 0);
        let wanted = self.size.saturating_add(ledger.pooled());
        let fits = i64::try_from(wanted).is_ok_and(|wanted| wanted <= measured.headroom);
        if fits {
            self.take(state, ledger);
        }
        (fits, measured)
    }

    /// Takes the bytes, whether they fit or not.
    fn take(&self, state: &GuardState, ledger: &Ledger) {
        ledger.grant(self.size);
        if let Some(slot) = state.slot(ledger) {
            slot.in_flight().fetch_add(self.size as i64, SeqCst);
        }
    }
}

/// Decides about a request that the last measurement has no room for.
#[cold]
pub fn reconsider(
    entered: &Entered,
    arena: &Arena,
    black_box: &BoxWriter,
    ledger: &Ledger,
    request: &Request,
) -> Answer {
    let state = &arena.guard;
    let granted = Answer::Granted(request.size, request.purpose);
    let (fits, mut measured) = request.try_reserve(state, ledger);
    stop::keep_watch(arena, &measured);
    if fits {
        return granted;
    }
    if !request.purpose.may_refuse(request.size) || !can_be_told(entered, request.caller) {
        request.take(state, ledger);
        stop::pressed(entered, arena, ledger);
        return granted;
    }
    let mut turn = 0;
    // Once in any case: the first figures may be another's, from before a limit changed.
    while turn < PATIENCE && (turn == 0 || request.size <= measured.budget) {
        make_room(arena, ledger, turn);
        let (fits, now) = request.try_reserve(state, ledger);
        if fits {
            return granted;
        }
        measured = now;
        turn = turn.wrapping_add(1);
    }
    refuse(entered, arena, black_box, ledger, request, &measured);
    one_call::refuses_pieces(entered, arena, request.caller);
    state.batches.note_refusal(request.caller);
    Answer::Refused
}

/// First the C library gives back what it keeps; then others get a moment.
fn make_room(arena: &Arena, ledger: &Ledger, turn: u32) {
    if turn == 0 {
        residency::trim();
        bury_the_dead(ledger);
        return;
    }
    // Others count as untouched what they have touched since they last looked.
    ring_others(arena, ledger);
    clock::sleep(1_000_000);
}

/// Whether a refusal becomes an error on this thread, rather than an abort.
fn can_be_told(entered: &Entered, caller: usize) -> bool {
    if entered.thread.is_handling() || !interpreter::exists() {
        return false;
    }
    if interpreter::is_going_down() {
        // Python cannot be told any more. A library's own threads go on until it ends them.
        return !interpreter::knows_thread() && callers::has_own_threads(caller);
    }
    if has_frames() {
        !callers::cannot_be_told(caller)
    } else {
        callers::is_known_allocator(caller)
    }
}

/// Whether the calling thread is inside Python code.
pub fn has_frames() -> bool {
    let Some(layout) = python::layout() else {
        return false;
    };
    let thread_state = interpreter::this_thread_state();
    if thread_state == 0 {
        return false;
    }
    let mut found = false;
    walk::walk(&peek::own_frames(), layout, thread_state, |_| {
        found = true;
        ControlFlow::Break(())
    });
    found
}

/// The answer is no: it goes into the box, and Python is told why.
pub(super) fn refuse(
    entered: &Entered,
    arena: &Arena,
    black_box: &BoxWriter,
    ledger: &Ledger,
    request: &Request,
    measured: &Measurement,
) {
    ledger.count_refusal();
    let stack = stack_of_caller(arena, black_box, entered.thread, request.caller);
    let tid = entered.thread.tid.load(Relaxed);
    let headroom = measured.headroom;
    let time = clock::monotonic();
    ledger.note_told(process::pid(), time);
    let kind = EventKind::Refused;
    black_box.add_event(
        kind,
        time,
        tid,
        request.size,
        measured.budget,
        stack,
        headroom,
    );
    facts::note_refusal(black_box, request.size, measured, time);
    arena
        .guard
        .last
        .refused(request.size, measured, stack, time);
    stop::refused(arena, ledger, measured);
    if moment::serves_main(arena) {
        // Whoever waits for this thread is told instead.
        arena.guard.last.explained();
        guard_calls::raise_and_wake();
    } else {
        guard_calls::withdraw();
        stop::explain_soon(arena);
    }
}
