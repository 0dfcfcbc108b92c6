//! The time of day as the person's own clock shows it.
#![expect(unsafe_code, reason = "the C library alone knows the local time zone")]

use std::mem::MaybeUninit;

use crate::supervise::clock::SECOND;

/// `14:03:22` for `CLOCK_REALTIME` nanoseconds.
pub(crate) fn of_day(realtime: u64) -> String {
    let seconds = (realtime / SECOND) as libc::time_t;
    let mut parts = MaybeUninit::<libc::tm>::zeroed();
    // SAFETY: both pointers are to whole values of ours; the second is filled by the call.
    unsafe { libc::localtime_r(&raw const seconds, parts.as_mut_ptr()) };
    // SAFETY: zeroed, which is a valid time with a null name of its zone that is never read.
    let parts = unsafe { parts.assume_init() };
    format!(
        "{:02}:{:02}:{:02}",
        parts.tm_hour, parts.tm_min, parts.tm_sec
    )
}
