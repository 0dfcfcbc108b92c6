//! The memory cgroups a process lives in, from its own up to the outermost visible one, and
//! their counters at the start and now. Both versions, also side by side.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use outlive_diagnose::facts::{CgroupFacts, Change};

use super::cgroup_files::{CgroupVersion, Counters};
use super::kept_file::text_of;

/// Where each controller is mounted, as far as memory and process counts go.
#[derive(Debug, Default)]
pub(super) struct Mounts {
    memory_one: Option<Mount>,
    pids_one: Option<Mount>,
    unified: Option<Mount>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Mount {
    /// The cgroup that is visible at the mount point.
    root: PathBuf,
    point: PathBuf,
}

impl Mounts {
    /// From `/proc/self/mountinfo`.
    pub(super) fn read() -> Self {
        Self::parse(&text_of("/proc/self/mountinfo").unwrap_or_default())
    }

    fn parse(text: &str) -> Self {
        let mut mounts = Self::default();
        for line in text.lines() {
            let Some((left, right)) = line.split_once(" - ") else {
                continue;
            };
            let mut left = left.split(' ').skip(3);
            let (Some(root), Some(point)) = (left.next(), left.next()) else {
                continue;
            };
            let mut right = right.split(' ');
            let kind = right.next().unwrap_or_default();
            let options = right.nth(1).unwrap_or_default();
            let mount = || {
                Some(Mount {
                    root: unescape(root),
                    point: unescape(point),
                })
            };
            let has = |controller: &str| options.split(',').any(|option| option == controller);
            match kind {
                "cgroup2" => mounts.unified = mounts.unified.take().or_else(mount),
                "cgroup" if has("memory") => {
                    mounts.memory_one = mounts.memory_one.take().or_else(mount);
                }
                "cgroup" if has("pids") => {
                    mounts.pids_one = mounts.pids_one.take().or_else(mount);
                }
                _ => {}
            }
        }
        mounts
    }
}

impl Mount {
    /// The folder of a cgroup named in `/proc/PID/cgroup`, and those above it up to the mount
    /// point, innermost first. Names that lead out of what is visible give the mount point.
    fn chain(&self, path: &str) -> Vec<PathBuf> {
        let inside = Path::new(path)
            .strip_prefix(&self.root)
            .unwrap_or(Path::new(""));
        let is_plain = inside.components().all(|part| part.as_os_str() != "..");
        let inner = if is_plain {
            self.point.join(inside)
        } else {
            self.point.clone()
        };
        let inner = if inner.is_dir() {
            inner
        } else {
            self.point.clone()
        };
        inner
            .ancestors()
            .take_while(|folder| folder.starts_with(&self.point))
            .map(|folder| folder.components().collect())
            .collect()
    }

    fn name(&self, folder: &Path) -> String {
        let inside = folder.strip_prefix(&self.point).unwrap_or(folder);
        Path::new("/").join(inside).display().to_string()
    }
}

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

    fn find(&self, text: &str) -> Vec<Cgroup> {
        let path_of = |controller: &str| {
            text.lines().find_map(|line| {
                let mut parts = line.splitn(3, ':').skip(1);
                let (controllers, path) = (parts.next()?, parts.next()?);
                controllers
                    .split(',')
                    .any(|one| one == controller)
                    .then_some(path)
            })
        };
        let pids_folder = match (&self.mounts.pids_one, path_of("pids")) {
            (Some(mount), Some(path)) => mount.chain(path).into_iter().next(),
            _ => None,
        };
        let sources = [
            (
                &self.mounts.memory_one,
                path_of("memory"),
                CgroupVersion::One,
            ),
            (&self.mounts.unified, path_of(""), CgroupVersion::Two),
        ];
        let mut groups = Vec::new();
        for (mount, path, version) in sources {
            let (Some(mount), Some(path)) = (mount, path) else {
                continue;
            };
            let folders = mount.chain(path);
            let with_memory = folders
                .into_iter()
                .filter(|folder| version.has_memory(folder));
            for (depth, folder) in with_memory.enumerate() {
                let pids_folder = pids_folder.clone().filter(|_| depth == 0);
                let before = Counters::read(&folder, pids_folder.as_deref(), version);
                let name = mount.name(&folder);
                groups.push(Cgroup {
                    folder,
                    version,
                    pids_folder,
                    name,
                    is_own: depth == 0,
                    before,
                });
            }
        }
        groups
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

/// Spaces and the like stand as octal numbers in `mountinfo`.
fn unescape(text: &str) -> PathBuf {
    PathBuf::from(
        text.replace("\\040", " ")
            .replace("\\011", "\t")
            .replace("\\134", "\\"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const HYBRID: &str = "\
30 23 0:26 / /sys/fs/cgroup ro,nosuid shared:9 - tmpfs tmpfs ro,mode=755
31 30 0:27 / /sys/fs/cgroup/unified rw,nosuid shared:10 - cgroup2 cgroup2 rw
38 30 0:34 /docker/abc /sys/fs/cgroup/memory ro,nosuid shared:16 - cgroup cgroup rw,memory
39 30 0:35 / /sys/fs/cgroup/pids ro,nosuid shared:17 - cgroup cgroup rw,pids
";

    #[test]
    fn mounts_of_both_versions_are_found() {
        let mounts = Mounts::parse(HYBRID);
        let point = |mount: &Option<Mount>| mount.clone().unwrap().point;
        assert_eq!(
            point(&mounts.memory_one),
            Path::new("/sys/fs/cgroup/memory")
        );
        assert_eq!(point(&mounts.pids_one), Path::new("/sys/fs/cgroup/pids"));
        assert_eq!(point(&mounts.unified), Path::new("/sys/fs/cgroup/unified"));
    }

    fn mount_at(point: &Path, root: &str) -> Mount {
        Mount {
            root: PathBuf::from(root),
            point: point.to_owned(),
        }
    }

    #[test]
    fn a_chain_goes_from_the_inside_to_the_mount_point() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("user/session");
        fs_err::create_dir_all(&inner).unwrap();
        let chain = mount_at(folder.path(), "/").chain("/user/session");
        assert_eq!(
            chain,
            [inner.as_path(), &folder.path().join("user"), folder.path()]
        );
    }

    #[test]
    fn a_container_sees_its_own_cgroup_at_the_mount_point() {
        let folder = tempfile::tempdir().unwrap();
        let mount = mount_at(folder.path(), "/docker/abc");
        assert_eq!(mount.chain("/docker/abc"), [folder.path()]);
        assert_eq!(mount.chain("/../outside"), [folder.path()]);
        assert_eq!(mount.chain("/not/visible"), [folder.path()]);
    }
}
