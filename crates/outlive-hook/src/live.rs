//! The blocks that are live: address → who acquired it and how many bytes it stands for.
//!
//! A lock-free table of cache lines, four entries each. Most programs have a few thousand recorded
//! blocks at a time: those find room in a near table of 128 KiB, which stays in the cache and needs
//! few pages. What does not fit there goes to a far one: a block lives in the line of its address or
//! in one of the next lines, at most eight in all; a line that ever overflowed carries a mark of
//! its own (in a byte beside it), so that most look-ups there read one line. Entries are claimed by
//! exchanging the address in, and freed by storing zero, so nothing is ever rebuilt. An address is
//! taken out before the real `free` runs and put in after the real `malloc` returned, so no two
//! entries ever bear the same one.

use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicU8, AtomicU32, AtomicU64};

const LINE_BITS: u32 = 16;
const LINES: usize = 1 << LINE_BITS;
const NEAR_BITS: u32 = 11;
const NEAR: usize = 1 << NEAR_BITS;
const PER_LINE: usize = 4;
const WINDOW: usize = 8;
const NEAR_WINDOW: usize = 2;

/// How many blocks fit.
pub const CAPACITY: u32 = ((NEAR + LINES) * PER_LINE) as u32;

/// Who holds a block, and the bytes it stands for.
///
/// Packed as 23 bits of stack, one bit "sampled" and 40 bits of bytes; a larger figure is cut to
/// 1 TiB − 1, on the way in and on the way out alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Stack number in the box.
    pub stack: u32,
    /// Bytes.
    pub bytes: u64,
    /// Whether the bytes are the weight of a sample rather than the request itself.
    pub sampled: bool,
}

const BYTES_BITS: u32 = 40;
const BYTES_MASK: u64 = (1 << BYTES_BITS) - 1;

impl Block {
    /// With the bytes cut to what the table can hold.
    pub fn new(stack: u32, bytes: u64, sampled: bool) -> Self {
        Self {
            stack: stack & 0x007F_FFFF,
            bytes: bytes.min(BYTES_MASK),
            sampled,
        }
    }

    const fn pack(self) -> u64 {
        let who = (self.stack as u64) << 1 | self.sampled as u64;
        who << BYTES_BITS | self.bytes
    }

    const fn unpack(word: u64) -> Self {
        let who = word >> BYTES_BITS;
        Self {
            stack: (who >> 1) as u32,
            bytes: word & BYTES_MASK,
            sampled: who & 1 == 1,
        }
    }
}

#[derive(Debug)]
#[repr(C, align(64))]
struct Line([Entry; PER_LINE]);

#[derive(Debug)]
#[repr(C)]
struct Entry {
    address: AtomicU64,
    block: AtomicU64,
}

/// The table; zeroed memory is an empty one.
#[derive(Debug)]
#[repr(C)]
pub struct LiveTable {
    near: [Line; NEAR],
    lines: [Line; LINES],
    overflowed: [AtomicU8; LINES],
    count: AtomicU32,
}

impl LiveTable {
    /// Puts a block in; `false` when its neighbourhood is full.
    pub fn insert(&self, address: usize, block: Block) -> bool {
        let spread = spread(address);
        let is_in = (0..NEAR_WINDOW).any(|step| self.near_line(spread, step).claim(address, block))
            || self.insert_far(spread, address, block);
        if is_in {
            self.count.fetch_add(1, Relaxed);
        }
        is_in
    }

    fn insert_far(&self, spread: u64, address: usize, block: Block) -> bool {
        let home = (spread >> (64 - LINE_BITS)) as usize;
        for step in 0..WINDOW {
            let Some(line) = self.lines.get(wrap(home, step)) else {
                return false;
            };
            if line.claim(address, block) {
                return true;
            }
            if let Some(mark) = self.overflowed.get(wrap(home, step)) {
                mark.store(1, Relaxed);
            }
        }
        false
    }

    /// Looks a block up and leaves it where it is.
    pub fn find(&self, address: usize) -> Option<Block> {
        if address == 0 {
            return None;
        }
        let spread = spread(address);
        let home = (spread >> (64 - LINE_BITS)) as usize;
        (0..NEAR_WINDOW)
            .find_map(|step| self.near_line(spread, step).find(address))
            .or_else(|| {
                (0..WINDOW).find_map(|step| self.lines.get(wrap(home, step))?.find(address))
            })
    }

    /// Takes a block out.
    pub fn remove(&self, address: usize) -> Option<Block> {
        if address == 0 {
            // Zero marks a free entry; no block lies there.
            return None;
        }
        let spread = spread(address);
        let block = (0..NEAR_WINDOW)
            .find_map(|step| self.near_line(spread, step).take(address))
            .or_else(|| self.remove_far(spread, address))?;
        self.count.fetch_sub(1, Relaxed);
        Some(block)
    }

    fn remove_far(&self, spread: u64, address: usize) -> Option<Block> {
        let home = (spread >> (64 - LINE_BITS)) as usize;
        for step in 0..WINDOW {
            if let Some(block) = self.lines.get(wrap(home, step))?.take(address) {
                return Some(block);
            }
            if self.overflowed.get(wrap(home, step))?.load(Relaxed) == 0 {
                return None;
            }
        }
        None
    }

    #[inline]
    fn near_line(&self, spread: u64, step: usize) -> &Line {
        let home = (spread >> (64 - NEAR_BITS)) as usize;
        // The index is within by its making; `get` would only add a branch.
        let index = home.wrapping_add(step) & (NEAR - 1);
        self.near.get(index).unwrap_or(&self.near[0])
    }

    /// How many blocks are in.
    pub fn len(&self) -> u32 {
        self.count.load(Relaxed)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Line {
    /// Puts a block into a free entry.
    #[inline]
    fn claim(&self, address: usize, block: Block) -> bool {
        self.0.iter().any(|entry| {
            let is_ours = entry.address.load(Relaxed) == 0
                && entry
                    .address
                    .compare_exchange(0, address as u64, AcqRel, Relaxed)
                    .is_ok();
            if is_ours {
                entry.block.store(block.pack(), Release);
            }
            is_ours
        })
    }

    fn find(&self, address: usize) -> Option<Block> {
        let mut entries = self.0.iter();
        let entry = entries.find(|entry| entry.address.load(Acquire) == address as u64)?;
        let block = entry.block.load(Acquire);
        // Freed meanwhile, it may be somebody else's.
        let is_still = entry.address.load(Acquire) == address as u64;
        is_still.then_some(Block::unpack(block))
    }

    /// Takes a block out. A double free in the program races here; only one of the two gets it.
    #[inline]
    fn take(&self, address: usize) -> Option<Block> {
        let mut entries = self.0.iter();
        let entry = entries.find(|entry| entry.address.load(Acquire) == address as u64)?;
        let block = Block::unpack(entry.block.load(Acquire));
        entry
            .address
            .compare_exchange(address as u64, 0, AcqRel, Relaxed)
            .ok()?;
        Some(block)
    }
}

const fn spread(address: usize) -> u64 {
    (address as u64 >> 4).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

const fn wrap(home: usize, step: usize) -> usize {
    home.wrapping_add(step) & (LINES - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::testing::zeroed;
    use std::collections::HashMap;

    #[test]
    fn what_goes_in_comes_out_once() {
        let table = zeroed::<LiveTable>();
        assert!(table.insert(0x7F00_0010, Block::new(7, 4096, true)));
        assert_eq!(table.find(0x7F00_0010), Some(Block::new(7, 4096, true)));
        assert_eq!(table.find(0x7F00_0020), None);
        assert_eq!(table.remove(0x7F00_0010), Some(Block::new(7, 4096, true)));
        assert_eq!(table.remove(0x7F00_0010), None);
        assert!(table.is_empty());
        assert_eq!(
            table.remove(0),
            None,
            "a free entry is not a block at address zero"
        );
    }

    #[test]
    fn bytes_beyond_a_tebibyte_are_cut_both_ways() {
        let table = zeroed::<LiveTable>();
        let block = Block::new(1, 4 << 40, false);
        table.insert(0x1000, block);
        assert_eq!(table.remove(0x1000).map(|out| out.bytes), Some(block.bytes));
    }

    #[test]
    fn a_full_table_refuses_and_loses_nothing() {
        let table = zeroed::<LiveTable>();
        let mut kept = Vec::new();
        for index in 0..(CAPACITY as usize + 1000) {
            let address = (index + 1) * 16;
            if table.insert(address, Block::new(1, 1, false)) {
                kept.push(address);
            }
        }
        assert!(kept.len() > CAPACITY as usize * 9 / 10, "{}", kept.len());
        assert!(kept.len() <= CAPACITY as usize);
        assert!(kept.iter().all(|&address| table.remove(address).is_some()));
        assert!(table.is_empty());
    }

    proptest::proptest! {
        #[test]
        fn behaves_as_a_map(steps in proptest::collection::vec((1_usize..64, 0_u32..3, 0_u64..1 << 41), 1..400)) {
            let table = zeroed::<LiveTable>();
            let mut model = HashMap::new();
            for (slot, operation, bytes) in steps {
                let address = slot * 4096;
                if operation > 0 && !model.contains_key(&address) {
                    let block = Block::new(operation, bytes, bytes % 2 == 0);
                    assert!(table.insert(address, block));
                    model.insert(address, block);
                } else {
                    assert_eq!(table.remove(address), model.remove(&address));
                }
            }
            assert_eq!(table.len() as usize, model.len());
        }
    }

    #[test]
    fn threads_do_not_disturb_each_other() {
        let table = zeroed::<LiveTable>();
        std::thread::scope(|scope| {
            for thread in 0..4_usize {
                let table = &table;
                scope.spawn(move || {
                    for round in 0..20_000_usize {
                        let address = (thread * 20_000 + round % 500 + 1) * 16;
                        assert!(
                            table.insert(address, Block::new(thread as u32, round as u64, false))
                        );
                        let out = table.remove(address);
                        assert_eq!(out, Some(Block::new(thread as u32, round as u64, false)));
                    }
                });
            }
        });
        assert!(table.is_empty());
    }
}
