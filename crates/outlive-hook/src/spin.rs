//! A lock for rare paths, which gives up rather than wait.
//!
//! The holder may be stopped by the scheduler, or be the very thread that a signal interrupted; a
//! caller that cannot have the lock within a bounded number of turns does without and says so.

use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::sys::clock::yield_now;

/// The lock word: the thread that holds it; zero is free, so zeroed memory is a free lock.
#[derive(Debug, Default)]
pub struct SpinLock(AtomicU32);

/// Proof that the lock is held.
#[derive(Debug)]
pub struct Held<'a>(&'a SpinLock);

impl SpinLock {
    /// A free lock.
    pub const fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    /// Takes the lock, or gives up after some thousand turns. A thread that finds itself as the
    /// holder left the hook by `longjmp` (or is dying inside it), and takes the lock over.
    pub fn lock(&self, tid: u32) -> Option<Held<'_>> {
        let mut turn = 0_u32;
        while let Err(holder) = self.0.compare_exchange_weak(0, tid, Acquire, Relaxed) {
            if holder == tid {
                break;
            }
            turn = turn.wrapping_add(1);
            if turn > 4_000 {
                return None;
            }
            if turn.is_multiple_of(64) {
                yield_now();
            } else {
                core::hint::spin_loop();
            }
        }
        Some(Held(self))
    }
}

impl SpinLock {
    /// Takes the lock, with far more patience: for what must not be left out, where the holder is
    /// known to need microseconds unless it is not running.
    pub fn lock_patiently(&self, tid: u32) -> Option<Held<'_>> {
        (0..200).find_map(|_| self.lock(tid))
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.0.store(0, Release);
    }
}
