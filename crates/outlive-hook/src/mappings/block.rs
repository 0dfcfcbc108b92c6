//! A block of the table of mapped ranges: some of them, sorted, in a fixed space.

use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicU32, AtomicU64};

/// How many ranges a block holds.
pub(super) const PER_BLOCK: usize = 128;

/// A mapped range and the stack that mapped it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Range {
    /// First address.
    pub start: u64,
    /// Address behind the last.
    pub end: u64,
    /// Who mapped it.
    pub stack: u32,
}

impl Range {
    /// Its length in bytes.
    pub const fn len(&self) -> u64 {
        self.end.wrapping_sub(self.start)
    }

    /// Whether it covers nothing.
    pub const fn is_empty(&self) -> bool {
        self.end <= self.start
    }
}

#[derive(Debug)]
#[repr(C)]
struct Slot {
    start: AtomicU64,
    end: AtomicU64,
    stack: AtomicU32,
}

/// A sorted run of ranges that overlap nowhere.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Block {
    len: AtomicU32,
    slots: [Slot; PER_BLOCK],
}

impl Block {
    pub(super) fn len(&self) -> usize {
        self.len.load(Relaxed) as usize
    }

    pub(super) fn set_len(&self, len: usize) {
        self.len.store(len as u32, Relaxed);
    }

    pub(super) fn get(&self, index: usize) -> Range {
        self.slots
            .get(index)
            .map_or_else(Range::default, |slot| Range {
                start: slot.start.load(Relaxed),
                end: slot.end.load(Relaxed),
                stack: slot.stack.load(Relaxed),
            })
    }

    pub(super) fn put(&self, index: usize, range: Range) {
        if let Some(slot) = self.slots.get(index) {
            slot.start.store(range.start, Relaxed);
            slot.end.store(range.end, Relaxed);
            slot.stack.store(range.stack, Relaxed);
        }
    }

    pub(super) fn first_ending_after(&self, address: u64) -> usize {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = usize::midpoint(low, high);
            if self.get(middle).end > address {
                high = middle;
            } else {
                low = middle.wrapping_add(1);
            }
        }
        low
    }

    pub(super) fn insert(&self, range: Range) -> bool {
        let len = self.len();
        if len >= PER_BLOCK {
            return false;
        }
        let place = self.first_ending_after(range.start);
        let mut at = len;
        while at > place {
            self.put(at, self.get(at.wrapping_sub(1)));
            at = at.wrapping_sub(1);
        }
        self.put(place, range);
        self.set_len(len.wrapping_add(1));
        true
    }

    pub(super) fn remove(&self, index: usize) {
        let len = self.len();
        let mut at = index;
        while at.wrapping_add(1) < len {
            self.put(at, self.get(at.wrapping_add(1)));
            at = at.wrapping_add(1);
        }
        self.set_len(len.saturating_sub(1));
    }
}
