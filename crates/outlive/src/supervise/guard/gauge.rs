//! One memory cgroup as the guard reads it: limit, use and what swap may still take.

use std::path::PathBuf;

use crate::supervise::cgroup_files::{CgroupVersion, limit_of};
use crate::supervise::cgroup_mounts::Level;
use crate::supervise::clock::{self, MILLISECOND};
use crate::supervise::kept_file::KeptFile;
use crate::supervise::pace::Allowance;

/// `memory.stat` makes the kernel add up the counters of all processors.
const STATISTICS_FACTOR: u64 = 1000;
const STATISTICS_LEAST: u64 = 100 * MILLISECOND;

/// What a level allows and has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reading {
    pub(super) limit: u64,
    /// Without page cache that can be given back.
    pub(super) usage: u64,
    /// What of it could go to swap, if the machine has that much.
    pub(super) swap: u64,
}

/// How closely to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Care {
    /// Costly figures may be a little old.
    Usual,
    /// Everything is read now.
    Close,
}

/// The open files of a level.
#[derive(Debug)]
pub(super) struct Gauge {
    version: CgroupVersion,
    /// `memory cgroup /a/b`.
    pub(super) source: String,
    limit_file: KeptFile,
    /// As it was last read.
    limit: Option<u64>,
    usage: KeptFile,
    statistics: KeptFile,
    swap: Option<(KeptFile, KeptFile)>,
    reclaimable: u64,
    allowance: Allowance,
}

impl Gauge {
    /// Opens the files; `None` where one is missing.
    pub(super) fn open(level: &Level) -> Option<Self> {
        let folder = &level.folder;
        let open = |path: PathBuf| KeptFile::open(path).ok();
        let (usage, limit) = level.version.swap_files(folder);
        Some(Self {
            version: level.version,
            source: format!("memory cgroup {}", level.name),
            limit_file: open(level.version.limit_file(folder))?,
            limit: None,
            usage: open(level.version.usage_file(folder))?,
            statistics: open(folder.join("memory.stat"))?,
            swap: open(usage).zip(open(limit)),
            reclaimable: 0,
            allowance: Allowance::new(STATISTICS_FACTOR, STATISTICS_LEAST),
        })
    }

    /// The limit now.
    pub(super) fn look_at_limit(&mut self) -> Option<u64> {
        self.limit = self.limit_file.read_number().and_then(limit_of);
        self.limit
    }

    /// The use now, under the limit that was last looked at; `None` without one. `swap_free` is
    /// the machine's.
    pub(super) fn read(&mut self, care: Care, swap_free: u64) -> Option<Reading> {
        let limit = self.limit?;
        let began = clock::monotonic();
        if care == Care::Close || self.allowance.is_due(began) {
            self.reclaimable = self.version.reclaimable(self.statistics.read_text()?);
            self.allowance.spent(began, clock::monotonic());
        }
        let usage = self.usage.read_number()?.saturating_sub(self.reclaimable);
        let swap = if swap_free == 0 {
            0
        } else {
            self.swap_room(limit).min(swap_free)
        };
        Some(Reading { limit, usage, swap })
    }

    /// What its own limits let swap take; without such a limit, anything.
    fn swap_room(&mut self, memory_limit: u64) -> u64 {
        let Some((usage, limit)) = &mut self.swap else {
            return u64::MAX;
        };
        let Some(limit) = limit.read_number().and_then(limit_of) else {
            return u64::MAX;
        };
        let usage = usage.read_number().unwrap_or(0);
        match self.version {
            // Memory and swap together: what goes beyond the memory's own limit.
            CgroupVersion::One => {
                let beyond = limit.saturating_sub(memory_limit);
                beyond.min(limit.saturating_sub(usage))
            }
            CgroupVersion::Two => limit.saturating_sub(usage),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::supervise::cgroup_mounts::Level;

    fn read(version: CgroupVersion, files: &[(&str, &str)], swap_free: u64) -> Option<Reading> {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            fs_err::write(folder.path().join(name), text).unwrap();
        }
        let level = Level::at(folder.path(), version, "/job");
        let mut gauge = Gauge::open(&level)?;
        gauge.look_at_limit();
        gauge.read(Care::Usual, swap_free)
    }

    #[test]
    fn cache_is_no_use_and_swap_is_room_as_far_as_limits_let_it() {
        let mut files = vec![
            ("memory.max", "1000\n"),
            ("memory.current", "700\n"),
            (
                "memory.stat",
                "inactive_file 50\nactive_file 30\nslab_reclaimable 20\n",
            ),
        ];
        let plain = Reading {
            limit: 1000,
            usage: 600,
            swap: 0,
        };
        assert_eq!(read(CgroupVersion::Two, &files, 0), Some(plain));
        let swap = |swap| Some(Reading { swap, ..plain });
        assert_eq!(read(CgroupVersion::Two, &files, 400), swap(400));
        files.extend([
            ("memory.swap.max", "300\n"),
            ("memory.swap.current", "100\n"),
        ]);
        assert_eq!(read(CgroupVersion::Two, &files, 400), swap(200));
        assert_eq!(read(CgroupVersion::Two, &files, 0), swap(0));
    }

    #[test]
    fn the_first_version_counts_memory_and_swap_together() {
        let files = [
            ("memory.limit_in_bytes", "1000\n"),
            ("memory.usage_in_bytes", "700\n"),
            (
                "memory.stat",
                "total_inactive_file 50\ntotal_active_file 50\n",
            ),
            ("memory.memsw.limit_in_bytes", "1500\n"),
            ("memory.memsw.usage_in_bytes", "1200\n"),
        ];
        let reading = read(CgroupVersion::One, &files, 4000).unwrap();
        assert_eq!((reading.usage, reading.swap), (600, 300));
    }

    #[test]
    fn a_level_without_a_limit_says_nothing() {
        let files = [
            ("memory.max", "max\n"),
            ("memory.current", "700\n"),
            ("memory.stat", "\n"),
        ];
        assert_eq!(read(CgroupVersion::Two, &files, 0), None);
        assert_eq!(read(CgroupVersion::Two, &[], 0), None);
    }
}
