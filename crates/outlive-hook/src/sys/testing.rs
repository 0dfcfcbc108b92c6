//! For tests: large tables in zeroed memory, as the arena gives them.

#![expect(
    unsafe_code,
    reason = "the tables are plain atomics, for which zero is valid"
)]

/// A zeroed value that is only made of atomics.
pub fn zeroed<T>() -> Box<T> {
    // SAFETY: every caller's type consists of integer atomics, for which all-zero is valid.
    unsafe { Box::<T>::new_zeroed().assume_init() }
}
