//! Time and giving way.

#![expect(unsafe_code, reason = "calls the C library's clock")]

/// Nanoseconds of `CLOCK_MONOTONIC`.
pub fn monotonic() -> u64 {
    read(libc::CLOCK_MONOTONIC)
}

/// Nanoseconds of `CLOCK_REALTIME`.
pub fn realtime() -> u64 {
    read(libc::CLOCK_REALTIME)
}

/// Lets another thread run.
pub fn yield_now() {
    // SAFETY: takes no argument and cannot fail.
    unsafe { libc::sched_yield() };
}

/// A length of time as the kernel takes it.
pub const fn timespec(nanoseconds: u64) -> libc::timespec {
    libc::timespec {
        tv_sec: (nanoseconds / 1_000_000_000) as i64,
        tv_nsec: (nanoseconds % 1_000_000_000) as i64,
    }
}

/// Sleeps.
pub fn sleep(nanoseconds: u64) {
    let time = timespec(nanoseconds);
    // SAFETY: a live time; nobody is told what was left of it.
    unsafe {
        crate::kernel!(
            libc::SYS_nanosleep,
            &raw const time,
            core::ptr::null_mut::<libc::timespec>()
        )
    };
}

fn read(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is a live local; the call is async-signal-safe and does not allocate.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    (time.tv_sec as u64)
        .wrapping_mul(1_000_000_000)
        .wrapping_add(time.tv_nsec as u64)
}
