//! System calls with whole words as arguments.
//!
//! `syscall` is variadic: an `i32` passed to it may leave garbage in the upper half of its word,
//! so everything goes through here as `usize`.

#![expect(unsafe_code, reason = "raw system calls")]

use core::ffi::{c_int, c_long};

/// A word for the kernel.
pub trait Word {
    /// Widened, with its sign.
    fn word(self) -> usize;
}

impl Word for usize {
    fn word(self) -> usize {
        self
    }
}

impl Word for u64 {
    fn word(self) -> usize {
        self as usize
    }
}

impl Word for i64 {
    fn word(self) -> usize {
        self as usize
    }
}

impl Word for c_int {
    fn word(self) -> usize {
        self as isize as usize
    }
}

impl Word for u32 {
    fn word(self) -> usize {
        self as usize
    }
}

impl<T> Word for *const T {
    fn word(self) -> usize {
        self as usize
    }
}

impl<T> Word for *mut T {
    fn word(self) -> usize {
        self as usize
    }
}

/// Makes a system call with up to six words; −1 and `errno` on failure.
///
/// # Safety
///
/// The contract of that system call.
#[inline]
pub unsafe fn call(number: c_long, words: [usize; 6]) -> isize {
    let [first, second, third, fourth, fifth, sixth] = words;
    // SAFETY: promised by the caller.
    unsafe { libc::syscall(number, first, second, third, fourth, fifth, sixth) as isize }
}

/// `kernel!(SYS_close, fd)`: a system call with its arguments widened.
#[macro_export]
macro_rules! kernel {
    ($number:expr $(, $argument:expr)* $(,)?) => {{
        let mut words = [0_usize; 6];
        let given: &[usize] = &[$($crate::sys::kernel::Word::word($argument)),*];
        for (place, &word) in words.iter_mut().zip(given) {
            *place = word;
        }
        $crate::sys::kernel::call($number, words)
    }};
}
