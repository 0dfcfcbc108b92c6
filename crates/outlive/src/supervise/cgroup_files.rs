//! The files of one memory cgroup: names and forms differ between the versions, the facts do not.

use std::path::{Path, PathBuf};

use super::kept_file::text_of;

/// Above this the first version means "no limit" (it rounds down to pages).
const UNLIMITED_ONE: u64 = 1 << 62;
/// Marks that user-space killers leave on a cgroup.
const OOMD_MARKS: [&str; 3] = ["user.oomd_kill", "user.oomd_ooms", "user.oomd_kill_uuid"];

/// Which of the two interfaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CgroupVersion {
    One,
    Two,
}

/// What a cgroup counts, at one instant; `None` where its files do not say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Counters {
    pub(super) limit: Option<u64>,
    pub(super) swap_limit: Option<u64>,
    /// Without page cache that can be given back.
    pub(super) usage: u64,
    pub(super) peak: Option<u64>,
    pub(super) oom_kill: Option<u64>,
    pub(super) oom_kill_local: Option<u64>,
    pub(super) oom: Option<u64>,
    pub(super) max: Option<u64>,
    pub(super) oom_group_kill: Option<u64>,
    pub(super) oom_group: bool,
    pub(super) pids_max: Option<u64>,
    pub(super) pids_limit: Option<u64>,
    pub(super) oomd_marks: Vec<(String, String)>,
}

impl CgroupVersion {
    pub(super) const fn number(self) -> u32 {
        match self {
            Self::One => 1,
            Self::Two => 2,
        }
    }

    /// Whether the memory controller is at work in this folder.
    pub(super) fn has_memory(self, folder: &Path) -> bool {
        self.usage_file(folder).exists()
    }

    pub(super) fn usage_file(self, folder: &Path) -> PathBuf {
        folder.join(match self {
            Self::One => "memory.usage_in_bytes",
            Self::Two => "memory.current",
        })
    }

    pub(super) fn limit_file(self, folder: &Path) -> PathBuf {
        folder.join(match self {
            Self::One => "memory.limit_in_bytes",
            Self::Two => "memory.max",
        })
    }

    /// What swap may hold of it. The first version counts memory and swap together.
    pub(super) fn swap_files(self, folder: &Path) -> (PathBuf, PathBuf) {
        let (usage, limit) = match self {
            Self::One => ("memory.memsw.usage_in_bytes", "memory.memsw.limit_in_bytes"),
            Self::Two => ("memory.swap.current", "memory.swap.max"),
        };
        (folder.join(usage), folder.join(limit))
    }

    /// The limit in bytes; `None` for none.
    pub(super) fn limit(self, folder: &Path) -> Option<u64> {
        let text = text_of(self.limit_file(folder)).ok()?;
        // `max` is not a number.
        text.trim().parse().ok().and_then(limit_of)
    }

    /// Page cache and slab that the kernel can take back before it kills, from `memory.stat`.
    pub(super) fn reclaimable(self, statistics: &str) -> u64 {
        let names: &[&str] = match self {
            Self::One => &["total_inactive_file", "total_active_file"],
            Self::Two => &["inactive_file", "active_file", "slab_reclaimable"],
        };
        names
            .iter()
            .filter_map(|name| entry(statistics, name))
            .sum()
    }
}

/// The limit that a number in a limit's file means: the first version has one for "none".
pub(super) fn limit_of(number: u64) -> Option<u64> {
    (number < UNLIMITED_ONE).then_some(number)
}

impl Counters {
    /// Reads all of them.
    pub(super) fn read(folder: &Path, pids: Option<&Path>, version: CgroupVersion) -> Self {
        let mut counters = match version {
            CgroupVersion::One => Self::read_one(folder),
            CgroupVersion::Two => Self::read_two(folder),
        };
        let usage = text_of(version.usage_file(folder)).unwrap_or_default();
        let statistics = text(folder, "memory.stat");
        counters.usage = usage
            .trim()
            .parse::<u64>()
            .unwrap_or(0)
            .saturating_sub(version.reclaimable(&statistics));
        counters.limit = version.limit(folder);
        // The second version keeps all controllers in one folder.
        if let Some(pids) = pids.or((version == CgroupVersion::Two).then_some(folder)) {
            counters.pids_limit = number(pids, "pids.max");
            counters.pids_max = entry(&text(pids, "pids.events"), "max");
        }
        counters.oomd_marks = oomd_marks(folder);
        counters
    }

    fn read_one(folder: &Path) -> Self {
        let limit = |file| number(folder, file).and_then(limit_of);
        // This counter is of the cgroup alone: a kill below it is counted there.
        let oom_kill = entry(&text(folder, "memory.oom_control"), "oom_kill");
        Self {
            swap_limit: limit("memory.memsw.limit_in_bytes"),
            peak: number(folder, "memory.max_usage_in_bytes"),
            oom_kill,
            oom_kill_local: oom_kill,
            max: number(folder, "memory.failcnt"),
            ..Self::default()
        }
    }

    fn read_two(folder: &Path) -> Self {
        let events = text(folder, "memory.events");
        Self {
            swap_limit: number(folder, "memory.swap.max"),
            peak: number(folder, "memory.peak"),
            oom_kill: entry(&events, "oom_kill"),
            oom_kill_local: entry(&text(folder, "memory.events.local"), "oom_kill"),
            oom: entry(&events, "oom"),
            max: entry(&events, "max"),
            oom_group_kill: entry(&events, "oom_group_kill"),
            oom_group: number(folder, "memory.oom.group") == Some(1),
            ..Self::default()
        }
    }
}

fn oomd_marks(folder: &Path) -> Vec<(String, String)> {
    let mut value = [0; 256];
    let mut mark = |name: &str| {
        let length = rustix::fs::getxattr(folder, name, &mut value).ok()?;
        let value = String::from_utf8_lossy(value.get(..length)?);
        Some((name.to_owned(), value.trim_end_matches('\0').to_owned()))
    };
    OOMD_MARKS.into_iter().filter_map(&mut mark).collect()
}

fn text(folder: &Path, file: &str) -> String {
    text_of(folder.join(file)).unwrap_or_default()
}

fn number(folder: &Path, file: &str) -> Option<u64> {
    text(folder, file).trim().parse().ok()
}

/// The number after a name, in files of lines such as `oom_kill 3`.
fn entry(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        line.strip_prefix(name)?
            .strip_prefix(' ')?
            .trim()
            .parse()
            .ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder_with(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            fs_err::write(folder.path().join(name), text).unwrap();
        }
        folder
    }

    #[test]
    fn the_second_version_is_read() {
        let folder = folder_with(&[
            ("memory.current", "1000000\n"),
            ("memory.max", "2000000\n"),
            ("memory.swap.max", "max\n"),
            ("memory.peak", "1500000\n"),
            (
                "memory.stat",
                "anon 1\ninactive_file 100000\nactive_file 200000\nslab_reclaimable 5\n",
            ),
            (
                "memory.events",
                "low 0\nhigh 0\nmax 7\noom 2\noom_kill 1\noom_group_kill 0\n",
            ),
            ("memory.events.local", "oom_kill 0\n"),
            ("memory.oom.group", "1\n"),
            ("pids.max", "512\n"),
            ("pids.events", "max 3\n"),
        ]);
        let counters = Counters::read(folder.path(), None, CgroupVersion::Two);
        assert_eq!(
            counters,
            Counters {
                limit: Some(2_000_000),
                usage: 699_995,
                peak: Some(1_500_000),
                oom_kill: Some(1),
                oom_kill_local: Some(0),
                oom: Some(2),
                max: Some(7),
                oom_group_kill: Some(0),
                oom_group: true,
                pids_max: Some(3),
                pids_limit: Some(512),
                ..Counters::default()
            }
        );
    }

    #[test]
    fn the_first_version_is_read() {
        let folder = folder_with(&[
            ("memory.usage_in_bytes", "1000000\n"),
            ("memory.limit_in_bytes", "9223372036854771712\n"),
            ("memory.memsw.limit_in_bytes", "4000000\n"),
            ("memory.max_usage_in_bytes", "1500000\n"),
            ("memory.failcnt", "36\n"),
            (
                "memory.stat",
                "inactive_file 1\ntotal_inactive_file 100000\ntotal_active_file 200000\n",
            ),
            (
                "memory.oom_control",
                "oom_kill_disable 0\nunder_oom 0\noom_kill 4\n",
            ),
        ]);
        let counters = Counters::read(folder.path(), None, CgroupVersion::One);
        assert_eq!(
            counters,
            Counters {
                swap_limit: Some(4_000_000),
                usage: 700_000,
                peak: Some(1_500_000),
                oom_kill: Some(4),
                oom_kill_local: Some(4),
                max: Some(36),
                ..Counters::default()
            }
        );
    }
}
