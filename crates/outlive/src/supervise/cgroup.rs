//! The memory cgroups a process lives in, from its own up to the outermost visible one, and
//! their counters at the start and now. Both versions, also side by side.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use outlive_diagnose::facts::{CgroupFacts, Change};

use super::cgroup_files::{CgroupVersion, Counters};
use super::cgroup_mounts::{Level, Mounts};
use super::kept_file::text_of;

/// One cgroup that is watched.
#[derive(Debug)]
pub(super) struct Cgroup {
    pub(super) folder: PathBuf,
    pub(super) version: CgroupVersion,
    /// Folder of the process-count controller, which the first version keeps elsewhere.
    pids_folder: Option<PathBuf>,
    name: String,
    is_own: bool,
    before: Counters,
}

/// All cgroups of a run, innermost first.
#[derive(Debug)]
pub(super) struct Chain {
    mounts: Mounts,
    pub(super) groups: Vec<Cgroup>,
    /// `/proc/PID/cgroup` texts that have been looked at.
    known: Vec<String>,
}

impl Chain {
    /// The cgroups of this process, with their counters now.
    pub(super) fn of_self() -> Self {
        let mut chain = Self {
            mounts: Mounts::read(),
            groups: Vec::new(),
            known: Vec::new(),
        };
        chain.include("self");
        chain
    }

    /// Adds the cgroups of a process that moved to other ones. True when there were any.
    pub(super) fn include(&mut self, process: &str) -> bool {
        let path = format!("/proc/{process}/cgroup");
        let Ok(text) = text_of(path) else {
            return false;
        };
        if self.known.contains(&text) {
            return false;
        }
        let mut found = self.find(&text);
        self.known.push(text);
        found.retain(|new| self.groups.iter().all(|old| old.folder != new.folder));
        let is_new = !found.is_empty();
        found.append(&mut self.groups);
        self.groups = found;
        is_new
    }

    /// The memory cgroups of a process now, innermost first, without roots, which no limit can
    /// be set on.
    pub(super) fn levels(&self, process: &str) -> Vec<Level> {
        let text = text_of(format!("/proc/{process}/cgroup")).unwrap_or_default();
        let mut levels = self.mounts.levels(&text);
        levels.retain(|level| !level.folder.join("cgroup.sane_behavior").exists());
        levels
    }

    fn find(&self, text: &str) -> Vec<Cgroup> {
        let pids_folder = self.mounts.pids_folder(text);
        let levels = self.mounts.levels(text).into_iter();
        levels
            .map(|level| {
                let pids_folder = pids_folder.clone().filter(|_| level.is_own);
                let before = Counters::read(&level.folder, pids_folder.as_deref(), level.version);
                Cgroup {
                    folder: level.folder,
                    version: level.version,
                    pids_folder,
                    name: level.name,
                    is_own: level.is_own,
                    before,
                }
            })
            .collect()
    }

    /// Everything about them when they were first seen.
    pub(super) fn first_facts(&self) -> Vec<CgroupFacts> {
        let groups = self.groups.iter();
        groups
            .map(|group| group.facts(group.before.clone()))
            .collect()
    }

    /// Everything about them, now.
    pub(super) fn facts(&self) -> Vec<CgroupFacts> {
        self.groups
            .iter()
            .map(|group| group.facts(group.read()))
            .collect()
    }
}

impl Cgroup {
    /// Whether it had a limit when it was first seen.
    pub(super) const fn is_limited(&self) -> bool {
        self.before.limit.is_some()
    }

    fn read(&self) -> Counters {
        Counters::read(&self.folder, self.pids_folder.as_deref(), self.version)
    }

    fn facts(&self, now: Counters) -> CgroupFacts {
        let before = &self.before;
        let change = |before: Option<u64>, after: Option<u64>| {
            Some(Change {
                before: before.unwrap_or(0),
                after: after?,
            })
        };
        CgroupFacts {
            path: self.name.clone(),
            folder: self.folder.display().to_string(),
            inode: inode_of(&self.folder),
            version: self.version.number(),
            own: self.is_own,
            limit: now.limit,
            swap_limit: now.swap_limit,
            usage: Change {
                before: before.usage,
                after: now.usage,
            },
            peak: now.peak,
            oom_kill: change(before.oom_kill, now.oom_kill),
            oom_kill_local: change(before.oom_kill_local, now.oom_kill_local),
            oom: change(before.oom, now.oom),
            max: change(before.max, now.max),
            oom_group_kill: change(before.oom_group_kill, now.oom_group_kill),
            oom_group: now.oom_group,
            pids_max: change(before.pids_max, now.pids_max),
            pids_limit: now.pids_limit,
            oomd_marks: now.oomd_marks,
        }
    }
}

/// Tells a cgroup from a later one with its name; 0 when it is gone.
pub(super) fn inode_of(folder: &Path) -> u64 {
    std::fs::metadata(folder).map_or(0, |meta| meta.ino())
}
