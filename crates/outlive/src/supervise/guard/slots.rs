//! The slots of the ledger, seen from outside: who is gone, who has none, who is to be woken.

use std::collections::HashMap;
use std::sync::atomic::Ordering::SeqCst;

use outlive_diagnose::facts::ProcessId;
use outlive_record::ledger::{Ledger, Slot};
use rustix::thread::futex;

use crate::supervise::process::{Stat, is_alive};
use crate::supervise::watched::Watched;

/// Empties the slots of processes that are gone; what they were promised is free again.
pub(super) fn vacate_ended(ledger: &Ledger, alive: &[Watched]) {
    for slot in taken(ledger) {
        let (pid, start_ticks) = (slot.pid(), slot.start_ticks());
        let id = ProcessId { pid, start_ticks };
        let is_there = match start_ticks {
            // Still moving in.
            0 => Stat::of(pid).is_some_and(|stat| !stat.has_ended()),
            _ => alive.iter().any(|watched| watched.id == id) || is_alive(id),
        };
        if !is_there {
            slot.vacate(pid);
        }
    }
}

/// What each process had resident when it last looked at its own pages.
#[derive(Debug, Default)]
pub(super) struct LastLooks(HashMap<u32, (u64, u64)>);

impl LastLooks {
    /// Bytes that were granted and are likely not to have been touched. A process that has not
    /// looked since does not know which were; what it grew by is taken for touched.
    pub(super) fn untouched(&mut self, ledger: &Ledger, alive: &[Watched]) -> u64 {
        self.0
            .retain(|pid, _| alive.iter().any(|watched| watched.id.pid == *pid));
        let of_slot = |slot: Slot<'_>| {
            let pid = slot.pid();
            let watched = alive.iter().find(|watched| watched.id.pid == pid);
            let Some(watched) = watched.filter(|_| slot.promised() > 0) else {
                return slot.promised();
            };
            let looked = (slot.updated(), slot.resident());
            let known = self.0.entry(pid).or_insert(looked);
            if known.0 != looked.0 {
                *known = looked;
            }
            let grown = watched.unbacked().saturating_sub(known.1);
            slot.promised().saturating_sub(grown)
        };
        taken(ledger).map(of_slot).fold(0, u64::saturating_add)
    }
}

/// Says what processes have resident that have not looked themselves since `since`: one that is
/// far from its limit asks nobody for a long time.
pub(super) fn correct(ledger: &Ledger, alive: &[Watched], since: u64) {
    for slot in taken(ledger) {
        let pid = slot.pid();
        let watched = alive.iter().find(|watched| watched.id.pid == pid);
        if let Some(watched) = watched.filter(|_| slot.updated() < since) {
            slot.correct_resident(watched.unbacked());
        }
    }
}

/// What processes without a slot hold, and what the sum over all counts more than once.
pub(super) fn outside(ledger: &Ledger, alive: &[Watched]) -> (u64, u64) {
    let slots: Vec<u32> = taken(ledger).map(|slot| slot.pid()).collect();
    let foreign = alive
        .iter()
        .filter(|watched| !slots.contains(&watched.id.pid))
        .map(Watched::unbacked)
        .fold(0, u64::saturating_add);
    let mut sizes: Vec<u64> = alive.iter().map(Watched::unbacked).collect();
    sizes.sort_unstable_by(|left, right| right.cmp(left));
    let largest_beside = |watched: &Watched| {
        let is_largest = sizes.first() == Some(&watched.unbacked());
        sizes.get(usize::from(is_largest)).copied().unwrap_or(0)
    };
    let shared = alive
        .iter()
        .map(|watched| watched.counted_twice(largest_beside(watched)))
        .fold(0, u64::saturating_add);
    (foreign, shared)
}

/// Wakes the watchdog of every process.
pub(super) fn ring(ledger: &Ledger) {
    for slot in taken(ledger) {
        let bell = slot.bell();
        bell.fetch_add(1, SeqCst);
        // Nobody who sleeps there is no fault.
        let _ = futex::wake(bell, futex::Flags::empty(), u32::MAX);
    }
}

fn taken(ledger: &Ledger) -> impl Iterator<Item = Slot<'_>> {
    ledger.slots().filter(|slot| slot.pid() != 0)
}
