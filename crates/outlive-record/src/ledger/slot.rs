//! The place of one process in the ledger: what it has, what it was promised.

use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use core::sync::atomic::{AtomicI64, AtomicU32, AtomicU64};

use super::{Ledger, SIZE};

/// How many processes have a slot. More of them share the budget all the same, but what they were
/// promised and have not touched is not known to the others.
pub const SLOTS: u64 = (SIZE - FIRST) / LENGTH;

const FIRST: u64 = 12_288;
const LENGTH: u64 = 128;

/// Offsets in a slot.
mod at {
    pub(super) const PID: u64 = 0;
    pub(super) const BELL: u64 = 4;
    pub(super) const START: u64 = 8;
    pub(super) const RESIDENT: u64 = 16;
    pub(super) const UNTOUCHED: u64 = 24;
    pub(super) const IN_FLIGHT: u64 = 32;
    pub(super) const BLOCK_LIMIT: u64 = 40;
    pub(super) const GROWTH: u64 = 48;
    pub(super) const UPDATED: u64 = 56;
    pub(super) const POOLED: u64 = 64;
    pub(super) const FAULTED: u64 = 72;
}

/// A process's slot.
#[derive(Clone, Copy, Debug)]
pub struct Slot<'a> {
    ledger: &'a Ledger,
    offset: u64,
}

impl Ledger {
    /// All slots, also empty ones.
    pub fn slots(&self) -> impl Iterator<Item = Slot<'_>> {
        (0..SLOTS).map(|number| self.slot(number))
    }

    /// One slot.
    pub fn slot(&self, number: u64) -> Slot<'_> {
        Slot {
            ledger: self,
            offset: FIRST.wrapping_add(number.wrapping_mul(LENGTH)),
        }
    }

    /// Finds a slot for a process: its own, if it was another program before `exec`, or an empty
    /// one. Gives its number.
    pub fn claim(&self, pid: u32, start_ticks: u64) -> Option<u64> {
        let own = (0..SLOTS).find(|&number| self.slot(number).pid() == pid);
        let empty = || {
            (0..SLOTS).find(|&number| {
                let word = self.slot(number).pid_word();
                let is_free = word.compare_exchange(0, pid, AcqRel, Relaxed).is_ok();
                if is_free {
                    self.count_process(1);
                }
                is_free
            })
        };
        let number = own.or_else(empty)?;
        self.slot(number).clear();
        self.slot(number)
            .word(at::START)
            .store(start_ticks, Release);
        Some(number)
    }
}

impl<'a> Slot<'a> {
    /// The process, or 0.
    pub fn pid(&self) -> u32 {
        self.pid_word().load(Acquire)
    }

    /// When it was started, in clock ticks since boot; 0 while it moves in.
    pub fn start_ticks(&self) -> u64 {
        self.word(at::START).load(Acquire)
    }

    /// Empties the slot of a process that is gone.
    pub fn vacate(&self, pid: u32) {
        if self.pid() == pid {
            self.clear();
            let left = self.pid_word().compare_exchange(pid, 0, AcqRel, Relaxed);
            if left.is_ok() {
                self.ledger.count_process(-1);
            }
        }
    }

    /// Anonymous and shared memory it had resident when it last looked.
    pub fn resident(&self) -> u64 {
        self.word(at::RESIDENT).load(Relaxed)
    }

    /// Sets it.
    pub fn set_resident(&self, bytes: u64, time: u64) {
        self.word(at::RESIDENT).store(bytes, Relaxed);
        self.word(at::UPDATED).store(time, Release);
    }

    /// Sets it from outside, for a process that has not looked lately.
    pub fn correct_resident(&self, bytes: u64) {
        self.word(at::RESIDENT).store(bytes, Relaxed);
    }

    /// When it last looked.
    pub fn updated(&self) -> u64 {
        self.word(at::UPDATED).load(Acquire)
    }

    /// Bytes it was granted and has not touched.
    pub fn promised(&self) -> u64 {
        // In the order in which bytes pass through them: none slips by in between.
        let in_flight = self.signed(at::IN_FLIGHT).load(SeqCst).max(0);
        let untouched = self.signed(at::UNTOUCHED).load(SeqCst).max(0);
        (untouched as u64).saturating_add(in_flight as u64)
    }

    /// Bytes whose pages were not there when it last looked.
    pub fn untouched(&self) -> &'a AtomicI64 {
        self.signed(at::UNTOUCHED)
    }

    /// Bytes of requests that are decided and not yet made.
    pub fn in_flight(&self) -> &'a AtomicI64 {
        self.signed(at::IN_FLIGHT)
    }

    /// Bytes of pools that a framework reserved and has not filled: no use of the tree, but nothing
    /// to be promised twice either.
    pub fn pooled(&self) -> &'a AtomicI64 {
        self.signed(at::POOLED)
    }

    /// What the tree may use while a block of this process says so; `None` for no block.
    pub fn block_limit(&self) -> Option<u64> {
        match self.word(at::BLOCK_LIMIT).load(Relaxed) {
            0 => None,
            limit => Some(limit),
        }
    }

    /// Sets it.
    pub fn set_block_limit(&self, limit: Option<u64>) {
        self.word(at::BLOCK_LIMIT)
            .store(limit.unwrap_or(0), Relaxed);
    }

    /// By how much it grew lately.
    pub fn growth(&self) -> i64 {
        self.signed(at::GROWTH).load(Relaxed)
    }

    /// Bytes of pages it touched for the first time lately: what a process grows by that parts
    /// from the pages it shares with its parent, though it has no more of them than before.
    pub fn faulted(&self) -> i64 {
        self.signed(at::FAULTED).load(Relaxed)
    }

    /// Sets both.
    pub fn set_growth(&self, bytes: i64, faulted: i64) {
        self.signed(at::GROWTH).store(bytes, Relaxed);
        self.signed(at::FAULTED).store(faulted, Relaxed);
    }

    /// A word on which the process's watchdog sleeps: changing and waking it makes it look now.
    pub fn bell(&self) -> &'a AtomicU32 {
        self.ledger.region.u32(self.offset.wrapping_add(at::BELL))
    }

    fn clear(&self) {
        for offset in [
            at::START,
            at::RESIDENT,
            at::UNTOUCHED,
            at::IN_FLIGHT,
            at::BLOCK_LIMIT,
            at::GROWTH,
            at::UPDATED,
            at::POOLED,
            at::FAULTED,
        ] {
            self.word(offset).store(0, Relaxed);
        }
    }

    fn pid_word(&self) -> &'a AtomicU32 {
        self.ledger.region.u32(self.offset.wrapping_add(at::PID))
    }

    fn word(&self, offset: u64) -> &'a AtomicU64 {
        self.ledger.region.u64(self.offset.wrapping_add(offset))
    }

    fn signed(&self, offset: u64) -> &'a AtomicI64 {
        self.ledger.region.i64(self.offset.wrapping_add(offset))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::region::Region;

    #[test]
    fn slots_are_claimed_kept_and_vacated() {
        let ledger = Ledger::create(Region::leaked(SIZE), None, false);
        let first = ledger.claim(10, 1).unwrap();
        let second = ledger.claim(11, 1).unwrap();
        assert_ne!(first, second);
        assert_eq!(ledger.processes(), 2);
        ledger.slot(first).untouched().store(500, SeqCst);
        assert_eq!(ledger.untouched(), 500);
        assert_eq!(
            ledger.claim(10, 1),
            Some(first),
            "the same process after exec"
        );
        assert_eq!(ledger.untouched(), 0);
        ledger.slot(first).untouched().store(500, SeqCst);
        ledger.slot(first).vacate(99);
        assert_eq!(ledger.untouched(), 500, "somebody else's slot stays");
        ledger.slot(first).vacate(10);
        assert_eq!(ledger.untouched(), 0);
        assert_eq!(ledger.processes(), 1);
        assert_eq!(ledger.claim(12, 1), Some(first));
    }

    #[test]
    fn a_full_ledger_has_no_slot() {
        let ledger = Ledger::create(Region::leaked(SIZE), None, false);
        assert_eq!(
            (1..).map_while(|pid| ledger.claim(pid, 1)).count() as u64,
            SLOTS
        );
    }
}
