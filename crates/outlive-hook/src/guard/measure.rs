//! Measuring the room that is left, and publishing it for the whole tree.
//!
//! Order matters. The count of granted bytes is taken first, then which granted pages are still
//! untouched, then what the kernel says is used: whatever happens in between is counted twice and
//! never forgotten.

use core::sync::atomic::Ordering::{Relaxed, SeqCst};

use outlive_record::ledger::{Ledger, Measurement, Slot, Source};

use super::GuardState;
use super::callers;
use super::fresh::{Change, Fresh, FreshTable};
use super::sources::{self, Own, Promised};
use crate::sys::thread::thread_id;
use crate::sys::{clock, process, residency};

/// No two measurements on the path of an allocation are closer than this, in nanoseconds.
const PAUSE: u64 = 300_000;

/// Measures and publishes. A request of `wanted` bytes may be granted if it fits; beyond it, half
/// of what is left, so that the next one to come by measures again in time.
///
/// While another thread of this process measures, its result is taken.
pub fn measure(state: &GuardState, ledger: &Ledger, wanted: u64) -> Measurement {
    let Some(_held) = state.measuring.lock(thread_id()) else {
        return ledger.measured();
    };
    let granted = ledger.granted();
    look_at_pages(state, ledger);
    let own = Own::read();
    let time = clock::monotonic();
    if let Some(slot) = state.slot(ledger) {
        let used = own.resident.saturating_add(slot.promised());
        let recent = state.history.note(used, process::page_faults(), time);
        slot.set_growth(recent.growth, recent.faulted);
        slot.set_resident(own.resident, time);
    }
    let in_flight = state
        .slot(ledger)
        .map_or(0, |slot| slot.in_flight().load(SeqCst));
    let promised = Promised {
        untouched: ledger.untouched(),
        in_flight: u64::try_from(in_flight).unwrap_or(0),
    };
    let Some(room) = sources::tightest(ledger, &own, promised) else {
        // This process cannot see its limits; the supervisor can, and says so.
        return ledger.measured();
    };
    // A block of the program gets exactly what it asked for.
    let is_block = room.source == Source::Block;
    let kept = if is_block { 0 } else { ledger.kept_back() };
    let measured = Measurement {
        headroom: room.left.saturating_sub(kept as i64),
        budget: room.budget.saturating_sub(kept),
        source: room.source,
        time,
    };
    ledger.publish(granted, usable(measured.headroom, wanted), &measured);
    measured
}

/// The last measurement, or a new one if that is some time ago.
pub fn recent(state: &GuardState, ledger: &Ledger) -> Measurement {
    let measured = ledger.measured();
    if clock::monotonic().saturating_sub(measured.time) < PAUSE {
        measured
    } else {
        measure(state, ledger, 0)
    }
}

/// How much may be granted before somebody comes by again: what is wanted, if it fits, and half of
/// what is left then. Others may get something while this is measured, and it still has to fit.
fn usable(headroom: i64, wanted: u64) -> i64 {
    let wanted = i64::try_from(wanted).unwrap_or(i64::MAX);
    match headroom.saturating_sub(wanted) {
        rest @ 0.. => wanted.saturating_add(rest / 2),
        _ if headroom > 0 => headroom / 2,
        _ => headroom,
    }
}

/// Finds out which of the blocks granted lately were touched meanwhile.
///
/// The table is not locked while the kernel is asked: a large block takes it milliseconds. A block
/// that is freed in the meantime is not found again, and one that came is counted in full.
fn look_at_pages(state: &GuardState, ledger: &Ledger) {
    let Some(slot) = state.slot(ledger) else {
        return;
    };
    for place in 0..FreshTable::PLACES {
        let block = {
            let Some(_held) = state.fresh_lock.lock_patiently(thread_id()) else {
                return;
            };
            state.fresh.ask(place)
        };
        let Some(block) = block else { continue };
        let untouched = remaining(block);
        let Some(_held) = state.fresh_lock.lock_patiently(thread_id()) else {
            return;
        };
        let is_pool = untouched > 0 && callers::pools(block.caller as usize, block.size);
        if is_pool {
            state.has_pools.store(1, Relaxed);
        }
        apply(&slot, state.fresh.update(block, untouched, is_pool));
    }
}

/// Adds a change to what the slot says.
pub(super) fn apply(slot: &Slot<'_>, change: Change) {
    slot.untouched().fetch_add(change.data, SeqCst);
    slot.pooled().fetch_add(change.pools, SeqCst);
}

/// What is untouched of a block; a last little does not count, since blocks are rounded up and
/// their users need not fill them.
fn remaining(block: Fresh) -> u64 {
    match residency::untouched(block.address, block.size) {
        Some(bytes) if bytes > block.size / 256 => bytes,
        _ => 0,
    }
}

/// Empties the slots of other processes that are gone: what they were promised is free.
pub fn bury_the_dead(ledger: &Ledger) {
    let own = process::pid();
    for slot in ledger.slots() {
        let pid = slot.pid();
        if pid != 0 && pid != own && slot.promised() > 0 && !process::has_memory(pid) {
            slot.vacate(pid);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wanted_is_usable_if_it_fits_and_half_of_the_rest() {
        assert_eq!(usable(400, 0), 200);
        assert_eq!(usable(400, 300), 350);
        assert_eq!(usable(400, 400), 400);
        assert_eq!(usable(400, 401), 200);
        assert_eq!(usable(400, u64::MAX), 200);
        assert_eq!(usable(0, 0), 0);
        assert_eq!(usable(-5, 0), -5);
    }
}
