//! Memory of the whole machine, its out-of-memory counter, and shared memory.

use outlive_diagnose::facts::{Change, FilesystemFacts, MachineFacts};

use super::kept_file::{KeptFile, text_of};
use super::process::{Stat, status_bytes};

const SHARED_MEMORY: &str = "/dev/shm";
/// Below this share of the machine's memory, whoever else is large is of interest.
const SHORT_OF_MEMORY: u64 = 10;
/// How many of the others are named.
const OTHERS: usize = 5;

/// Looks at the machine again and again.
#[derive(Debug)]
pub(super) struct Machine {
    meminfo: Option<KeptFile>,
}

impl Machine {
    pub(super) fn open() -> Self {
        Self {
            meminfo: KeptFile::open("/proc/meminfo").ok(),
        }
    }

    /// The machine at the start.
    pub(super) fn first_look(&mut self) -> MachineFacts {
        let kernel = rustix::system::uname()
            .release()
            .to_string_lossy()
            .into_owned();
        let mut facts = MachineFacts {
            kernel,
            boot_id: boot_id(),
            ..MachineFacts::default()
        };
        let text = self.text();
        facts.total = status_bytes(text, "MemTotal:").unwrap_or(0);
        facts.swap_total = status_bytes(text, "SwapTotal:").unwrap_or(0);
        facts.swap_free = status_bytes(text, "SwapFree:").unwrap_or(0);
        let available = status_bytes(text, "MemAvailable:").unwrap_or(0);
        facts.available = Change {
            before: available,
            after: available,
        };
        facts.available_lowest = available;
        facts
    }

    /// Brings the facts up to date; gives `MemAvailable`.
    pub(super) fn look(&mut self, facts: &mut MachineFacts) -> Option<u64> {
        let text = self.text();
        let available = status_bytes(text, "MemAvailable:")?;
        facts.swap_free = status_bytes(text, "SwapFree:").unwrap_or(0);
        facts.available.after = available;
        facts.available_lowest = facts.available_lowest.min(available);
        Some(available)
    }

    fn text(&mut self) -> &str {
        self.meminfo
            .as_mut()
            .and_then(KeptFile::read_text)
            .unwrap_or_default()
    }
}

/// Tells one start of the machine from the next; empty where the kernel does not say.
pub(super) fn boot_id() -> String {
    let text = text_of("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    text.trim().to_owned()
}

/// `oom_kill` of `/proc/vmstat`: kills by the kernel, in any cgroup of the machine.
pub(super) fn oom_kills() -> Option<u64> {
    let text = text_of("/proc/vmstat").ok()?;
    text.lines()
        .find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok())
}

/// Space in shared memory, where there is any.
pub(super) fn look_at_shared_memory(facts: &mut Option<FilesystemFacts>) {
    let Ok(space) = rustix::fs::statvfs(SHARED_MEMORY) else {
        return;
    };
    let free = space.f_bavail * space.f_frsize;
    let facts = facts.get_or_insert_with(|| FilesystemFacts {
        path: SHARED_MEMORY.to_owned(),
        total: space.f_blocks * space.f_frsize,
        free,
        free_lowest: free,
    });
    facts.free = free;
    facts.free_lowest = facts.free_lowest.min(free);
}

/// The largest processes that do not belong to the run, if the machine ran short of memory.
pub(super) fn largest_others(
    facts: &MachineFacts,
    is_own: impl Fn(u32) -> bool,
) -> Vec<(u32, String, u64)> {
    if facts.available_lowest > facts.total / SHORT_OF_MEMORY {
        return Vec::new();
    }
    let mut others: Vec<(u32, u64)> = super::tree::all_processes()
        .filter(|pid| !is_own(*pid))
        .filter_map(|pid| Some((pid, resident(pid)?)))
        .collect();
    others.sort_by_key(|(_, resident)| std::cmp::Reverse(*resident));
    others
        .into_iter()
        .take(OTHERS)
        .filter_map(|(pid, resident)| Some((pid, Stat::of(pid)?.name, resident)))
        .collect()
}

fn resident(pid: u32) -> Option<u64> {
    let text = text_of(format!("/proc/{pid}/statm")).ok()?;
    resident_bytes(&text)
}

/// The second number of `/proc/PID/statm`, which counts pages.
fn resident_bytes(statm: &str) -> Option<u64> {
    sizes(statm).map(|(resident, _)| resident)
}

/// Resident bytes, and how many of them have a file behind them, shared memory included: the
/// second and the third number of `/proc/PID/statm`.
pub(super) fn sizes(statm: &str) -> Option<(u64, u64)> {
    let page = rustix::param::page_size() as u64;
    let mut pages = statm.split(' ').skip(1).map(str::parse::<u64>);
    let (resident, backed) = (pages.next()?.ok()?, pages.next()?.ok()?);
    Some((resident * page, backed * page))
}
