//! When an exception may strike a thread: in the user's own code it does what an exception should;
//! in the loop of a worker it would end the worker, and leave its parent with a broken pool or, if
//! the worker held the lock of a queue, waiting for ever.

use outlive_record::ledger::{Ledger, Measurement};

use super::stop::line;
use crate::arena::Arena;
use crate::python::origin::{self, Whereabouts};
use crate::python::{self, Memory};
use crate::sys::peek::{self, Checked};
use crate::sys::{guard_calls, interpreter, process};

/// Whether an exception can do no harm in a thread now. With hardly anything left, it may strike a
/// library too, but never the loop of a worker: that waits for work more often than it grows, and
/// once it is back in the user's code it is stopped there. The caller holds the GIL.
pub fn is_good(arena: &Arena, measured: &Measurement, handle: u64) -> bool {
    match of(arena, handle) {
        None | Some(Whereabouts::Own) => true,
        Some(Whereabouts::Library) => measured.headroom < line(measured.budget) / 8,
        Some(Whereabouts::Loop) => false,
    }
}

/// Whether a thread is in a loop that serves others. The caller holds the GIL.
pub fn is_in_loop(arena: &Arena, handle: u64) -> bool {
    of(arena, handle) == Some(Whereabouts::Loop)
}

/// Whether the main thread waits for others, and is itself none that serves: it may be told in their
/// place, and is to be woken. The caller holds the GIL.
pub fn does_main_wait(arena: &Arena) -> bool {
    let main = guard_calls::main_thread();
    let state = arena.guard.growers.state_of(main);
    let layout = python::layout().filter(|_| main != 0 && state != 0 && lives(state));
    layout.is_some_and(|layout| origin::is_waiting(&Checked, layout, state))
        && !is_in_loop(arena, main)
}

/// Whether the calling thread serves a pool for which the main thread waits. An error ends it, and
/// the main thread would wait for ever.
pub fn serves_main(arena: &Arena) -> bool {
    let state = interpreter::this_thread_state();
    let layout = python::layout().filter(|_| state != 0);
    process::thread_handle() != guard_calls::main_thread()
        && guard_calls::holds_gil()
        && layout.is_some_and(|layout| origin::is_of_pool(&peek::own_frames(), layout, state))
        && whereabouts(&peek::own_frames(), state) == Some(Whereabouts::Loop)
        && does_main_wait(arena)
}

fn of(arena: &Arena, handle: u64) -> Option<Whereabouts> {
    let state = arena.guard.growers.state_of(handle);
    whereabouts(&Checked, if lives(state) { state } else { 0 })
}

/// Whether the calling thread is in such a loop, and what is kept back has room for what it needs
/// there: to send an error on, or to read one. Once half of that is used too, a loop that ends is
/// better than a process that is killed.
pub fn is_spared(ledger: &Ledger) -> bool {
    let measured = ledger.measured();
    let state = interpreter::this_thread_state();
    measured.headroom > (line(measured.budget) / 4).saturating_neg()
        && whereabouts(&peek::own_frames(), state) == Some(Whereabouts::Loop)
}

/// In whose code the thread with this state is; `None` where that is not known.
pub fn whereabouts<M: Memory>(memory: &M, state: usize) -> Option<Whereabouts> {
    let layout = python::layout().filter(|_| state != 0)?;
    Some(origin::whereabouts(memory, layout, state))
}

/// Whether Python still has a thread with this state. The caller holds the GIL.
pub fn lives(state: usize) -> bool {
    let mut lives = false;
    interpreter::each_thread_state(|each| lives |= each == state);
    lives
}
