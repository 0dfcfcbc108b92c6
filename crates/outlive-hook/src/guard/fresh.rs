//! Large blocks that were granted lately and may not have been touched yet.
//!
//! A page that was granted costs nothing until it is touched, and then it cannot be refused any
//! more; so what is still to come counts as used. This table says where to look. A block whose
//! pages are all there leaves it: from then on the kernel's own figures count it.
//!
//! Callers hold a lock. Zeroed memory is an empty table. When a set is full, its least untouched
//! block leaves early and counts as touched.

use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

const SETS: usize = 64;
const WAYS: usize = 8;

/// The table.
#[derive(Debug)]
#[repr(C)]
pub struct FreshTable {
    sets: [[Entry; WAYS]; SETS],
}

#[derive(Debug)]
#[repr(C)]
struct Entry {
    /// 0 for an empty place.
    address: AtomicU64,
    size: AtomicU64,
    /// Bytes of it that count as untouched.
    untouched: AtomicU64,
    /// Who asked for it.
    caller: AtomicU64,
    /// Not zero once it is known to be a pool, whose untouched bytes count elsewhere.
    pooled: AtomicU64,
    /// Not zero once this very block was asked about: what the kernel says then may be of a block
    /// that lay at the same place before.
    asked: AtomicU64,
}

/// By how much the untouched bytes of a process change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct Change {
    /// Of data.
    pub data: i64,
    /// Of pools.
    pub pools: i64,
}

/// A block that may not have been touched yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fresh {
    /// Where it starts.
    pub address: u64,
    /// Its size.
    pub size: u64,
    /// Who asked for it.
    pub caller: u64,
}

impl Entry {
    /// The change if this entry goes from what it counts to something else.
    fn change(&self, from: u64, to: u64) -> Change {
        let change = (to as i64).wrapping_sub(from as i64);
        if self.pooled.load(Relaxed) == 0 {
            Change {
                data: change,
                pools: 0,
            }
        } else {
            Change {
                data: 0,
                pools: change,
            }
        }
    }

    /// Empties the place.
    fn leave(&self) -> Change {
        match self.address.swap(0, Relaxed) {
            0 => Change::default(),
            _ => self.change(self.untouched.load(Relaxed), 0),
        }
    }
}

impl FreshTable {
    /// Adds a block, none of whose pages are there.
    pub fn insert(&self, block: Fresh) -> Change {
        let mut chosen = None;
        let mut least = u64::MAX;
        for entry in self.set(block.address) {
            let kept = entry.address.load(Relaxed);
            let untouched = if kept == 0 || kept == block.address {
                0
            } else {
                entry.untouched.load(Relaxed).saturating_add(1)
            };
            if untouched < least {
                least = untouched;
                chosen = Some(entry);
            }
        }
        let Some(entry) = chosen else {
            return Change::default();
        };
        let left = entry.leave();
        entry.pooled.store(0, Relaxed);
        entry.asked.store(0, Relaxed);
        entry.size.store(block.size, Relaxed);
        entry.untouched.store(block.size, Relaxed);
        entry.caller.store(block.caller, Relaxed);
        entry.address.store(block.address, Relaxed);
        Change {
            data: left.data.wrapping_add(block.size as i64),
            ..left
        }
    }

    /// Takes a block out that is about to be freed.
    pub fn remove(&self, address: u64) -> Change {
        let mut entries = self.set(address).iter();
        let found = entries.find(|entry| entry.address.load(Relaxed) == address);
        found.map_or(Change::default(), Entry::leave)
    }

    /// Says how much of a block is untouched now, and whether it is a pool; a block that is wholly
    /// touched leaves. One that came after [`Self::ask`] stays as it is.
    pub fn update(&self, block: Fresh, untouched: u64, is_pool: bool) -> Change {
        let mut entries = self.set(block.address).iter();
        let found = entries.find(|entry| {
            entry.address.load(Relaxed) == block.address && entry.asked.load(Relaxed) != 0
        });
        let Some(entry) = found else {
            return Change::default();
        };
        let before = entry.change(entry.untouched.load(Relaxed), 0);
        entry.pooled.store(u64::from(is_pool), Relaxed);
        entry.untouched.store(untouched, Relaxed);
        let after = entry.change(0, untouched);
        if untouched == 0 {
            entry.address.store(0, Relaxed);
        }
        Change {
            data: before.data.wrapping_add(after.data),
            pools: before.pools.wrapping_add(after.pools),
        }
    }

    /// The block at a place, counted from 0, about whose pages the kernel will be asked.
    pub fn ask(&self, place: usize) -> Option<Fresh> {
        let entry = self.sets.get(place / WAYS)?.get(place % WAYS)?;
        let address = entry.address.load(Relaxed);
        entry.asked.store(1, Relaxed);
        (address != 0).then(|| Fresh {
            address,
            size: entry.size.load(Relaxed),
            caller: entry.caller.load(Relaxed),
        })
    }

    /// How many places there are.
    pub const PLACES: usize = SETS * WAYS;

    fn set(&self, address: u64) -> &[Entry] {
        // Blocks of the C library start at odd offsets into pages, so pages decide.
        let hash = (address >> 12).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 58;
        self.sets
            .get(hash as usize)
            .map_or(&[], |set| set.as_slice())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::testing::zeroed;

    fn block(number: u64, size: u64) -> Fresh {
        Fresh {
            address: number << 20 | 16,
            size,
            caller: 0,
        }
    }

    fn ask(table: &FreshTable) -> Vec<Fresh> {
        let places = 0..FreshTable::PLACES;
        places.filter_map(|place| table.ask(place)).collect()
    }

    #[test]
    fn changes_add_up_to_what_is_in_the_table() {
        let table = zeroed::<FreshTable>();
        let mut sum = table.insert(block(1, 100)).data;
        sum += table.insert(block(2, 50)).data;
        assert_eq!(sum, 150);
        assert_eq!(ask(&table).len(), 2);
        sum += table.update(block(1, 100), 30, false).data;
        assert_eq!(sum, 80);
        sum += table.remove(block(1, 100).address).data;
        sum += table.remove(block(1, 100).address).data;
        assert_eq!(sum, 50);
        sum += table.update(block(2, 50), 0, false).data;
        assert_eq!(sum, 0);
        assert_eq!(ask(&table), []);
    }

    #[test]
    fn what_the_kernel_said_of_a_block_is_not_said_of_its_successor() {
        let table = zeroed::<FreshTable>();
        let mut sum = table.insert(block(1, 100)).data;
        assert_eq!(ask(&table), [block(1, 100)]);
        sum += table.remove(block(1, 100).address).data;
        sum += table.insert(block(1, 100)).data;
        sum += table.update(block(1, 100), 0, false).data;
        assert_eq!(sum, 100);
    }

    #[test]
    fn pools_are_counted_apart() {
        let table = zeroed::<FreshTable>();
        assert_eq!(
            table.insert(block(1, 100)),
            Change {
                data: 100,
                pools: 0
            }
        );
        ask(&table);
        let known = table.update(block(1, 100), 90, true);
        assert_eq!(
            known,
            Change {
                data: -100,
                pools: 90
            }
        );
        let filled = table.update(block(1, 100), 40, true);
        assert_eq!(
            filled,
            Change {
                data: 0,
                pools: -50
            }
        );
        let freed = table.remove(block(1, 100).address);
        assert_eq!(
            freed,
            Change {
                data: 0,
                pools: -40
            }
        );
    }

    #[test]
    fn a_full_table_keeps_the_largest_and_the_right_sum() {
        let table = zeroed::<FreshTable>();
        let mut sum = table.insert(block(1, 1 << 40)).data;
        for number in 2..5000 {
            sum += table.insert(block(number, number)).data;
        }
        let kept = ask(&table);
        assert_eq!(kept.len(), FreshTable::PLACES);
        assert!(kept.contains(&block(1, 1 << 40)));
        assert_eq!(sum, kept.iter().map(|block| block.size as i64).sum());
    }

    #[test]
    fn a_block_at_a_known_address_replaces_the_old_one() {
        let table = zeroed::<FreshTable>();
        let sum = table.insert(block(1, 100)).data + table.insert(block(1, 300)).data;
        assert_eq!(sum, 300);
    }
}
