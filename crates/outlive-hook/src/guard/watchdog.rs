//! The watchdog: a thread that looks after the headroom while it is short, in no allocation's way.
//!
//! It exists only while less than half of the budget is left. It looks the more often the less is
//! left; when the line is crossed and this process is the one that grows, it makes room step by
//! step, and if nothing helps has the growing thread stopped.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use outlive_record::ledger::{Ledger, Measurement};

use super::measure::measure;
use super::moment;
use super::rivals::grows_most;
use super::stop::{self, Way};
use crate::arena::{self, Arena};
use crate::sys::{clock, guard_calls, ledger, process, residency, thread, watchdog as edge};

/// No watchdog.
pub const ABSENT: u32 = 0;
/// It runs.
pub const RUNNING: u32 = 1;
/// It was asked to end.
pub const RETIRING: u32 = 2;

/// Bytes a nanosecond that memory is expected to grow by at most; in doubt it is looked at sooner.
const RATE: i64 = 8;
const SHORTEST: u64 = 500_000;
/// The same where nobody says so when memory grows.
const SILENT_RATE: i64 = 16;
const SILENT_SHORTEST: u64 = 200_000;
const LONGEST: u64 = 50_000_000;
/// How long an error may be handled.
const AFTERMATH: u64 = 10_000_000_000;
/// Between two looks for an exception to explain.
const EXPLAIN_PAUSE: u64 = 2_000_000;
/// Pauses between two attempts to make room, in nanoseconds.
const TRIM_PAUSE: u64 = 200_000_000;
const RECLAIM_PAUSE: u64 = 3_000_000_000;
const FADE_PAUSE: u64 = 1_000_000_000;

/// When things were last done.
#[derive(Debug, Default)]
struct Diary {
    trimmed: u64,
    reclaimed: u64,
    faded: u64,
}

/// What the watchdog's thread does.
pub fn run() {
    thread::current().set_handling(true);
    let mut diary = Diary::default();
    loop {
        let (Some((arena, _)), Some(ledger)) = (arena::existing(), ledger::current()) else {
            return;
        };
        let state = &arena.guard.watchdog;
        // A process ends with its last thread, and that must not be this one.
        if process::is_only_thread() {
            state.store(ABSENT, Release);
            return;
        }
        let measured = measure(&arena.guard, ledger, 0);
        let explains = arena.guard.last.is_unexplained();
        if !explains && is_over(arena, ledger, &measured) {
            guard_calls::spare_shared_soon(false);
            state.store(ABSENT, Release);
            return;
        }
        tend(arena, ledger, &measured, &mut diary);
        if explains {
            clock::sleep(EXPLAIN_PAUSE);
            guard_calls::explain_soon();
        } else {
            rest(arena, ledger);
        }
    }
}

/// Whether the watchdog is not needed any more, or not wanted.
fn is_over(arena: &Arena, ledger: &Ledger, measured: &Measurement) -> bool {
    let plenty = (measured.budget / 4 * 3) as i64;
    let is_needed = measured.headroom <= plenty
        || ledger.processes() > 1
        || arena.guard.is_watched.load(Relaxed) != 0;
    arena.guard.watchdog.load(Acquire) == RETIRING || !is_needed
}

fn tend(arena: &Arena, ledger: &Ledger, measured: &Measurement, diary: &mut Diary) {
    if measured.time.saturating_sub(diary.faded) > FADE_PAUSE {
        diary.faded = measured.time;
        arena.guard.growers.fade();
    }
    stop::forget_stops(arena, measured);
    spare_shared(ledger, measured);
    let is_short = |measured: &Measurement| {
        let settled = stop::settled(arena, ledger, measured);
        settled.headroom < stop::line(measured.budget)
    };
    let is_due = |measured: &Measurement| stop::is_due(arena, measured, arena.guard.growers.most());
    if !is_short(measured) || !grows_most(arena, ledger, measured) {
        return;
    }
    let was_due = is_due(measured);
    if was_due {
        guard_calls::look_soon();
    }
    // What grows silently goes on while this thread makes room, at 10 GB/s and more: it is held by
    // the GIL first.
    if !stop::is_silent() && measured.time.saturating_sub(diary.trimmed) > TRIM_PAUSE {
        diary.trimmed = measured.time;
        residency::trim();
        if !is_short(&measure(&arena.guard, ledger, 0)) {
            return;
        }
    }
    if !was_due {
        return;
    }
    guard_calls::with_gil(|| {
        let now = clock::monotonic();
        if now.saturating_sub(diary.reclaimed) > RECLAIM_PAUSE {
            diary.reclaimed = now;
            // Collecting writes to every object: pages shared with other processes would be parted
            // then, and the cure be worse than the disease.
            if ledger.processes() < 2 {
                guard_calls::reclaim();
            }
            residency::trim();
        } else if now.saturating_sub(diary.trimmed) > TRIM_PAUSE {
            diary.trimmed = now;
            residency::trim();
        }
        // Others ran while this thread waited; they may have been stopped, or have freed it all.
        let measured = measure(&arena.guard, ledger, 0);
        if is_short(&measured) && is_due(&measured) {
            stop_most(arena, ledger, &measured);
        }
    });
}

/// After a process of the tree was stopped, and until there is room again, the collectors of the
/// others are kept away from older objects: a collector writes to each of them, and pages that they
/// share would be parted while the error is handled.
fn spare_shared(ledger: &Ledger, measured: &Measurement) {
    let (pid, time) = ledger.last_told();
    let is_after = pid != 0 && measured.time.saturating_sub(time) < AFTERMATH;
    let is_short = measured.headroom < stop::line(measured.budget).saturating_mul(4);
    let is_on = is_after && is_short && ledger.processes() > 1;
    guard_calls::spare_shared_soon(is_on);
}

/// Stops the thread that grew most. If none is known, growth is below Python, and the main thread
/// is told; unless another was told before, which then has yet to end what it began. It is told,
/// too, instead of a thread that only fetches for others, such as the results of a pool.
fn stop_most(arena: &Arena, ledger: &Ledger, measured: &Measurement) {
    while let Some(growth) = arena.guard.growers.most().filter(|most| most.bytes > 0) {
        if moment::is_in_loop(arena, growth.handle) {
            let main = guard_calls::main_thread();
            if growth.handle != main && moment::does_main_wait(arena) {
                stop::stop(arena, ledger, measured, main, Way::Waking);
                return;
            }
            break;
        }
        if stop::stop(arena, ledger, measured, growth.handle, Way::Now) {
            return;
        }
    }
    let main = guard_calls::main_thread();
    if main != 0 && stop::last_thread(arena).is_none_or(|last| last == main) {
        stop::stop(arena, ledger, measured, main, Way::Now);
    }
}

/// Sleeps until it is time to look again, or until somebody rings.
fn rest(arena: &Arena, ledger: &Ledger) {
    let measured = ledger.measured();
    let above = measured.headroom - stop::line(measured.budget);
    let (rate, shortest) = if stop::is_silent() {
        (SILENT_RATE, SILENT_SHORTEST)
    } else {
        (RATE, SHORTEST)
    };
    let time = (above / rate).clamp(shortest as i64, LONGEST as i64) as u64;
    match arena.guard.slot(ledger) {
        Some(slot) => edge::wait(slot.bell(), time),
        None => clock::sleep(time),
    }
}

/// Asks the watchdog to end, and gives it a moment: before a fork, since Python warns of forks in
/// processes with threads, and of this one it need not.
pub fn retire(arena: &Arena, ledger: &Ledger) {
    let state = &arena.guard.watchdog;
    let asked = state.compare_exchange(RUNNING, RETIRING, Acquire, Relaxed);
    if asked.is_err() {
        return;
    }
    if let Some(slot) = arena.guard.slot(ledger) {
        edge::ring(slot.bell());
    }
    let mut turn = 0;
    while state.load(Acquire) != ABSENT && turn < 30 {
        clock::sleep(100_000);
        turn = u32::wrapping_add(turn, 1);
    }
}
