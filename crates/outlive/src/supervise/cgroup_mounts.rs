//! Where memory cgroups are: the mounts of both versions, and the folders of a process's chain.

use std::path::{Path, PathBuf};

use super::cgroup_files::CgroupVersion;
use super::kept_file::text_of;

/// Where one memory cgroup is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Level {
    pub(super) folder: PathBuf,
    pub(super) version: CgroupVersion,
    /// Path below the mount point.
    pub(super) name: String,
    /// Whether it is the innermost of its version.
    pub(super) is_own: bool,
}

impl Level {
    /// Its limit now.
    pub(super) fn limit(&self) -> Option<u64> {
        self.version.limit(&self.folder)
    }

    #[cfg(test)]
    pub(super) fn at(folder: &Path, version: CgroupVersion, name: &str) -> Self {
        Self {
            folder: folder.to_owned(),
            version,
            name: name.to_owned(),
            is_own: true,
        }
    }
}

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

    /// The folder of the process-count controller, which the first version keeps apart.
    pub(super) fn pids_folder(&self, text: &str) -> Option<PathBuf> {
        let mount = self.pids_one.as_ref()?;
        mount.chain(path_of(text, "pids")?).into_iter().next()
    }

    /// The memory cgroups that a `/proc/PID/cgroup` names, of both versions, innermost first.
    pub(super) fn levels(&self, text: &str) -> Vec<Level> {
        let sources = [
            (&self.memory_one, "memory", CgroupVersion::One),
            (&self.unified, "", CgroupVersion::Two),
        ];
        let mut levels = Vec::new();
        for (mount, controller, version) in sources {
            let (Some(mount), Some(path)) = (mount, path_of(text, controller)) else {
                continue;
            };
            let folders = mount.chain(path).into_iter();
            let with_memory = folders.filter(|folder| version.has_memory(folder));
            levels.extend(with_memory.enumerate().map(|(depth, folder)| Level {
                name: mount.name(&folder),
                folder,
                version,
                is_own: depth == 0,
            }));
        }
        levels
    }
}

/// The path of a controller's cgroup in `/proc/PID/cgroup`; the second version's has no name.
fn path_of<'a>(text: &'a str, controller: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next()?, parts.next()?);
        controllers
            .split(',')
            .any(|one| one == controller)
            .then_some(path)
    })
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
