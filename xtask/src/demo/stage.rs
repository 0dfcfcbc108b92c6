//! Where the script dies: under a real memory limit when the machine lets us make one, otherwise by
//! a real signal.
//!
//! Tried in this order: a cgroup of our own (v1 or v2), a scope of the user's systemd, and last a
//! SIGKILL that the script's own watcher sends.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::step;

/// One way to be killed. A cgroup is removed when the stage is dropped.
#[derive(Debug)]
pub(super) struct Stage {
    limit: u64,
    killer: Killer,
}

#[derive(Debug)]
enum Killer {
    Cgroup { group: PathBuf, version: u32 },
    Scope { properties: Vec<String> },
    Watcher,
}

impl Stage {
    /// Finds a way that works here.
    pub(super) fn set_up(limit: u64) -> Self {
        let killer = own_cgroup(limit)
            .or_else(|| scope(limit))
            .unwrap_or(Killer::Watcher);
        Self { limit, killer }
    }

    /// What will happen, for the reader of the demo.
    pub(super) fn describe(&self) -> String {
        let size = format!("{} MiB", self.limit >> 20);
        match &self.killer {
            Killer::Cgroup { version, .. } => {
                format!("the kernel, at {size}, by a memory cgroup (v{version}) made for it")
            }
            Killer::Scope { .. } => format!("the kernel, at {size}, in a scope of your systemd"),
            Killer::Watcher => format!(
                "its own watcher, which sends SIGKILL at {size} (no memory limit can be set here \
                 without more rights, so this is not an out-of-memory kill)"
            ),
        }
    }

    /// Words for the script itself.
    pub(super) fn script_arguments(&self) -> Option<String> {
        matches!(self.killer, Killer::Watcher).then(|| self.limit.to_string())
    }

    /// `program`, started on this stage.
    pub(super) fn command(&self, program: &Path) -> Command {
        match &self.killer {
            Killer::Cgroup { group, .. } => {
                // The shell enters the group and becomes the program, so that nothing outside the
                // program's own tree is ever in the group.
                let mut command = Command::new("sh");
                command
                    .args(["-c", "echo $$ > \"$0\" && exec \"$@\""])
                    .arg(group.join("cgroup.procs"))
                    .arg(program);
                command
            }
            Killer::Scope { properties } => {
                let mut command = Command::new("systemd-run");
                command
                    .args(["--user", "--scope", "--quiet"])
                    .args(properties)
                    .arg(program);
                command
            }
            Killer::Watcher => Command::new(program),
        }
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if let Killer::Cgroup { group, .. } = &self.killer {
            // Removing fails only while a process is inside; then the group must stay.
            let _ = fs::remove_dir(group);
        }
    }
}

/// Makes a group below the one we are in, or below the nearest one that lets us.
fn own_cgroup(limit: u64) -> Option<Killer> {
    let own = fs::read_to_string("/proc/self/cgroup").ok()?;
    let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
    memory_hierarchies(&own, &mounts)
        .into_iter()
        .find_map(|(mount, path, version)| {
            let start = mount.join(path.trim_start_matches('/'));
            start
                .ancestors()
                .take_while(|folder| folder.starts_with(&mount))
                .find_map(|parent| limited_group(parent, limit, version))
                .map(|group| Killer::Cgroup { group, version })
        })
}

/// (mount point, own path, version) of each hierarchy that may limit memory.
fn memory_hierarchies(own: &str, mounts: &str) -> Vec<(PathBuf, String, u32)> {
    let mount = |kind: &str, option: &str| {
        mounts.lines().find_map(|line| {
            let mut words = line.split(' ').skip(1);
            let (point, found, options) = (words.next()?, words.next()?, words.next()?);
            let fits =
                found == kind && (option.is_empty() || options.split(',').any(|o| o == option));
            fits.then(|| PathBuf::from(point))
        })
    };
    own.lines()
        .filter_map(|line| {
            let mut parts = line.splitn(3, ':').skip(1);
            let (controllers, path) = (parts.next()?, parts.next()?);
            let (mount, version) = if controllers.is_empty() {
                (mount("cgroup2", "")?, 2)
            } else if controllers.split(',').any(|name| name == "memory") {
                (mount("cgroup", "memory")?, 1)
            } else {
                return None;
            };
            Some((mount, path.to_owned(), version))
        })
        .collect()
}

fn limited_group(parent: &Path, limit: u64, version: u32) -> Option<PathBuf> {
    let group = parent.join(format!("outlive-demo-{}", std::process::id()));
    fs::create_dir(&group).ok()?;
    let limit = limit.to_string();
    let limited = if version == 2 {
        // Without swap the limit is the limit; where there is no swap, neither is this file.
        let _ = fs::write(group.join("memory.swap.max"), "0");
        group.join("memory.max").exists() && fs::write(group.join("memory.max"), &limit).is_ok()
    } else {
        let limited = fs::write(group.join("memory.limit_in_bytes"), &limit).is_ok();
        let _ = fs::write(group.join("memory.memsw.limit_in_bytes"), &limit);
        limited
    };
    if limited {
        return Some(group);
    }
    let _ = fs::remove_dir(&group);
    None
}

/// A scope of the user's systemd, if there is one that takes limits. `OOMPolicy` keeps systemd from
/// ending Outlive along with the script, where it knows that word.
fn scope(limit: u64) -> Option<Killer> {
    let limits = vec![
        format!("--property=MemoryMax={limit}"),
        "--property=MemorySwapMax=0".to_owned(),
    ];
    let mut gentle = limits.clone();
    gentle.push("--property=OOMPolicy=continue".to_owned());
    [gentle, limits].into_iter().find_map(|properties| {
        let mut probe = Command::new("systemd-run");
        probe
            .args(["--user", "--scope", "--quiet"])
            .args(&properties)
            .arg("true");
        step::succeeds(&mut probe).then_some(Killer::Scope { properties })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hierarchies_of_both_versions_are_found() {
        let mounts = "cgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\n\
                      cgroup /sys/fs/cgroup/memory cgroup rw,memory 0 0\n\
                      cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n";
        let own = "4:memory:/a/b\n1:cpu:/\n0::/user\n";
        assert_eq!(
            memory_hierarchies(own, mounts),
            [
                (PathBuf::from("/sys/fs/cgroup/memory"), "/a/b".to_owned(), 1),
                (
                    PathBuf::from("/sys/fs/cgroup/unified"),
                    "/user".to_owned(),
                    2
                ),
            ]
        );
    }

    #[test]
    fn only_the_watcher_needs_words_for_the_script() {
        let stage = |killer| Stage { limit: 5, killer };
        assert_eq!(
            stage(Killer::Watcher).script_arguments(),
            Some("5".to_owned())
        );
        assert_eq!(
            stage(Killer::Scope { properties: vec![] }).script_arguments(),
            None
        );
    }
}
