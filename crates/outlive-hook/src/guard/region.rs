//! Regions: address space that an allocator of a library takes ahead of need, and fills without a
//! word.
//!
//! The allocator that polars brings (jemalloc) takes ever larger ones; the last alone may be larger
//! than all that is left. Without a region, from the kernel or the heap, it asks for what it needs. So one that would
//! reach into the last of the room is refused, and from then on growth is seen piece by piece.

use outlive_record::ledger::Ledger;

use super::measure::recent;
use super::{callers, stop};
use crate::arena::Arena;
use crate::sys::thread::{self, Entered};

/// Smaller ones are no danger.
const SMALLEST: usize = 8 << 20;
/// What has to be left beside a region, in lines at which growth is stopped.
const LINES_LEFT: i64 = 4;
/// How many mappings may follow a refusal until the allocator has what it needs: one, and another
/// if the first was not aligned. They must not be refused, since the library would abort.
const ATTEMPTS: u32 = 2;

/// What becomes of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is none of the guard's business.
    Passed,
    /// It is what is needed, after all: it will be filled, and must not be refused.
    Needed,
    /// No; its library has another way.
    Refused,
}

/// Judges a region.
pub fn judge(
    entered: &Entered,
    arena: &Arena,
    ledger: &Ledger,
    size: usize,
    caller: usize,
) -> Verdict {
    let thread = entered.thread;
    let attempts = thread.attempts();
    if attempts == 0 && size < SMALLEST {
        return Verdict::Passed;
    }
    let is_free = thread.is_handling() || thread.is_sparse();
    if is_free || !callers::has_another_way(caller) {
        return Verdict::Passed;
    }
    if attempts == ATTEMPTS || attempts > 0 && thread.is_soon_after_attempt() {
        let is_last = size < SMALLEST;
        thread.set_attempts(if is_last { 0 } else { attempts.wrapping_sub(1) });
        return Verdict::Needed;
    }
    let measured = recent(&arena.guard, ledger);
    let left = stop::line(measured.budget).saturating_mul(LINES_LEFT);
    if (size as i64).saturating_add(left) <= measured.headroom {
        return Verdict::Passed;
    }
    thread.set_attempts(ATTEMPTS);
    Verdict::Refused
}

/// Something small was mapped: if a region was refused before, that was all that was needed.
#[inline]
pub fn is_over() {
    let thread = thread::current();
    if thread.attempts() > 0 {
        thread.set_attempts(0);
    }
}
