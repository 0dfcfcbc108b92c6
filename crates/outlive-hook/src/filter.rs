//! "Was anything on this page recorded?", answered with one byte load in `free`.
//!
//! A byte per slot counts the recorded blocks whose page falls into it. Pages, not addresses, and
//! neighbouring pages in one cache line, so that a program touches as little of the filter as it
//! touches memory. A count that reaches
//! 255 stays there: from then on that slot always says "perhaps", and the table of live blocks is
//! asked.

use core::sync::atomic::AtomicU8;
use core::sync::atomic::Ordering::Relaxed;

/// 64 slots are a cache line.
const LINE_BITS: u32 = 6;
const LINES_BITS: u32 = 10;
const SLOTS: usize = 1 << (LINE_BITS + LINES_BITS);

/// The counts.
#[derive(Debug)]
#[repr(align(64))]
pub struct Filter([AtomicU8; SLOTS]);

/// The one in use.
pub static FILTER: Filter = Filter([const { AtomicU8::new(0) }; SLOTS]);

impl Filter {
    /// Whether a block at this address may have been recorded.
    #[inline]
    pub fn may_hold(&self, address: usize) -> bool {
        self.slot(address).load(Relaxed) != 0
    }

    /// A block at this address was recorded.
    pub fn add(&self, address: usize) {
        let slot = self.slot(address);
        let mut count = slot.load(Relaxed);
        while count != u8::MAX {
            match slot.compare_exchange_weak(count, count.wrapping_add(1), Relaxed, Relaxed) {
                Ok(_) => return,
                Err(now) => count = now,
            }
        }
    }

    /// It is gone.
    pub fn remove(&self, address: usize) {
        let slot = self.slot(address);
        let mut count = slot.load(Relaxed);
        while count != u8::MAX && count != 0 {
            match slot.compare_exchange_weak(count, count.wrapping_sub(1), Relaxed, Relaxed) {
                Ok(_) => return,
                Err(now) => count = now,
            }
        }
    }

    /// Says "perhaps" for this address from now on.
    pub fn always(&self, address: usize) {
        self.slot(address).store(u8::MAX, Relaxed);
    }

    #[inline]
    fn slot(&self, address: usize) -> &AtomicU8 {
        let page = (address >> 12) as u64;
        let line = (page >> LINE_BITS).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - LINES_BITS);
        let slot = line << LINE_BITS | page & ((1 << LINE_BITS) - 1);
        // 16 bits are left, so the slot always exists; `get` would only add a branch that the
        // optimiser removes again.
        self.0.get(slot as usize).unwrap_or(&self.0[0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::testing::zeroed;

    #[test]
    fn remembers_until_all_blocks_of_the_page_are_gone() {
        let filter = zeroed::<Filter>();
        assert!(!filter.may_hold(0x7000_1234));
        filter.add(0x7000_1234);
        filter.add(0x7000_1FF0);
        filter.remove(0x7000_1234);
        assert!(filter.may_hold(0x7000_1000));
        filter.remove(0x7000_1FF0);
        assert!(!filter.may_hold(0x7000_1000));
    }

    #[test]
    fn a_full_slot_says_perhaps_for_good() {
        let filter = zeroed::<Filter>();
        for _ in 0..300 {
            filter.add(0x5000);
        }
        for _ in 0..300 {
            filter.remove(0x5000);
        }
        assert!(filter.may_hold(0x5000));
    }
}
