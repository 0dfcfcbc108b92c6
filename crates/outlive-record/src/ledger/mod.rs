//! The ledger of a run: the one small file in which all processes of a tree share a budget.
//!
//! Two words decide. `granted` counts the bytes that were granted so far, `ceiling` says how far
//! it may rise: a request fits if the sum stays below. Whoever measures the room that is left
//! stores `ceiling = granted + room`; so a measurement is published by one store, a request is
//! reserved by one addition before it is made, and what a dead process had reserved is forgotten
//! at the next measurement. The count never falls: if what is freed lowered it, a measurement that
//! runs at the same time would take it for room a second time.
//!
//! Unlike a box, a ledger is of no use after the run. It is read and written by the supervisor and
//! by the hook in every process, all through atomics; any bytes in it are safe to read.

mod chain;
mod measurement;
mod slot;

use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};

pub use chain::{CHAIN, Level, MAX_FOLDER};
pub use measurement::{Measurement, Source};
pub use slot::{SLOTS, Slot};

use crate::region::Region;

/// First eight bytes of a ledger, stored last.
pub const MAGIC: u64 = u64::from_le_bytes(*b"OUTLEDG\x01");
/// Size of the file.
pub const SIZE: u64 = 64 << 10;
/// Its name in the run's folder.
pub const FILE_NAME: &str = "ledger";

/// What the tree is let use of a limit is the limit less one part in so many: the reserve, from
/// which the handling of a refusal lives. A little under one hundredth.
pub const RESERVE_PART: u64 = 104;
/// No reserve is larger.
pub const MAX_RESERVE: u64 = 256 << 20;

/// Offsets of the single words.
mod at {
    pub(super) const MAGIC: u64 = 0;
    pub(super) const FLAGS: u64 = 8;
    pub(super) const LIMIT: u64 = 16;
    pub(super) const FOREIGN: u64 = 24;
    pub(super) const SHARED: u64 = 32;
    pub(super) const REFUSALS: u64 = 40;
    pub(super) const STOPS: u64 = 48;
    pub(super) const PROCESSES: u64 = 56;
    pub(super) const TOLD: u64 = 64;
    pub(super) const TOLD_AT: u64 = 72;
    pub(super) const KEPT_BACK: u64 = 80;
    /// The deciding words have a cache line of their own.
    pub(super) const GRANTED: u64 = 128;
    pub(super) const CEILING: u64 = 136;
    pub(super) const MEASURED: u64 = 192;
    pub(super) const HEADROOM: u64 = 200;
    pub(super) const BUDGET: u64 = 208;
    pub(super) const SOURCE: u64 = 216;
}

/// Bits of the flags.
mod flag {
    pub(super) const ALLOW_SPARSE: u32 = 1;
}

/// The ledger of a run.
#[derive(Clone, Copy, Debug)]
pub struct Ledger {
    region: Region,
}

impl Ledger {
    /// Makes a ledger of zeroed memory. `limit` is `--limit` in bytes, if one was given.
    pub fn create(region: Region, limit: Option<u64>, allow_sparse: bool) -> Self {
        let ledger = Self { region };
        ledger.set_limit(limit);
        let flags = if allow_sparse { flag::ALLOW_SPARSE } else { 0 };
        region.u32(at::FLAGS).store(flags, Relaxed);
        region.u64(at::MAGIC).store(MAGIC, Release);
        ledger
    }

    /// A ledger that was made elsewhere; `None` if this is none.
    pub fn open(region: Region) -> Option<Self> {
        let is_one = region.len() >= SIZE && region.u64(at::MAGIC).load(Acquire) == MAGIC;
        is_one.then_some(Self { region })
    }

    /// Reserves bytes for a request, if they fit.
    #[inline]
    pub fn reserve(&self, bytes: u64) -> bool {
        // Never counted for a moment only: whoever measures just then would take it for granted,
        // and its return for room.
        let granted = self.region.i64(at::GRANTED);
        let raised = |granted: i64| {
            let sum = granted.saturating_add(bytes as i64);
            (sum <= self.region.i64(at::CEILING).load(SeqCst)).then_some(sum)
        };
        granted.fetch_update(SeqCst, SeqCst, raised).is_ok()
    }

    /// Counts bytes that are granted without a question; `true` while they fit.
    #[inline]
    pub fn grant(&self, bytes: u64) -> bool {
        self.count(bytes) <= self.region.i64(at::CEILING).load(Relaxed)
    }

    #[inline]
    fn count(&self, bytes: u64) -> i64 {
        let bytes = bytes as i64;
        let before = self.region.i64(at::GRANTED).fetch_add(bytes, SeqCst);
        before.saturating_add(bytes)
    }

    /// The count of granted bytes: taken *before* a measurement, and handed to [`Self::publish`].
    pub fn granted(&self) -> i64 {
        self.region.i64(at::GRANTED).load(SeqCst)
    }

    /// What may still be granted before the next measurement.
    pub fn left(&self) -> i64 {
        let ceiling = self.region.i64(at::CEILING).load(SeqCst);
        ceiling.saturating_sub(self.granted())
    }

    /// Publishes a measurement. `usable` of its headroom may be granted before the next one.
    pub fn publish(&self, granted_before: i64, usable: i64, measured: &Measurement) {
        let region = &self.region;
        let ceiling = granted_before.saturating_add(usable);
        region.i64(at::CEILING).store(ceiling, SeqCst);
        region.i64(at::HEADROOM).store(measured.headroom, Relaxed);
        region.u64(at::BUDGET).store(measured.budget, Relaxed);
        let source = measured.source.number();
        region.u32(at::SOURCE).store(source, Relaxed);
        region.u64(at::MEASURED).store(measured.time, Release);
    }

    /// The last measurement; all zero before the first.
    pub fn measured(&self) -> Measurement {
        let region = &self.region;
        Measurement {
            time: region.u64(at::MEASURED).load(Acquire),
            headroom: region.i64(at::HEADROOM).load(Relaxed),
            budget: region.u64(at::BUDGET).load(Relaxed),
            source: Source::from_number(region.u32(at::SOURCE).load(Relaxed)),
        }
    }

    /// Has the next request measure anew, since something changed that only the caller saw.
    pub fn distrust(&self) {
        self.region.i64(at::CEILING).store(i64::MIN, SeqCst);
    }

    /// `--limit` in bytes.
    pub fn limit(&self) -> Option<u64> {
        match self.region.u64(at::LIMIT).load(Relaxed) {
            0 => None,
            limit => Some(limit),
        }
    }

    /// Changes it.
    pub fn set_limit(&self, limit: Option<u64>) {
        self.region
            .u64(at::LIMIT)
            .store(limit.unwrap_or(0), Relaxed);
    }

    /// Whether memory that is granted and never touched is let through.
    pub fn allows_sparse(&self) -> bool {
        self.region.u32(at::FLAGS).load(Relaxed) & flag::ALLOW_SPARSE != 0
    }

    /// What is kept back beside the reserve, for work that must be possible when nothing is left.
    pub fn kept_back(&self) -> u64 {
        self.region.u64(at::KEPT_BACK).load(Relaxed)
    }

    /// Changes it: raised while there is room, and lowered when that work is to be done.
    pub fn keep_back(&self, bytes: u64) {
        self.region.u64(at::KEPT_BACK).store(bytes, Relaxed);
        self.distrust();
    }

    /// What processes of the tree use that have no hook and so no slot.
    pub fn foreign(&self) -> u64 {
        self.region.u64(at::FOREIGN).load(Relaxed)
    }

    /// Bytes that the sum over all slots counts more than once, since processes share them.
    pub fn shared(&self) -> u64 {
        self.region.u64(at::SHARED).load(Relaxed)
    }

    /// A process was forked, and shares all it has with its parent.
    pub fn credit_shared(&self, bytes: u64) {
        self.region.u64(at::SHARED).fetch_add(bytes, Relaxed);
    }

    /// A process that had no slot has one now, and counts there: the supervisor will see it at its
    /// next look.
    pub fn forget_foreign(&self, bytes: u64) {
        let less = |foreign: u64| Some(foreign.saturating_sub(bytes));
        let _ = self
            .region
            .u64(at::FOREIGN)
            .fetch_update(Relaxed, Relaxed, less);
    }

    /// Sets both, as the supervisor sees them.
    pub fn set_outside(&self, foreign: u64, shared: u64) {
        self.region.u64(at::FOREIGN).store(foreign, Relaxed);
        self.region.u64(at::SHARED).store(shared, Relaxed);
    }

    /// Counts a refusal.
    pub fn count_refusal(&self) {
        self.region.u64(at::REFUSALS).fetch_add(1, AcqRel);
    }

    /// Counts a stop.
    pub fn count_stop(&self) {
        self.region.u64(at::STOPS).fetch_add(1, AcqRel);
    }

    /// Says which process was refused something or stopped, at a time of `CLOCK_MONOTONIC`
    /// nanoseconds.
    pub fn note_told(&self, pid: u32, time: u64) {
        self.region.u32(at::TOLD).store(pid, Relaxed);
        self.region.u64(at::TOLD_AT).store(time, Relaxed);
    }

    /// Which was the last, and when; zeros before the first. Of two at once the figures may be
    /// mixed.
    pub fn last_told(&self) -> (u32, u64) {
        let pid = self.region.u32(at::TOLD).load(Relaxed);
        (pid, self.region.u64(at::TOLD_AT).load(Relaxed))
    }

    /// How many requests were refused, and how often growth was stopped.
    pub fn interventions(&self) -> (u64, u64) {
        let count = |offset| self.region.u64(offset).load(Acquire);
        (count(at::REFUSALS), count(at::STOPS))
    }

    /// How many processes have a slot.
    pub fn processes(&self) -> i64 {
        self.region.i64(at::PROCESSES).load(Relaxed)
    }

    fn count_process(&self, change: i64) {
        self.region.i64(at::PROCESSES).fetch_add(change, Relaxed);
    }

    /// Bytes of pools that were reserved and not filled.
    pub fn pooled(&self) -> u64 {
        let taken = self.slots().filter(|slot| slot.pid() != 0);
        taken.fold(0_u64, |sum, slot| {
            sum.saturating_add(slot.pooled().load(Relaxed).max(0) as u64)
        })
    }

    /// Bytes that processes of the tree were granted and have not touched yet.
    pub fn untouched(&self) -> u64 {
        self.slots().fold(0_u64, |sum, slot| {
            sum.saturating_add(if slot.pid() == 0 { 0 } else { slot.promised() })
        })
    }

    /// What the whole tree has resident.
    pub fn resident(&self) -> u64 {
        let own = self.slots().fold(0_u64, |sum, slot| {
            sum.saturating_add(if slot.pid() == 0 { 0 } else { slot.resident() })
        });
        own.saturating_add(self.foreign())
            .saturating_sub(self.shared())
    }
}

/// What is kept back of a limit for the handling of a refusal.
pub const fn reserve_of(limit: u64) -> u64 {
    let part = limit / RESERVE_PART;
    if part < MAX_RESERVE {
        part
    } else {
        MAX_RESERVE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ledger() -> Ledger {
        Ledger::create(Region::leaked(SIZE), None, false)
    }

    fn measured(headroom: i64) -> Measurement {
        Measurement {
            headroom,
            budget: 1000,
            source: Source::Cgroup(2),
            time: 7,
        }
    }

    #[test]
    fn nothing_fits_before_the_first_measurement() {
        assert!(!ledger().reserve(1));
        assert!(ledger().reserve(0));
    }

    #[test]
    fn requests_fit_until_the_room_is_used_up() {
        let ledger = ledger();
        ledger.publish(ledger.granted(), 100, &measured(100));
        assert!(ledger.reserve(60));
        assert!(!ledger.reserve(60));
        assert!(ledger.reserve(40));
        assert!(!ledger.reserve(1));
        assert_eq!(ledger.measured(), measured(100));
    }

    #[test]
    fn what_was_granted_during_a_measurement_counts() {
        let ledger = ledger();
        ledger.publish(ledger.granted(), 100, &measured(100));
        let before = ledger.granted();
        assert!(ledger.reserve(80));
        ledger.publish(before, 100, &measured(100));
        assert!(!ledger.reserve(30));
    }

    #[test]
    fn a_request_that_does_not_fit_is_at_no_moment_counted() {
        let ledger = ledger();
        let seen = std::thread::scope(|scope| {
            let asks = scope.spawn(|| (0..1_000_000).filter(|_| ledger.reserve(5)).count());
            let mut seen = 0;
            while !asks.is_finished() {
                seen = ledger.granted().max(seen);
            }
            seen
        });
        assert_eq!(seen, 0);
    }

    #[test]
    fn two_threads_never_get_more_than_there_is() {
        let ledger = ledger();
        ledger.publish(ledger.granted(), 1_000_000, &measured(1_000_000));
        let taken: u64 = std::thread::scope(|scope| {
            let grab = || (0..1_000_000).filter(|_| ledger.reserve(3)).count() as u64 * 3;
            let threads = [scope.spawn(grab), scope.spawn(grab)];
            threads.map(|thread| thread.join().unwrap()).iter().sum()
        });
        assert!(taken <= 1_000_000, "{taken}");
        assert!(taken >= 999_990, "{taken}");
    }

    #[test]
    fn who_gets_a_slot_is_no_longer_foreign() {
        let ledger = ledger();
        ledger.set_outside(100, 0);
        ledger.forget_foreign(70);
        assert_eq!((ledger.foreign(), ledger.resident()), (30, 30));
        ledger.forget_foreign(70);
        assert_eq!(ledger.foreign(), 0);
    }

    #[test]
    fn what_is_kept_back_has_the_next_request_measure() {
        let ledger = ledger();
        ledger.publish(ledger.granted(), 100, &measured(100));
        ledger.keep_back(60);
        assert_eq!(ledger.kept_back(), 60);
        assert!(!ledger.reserve(1));
    }

    #[test]
    fn other_files_are_no_ledgers() {
        assert!(Ledger::open(Region::leaked(SIZE)).is_none());
        assert!(Ledger::open(Region::leaked(16)).is_none());
        let region = Region::leaked(SIZE);
        Ledger::create(region, Some(5), true);
        let ledger = Ledger::open(region).unwrap();
        assert_eq!((ledger.limit(), ledger.allows_sparse()), (Some(5), true));
    }
}
