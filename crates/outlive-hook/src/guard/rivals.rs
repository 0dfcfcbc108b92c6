//! Which process of a tree is to be stopped: the one that grew most of late.

use outlive_record::ledger::{Ledger, Measurement, Slot};

use super::stop::{SMALLEST_GROWTH, is_forked, line, was_told};
use crate::arena::Arena;
use crate::sys::{clock, process, watchdog};

/// What a process says of its growth is good for so long, in nanoseconds.
const STALE: u64 = 300_000_000;
/// So long others wait for the one that was told, in nanoseconds.
const TURN: u64 = 100_000_000;
/// So long the error of one that was told may be handled elsewhere, in nanoseconds.
const HANDLING: u64 = 1_000_000_000;

/// Whether this process is the one to stop: no other of the tree grew more of late, or hardly
/// anything is left and it grows too.
pub fn grows_most(arena: &Arena, ledger: &Ledger, measured: &Measurement) -> bool {
    let Some(own) = arena.guard.slot(ledger) else {
        return true;
    };
    let line = line(measured.budget);
    let now = clock::monotonic();
    let least = if !is_forked() && was_another_told(ledger, &own, now, HANDLING) {
        // Who forked others handles their errors, and needs some memory for it.
        line / 2
    } else {
        SMALLEST_GROWTH
    };
    let is_urgent = measured.headroom < line / 4;
    let least_parted = if was_told(arena) { line / 16 } else { line / 4 };
    let parts = is_forked() && own.faulted() >= least_parted;
    let grows = own.growth() >= least || parts;
    if is_urgent && grows {
        return true;
    }
    let rivals = || {
        let others = ledger.slots();
        others.filter(|slot| slot.pid() != 0 && slot.pid() != own.pid())
    };
    let most = rivals().map(|slot| growth_of(&slot, now)).max();
    let most = most.unwrap_or(0);
    if own.growth().max(most) >= SMALLEST_GROWTH {
        return own.growth() >= most.max(least);
    }
    // Nobody has more than before: pages are parted from a parent's. Who does it is harder to see.
    if was_another_told(ledger, &own, now, TURN) {
        return false;
    }
    let fresh = rivals().filter(|slot| is_fresh(slot, now));
    let most = fresh.map(|slot| slot.faulted()).max().unwrap_or(0);
    own.faulted() >= most.max(least_parted)
}

/// Has the watchdogs of the other processes look now.
pub fn ring_others(arena: &Arena, ledger: &Ledger) {
    let own = arena.guard.slot(ledger).map_or(0, |slot| slot.pid());
    for slot in ledger.slots() {
        if slot.pid() != 0 && slot.pid() != own {
            watchdog::ring(slot.bell());
        }
    }
}

/// Whether another process was told lately, and what it does about it is worth waiting for.
fn was_another_told(ledger: &Ledger, own: &Slot<'_>, now: u64, lately: u64) -> bool {
    let (pid, time) = ledger.last_told();
    pid != 0 && pid != own.pid() && now.saturating_sub(time) < lately
}

/// How much another process grew. What it said itself some time ago is not true any more; then it
/// is looked at from here, and counts once it is seen to grow from now on.
fn growth_of(slot: &Slot<'_>, now: u64) -> i64 {
    if is_fresh(slot, now) {
        return slot.growth();
    }
    slot.set_resident(process::anonymous_memory(slot.pid()), now);
    slot.set_growth(0, 0);
    0
}

fn is_fresh(slot: &Slot<'_>, now: u64) -> bool {
    now.saturating_sub(slot.updated()) < STALE
}
