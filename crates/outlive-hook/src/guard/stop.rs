//! Growth that no single request accounts for: when the headroom is short, the thread that grew
//! most gets an exception at its next bytecode.
//!
//! Two ways lead here. A thread that allocates comes by itself ([`pressed`]); if it holds the GIL
//! and is the one that grows, it is told on the spot, however fast it grows. Everything else is
//! the watchdog's, which first tries to make room.

use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicBool, AtomicI64, AtomicU64};

use outlive_record::kind::EventKind;
use outlive_record::ledger::{Ledger, Measurement};
use outlive_record::write::{BoxWriter, StackId};

use super::facts;
use super::growth::Growth;
use super::measure::{measure, recent};
use super::moment::{self, lives};
use super::rivals::{grows_most, ring_others};
use crate::arena::{self, Arena};
use crate::attribution::python_stack;
use crate::python::{self, origin::Whereabouts};
use crate::sys::peek::Checked;
use crate::sys::thread::Entered;
use crate::sys::{clock, guard_calls, interpreter, ledger, process, thread, watchdog};

/// The line: a headroom of less than one part in so many of the budget is short.
const LINE_PART: u64 = 64;
/// The same in a forked process.
const FORKED_LINE_PART: u64 = 48;
/// The same where growth is silent: it goes on while the watchdog is on its way.
const SILENT_LINE_PART: u64 = 24;
const LEAST_LINE: u64 = 2 << 20;
const MOST_LINE: u64 = 128 << 20;
/// How long a thread waits that grows while the headroom is short, in nanoseconds.
const BRAKE: u64 = 2_000_000;
/// A process that grew by less is not worth stopping.
pub(super) const SMALLEST_GROWTH: i64 = 256 << 10;
/// What a process says of its untouched pages is in doubt after this long, in nanoseconds.
const DATED: u64 = 5_000_000;

/// When stops happened, and how it stood then. Zeroed memory is never.
#[derive(Debug)]
#[repr(C)]
pub struct Stops {
    time: AtomicU64,
    headroom: AtomicI64,
    thread: AtomicU64,
    /// The thread in which an exception is being made; 0 for none.
    making: AtomicU64,
}

/// The headroom that decides about stops. What other processes have not touched counts only if
/// they looked lately: they may well have touched it, and then it is counted as resident too.
pub fn settled(arena: &Arena, ledger: &Ledger, measured: &Measurement) -> Measurement {
    let own = arena.guard.slot(ledger).map_or(0, |slot| slot.pid());
    let now = clock::monotonic();
    let others = ledger.slots().filter(|slot| {
        slot.pid() != 0 && slot.pid() != own && now.saturating_sub(slot.updated()) > DATED
    });
    let doubtful = others.fold(0_u64, |sum, slot| sum.saturating_add(slot.promised()));
    Measurement {
        headroom: measured.headroom.saturating_add(doubtful as i64),
        ..*measured
    }
}

/// This process was forked by another of the tree, and likely works for it.
static IS_FORKED: AtomicBool = AtomicBool::new(false);

/// Called in a forked child.
pub fn after_fork_in_child() {
    IS_FORKED.store(true, Relaxed);
}

/// Whether this process was forked by another of the tree.
pub fn is_forked() -> bool {
    IS_FORKED.load(Relaxed)
}

/// A library of this process fills address space that it reserved, without a word.
static IS_SILENT: AtomicBool = AtomicBool::new(false);

/// Below this headroom, growth is stopped. In a forked process sooner: whoever handles its error
/// is its parent, whose pages part from its own as it does so. Sooner, too, where growth is silent
/// and can only be seen from outside.
pub fn line(budget: u64) -> i64 {
    let part = if is_silent() {
        SILENT_LINE_PART
    } else if is_forked() {
        FORKED_LINE_PART
    } else {
        LINE_PART
    };
    (budget / part).clamp(LEAST_LINE, MOST_LINE) as i64
}

/// Whether growth of this process can only be seen from outside.
pub fn is_silent() -> bool {
    IS_SILENT.load(Relaxed)
}

/// Whether the last measurement, whoever made it, found the headroom short.
#[inline]
pub fn is_short(ledger: &Ledger) -> bool {
    let measured = ledger.measured();
    measured.headroom < line(measured.budget)
}

/// More was acquired than the last measurement has room for, or there is hardly any.
#[cold]
pub fn pressed(entered: &Entered, arena: &Arena, ledger: &Ledger) {
    let measured = recent(&arena.guard, ledger);
    keep_watch(arena, &measured);
    forget_stops(arena, &measured);
    if measured.headroom >= line(measured.budget) || entered.thread.is_handling() {
        return;
    }
    let measured = settled(arena, ledger, &measured);
    if measured.headroom < line(measured.budget) {
        if guard_calls::holds_gil() {
            tell(arena, ledger, &measured);
        } else {
            brake(arena, ledger, &measured);
        }
    }
}

/// The main thread looks by itself, between two bytecodes.
pub fn look() {
    let Some(entered) = Entered::try_enter() else {
        return;
    };
    // In code that is not the user's, such as a worker's loop or the handling of an error, only the
    // watchdog may decide that there is no better moment.
    let state = interpreter::this_thread_state();
    let is_own = moment::whereabouts(&Checked, state) == Some(Whereabouts::Own);
    let present = arena::existing().zip(ledger::current());
    if let Some(((arena, _), ledger)) = present.filter(|_| is_own) {
        pressed(&entered, arena, ledger);
    }
}

/// Slows growth down that nobody can stop on the spot, until the watchdog has the GIL and the
/// exception has arrived. The less is left, the longer.
fn brake(arena: &Arena, ledger: &Ledger, measured: &Measurement) {
    let slot = arena.guard.slot(ledger);
    if slot.is_some_and(|slot| slot.growth() >= SMALLEST_GROWTH) {
        let line = line(measured.budget);
        let times = match measured.headroom {
            left if left > line / 2 => 1,
            left if left > line / 4 => 4,
            _ => 10,
        };
        if let Some(slot) = slot {
            watchdog::ring(slot.bell());
        }
        clock::sleep(times * BRAKE);
    }
}

/// The calling thread holds the GIL and the headroom is short. If it is the main thread, and the one
/// that grows, it is stopped at its next bytecode; the watchdog would have to wait for the GIL. Any
/// other thread is the watchdog's, which is woken.
fn tell(arena: &Arena, ledger: &Ledger, measured: &Measurement) {
    // A forked process frees nothing first; any other leaves the watchdog some time to try.
    if !is_forked() && measured.headroom >= line(measured.budget) / 2 {
        return;
    }
    let own = Growth {
        handle: process::thread_handle(),
        bytes: arena.guard.growers.at(thread::current().grower()),
    };
    if own.handle != guard_calls::main_thread() {
        if let Some(slot) = arena.guard.slot(ledger) {
            watchdog::ring(slot.bell());
        }
        return;
    }
    let most = arena.guard.growers.most();
    let is_one = most.is_some_and(|most| own.bytes.saturating_mul(2) >= most.bytes);
    if is_one && is_due(arena, measured, Some(own)) && grows_most(arena, ledger, measured) {
        stop(arena, ledger, measured, own.handle, Way::Soon);
    }
}

/// How a thread is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// By the watchdog, with the GIL.
    Now,
    /// By a pending call, in the main thread.
    Soon,
    /// The same, and it is woken: it waits for the thread that grows.
    Waking,
}

/// Whether so little was left at the last measurement that every process should be watched.
pub fn is_close(ledger: &Ledger) -> bool {
    let measured = ledger.measured();
    measured.headroom < (measured.budget / 4) as i64
}

/// Whether so much is used that processes forked now should be watched from the start.
pub fn is_near(measured: &Measurement) -> bool {
    measured.budget > 0 && measured.headroom < (measured.budget / 4 * 3) as i64
}

/// Sees to it that the watchdog runs when room gets short.
pub fn keep_watch(arena: &Arena, measured: &Measurement) {
    if measured.headroom <= (measured.budget / 2) as i64 {
        watch(arena);
    }
}

/// A library with an allocator of its own reserved address space: it may grow without a word.
pub fn watch_for_good(arena: &Arena) {
    if ledger::current().is_some() {
        IS_SILENT.store(true, Relaxed);
        arena.guard.is_watched.store(1, Relaxed);
        watch(arena);
    }
}

/// Starts the watchdog, unless it runs.
pub fn watch(arena: &Arena) {
    if interpreter::exists() && arena.guard.watchdog.load(Relaxed) == 0 {
        watchdog::start(&arena.guard.watchdog);
    }
}

/// Whether a stop of a thread is due: none was tried yet at this line, or growth went on after it.
///
/// The thread that was stopped, and those who handle the exception, need some memory too; but the
/// less is left, the less patience there is, and the loop of a worker needs none. Another thread
/// that grows after the stop is another case.
pub fn is_due(arena: &Arena, measured: &Measurement, most: Option<Growth>) -> bool {
    let stops = &arena.guard.stops;
    if stops.time.load(Relaxed) == 0 {
        return true;
    }
    let line = line(measured.budget);
    let step = line / 16;
    if most.is_some_and(|most| most.handle != stops.thread.load(Relaxed) && most.bytes > step) {
        return true;
    }
    let fell = stops
        .headroom
        .load(Relaxed)
        .saturating_sub(measured.headroom);
    let patience = if is_forked() {
        step
    } else if measured.headroom > line / 4 {
        line / 2
    } else {
        line / 4
    };
    fell >= patience
}

/// Whether this is the last moment: hardly anything is left.
pub fn is_last_moment(arena: &Arena, ledger: &Ledger) -> bool {
    let measured = ledger.measured();
    if measured.headroom >= line(measured.budget) / 4 {
        return false;
    }
    let measured = settled(arena, ledger, &recent(&arena.guard, ledger));
    measured.headroom < line(measured.budget) / 8
}

/// Whether the process grew on after it was last told.
pub fn grew_on(arena: &Arena, ledger: &Ledger) -> bool {
    let slot = arena.guard.slot(ledger);
    slot.is_none_or(|slot| slot.growth() >= 4 * SMALLEST_GROWTH)
}

/// A request was refused: whoever handles that is to be left alone for a while, as after a stop.
pub fn refused(arena: &Arena, ledger: &Ledger, measured: &Measurement) {
    note_stop(arena, measured, process::thread_handle());
    start_anew(arena, ledger);
}

/// What grows from now on counts.
pub fn start_anew(arena: &Arena, ledger: &Ledger) {
    arena.guard.growers.start_anew();
    arena.guard.history.forget();
    if let Some(slot) = arena.guard.slot(ledger) {
        slot.set_growth(0, 0);
    }
}

fn note_stop(arena: &Arena, measured: &Measurement, handle: u64) {
    let stops = &arena.guard.stops;
    stops.time.store(measured.time, Relaxed);
    stops.headroom.store(measured.headroom, Relaxed);
    stops.thread.store(handle, Relaxed);
}

/// The exception of a stop arrived in the calling thread. The statement that it ends may have gone
/// on for a while: what grows from now on counts.
pub fn arrived(arena: &Arena, ledger: &Ledger) {
    let own = process::thread_handle();
    arena.guard.stops.making.store(own, Relaxed);
    if last_thread(arena) == Some(own) {
        refused(arena, ledger, &measure(&arena.guard, ledger, 0));
    }
}

/// The exception is made.
pub fn told(arena: &Arena) {
    arena.guard.stops.making.store(0, Relaxed);
}

/// Whether this process was stopped, and has not come to rest since.
pub fn was_told(arena: &Arena) -> bool {
    arena.guard.stops.time.load(Relaxed) != 0
}

/// The thread that was stopped last, while that still counts.
pub fn last_thread(arena: &Arena) -> Option<u64> {
    let stops = &arena.guard.stops;
    (stops.time.load(Relaxed) != 0).then(|| stops.thread.load(Relaxed))
}

/// There is room again: the next stop is a new case.
pub fn forget_stops(arena: &Arena, measured: &Measurement) {
    if measured.headroom > line(measured.budget).saturating_mul(2) {
        arena.guard.stops.time.store(0, Relaxed);
    }
}

/// Raises the exception in a thread; `false` when that thread is gone. The caller holds the GIL.
pub fn stop(arena: &Arena, ledger: &Ledger, measured: &Measurement, handle: u64, way: Way) -> bool {
    let is_busy = arena.guard.stops.making.load(Relaxed) == handle;
    let is_good = way == Way::Waking || moment::is_good(arena, measured, handle);
    if is_busy || !is_good {
        return true;
    }
    note_stop(arena, measured, handle);
    let Some((_, black_box)) = arena::existing() else {
        return false;
    };
    let stack = stack_of(arena, black_box, handle);
    let time = clock::monotonic();
    arena.guard.last.stopped(measured, stack, time);
    match way {
        Way::Soon => guard_calls::raise_soon(),
        Way::Waking => guard_calls::raise_and_wake(),
        Way::Now if guard_calls::raise_in(handle) => {}
        Way::Now => {
            arena.guard.growers.forget(handle);
            return false;
        }
    }
    ledger.count_stop();
    ledger.note_told(process::pid(), time);
    ring_others(arena, ledger);
    let state = arena.guard.growers.state_of(handle);
    arena.guard.stopped_at.set(&Checked, handle, state);
    // From now on others count as growing more, if they go on.
    start_anew(arena, ledger);
    let used = (measured.budget as i64).saturating_sub(measured.headroom);
    black_box.add_event(
        EventKind::Stopped,
        time,
        process::tid(),
        used.max(0) as u64,
        measured.budget,
        stack,
        measured.headroom,
    );
    facts::note_stop(black_box, measured, time);
    true
}

/// The stack of a thread. The caller holds the GIL, so all frames stand still.
fn stack_of(arena: &Arena, black_box: &BoxWriter, handle: u64) -> StackId {
    let state = arena.guard.growers.state_of(handle);
    let layout = python::layout().filter(|_| state != 0 && lives(state));
    layout
        .and_then(|layout| python_stack(arena, black_box, &Checked, layout, state))
        .unwrap_or(StackId(0))
}

/// Has the exception that follows a refusal explained, as soon as Python runs again. That may be
/// before the exception is there: the watchdog asks again.
pub fn explain_soon(arena: &Arena) {
    if interpreter::exists() {
        guard_calls::explain_soon();
        watch(arena);
    }
}
