//! From a hash to the number of the record that bears it: strings, code objects, stacks.
//!
//! Open addressing over zeroed memory; entries are only ever added, so a look-up needs no lock.
//! A slot is one word: the upper 40 bits of the hash and the number plus one in the lower 24.
//! Together with its place that is enough to tell 50,000 records apart with a chance of confusion
//! below one in ten million.

use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

const NUMBER_BITS: u32 = 24;
const NUMBER_MASK: u64 = (1 << NUMBER_BITS) - 1;
const MAX_PROBES: usize = 64;

/// An index with `SLOTS` (a power of two) places.
#[derive(Debug)]
#[repr(C)]
pub struct Index<const SLOTS: usize>([AtomicU64; SLOTS]);

impl<const SLOTS: usize> Index<SLOTS> {
    /// The number stored for this hash.
    #[inline]
    pub fn find(&self, hash: u64) -> Option<u32> {
        for probe in 0..MAX_PROBES {
            let word = self.slot(hash, probe)?.load(Acquire);
            if word == 0 {
                return None;
            }
            if word & !NUMBER_MASK == hash & !NUMBER_MASK {
                return Some((word & NUMBER_MASK).wrapping_sub(1) as u32);
            }
        }
        None
    }

    /// Stores a number for this hash; `false` when its neighbourhood is full. Callers hold a lock,
    /// so that one hash is not added twice.
    pub fn add(&self, hash: u64, number: u32) -> bool {
        let word = (hash & !NUMBER_MASK) | (u64::from(number).wrapping_add(1) & NUMBER_MASK);
        for probe in 0..MAX_PROBES {
            let Some(slot) = self.slot(hash, probe) else {
                return false;
            };
            if slot.load(Relaxed) == 0 {
                slot.store(word, Release);
                return true;
            }
        }
        false
    }

    #[inline]
    fn slot(&self, hash: u64, probe: usize) -> Option<&AtomicU64> {
        self.0
            .get((hash as usize).wrapping_add(probe) & SLOTS.wrapping_sub(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::Hash;
    use crate::sys::testing::zeroed;

    #[test]
    fn finds_what_was_added_and_nothing_else() {
        let index = zeroed::<Index<4096>>();
        let hash = |number: u32| Hash::new(1).with(u64::from(number)).finish();
        for number in 0..2000 {
            assert_eq!(index.find(hash(number)), None);
            assert!(index.add(hash(number), number));
        }
        assert!((0..2000).all(|number| index.find(hash(number)) == Some(number)));
        assert_eq!(index.find(hash(9999)), None);
    }

    #[test]
    fn a_full_index_says_so() {
        let index = zeroed::<Index<64>>();
        let added =
            (0..100_u32).filter(|&n| index.add(Hash::new(2).with(u64::from(n)).finish(), n));
        assert_eq!(added.count(), 64);
    }
}
