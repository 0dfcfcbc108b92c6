//! The two clocks, in nanoseconds.

use rustix::time::{ClockId, Timespec, clock_gettime};

/// Nanoseconds in a millisecond.
pub const MILLISECOND: u64 = 1_000_000;
/// Nanoseconds in a second.
pub const SECOND: u64 = 1_000_000_000;

/// `CLOCK_MONOTONIC`: the clock of the black boxes.
pub fn monotonic() -> u64 {
    nanoseconds(clock_gettime(ClockId::Monotonic))
}

/// `CLOCK_REALTIME`.
pub fn realtime() -> u64 {
    nanoseconds(clock_gettime(ClockId::Realtime))
}

/// A length of time for the system calls that wait.
pub(super) const fn timespec(nanoseconds: u64) -> Timespec {
    Timespec {
        tv_sec: (nanoseconds / SECOND) as i64,
        tv_nsec: (nanoseconds % SECOND) as i64,
    }
}

const fn nanoseconds(time: Timespec) -> u64 {
    time.tv_sec as u64 * SECOND + time.tv_nsec as u64
}
