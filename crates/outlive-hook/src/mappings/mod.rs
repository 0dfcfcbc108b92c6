//! The ranges that were mapped: sorted, split and trimmed as `munmap` and `mremap` demand.
//!
//! A directory of blocks, each a sorted run of ranges; a full block splits in two. Callers hold a
//! lock, so the atomics are only there because the memory is shared between threads. Everything
//! works on zeroed memory and gives up (returns `false`) rather than grow.

mod block;

use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::Relaxed;

pub use block::Range;
use block::{Block, PER_BLOCK};

const BLOCKS: usize = 1024;
/// How many of the largest ranges are looked for.
pub const LARGEST: usize = 32;

/// The table; zeroed memory is an empty one.
#[derive(Debug)]
#[repr(C)]
pub struct MappingTable {
    /// Blocks in use, in order of address.
    directory: [AtomicU32; BLOCKS],
    directory_len: AtomicU32,
    /// Blocks taken so far; freed ones are kept behind the end of the directory.
    taken: AtomicU32,
    blocks: [Block; BLOCKS],
}

impl MappingTable {
    /// Adds a range that overlaps no other; `false` when there is no room.
    pub fn insert(&self, range: Range) -> bool {
        if range.is_empty() {
            return true;
        }
        if self.directory_len() == 0 && !self.open_block(0) {
            return false;
        }
        let place = self.block_for(range.start);
        let Some(block) = self.block(place) else {
            return false;
        };
        if block.len() == PER_BLOCK {
            if !self.split(place) {
                return false;
            }
            return self.insert_into_split(range);
        }
        block.insert(range)
    }

    /// Removes everything between two addresses, calling `gone` with each piece that was mapped and
    /// the number of pieces that stay of its range.
    /// Pieces that stick out stay; `false` when a range had to be split and there was no room.
    pub fn remove(&self, start: u64, end: u64, mut gone: impl FnMut(Range, i64)) -> bool {
        let mut complete = true;
        while let Some((place, index, range)) = self.first_overlap(start, end) {
            let cut = Range {
                start: range.start.max(start),
                end: range.end.min(end),
                stack: range.stack,
            };
            self.take_out(place, index);
            let before = Range {
                end: cut.start,
                ..range
            };
            let after = Range {
                start: cut.end,
                ..range
            };
            complete &= self.insert(before) && self.insert(after);
            gone(
                cut,
                i64::from(!before.is_empty()) + i64::from(!after.is_empty()),
            );
        }
        complete
    }

    /// Whether this address lies in a range.
    pub fn contains(&self, address: u64) -> bool {
        self.first_overlap(address, address.saturating_add(1))
            .is_some()
    }

    /// The largest of the ranges that are `wanted`; the rest of the array is empty.
    pub fn largest(&self, wanted: impl Fn(&Range) -> bool) -> [Range; LARGEST] {
        let mut found = [Range::default(); LARGEST];
        self.each(|range| {
            let least = found.iter_mut().min_by_key(|kept| kept.len());
            if let Some(least) = least.filter(|least| least.len() < range.len() && wanted(&range)) {
                *least = range;
            }
        });
        found
    }

    /// All ranges in order.
    pub fn each(&self, mut visit: impl FnMut(Range)) {
        for place in 0..self.directory_len() {
            let Some(block) = self.block(place) else {
                return;
            };
            for index in 0..block.len() {
                visit(block.get(index));
            }
        }
    }

    fn insert_into_split(&self, range: Range) -> bool {
        self.block(self.block_for(range.start))
            .is_some_and(|block| block.insert(range))
    }

    fn first_overlap(&self, start: u64, end: u64) -> Option<(usize, usize, Range)> {
        if start >= end || self.directory_len() == 0 {
            return None;
        }
        let mut place = self.block_for(start);
        while let Some(block) = self.block(place) {
            let from = block.first_ending_after(start);
            if from < block.len() {
                let range = block.get(from);
                return (range.start < end).then_some((place, from, range));
            }
            place = place.wrapping_add(1);
        }
        None
    }

    fn take_out(&self, place: usize, index: usize) {
        let Some(block) = self.block(place) else {
            return;
        };
        block.remove(index);
        if block.len() == 0 {
            self.close_block(place);
        }
    }

    fn directory_len(&self) -> usize {
        self.directory_len.load(Relaxed) as usize
    }

    /// The last block that starts at or before this address, or the first one.
    fn block_for(&self, address: u64) -> usize {
        let (mut low, mut high) = (0, self.directory_len());
        while high.wrapping_sub(low) > 1 {
            let middle = usize::midpoint(low, high);
            let starts_after = self
                .block(middle)
                .is_none_or(|block| block.get(0).start > address);
            if starts_after {
                high = middle;
            } else {
                low = middle;
            }
        }
        low
    }

    fn block(&self, place: usize) -> Option<&Block> {
        if place >= self.directory_len() {
            return None;
        }
        let number = self.directory.get(place)?.load(Relaxed);
        self.blocks.get(number as usize)
    }

    /// Makes an empty block at this place of the directory.
    fn open_block(&self, place: usize) -> bool {
        let len = self.directory_len();
        if len >= BLOCKS {
            return false;
        }
        let taken = self.taken.load(Relaxed) as usize;
        // Behind the end of the directory lie the numbers of closed blocks, if any.
        let number = if taken > len {
            self.directory.get(len).map_or(0, |slot| slot.load(Relaxed))
        } else {
            self.taken.store(taken.wrapping_add(1) as u32, Relaxed);
            taken as u32
        };
        let mut at = len;
        while at > place {
            self.copy_directory(at.wrapping_sub(1), at);
            at = at.wrapping_sub(1);
        }
        if let Some(slot) = self.directory.get(place) {
            slot.store(number, Relaxed);
        }
        if let Some(block) = self.blocks.get(number as usize) {
            block.set_len(0);
        }
        self.directory_len
            .store(len.wrapping_add(1) as u32, Relaxed);
        true
    }

    fn close_block(&self, place: usize) {
        let len = self.directory_len();
        let number = self
            .directory
            .get(place)
            .map_or(0, |slot| slot.load(Relaxed));
        let mut at = place;
        while at.wrapping_add(1) < len {
            self.copy_directory(at.wrapping_add(1), at);
            at = at.wrapping_add(1);
        }
        if let Some(slot) = self.directory.get(len.wrapping_sub(1)) {
            slot.store(number, Relaxed);
        }
        self.directory_len
            .store(len.wrapping_sub(1) as u32, Relaxed);
    }

    fn copy_directory(&self, from: usize, to: usize) {
        if let (Some(source), Some(target)) = (self.directory.get(from), self.directory.get(to)) {
            target.store(source.load(Relaxed), Relaxed);
        }
    }

    /// Moves the upper half of a full block into a new one behind it.
    fn split(&self, place: usize) -> bool {
        if !self.open_block(place.wrapping_add(1)) {
            return false;
        }
        let (Some(full), Some(fresh)) = (self.block(place), self.block(place.wrapping_add(1)))
        else {
            return false;
        };
        let half = PER_BLOCK / 2;
        for index in half..PER_BLOCK {
            fresh.put(index.wrapping_sub(half), full.get(index));
        }
        fresh.set_len(PER_BLOCK - half);
        full.set_len(half);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::testing::zeroed;
    use std::collections::BTreeMap;

    #[test]
    fn the_largest_ranges_are_found_among_those_wanted() {
        let table = zeroed::<MappingTable>();
        for number in 1..=200_u64 {
            let start = number << 20;
            let end = start.wrapping_add(number);
            let stack = number as u32;
            assert!(table.insert(Range { start, end, stack }));
        }
        let mut found = table.largest(|range| range.stack != 199).map(|it| it.len());
        found.sort_unstable();
        let expected: Vec<u64> = (168..=200).filter(|it| *it != 199).collect();
        assert_eq!(found[..], expected[..]);
        assert_eq!(table.largest(|_| false), [Range::default(); LARGEST]);
    }

    #[test]
    fn a_hole_splits_a_range() {
        let table = zeroed::<MappingTable>();
        table.insert(Range {
            start: 10,
            end: 20,
            stack: 3,
        });
        let mut gone = Vec::new();
        assert!(table.remove(12, 15, |range, _| gone.push(range)));
        assert_eq!(
            gone,
            [Range {
                start: 12,
                end: 15,
                stack: 3
            }]
        );
        let mut left = Vec::new();
        table.each(|range| left.push((range.start, range.end)));
        assert_eq!(left, [(10, 12), (15, 20)]);
    }

    #[test]
    fn a_full_table_says_so() {
        let table = zeroed::<MappingTable>();
        let fits = (0..1_000_000_u64)
            .take_while(|&n| {
                table.insert(Range {
                    start: n * 10,
                    end: n * 10 + 5,
                    stack: 1,
                })
            })
            .count();
        assert!(fits >= BLOCKS * PER_BLOCK / 2, "{fits}");
        let mut gone = 0;
        table.remove(0, u64::MAX, |_, _| gone += 1);
        assert_eq!(gone, fits);
        assert!(table.insert(Range {
            start: 1,
            end: 2,
            stack: 1
        }));
    }

    proptest::proptest! {
        #[test]
        fn behaves_as_pages_do(steps in proptest::collection::vec((0_u64..600, 1_u64..40, 0_u32..3), 1..800)) {
            let table = zeroed::<MappingTable>();
            let mut pages = BTreeMap::new();
            for (start, length, stack) in steps {
                let end = start + length;
                let mut gone = BTreeMap::new();
                assert!(table.remove(start, end, |range, _| {
                    for page in range.start..range.end {
                        gone.insert(page, range.stack);
                    }
                }));
                let expected: BTreeMap<u64, u32> = (start..end)
                    .filter_map(|page| pages.remove(&page).map(|stack| (page, stack)))
                    .collect();
                assert_eq!(gone, expected);
                if stack > 0 {
                    assert!(table.insert(Range { start, end, stack }));
                    pages.extend((start..end).map(|page| (page, stack)));
                }
            }
            let mut left = BTreeMap::new();
            table.each(|range| left.extend((range.start..range.end).map(|page| (page, range.stack))));
            assert_eq!(left, pages);
        }
    }
}
