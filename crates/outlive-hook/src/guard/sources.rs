//! Where memory ends: the files and limits that say how much room is left.
//!
//! Each source gives a budget (its limit less the reserve) and what of it is used. Page cache that
//! the kernel can take back is not use. Everything is read anew each time: limits change while a
//! program runs, and open files could be closed by it.

use core::ffi::CStr;

use outlive_record::ledger::{CHAIN, Ledger, MAX_FOLDER, Source, reserve_of};

use crate::sys::process::Cursor;
use crate::sys::{file, process};

/// Large enough for `memory.stat`, the longest of the files.
type Page = [u8; 4096];

/// What one source says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Bytes left; negative when more is used than the budget allows.
    pub left: i64,
    /// Bytes that may be used in all.
    pub budget: u64,
    /// Who says so.
    pub source: Source,
}

/// What this process itself uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Own {
    /// Anonymous and shared memory, resident.
    pub resident: u64,
    /// All of its address space.
    pub address_space: u64,
    /// What `RLIMIT_DATA` counts.
    pub data: u64,
}

impl Own {
    /// Reads it.
    pub fn read() -> Self {
        let mut page: Page = [0; 4096];
        let status = contents(c"/proc/self/status", &mut page);
        let kilobytes = |name: &[u8]| number_after(status, name).unwrap_or(0).wrapping_mul(1024);
        Self {
            resident: kilobytes(b"RssAnon:").wrapping_add(kilobytes(b"RssShmem:")),
            address_space: kilobytes(b"VmSize:"),
            data: kilobytes(b"VmData:"),
        }
    }
}

/// The tightest of all sources, less what was promised and is not touched yet; `None` when one of
/// them cannot be read, since that may be the one that matters.
pub fn tightest(ledger: &Ledger, own: &Own, promised: Promised) -> Option<Room> {
    let machine = Machine::read();
    let tree = ledger.resident();
    let mut is_blind = machine.total == 0;
    let cgroups =
        (0..CHAIN as u32).filter_map(|level| match cgroup(ledger, level, machine.swap_free) {
            Reading::Room(room) => Some(room),
            Reading::NoLimit => None,
            Reading::Unreadable => {
                is_blind = true;
                None
            }
        });
    let asked = ledger
        .limit()
        .map(|limit| Room::of(limit, tree, Source::Limit));
    let blocks = ledger.slots().filter(|slot| slot.pid() != 0);
    let blocks = blocks.filter_map(|slot| slot.block_limit());
    let block = blocks.min().map(|limit| Room {
        left: (limit as i64).saturating_sub(tree as i64),
        budget: limit,
        source: Source::Block,
    });
    let limit_of = |resource, used, source| {
        process::limit(resource).map(|limit| Room::of(limit, used, source))
    };
    let used = cgroups
        .chain(machine.room(tree))
        .chain(asked)
        .chain(block)
        .map(|room| room.less(promised.untouched));
    let used = used.min_by_key(|room| room.left);
    // Address space counts as soon as it is mapped, touched or not.
    let address_space = limit_of(libc::RLIMIT_AS, own.address_space, Source::AddressSpace);
    let data = limit_of(libc::RLIMIT_DATA, own.data, Source::Data);
    let mapped = address_space
        .into_iter()
        .chain(data)
        .map(|room| room.less(promised.in_flight));
    let tightest = used.into_iter().chain(mapped).min_by_key(|room| room.left);
    tightest.filter(|_| !is_blind)
}

/// What was granted and shows nowhere yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Promised {
    /// By the whole tree, in bytes: not touched yet.
    pub untouched: u64,
    /// By this process: not even mapped yet.
    pub in_flight: u64,
}

/// What a level of the chain says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reading {
    Room(Room),
    NoLimit,
    Unreadable,
}

impl Room {
    fn less(self, promised: u64) -> Self {
        Self {
            left: self.left.saturating_sub(promised as i64),
            ..self
        }
    }

    /// A limit, of which a reserve is kept back.
    fn of(limit: u64, used: u64, source: Source) -> Self {
        let budget = limit.saturating_sub(reserve_of(limit));
        Self {
            left: (budget as i64).saturating_sub(used as i64),
            budget,
            source,
        }
    }
}

/// The machine's own figures.
struct Machine {
    total: u64,
    available: u64,
    swap_free: u64,
}

impl Machine {
    fn read() -> Self {
        let mut page: Page = [0; 4096];
        let text = contents(c"/proc/meminfo", &mut page);
        let kilobytes = |name: &[u8]| number_after(text, name).unwrap_or(0).wrapping_mul(1024);
        Self {
            total: kilobytes(b"MemTotal:"),
            available: kilobytes(b"MemAvailable:"),
            swap_free: kilobytes(b"SwapFree:"),
        }
    }

    fn room(&self, tree: u64) -> Option<Room> {
        if self.total == 0 {
            return None;
        }
        let left = self.available.wrapping_add(self.swap_free);
        let left = (left as i64).wrapping_sub(reserve_of(self.total) as i64);
        Some(Room {
            left,
            budget: (tree as i64).saturating_add(left).max(0) as u64,
            source: Source::Machine,
        })
    }
}

/// A level of the chain.
fn cgroup(ledger: &Ledger, place: u32, swap_free: u64) -> Reading {
    let mut folder = [0; MAX_FOLDER];
    let Some(level) = ledger.level(place, &mut folder) else {
        return Reading::NoLimit;
    };
    let files = match level.version {
        1 => &FIRST,
        _ => &SECOND,
    };
    let mut page: Page = [0; 4096];
    // Without a limit the file says `max`, or a number that no machine has.
    let text = in_folder(level.folder, files.limit, &mut page);
    if text.is_empty() {
        return Reading::Unreadable;
    }
    let Some(limit) = number(text).filter(|limit| *limit < 1 << 60) else {
        return Reading::NoLimit;
    };
    let Some(used) = number(in_folder(level.folder, files.usage, &mut page)) else {
        return Reading::Unreadable;
    };
    let statistics = in_folder(level.folder, b"memory.stat", &mut page);
    let reclaimable = files
        .reclaimable
        .iter()
        .filter_map(|name| number_after(statistics, name))
        .fold(0_u64, u64::saturating_add);
    let used = used.saturating_sub(reclaimable);
    let mut room = Room::of(limit, used, Source::Cgroup(place));
    if swap_free > 0 {
        let swap = swap_left(level.folder, files, &mut page, limit);
        room.left = room.left.saturating_add(swap.min(swap_free) as i64);
    }
    Reading::Room(room)
}

/// Swap that a cgroup may still use.
fn swap_left(folder: &[u8], files: &Files, page: &mut Page, limit: u64) -> u64 {
    let most = number(in_folder(folder, files.swap_limit, page)).unwrap_or(u64::MAX);
    let used = number(in_folder(folder, files.swap_usage, page)).unwrap_or(0);
    // The first version counts memory and swap together.
    let memory = if files.swap_counts_memory { limit } else { 0 };
    most.saturating_sub(memory)
        .saturating_sub(used.saturating_sub(memory))
}

/// The files of a cgroup, which have other names in each version.
struct Files {
    limit: &'static [u8],
    usage: &'static [u8],
    swap_limit: &'static [u8],
    swap_usage: &'static [u8],
    swap_counts_memory: bool,
    reclaimable: [&'static [u8]; 3],
}

const FIRST: Files = Files {
    limit: b"memory.limit_in_bytes",
    usage: b"memory.usage_in_bytes",
    swap_limit: b"memory.memsw.limit_in_bytes",
    swap_usage: b"memory.memsw.usage_in_bytes",
    swap_counts_memory: true,
    // The third is not counted in the first version.
    reclaimable: [b"total_inactive_file ", b"total_active_file ", b"none "],
};
const SECOND: Files = Files {
    limit: b"memory.max",
    usage: b"memory.current",
    swap_limit: b"memory.swap.max",
    swap_usage: b"memory.swap.current",
    swap_counts_memory: false,
    reclaimable: [b"inactive_file ", b"active_file ", b"slab_reclaimable "],
};

fn contents<'a>(path: &CStr, page: &'a mut Page) -> &'a [u8] {
    let length = file::read(path, page);
    page.get(..length).unwrap_or(&[])
}

fn in_folder<'a>(folder: &[u8], name: &[u8], page: &'a mut Page) -> &'a [u8] {
    let mut path = [0_u8; MAX_FOLDER + 64];
    let mut cursor = Cursor {
        bytes: &mut path,
        at: 0,
    };
    cursor.push(folder);
    cursor.push(b"/");
    cursor.push(name);
    match CStr::from_bytes_until_nul(&path) {
        Ok(path) => contents(path, page),
        Err(_) => &[],
    }
}

/// The number a text starts with.
fn number(text: &[u8]) -> Option<u64> {
    let text = text.trim_ascii_start();
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit());
    let mut any = false;
    let mut sum = 0_u64;
    for &digit in digits {
        any = true;
        let digit = u64::from(digit.wrapping_sub(b'0'));
        sum = sum.saturating_mul(10).saturating_add(digit);
    }
    any.then_some(sum)
}

/// The number after a name at the start of a line.
fn number_after(text: &[u8], name: &[u8]) -> Option<u64> {
    let mut lines = text.split(|&byte| byte == b'\n');
    lines.find_map(|line| number(line.strip_prefix(name)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use outlive_record::ledger::{Level, SIZE};
    use outlive_record::region::Region;

    fn ledger(limit: Option<u64>) -> Ledger {
        Ledger::create(Region::leaked(SIZE), limit, false)
    }

    fn folder(name: &str, files: &[(&str, &str)]) -> std::path::PathBuf {
        let name = format!("outlive-sources-{}-{name}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        for (file, text) in files {
            std::fs::write(folder.join(file), text).unwrap();
        }
        folder
    }

    #[test]
    fn own_use_is_what_the_kernel_says() {
        let own = Own::read();
        assert!(own.resident > 100 << 10, "{own:?}");
        assert!(own.address_space > own.resident, "{own:?}");
    }

    #[test]
    fn page_cache_is_not_use() {
        let ledger = ledger(None);
        let folder = folder(
            "one",
            &[
                ("memory.limit_in_bytes", "1048576000\n"),
                ("memory.usage_in_bytes", "1040000000\n"),
                (
                    "memory.stat",
                    "cache 1\ntotal_inactive_file 500000000\ntotal_active_file 40000000\n",
                ),
            ],
        );
        ledger.set_chain([Level {
            version: 1,
            folder: folder.to_str().unwrap().as_bytes(),
        }]);
        let Reading::Room(room) = cgroup(&ledger, 0, 0) else {
            panic!("no limit");
        };
        let budget = 1_048_576_000 - 1_048_576_000 / 104;
        assert_eq!(room.budget, budget);
        assert_eq!(room.left, budget as i64 - 500_000_000);
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn the_second_version_counts_slabs_and_swap() {
        let ledger = ledger(None);
        let files = [
            ("memory.max", "1040000\n"),
            ("memory.current", "1000000\n"),
            ("memory.swap.max", "5000\n"),
            ("memory.swap.current", "1000\n"),
            (
                "memory.stat",
                "inactive_file 10\nslab_reclaimable 20\nactive_file 70\n",
            ),
        ];
        let folder = folder("two", &files);
        let level = Level {
            version: 2,
            folder: folder.to_str().unwrap().as_bytes(),
        };
        ledger.set_chain([level]);
        let left = |swap| match cgroup(&ledger, 0, swap) {
            Reading::Room(room) => Some(room.left),
            _ => None,
        };
        assert_eq!(left(0), Some(1_030_000 - 999_900));
        assert_eq!(left(1 << 30), Some(1_030_000 - 999_900 + 4000));
        std::fs::write(folder.join("memory.max"), "max\n").unwrap();
        assert_eq!(cgroup(&ledger, 0, 0), Reading::NoLimit);
        std::fs::remove_dir_all(folder).unwrap();
        assert_eq!(cgroup(&ledger, 0, 0), Reading::Unreadable);
        let promised = Promised::default();
        assert_eq!(tightest(&ledger, &Own::default(), promised), None);
    }

    #[test]
    fn the_users_own_limit_counts_the_whole_tree() {
        let ledger = ledger(Some(1 << 20));
        let slot = ledger.claim(5, 1).unwrap();
        ledger.slot(slot).set_resident(1_000_000, 1);
        ledger.set_outside(100_000, 60_000);
        let promised = Promised {
            untouched: 500,
            in_flight: 0,
        };
        let room = tightest(&ledger, &Own::default(), promised).unwrap();
        assert_eq!(room.source, Source::Limit);
        let budget = (1 << 20) - (1 << 20) / 104;
        assert_eq!(room.left, budget - 1_040_500);
    }
}
