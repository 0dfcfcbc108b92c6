//! What the supervisor wrote down about a run, beside the black boxes: the raw material of a
//! verdict. Stored as `run.json` in the run's folder, so the names here are a file format: fields
//! are added, never renamed, and every field that may be missing has a default.

use serde::{Deserialize, Serialize};

/// One supervised process tree.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RunFacts {
    /// Version of this file's shape.
    pub version: u32,
    /// Name of the run's folder.
    pub id: String,
    /// The command, as started.
    pub command: Vec<String>,
    /// Where it was started.
    pub cwd: String,
    /// `CLOCK_REALTIME` nanoseconds at the start.
    pub started_at: u64,
    /// The same at the end; `None` while it runs, or when the supervisor itself was killed.
    pub ended_at: Option<u64>,
    /// `CLOCK_MONOTONIC` nanoseconds at the start, to place the boxes' times.
    pub started_monotonic: u64,
    /// Process id of the supervisor and its start time in clock ticks: tells a running run from
    /// one whose supervisor died.
    pub supervisor: ProcessId,
    /// The process that was started.
    pub root: ProcessId,
    /// Every process of the tree that was seen, in the order they were seen.
    pub processes: Vec<ProcessFacts>,
    /// The memory cgroups the tree lives in, innermost first.
    pub cgroups: Vec<CgroupFacts>,
    /// `oom_kill` of `/proc/vmstat`, `None` where the kernel has no such line.
    pub vmstat_oom_kill: Option<Change>,
    /// Memory of the machine.
    pub machine: MachineFacts,
    /// Lines of the kernel log since the start that speak of deaths.
    pub kernel_log: LogFacts,
    /// Lines of the system journal since the start that speak of deaths.
    pub journal: LogFacts,
    /// What the tree was let use, and how often Outlive said no; `None` where it was not guarded.
    pub budget: Option<BudgetFacts>,
    /// `/dev/shm` at the end.
    pub shared_memory: Option<FilesystemFacts>,
    /// Signals the supervisor received and passed on: (signal, `CLOCK_MONOTONIC` nanoseconds).
    pub forwarded_signals: Vec<(i32, u64)>,
    /// Signals the supervisor received together with the whole process group, which therefore
    /// were not passed on: (signal, `CLOCK_MONOTONIC` nanoseconds).
    pub group_signals: Vec<(i32, u64)>,
    /// Highest memory of the whole tree seen, bytes: proportional sizes, so that shared pages
    /// count once.
    pub peak_memory: u64,
    /// Variables that name a scheduler or its limits (`SLURM_JOB_ID`, …).
    pub environment: Vec<(String, String)>,
    /// What the supervisor could not do, one line each.
    pub remarks: Vec<String>,
    /// Whether the supervisor was lost and what could still be read afterwards has been added.
    pub looked_late: bool,
}

/// A process, named for good.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(default)]
pub struct ProcessId {
    /// Process id.
    pub pid: u32,
    /// Start time in clock ticks since boot.
    pub start_ticks: u64,
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind", content = "number")]
pub enum EndStatus {
    /// Called exit with this code.
    Exited(i32),
    /// Was killed by this signal.
    Signaled(i32),
}

/// Who told the end status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StatusSource {
    /// Nobody: it is not known.
    #[default]
    Unknown,
    /// The supervisor waited for it.
    Waited,
    /// `/proc/PID/stat` of the zombie.
    Zombie,
    /// `PIDFD_GET_INFO`.
    Pidfd,
    /// The parent's black box, where the parent waited for it.
    Parent,
    /// The kernel log, which names it among those it killed.
    KernelLog,
}

/// One process of the tree.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ProcessFacts {
    /// Who.
    pub id: ProcessId,
    /// Its parent when first seen.
    pub parent: u32,
    /// Name (`comm`).
    pub name: String,
    /// Arguments.
    pub argv: Vec<String>,
    /// `CLOCK_MONOTONIC` nanoseconds when it was first seen.
    pub seen_at: u64,
    /// The same when its end was noticed.
    pub ended_at: Option<u64>,
    /// How it ended.
    pub status: Option<EndStatus>,
    /// Who says so.
    pub status_source: StatusSource,
    /// Its black box: file name in the run's folder.
    pub black_box: Option<String>,
    /// Last resident size seen, bytes.
    pub last_resident: u64,
    /// Highest resident size seen (samples and `VmHWM`), bytes.
    pub peak_resident: u64,
    /// Use of the tightest memory cgroup at the last look while the process lived, bytes: all
    /// processes in it, without reclaimable cache.
    pub last_use: Option<u64>,
    /// The highest of these looks.
    pub peak_use: Option<u64>,
    /// Processor time used at the last look, nanoseconds.
    pub cpu_time: u64,
    /// Limits that can end a process.
    pub limits: LimitFacts,
    /// `Seccomp:` of `/proc/PID/status`: 0 none, 1 strict, 2 filter.
    pub seccomp: u32,
    /// `oom_score_adj`.
    pub oom_score_adj: i32,
}

/// Resource limits, soft and hard; `None` is unlimited.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct LimitFacts {
    /// `RLIMIT_CPU`, seconds.
    pub cpu: (Option<u64>, Option<u64>),
    /// `RLIMIT_AS`, bytes.
    pub address_space: (Option<u64>, Option<u64>),
    /// `RLIMIT_DATA`, bytes.
    pub data: (Option<u64>, Option<u64>),
    /// `RLIMIT_FSIZE`, bytes.
    pub file_size: (Option<u64>, Option<u64>),
    /// `RLIMIT_STACK`, bytes.
    pub stack: (Option<u64>, Option<u64>),
    /// `RLIMIT_NPROC`.
    pub processes: (Option<u64>, Option<u64>),
    /// `RLIMIT_NOFILE`.
    pub open_files: (Option<u64>, Option<u64>),
}

/// A counter at the start and at the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Change {
    /// At the start.
    pub before: u64,
    /// At the end (or the last look, when the supervisor died).
    pub after: u64,
}

impl Change {
    /// How far it rose.
    pub const fn rise(self) -> u64 {
        self.after.saturating_sub(self.before)
    }
}

/// A memory cgroup of the chain.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct CgroupFacts {
    /// Path below the mount point.
    pub path: String,
    /// Its folder, to find it again.
    pub folder: String,
    /// Inode of the folder, which tells it from a later one of the same name.
    pub inode: u64,
    /// 1 or 2.
    pub version: u32,
    /// Whether it is the innermost one, where the tree lives.
    pub own: bool,
    /// Limit in bytes at the end, `None` for no limit.
    pub limit: Option<u64>,
    /// `memory.swap.max` / memsw limit, `None` for no limit.
    pub swap_limit: Option<u64>,
    /// Use at the start and the end, bytes, without reclaimable cache.
    pub usage: Change,
    /// Highest use the kernel saw, bytes, if it says.
    pub peak: Option<u64>,
    /// Kills by the out-of-memory killer (`memory.events` or `memory.oom_control`).
    pub oom_kill: Option<Change>,
    /// Kills counted in this cgroup alone (`memory.events.local`).
    pub oom_kill_local: Option<Change>,
    /// `oom` of `memory.events`.
    pub oom: Option<Change>,
    /// `max` of `memory.events`, `memory.failcnt` of v1.
    pub max: Option<Change>,
    /// `oom_group_kill` of `memory.events`.
    pub oom_group_kill: Option<Change>,
    /// `memory.oom.group`.
    pub oom_group: bool,
    /// `max` of `pids.events`.
    pub pids_max: Option<Change>,
    /// `pids.max`.
    pub pids_limit: Option<u64>,
    /// Marks of user-space killers: `user.oomd_kill`, `user.oomd_ooms` with their values.
    pub oomd_marks: Vec<(String, String)>,
}

/// Memory of the machine, bytes.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct MachineFacts {
    /// `MemTotal`.
    pub total: u64,
    /// `MemAvailable` at start and end.
    pub available: Change,
    /// Lowest `MemAvailable` seen.
    pub available_lowest: u64,
    /// `SwapTotal`.
    pub swap_total: u64,
    /// `SwapFree` at the end.
    pub swap_free: u64,
    /// The largest other processes at the end, when memory of the machine was short:
    /// (pid, name, resident bytes).
    pub largest_others: Vec<(u32, String, u64)>,
    /// Kernel release.
    pub kernel: String,
    /// Tells one start of the machine from the next.
    pub boot_id: String,
}

/// The budget of a guarded run, bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct BudgetFacts {
    /// `--limit` as it was asked for: `auto`, `80%`, `8.0 GiB`.
    pub asked: String,
    /// The limit that follows from it, at the end; `None` for `auto`.
    pub limit: Option<u64>,
    /// Whether memory that is granted and never touched was let through.
    pub allow_sparse: bool,
    /// What the tree could use when it started.
    pub at_start: u64,
    /// The same at the last measurement.
    pub at_end: u64,
    /// Whose limit is behind that: `memory cgroup /a/b`, `--limit`, `MemAvailable`.
    pub source: String,
    /// That limit, before the reserve was taken off.
    pub source_limit: u64,
    /// Headroom at the last measurement; negative when the tree was over its budget.
    pub headroom: i64,
    /// The smallest headroom that was measured.
    pub headroom_lowest: i64,
    /// How many requests Outlive refused.
    pub refusals: u64,
    /// How often it stopped growth by an exception.
    pub stops: u64,
}

/// Lines of a log, and whether it could be read.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct LogFacts {
    /// Whether it could be read at all.
    pub readable: bool,
    /// Why not.
    pub reason: String,
    /// The lines.
    pub lines: Vec<String>,
}

/// Space of a file system, bytes.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct FilesystemFacts {
    /// Mount point.
    pub path: String,
    /// Size.
    pub total: u64,
    /// Free at the end.
    pub free: u64,
    /// Lowest free space seen.
    pub free_lowest: u64,
}
