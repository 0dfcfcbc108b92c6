//! By how much this process grew of late: its use now against the least it was a second or two ago.
//!
//! Written by the thread that measures, under its lock. Zeroed memory is a process without a past.

use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

/// Length of a window, in nanoseconds.
const WINDOW: u64 = 1_000_000_000;

/// The least use in this window and in the one before.
#[derive(Debug)]
#[repr(C)]
pub struct History {
    since: AtomicU64,
    least: AtomicU64,
    least_before: AtomicU64,
    faults: AtomicU64,
    faults_before: AtomicU64,
}

/// What happened of late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recent {
    /// Bytes it grew by.
    pub growth: i64,
    /// Bytes of pages it touched for the first time.
    pub faulted: i64,
}

impl History {
    /// Forgets the past: what grew until now was dealt with.
    pub fn forget(&self) {
        self.since.store(0, Relaxed);
    }

    /// Takes note of use and page faults at this moment.
    pub fn note(&self, used: u64, faults: u64, time: u64) -> Recent {
        let since = self.since.load(Relaxed);
        if since == 0 || time.saturating_sub(since) > WINDOW {
            let before = if since == 0 {
                used
            } else {
                self.least.load(Relaxed)
            };
            self.least_before.store(before, Relaxed);
            let faults_before = if since == 0 {
                faults
            } else {
                self.faults.load(Relaxed)
            };
            self.faults_before.store(faults_before, Relaxed);
            self.faults.store(faults, Relaxed);
            self.least.store(used, Relaxed);
            self.since.store(time, Relaxed);
        } else {
            self.least.fetch_min(used, Relaxed);
        }
        let least = self
            .least
            .load(Relaxed)
            .min(self.least_before.load(Relaxed));
        let faults = faults.saturating_sub(self.faults_before.load(Relaxed));
        Recent {
            growth: (used as i64).wrapping_sub(least as i64),
            faulted: faults.saturating_mul(4096) as i64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::testing::zeroed;

    #[test]
    fn growth_is_against_the_recent_past() {
        let history = zeroed::<History>();
        let second = WINDOW;
        let growth = |used, time| history.note(used, 0, time).growth;
        assert_eq!(growth(100, second), 0);
        assert_eq!(growth(150, second + 1), 50);
        assert_eq!(growth(120, second * 2 + 2), 20);
        assert_eq!(growth(170, second * 2 + 3), 70);
        assert_eq!(growth(170, second * 3 + 4), 50);
        assert_eq!(growth(170, second * 4 + 5), 0, "long ago does not count");
        assert_eq!(growth(60, second * 4 + 6), 0);
        assert_eq!(growth(90, second * 4 + 7), 30);
        history.forget();
        assert_eq!(growth(95, second * 4 + 8), 0);
        assert_eq!(growth(97, second * 4 + 9), 2);
    }

    #[test]
    fn page_faults_are_counted_over_the_recent_past() {
        let history = zeroed::<History>();
        let faulted = |faults, seconds| history.note(1, faults, seconds * (WINDOW + 1)).faulted;
        assert_eq!(faulted(100, 1), 0);
        assert_eq!(faulted(150, 2), 50 * 4096);
        assert_eq!(faulted(150, 3), 0);
    }
}
