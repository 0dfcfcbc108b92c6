//! A memory cgroup of one's own below the current one, version 1 or 2. It is gone when dropped, and
//! with it every process that is still in it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::step;

/// What the guard keeps of a limit for itself is one part in so many, as
/// `outlive_record::ledger::RESERVE_PART` has it.
const RESERVE_PART: u64 = 104;
/// A group goes away once the kernel has buried its last process; nothing takes longer than this.
const BURIAL: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(20);
/// Groups made so far: no two have the same name.
static NUMBER: AtomicU32 = AtomicU32::new(0);

/// What the tree may use of a limit.
pub(super) const fn budget(limit: u64) -> u64 {
    limit - limit / RESERVE_PART
}

/// A group, and what the kernel counts in it.
#[derive(Debug)]
pub(super) struct Group {
    version: Version,
    path: PathBuf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

impl Group {
    /// A group with a limit in bytes. The machine must have the memory: otherwise the kernel would
    /// kill for the machine's sake, and not for the group's.
    pub(super) fn with_limit(limit: u64) -> Result<Self> {
        let available = available()?;
        ensure!(
            available > limit + limit / 4,
            "The machine has {} MiB available, a limit of {} MiB needs a quarter more than itself",
            available >> 20,
            limit >> 20
        );
        let (version, parent) = parent().context(
            "No memory cgroup can be made here\nhint: run as root, or in a delegated cgroup",
        )?;
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = parent.join(format!("outlive-bench-{}-{number}", std::process::id()));
        fs::create_dir(&path).with_context(|| format!("Cannot make `{}`", path.display()))?;
        let group = Self { version, path };
        group.set_limit(limit)?;
        Ok(group)
    }

    /// The file that a process writes `0` to in order to enter.
    pub(super) fn door(&self) -> PathBuf {
        self.path.join("cgroup.procs")
    }

    /// How many processes of it the kernel killed for memory.
    pub(super) fn kills(&self) -> Result<u64> {
        let name = self.file("memory.oom_control", "memory.events");
        let text = fs::read_to_string(self.path.join(name))?;
        field(&text, "oom_kill").context("The group has no counter of kills")
    }

    /// The most memory it ever had, reclaimable pages of files included.
    pub(super) fn peak(&self) -> Option<u64> {
        let name = self.file("memory.max_usage_in_bytes", "memory.peak");
        let text = fs::read_to_string(self.path.join(name)).ok()?;
        text.trim().parse().ok()
    }

    /// Anonymous and shared memory now.
    pub(super) fn anonymous(&self) -> u64 {
        let text = fs::read_to_string(self.path.join("memory.stat")).unwrap_or_default();
        let anonymous = field(&text, self.file("total_rss", "anon")).unwrap_or(0);
        anonymous + field(&text, self.file("total_shmem", "shmem")).unwrap_or(0)
    }

    /// Ends every process in it.
    pub(super) fn end_members(&self) {
        let members = fs::read_to_string(self.door()).unwrap_or_default();
        if !members.trim().is_empty() {
            step::succeeds(
                Command::new("kill")
                    .arg("-KILL")
                    .args(members.split_whitespace()),
            );
        }
    }

    fn set_limit(&self, limit: u64) -> Result<()> {
        let name = self.file("memory.limit_in_bytes", "memory.max");
        fs::write(self.path.join(name), limit.to_string())
            .with_context(|| format!("Cannot limit `{}`", self.path.display()))?;
        let swap = self.file("memory.memsw.limit_in_bytes", "memory.swap.max");
        let swap = self.path.join(swap);
        if swap.exists() {
            let most = if self.version == Version::One {
                limit
            } else {
                0
            };
            fs::write(&swap, most.to_string())
                .with_context(|| format!("Cannot write `{}`", swap.display()))?;
        }
        Ok(())
    }

    const fn file(&self, one: &'static str, two: &'static str) -> &'static str {
        match self.version {
            Version::One => one,
            Version::Two => two,
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        for _ in 0..BURIAL.as_millis() / LOOK.as_millis() {
            self.end_members();
            if fs::remove_dir(&self.path).is_ok() {
                return;
            }
            thread::sleep(LOOK);
        }
    }
}

/// Where a group can be made.
fn parent() -> Option<(Version, PathBuf)> {
    let own = fs::read_to_string("/proc/self/cgroup").ok()?;
    let root = Path::new("/sys/fs/cgroup");
    if let Some(path) = own_path(&own, "memory") {
        return Some((Version::One, root.join("memory").join(path)));
    }
    let below = root.join(own_path(&own, "")?);
    // A group with processes cannot hand controllers down, so the new one may become a sibling.
    [below.as_path(), below.parent()?]
        .into_iter()
        .find(|parent| {
            fs::read_to_string(parent.join("cgroup.subtree_control"))
                .is_ok_and(|handed| handed.split_whitespace().any(|name| name == "memory"))
        })
        .map(|parent| (Version::Two, parent.to_path_buf()))
}

/// The path in the line `9:memory:/path`; of version 2 it is `0::/path`.
fn own_path<'a>(lines: &'a str, controller: &str) -> Option<&'a str> {
    lines.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let has = parts.next()?.split(',').any(|name| name == controller);
        let path = parts.next()?;
        has.then(|| path.trim_start_matches('/'))
    })
}

/// The number behind `name` in lines of two words.
fn field(text: &str, name: &str) -> Option<u64> {
    text.lines()
        .filter_map(|line| line.split_once(' '))
        .find(|(key, _)| *key == name)
        .and_then(|(_, value)| value.trim().parse().ok())
}

fn available() -> Result<u64> {
    let text = fs::read_to_string("/proc/meminfo")?;
    text.lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))
        .and_then(|value| value.trim().trim_end_matches(" kB").parse::<u64>().ok())
        .map(|kibibytes| kibibytes << 10)
        .context("`/proc/meminfo` has no `MemAvailable`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_group_of_either_version_is_found() {
        assert_eq!(own_path("4:cpu,memory:/a/b\n0::/\n", "memory"), Some("a/b"));
        assert_eq!(own_path("0::/user.slice\n", ""), Some("user.slice"));
        assert_eq!(own_path("0::/user.slice\n", "memory"), None);
    }

    #[test]
    fn a_counter_is_not_taken_for_another_that_begins_alike() {
        let text = "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n";
        assert_eq!(field(text, "oom_kill"), Some(3));
    }
}
