//! One living process of the tree: the files it is watched through, and what they say.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

use outlive_diagnose::facts::{EndStatus, ProcessFacts, ProcessId, StatusSource};
use outlive_record::layout::MIN_BOX_SIZE;
use outlive_record::timeline::{Sample, TimelineWriter, UNKNOWN};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::clock::SECOND;
use super::kept_file::{KeptFile, text_of};
use super::machine;
use super::process::{self, Stat, status_bytes, status_word};
use super::spawn;

/// The longest time between two close looks at one process.
const LONGEST_PAUSE: u64 = 2 * SECOND;

/// A process that is alive, as far as we know.
#[derive(Debug)]
pub(super) struct Watched {
    pub(super) id: ProcessId,
    /// Becomes readable when the process ends, whoever its parent is.
    pub(super) pidfd: OwnedFd,
    /// Where its facts are in the list of all processes.
    pub(super) place: usize,
    /// Last resident size.
    pub(super) resident: u64,
    /// How much of that has no file behind it.
    anonymous: u64,
    /// Shared memory it had resident at the last close look.
    shared_memory: u64,
    /// Its resident size when first seen, if that was a forked parent's.
    copied: Option<u64>,
    close_look_at: u64,
    memory: Option<KeptFile>,
    rollup: Rollup,
    timeline: Option<Timeline>,
}

/// The costly figure, the proportional size, with the resident size at that time; and swap.
#[derive(Debug)]
struct Rollup {
    file: Option<KeptFile>,
    proportional: u64,
    /// Anonymous and shared memory that is other processes' part, as long as that holds.
    of_others: Option<u64>,
    swapped: u64,
    resident: u64,
}

/// The time line in the black box.
#[derive(Debug)]
struct Timeline {
    file: File,
    inode: u64,
    writer: TimelineWriter,
}

impl Watched {
    /// Starts to watch a process and writes down who it is.
    pub(super) fn begin(pid: u32, place: usize, now: u64) -> Option<(Self, ProcessFacts)> {
        let pidfd = pidfd_open(Pid::from_raw(pid as i32)?, PidfdFlags::empty()).ok()?;
        // Only after the descriptor: what is read from here on is about the process it names.
        let stat = Stat::of(pid)?;
        let id = ProcessId {
            pid,
            start_ticks: stat.start_ticks,
        };
        let mut facts = ProcessFacts {
            id,
            seen_at: now,
            ..ProcessFacts::default()
        };
        let mut watched = Self {
            id,
            pidfd,
            place,
            resident: 0,
            anonymous: 0,
            shared_memory: 0,
            copied: stat.is_copy.then_some(UNKNOWN),
            close_look_at: now,
            memory: KeptFile::open(process::path(pid, "statm")).ok(),
            rollup: Rollup {
                file: None,
                proportional: UNKNOWN,
                of_others: None,
                swapped: UNKNOWN,
                resident: 0,
            },
            timeline: None,
        };
        facts.parent = stat.parent;
        watched.look_closely(&mut facts);
        Some((watched, facts))
    }

    /// Everything that changes seldom. For a zombie this is the last chance.
    pub(super) fn look_closely(&mut self, facts: &mut ProcessFacts) {
        let pid = self.id.pid;
        let Some(stat) = Stat::of(pid).filter(|stat| stat.start_ticks == self.id.start_ticks)
        else {
            return;
        };
        facts.cpu_time = stat.cpu_time;
        self.copied = self.copied.filter(|_| stat.is_copy);
        // A zombie has no arguments any more; those it had are kept.
        let argv = process::arguments(pid);
        if !argv.is_empty() {
            facts.argv = argv;
        }
        facts.name = stat.name;
        if let Some(limits) = process::limits(pid) {
            facts.limits = limits;
        }
        if let Some(adjustment) = process::oom_score_adjustment(pid) {
            facts.oom_score_adj = adjustment;
        }
        let status = text_of(process::path(pid, "status")).unwrap_or_default();
        if let Some(mode) = status_word(&status, "Seccomp:").and_then(|mode| mode.parse().ok()) {
            facts.seccomp = facts.seccomp.max(mode);
        }
        if let Some(swapped) = status_bytes(&status, "VmSwap:") {
            self.rollup.swapped = swapped;
        }
        self.take_shared_memory(&status);
        let highest = status_bytes(&status, "VmHWM:").unwrap_or(0);
        facts.peak_resident = facts.peak_resident.max(highest);
    }

    /// Shared memory alone, between two close looks.
    pub(super) fn look_at_shared_memory(&mut self) {
        if let Ok(status) = text_of(process::path(self.id.pid, "status")) {
            self.take_shared_memory(&status);
        }
    }

    fn take_shared_memory(&mut self, status: &str) {
        if let Some(shared) = status_bytes(status, "RssShmem:") {
            self.shared_memory = shared;
        }
    }

    /// A young process becomes something else (`exec`, `setrlimit`); an old one seldom does. So
    /// the pauses double, up to a bound.
    pub(super) const fn is_close_look_due(&mut self, now: u64, seen_at: u64) -> bool {
        let is_due = now >= self.close_look_at;
        if is_due {
            let age = now.saturating_sub(seen_at);
            self.close_look_at = now
                + if age < LONGEST_PAUSE {
                    age
                } else {
                    LONGEST_PAUSE
                };
        }
        is_due
    }

    /// The resident size now; gives by how much it changed.
    pub(super) fn look(&mut self, facts: &mut ProcessFacts) -> u64 {
        let Some((resident, backed)) = self
            .memory
            .as_mut()
            .and_then(|file| machine::sizes(file.read_text()?))
        else {
            return 0;
        };
        let moved = resident.abs_diff(self.resident);
        self.resident = resident;
        self.anonymous = resident.saturating_sub(backed);
        self.copied = self.copied.map(|copied| copied.min(resident));
        // A process without memory has just ended; the last size it had is what counts.
        if resident > 0 {
            facts.last_resident = resident;
        }
        facts.peak_resident = facts.peak_resident.max(resident);
        moved
    }

    /// The proportional size, which costs the kernel a walk over all pages.
    pub(super) fn look_at_shares(&mut self) {
        if self.rollup.file.is_none() {
            self.rollup.file = KeptFile::open(process::path(self.id.pid, "smaps_rollup")).ok();
        }
        let Some(text) = self.rollup.file.as_mut().and_then(KeptFile::read_text) else {
            return;
        };
        let Some(proportional) = status_bytes(text, "Pss:") else {
            return;
        };
        self.rollup.proportional = proportional;
        self.rollup.of_others = Some(part_of_others(text, self.shared_memory));
        self.rollup.resident = self.resident;
    }

    /// A process ended that may have shared memory with this one.
    pub(super) const fn forget_shares(&mut self) {
        self.rollup.of_others = None;
    }

    /// Memory that no file is behind, as a budget counts it.
    pub(super) const fn unbacked(&self) -> u64 {
        self.anonymous.saturating_add(self.shared_memory)
    }

    /// How much of that is counted with other processes too, the largest of which has `largest`.
    /// One that was not looked at since it was forked, or since another process ended, shares what
    /// it got by the fork.
    pub(super) fn counted_twice(&self, largest: u64) -> u64 {
        match self.rollup.of_others {
            Some(bytes) => bytes.min(self.unbacked()),
            None => self.copied.unwrap_or(0).min(self.anonymous).min(largest),
        }
    }

    /// Bytes this process answers for: its proportional size at the last look, and what it grew
    /// since. One that was not looked at yet answers for all it has, less what it got by a fork.
    pub(super) fn held(&self) -> u64 {
        if self.rollup.proportional == UNKNOWN {
            return self.resident - self.copied.unwrap_or(0).min(self.resident);
        }
        (self.rollup.proportional + self.resident).saturating_sub(self.rollup.resident)
    }

    /// Finds the black box, once the process has made one.
    pub(super) fn find_box(&mut self, directory: &Path, facts: &mut ProcessFacts) {
        if self.timeline.is_some() {
            return;
        }
        let name = box_name(self.id);
        if let Ok(timeline) = Timeline::open(&directory.join(&name)) {
            self.timeline = timeline;
            facts.black_box = Some(name);
        }
    }

    /// Goes on in the box that has taken the place of the one it knew.
    pub(super) fn follow_box(&mut self, directory: &Path) {
        let Some(timeline) = &self.timeline else {
            return;
        };
        let path = directory.join(box_name(self.id));
        let is_another = fs::metadata(&path).is_ok_and(|meta| meta.ino() != timeline.inode);
        if is_another && let Ok(Some(timeline)) = Timeline::open(&path) {
            self.timeline = Some(timeline);
        }
    }

    /// Adds a sample to the black box, if there is one. The machine's part comes from outside.
    pub(super) fn record(&mut self, shared: &Sample) {
        let Some(timeline) = &mut self.timeline else {
            return;
        };
        let sample = Sample {
            resident: self.resident,
            proportional: self.rollup.proportional,
            swapped: self.rollup.swapped,
            ..*shared
        };
        let file = &timeline.file;
        // A full disk loses samples; the program must not notice.
        timeline.writer.push(&sample, |offset, bytes| {
            let _ = file.write_all_at(bytes, offset);
        });
    }

    /// How it ended, from what the kernel still keeps of it.
    pub(super) fn end_status(&self) -> Option<(EndStatus, StatusSource)> {
        let zombie = Stat::of(self.id.pid)
            .filter(|stat| stat.start_ticks == self.id.start_ticks && stat.has_ended())
            .filter(|_| may_read_status(self.id.pid));
        if let Some(stat) = zombie {
            return Some((process::end_status(stat.exit_code), StatusSource::Zombie));
        }
        let status = spawn::exit_status(self.pidfd.as_fd())?;
        Some((process::end_status(status), StatusSource::Pidfd))
    }
}

impl Timeline {
    /// `None` while the box is still being made.
    fn open(path: &Path) -> io::Result<Option<Self>> {
        let file = OpenOptions::new().write(true).open(path)?;
        let metadata = file.metadata()?;
        let size = metadata.len();
        Ok((size >= MIN_BOX_SIZE).then(|| Self {
            file,
            inode: metadata.ino(),
            writer: TimelineWriter::new(size),
        }))
    }
}

/// Anonymous and shared memory less its proportional size, from `smaps_rollup`.
fn part_of_others(text: &str, shared_memory: u64) -> u64 {
    let size = |name| status_bytes(text, name);
    let parts = (size("Anonymous:"), size("Pss_Anon:"), size("Pss_Shmem:"));
    if let (Some(anonymous), Some(part), Some(shared_part)) = parts {
        let shared = shared_memory.saturating_sub(shared_part);
        return anonymous.saturating_sub(part).saturating_add(shared);
    }
    // Linux before 5.10 adds files in; their pages are seldom dirty.
    let size = |name| size(name).unwrap_or(0);
    let others = size("Rss:").saturating_sub(size("Pss:"));
    others.min(size("Shared_Dirty:"))
}

/// Name of the black box a process makes.
pub(super) fn box_name(id: ProcessId) -> String {
    format!(
        "{}-{}.{}",
        id.pid,
        id.start_ticks,
        crate::store::BOX_EXTENSION
    )
}

/// The kernel shows 0 instead of the wait status of somebody else's process.
fn may_read_status(pid: u32) -> bool {
    let own = rustix::process::geteuid();
    own.is_root()
        || fs::metadata(format!("/proc/{pid}")).is_ok_and(|meta| meta.uid() == own.as_raw())
}
