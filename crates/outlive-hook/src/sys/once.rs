//! A value that is set once and read without a lock.

#![expect(
    unsafe_code,
    reason = "hands out references to a cell after it was filled for good"
)]

use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use core::sync::atomic::AtomicU8;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

const EMPTY: u8 = 0;
const FILLING: u8 = 1;
const FULL: u8 = 2;

/// The cell.
#[derive(Debug)]
pub struct SetOnce<T> {
    state: AtomicU8,
    value: UnsafeCell<MaybeUninit<T>>,
}

// SAFETY: the value is written by the one thread that moved the state from EMPTY, and read only
// after FULL was seen, which that thread stores behind the write.
unsafe impl<T: Send + Sync> Sync for SetOnce<T> {}

impl<T: Copy> SetOnce<T> {
    /// An empty cell.
    pub const fn new() -> Self {
        Self {
            state: AtomicU8::new(EMPTY),
            value: UnsafeCell::new(MaybeUninit::uninit()),
        }
    }

    /// Fills it; a second value is dropped.
    pub fn set(&self, value: T) {
        if self
            .state
            .compare_exchange(EMPTY, FILLING, Relaxed, Relaxed)
            .is_ok()
        {
            // SAFETY: only the thread that made the exchange comes here, and no reader looks
            // before FULL.
            unsafe { (*self.value.get()).write(value) };
            self.state.store(FULL, Release);
        }
    }

    /// The value, once it is there.
    #[inline]
    pub fn get(&self) -> Option<&T> {
        if self.state.load(Acquire) != FULL {
            return None;
        }
        // SAFETY: FULL means the write above is complete, and it is never repeated.
        Some(unsafe { (*self.value.get()).assume_init_ref() })
    }
}

impl<T: Copy> Default for SetOnce<T> {
    fn default() -> Self {
        Self::new()
    }
}
