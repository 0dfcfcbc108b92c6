//! The memory cgroups above the tree, written by the supervisor, read by every hook.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use super::Ledger;

/// At most so many levels; those without a limit are left out beforehand.
pub const CHAIN: u64 = 8;
/// Longest path of a cgroup's folder.
pub const MAX_FOLDER: usize = 1000;

/// Number of levels; its upper half counts the changes, and is odd during one.
const COUNT: u64 = 4096;
const FIRST: u64 = 4160;
const LEVEL: u64 = 1016;
/// Within a level.
const VERSION: u64 = 0;
const LENGTH: u64 = 4;
const FOLDER: u64 = 8;

/// One memory cgroup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level<'a> {
    /// 1 or 2: which of the two interfaces its files have.
    pub version: u32,
    /// Its folder.
    pub folder: &'a [u8],
}

impl Ledger {
    /// Writes the chain down, innermost first. Levels that do not fit are left out.
    pub fn set_chain<'a>(&self, levels: impl IntoIterator<Item = Level<'a>>) {
        let word = self.region.u64(COUNT);
        let changes = word.load(Relaxed) >> 32;
        word.store(changes.wrapping_add(1) << 32, Release);
        let mut count = 0_u64;
        for level in levels {
            if count == CHAIN || level.folder.len() > MAX_FOLDER {
                continue;
            }
            let place = FIRST.wrapping_add(count.wrapping_mul(LEVEL));
            let region = &self.region;
            region.u32(place + VERSION).store(level.version, Relaxed);
            region
                .u32(place + LENGTH)
                .store(level.folder.len() as u32, Relaxed);
            region.put(place + FOLDER, level.folder);
            count = count.wrapping_add(1);
        }
        word.store(changes.wrapping_add(2) << 32 | count, Release);
    }

    /// Reads a level into a buffer; `None` when there is none, or when it is being changed.
    pub fn level<'a>(&self, number: u32, buffer: &'a mut [u8; MAX_FOLDER]) -> Option<Level<'a>> {
        let word = self.region.u64(COUNT);
        let before = word.load(Acquire);
        if before >> 32 & 1 == 1 || u64::from(number) >= (before & 0xFFFF_FFFF).min(CHAIN) {
            return None;
        }
        let place = FIRST.wrapping_add(u64::from(number).wrapping_mul(LEVEL));
        let version = self.region.u32(place + VERSION).load(Relaxed);
        let length = self.region.u32(place + LENGTH).load(Relaxed) as usize;
        let folder = buffer.get_mut(..length)?;
        self.region.get(place + FOLDER, folder);
        core::sync::atomic::fence(Acquire);
        (word.load(Relaxed) == before).then_some(Level { version, folder })
    }
}

#[cfg(test)]
mod tests {
    use super::super::SIZE;
    use super::*;
    use crate::region::Region;

    fn levels(ledger: &Ledger) -> Vec<(u32, Vec<u8>)> {
        let mut buffer = [0; MAX_FOLDER];
        (0..20)
            .map_while(|number| {
                let level = ledger.level(number, &mut buffer)?;
                Some((level.version, level.folder.to_vec()))
            })
            .collect()
    }

    #[test]
    fn a_chain_is_read_as_it_was_written() {
        let ledger = Ledger::create(Region::leaked(SIZE), None, false);
        assert!(levels(&ledger).is_empty());
        let long = vec![b'x'; MAX_FOLDER + 1];
        for round in 0..3_u32 {
            let folder = format!("/sys/fs/cgroup/{round}").into_bytes();
            ledger.set_chain([
                Level {
                    version: 2,
                    folder: &folder,
                },
                Level {
                    version: 2,
                    folder: &long,
                },
                Level {
                    version: 1,
                    folder: b"/",
                },
            ]);
            assert_eq!(levels(&ledger), [(2, folder), (1, b"/".to_vec())]);
        }
    }

    #[test]
    fn a_chain_that_is_too_long_loses_its_outermost_levels() {
        let ledger = Ledger::create(Region::leaked(SIZE), None, false);
        ledger.set_chain((0..30).map(|_| Level {
            version: 1,
            folder: b"/a",
        }));
        assert_eq!(levels(&ledger).len() as u64, CHAIN);
    }
}
