//! Writes down what happens to a running tree: who joins it, who ends and how, which signals
//! came, and keeps `run.json` up to date. The regular looks are in `sampler.rs`, what is left to
//! do after the end in `aftermath.rs`.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;

use outlive_diagnose::facts::{Change, EndStatus, ProcessId, RunFacts, StatusSource};

use super::cgroup::Chain;
use super::cgroup_meter::CgroupMeter;
use super::clock;
use super::ended_boxes::EndedBoxes;
use super::facts_file::FactsFile;
use super::guard::Guard;
use super::kernel_log::KernelLog;
use super::machine::{self, Machine};
use super::process;
use super::sampler::{Births, Schedule};
use super::signals::Decision;
use super::tree;
use super::watched::Watched;
use crate::env;
use crate::store::StoredRun;

/// Version of the shape of `run.json`.
const FACTS_VERSION: u32 = 1;
/// More processes than this are not listed one by one, unless they ended badly.
const MOST_PROCESSES: usize = 4096;

/// The recording side of the supervisor.
#[derive(Debug)]
pub(super) struct Recorder {
    pub(super) facts: RunFacts,
    pub(super) directory: PathBuf,
    pub(super) chain: Chain,
    pub(super) machine: Machine,
    pub(super) kernel_log: KernelLog,
    pub(super) alive: Vec<Watched>,
    /// Ended, with a status nobody has told yet.
    pub(super) unexplained: Vec<Watched>,
    pub(super) schedule: Schedule,
    pub(super) meter: CgroupMeter,
    pub(super) guard: Option<Guard>,
    pub(super) births: Births,
    pub(super) directory_changed_at: (i64, i64),
    /// Whether boxes may have been replaced, and when that was last looked at.
    pub(super) replaced_boxes: (bool, u64),
    pub(super) ended_boxes: EndedBoxes,
    /// What descends from it belongs to the run: the supervisor, or the program it watches.
    pub(super) ancestor: u32,
    pub(super) witness: Option<u32>,
    pub(super) is_changed: bool,
    /// No process of the tree that was waited for was ever larger, bytes.
    pub(super) highest_reaped: u64,
    file: FactsFile,
    unlisted: u64,
}

impl Recorder {
    /// Takes the counters before the program starts.
    pub(super) fn before(run: &StoredRun, command: &[String], remarks: Vec<String>) -> Self {
        let now = clock::monotonic();
        let chain = Chain::of_self();
        let mut machine = Machine::open();
        let mut facts = RunFacts {
            version: FACTS_VERSION,
            id: run.id.clone(),
            command: command.to_vec(),
            cwd: std::env::current_dir()
                .unwrap_or_default()
                .display()
                .to_string(),
            started_at: clock::realtime(),
            started_monotonic: now,
            supervisor: process::own_id(),
            cgroups: chain.first_facts(),
            vmstat_oom_kill: machine::oom_kills().map(|before| Change {
                before,
                after: before,
            }),
            machine: machine.first_look(),
            environment: env::kept_facts(),
            remarks,
            ..RunFacts::default()
        };
        machine::look_at_shared_memory(&mut facts.shared_memory);
        let kernel_log = KernelLog::open(&mut facts.kernel_log);
        Self {
            ancestor: facts.supervisor.pid,
            facts,
            directory: run.directory.clone(),
            meter: CgroupMeter::open(&chain),
            guard: None,
            chain,
            machine,
            kernel_log,
            alive: Vec::new(),
            unexplained: Vec::new(),
            file: FactsFile::in_directory(&run.directory),
            schedule: Schedule::starting_at(now),
            births: Births::open(),
            directory_changed_at: (0, 0),
            replaced_boxes: (false, now),
            ended_boxes: EndedBoxes::new(),
            witness: None,
            unlisted: 0,
            highest_reaped: 0,
            is_changed: true,
        }
    }

    /// Takes the guard in, with the limits and the room there are before the program starts.
    pub(super) fn guard_with(&mut self, mut guard: Guard) {
        guard.follow(&self.chain, "self");
        let before = guard.before();
        guard.tend(before, &[], &self.facts.machine, clock::monotonic());
        self.facts.budget = Some(guard.facts());
        self.guard = Some(guard);
    }

    /// The program runs.
    pub(super) fn started(&mut self, root: u32, witness: Option<u32>) {
        self.witness = witness;
        self.watch(root, clock::monotonic());
        self.facts.root = self.alive.first().map_or(
            ProcessId {
                pid: root,
                start_ticks: 0,
            },
            |w| w.id,
        );
        self.write();
    }

    /// A program that was there before is watched from now on.
    pub(super) fn joined(&mut self, root: u32) {
        self.ancestor = root;
        self.started(root, None);
    }

    /// Whether a process lives, as far as is known.
    pub(super) fn is_watching(&self, pid: u32) -> bool {
        self.alive.iter().any(|watched| watched.id.pid == pid)
    }

    /// When [`Self::tick`] wants to be called.
    pub(super) fn due_at(&self) -> u64 {
        let sample = self.schedule.next_sample_at;
        self.ended_boxes
            .due_at()
            .map_or(sample, |due| due.min(sample))
    }

    /// Descriptors that become readable when a process ends.
    pub(super) fn pidfds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.alive
            .iter()
            .map(|watched| OwnedFd::as_fd(&watched.pidfd))
    }

    /// A signal came to the supervisor.
    pub(super) fn signal(&mut self, decision: Decision) {
        let entry = (decision.signal, decision.received_at);
        if decision.passed_on {
            self.facts.forwarded_signals.push(entry);
        } else {
            self.facts.group_signals.push(entry);
        }
        self.is_changed = true;
    }

    /// Adds a remark, once.
    pub(super) fn remark(&mut self, text: &str) {
        if !self.facts.remarks.iter().any(|known| known == text) {
            self.facts.remarks.push(text.to_owned());
            self.is_changed = true;
        }
    }

    /// Processes at these places of [`Self::pidfds`] have ended; zombies are still there. True
    /// when one of them ended badly, for all that is known.
    pub(super) fn ended(&mut self, places: &[usize], now: u64) -> bool {
        let mut has_bad_end = false;
        self.is_changed |= !places.is_empty();
        if !places.is_empty() {
            self.alive.iter_mut().for_each(Watched::forget_shares);
        }
        for place in places.iter().rev() {
            let mut watched = self.alive.swap_remove(*place);
            self.ended_boxes.expect();
            if let Some(facts) = self.facts.processes.get_mut(watched.place) {
                watched.look_closely(facts);
                facts.ended_at = Some(now);
                if let Some((status, source)) = watched.end_status() {
                    facts.status = Some(status);
                    facts.status_source = source;
                } else {
                    self.unexplained.push(watched);
                }
                has_bad_end |= facts.status != Some(EndStatus::Exited(0));
            }
        }
        has_bad_end
    }

    /// A child of the supervisor was waited for. `peak` is the highest resident size of it, or of
    /// one of its own children.
    pub(super) fn waited_for(&mut self, pid: u32, status: EndStatus, peak: u64) {
        self.facts.peak_memory = self.facts.peak_memory.max(peak);
        self.highest_reaped = self.highest_reaped.max(peak);
        let has_children = self.facts.processes.iter().any(|it| it.parent == pid);
        // The newest of that number: process ids come back.
        let facts = self
            .facts
            .processes
            .iter_mut()
            .rev()
            .find(|facts| facts.id.pid == pid);
        if let Some(facts) = facts {
            facts.status = Some(status);
            facts.status_source = StatusSource::Waited;
            facts.ended_at.get_or_insert_with(clock::monotonic);
            if !has_children {
                facts.peak_resident = facts.peak_resident.max(peak);
            }
        }
        self.ended_boxes.expect();
        self.alive.retain(|watched| watched.id.pid != pid);
        self.unexplained.retain(|watched| watched.id.pid != pid);
    }

    /// Orphans come to the supervisor, some of them already dead.
    pub(super) fn adopt_children(&mut self, now: u64) {
        for pid in tree::children(self.facts.supervisor.pid) {
            if Some(pid) != self.witness {
                self.watch(pid, now);
            }
        }
    }

    /// Reads all counters again and writes `run.json`.
    pub(super) fn refresh(&mut self) {
        let began = clock::monotonic();
        self.facts.cgroups = self.chain.facts();
        if let Some(change) = &mut self.facts.vmstat_oom_kill {
            change.after = machine::oom_kills().unwrap_or(change.after);
        }
        self.machine.look(&mut self.facts.machine);
        machine::look_at_shared_memory(&mut self.facts.shared_memory);
        self.kernel_log.drain(&mut self.facts.kernel_log);
        self.write();
        self.schedule.file.spent(began, clock::monotonic());
    }

    /// Writes `run.json`. A full disk is not the program's problem.
    pub(super) fn write(&mut self) {
        self.shorten();
        let _ = self.file.write(&self.facts);
        self.is_changed = false;
    }

    /// Starts to watch a process, unless it is watched already, or was until it ended: one that
    /// nobody waits for stays visible.
    pub(super) fn watch(&mut self, pid: u32, now: u64) {
        if self.is_watching(pid) || self.has_seen_end_of(pid) {
            return;
        }
        if let Some((watched, facts)) = Watched::begin(pid, self.facts.processes.len(), now) {
            self.facts.processes.push(facts);
            self.alive.push(watched);
            self.is_changed = true;
        }
    }

    /// Whether the process that has this number now is one that is listed already.
    fn has_seen_end_of(&self, pid: u32) -> bool {
        let listed = self.facts.processes.iter().rev();
        let Some(facts) = listed.into_iter().find(|facts| facts.id.pid == pid) else {
            return false;
        };
        process::Stat::of(pid).is_none_or(|stat| stat.start_ticks == facts.id.start_ticks)
    }

    /// Leaves out processes that ended well and have no black box, when there are too many.
    fn shorten(&mut self) {
        if self.facts.processes.len() <= MOST_PROCESSES {
            return;
        }
        let keep: Vec<bool> = self
            .facts
            .processes
            .iter()
            .map(|facts| facts.status != Some(EndStatus::Exited(0)) || facts.black_box.is_some())
            .collect();
        let mut new_places = Vec::with_capacity(keep.len());
        let mut kept = 0;
        for keep in &keep {
            new_places.push(kept);
            kept += usize::from(*keep);
        }
        let mut places = keep.iter();
        self.facts
            .processes
            .retain(|_| places.next().copied().unwrap_or(true));
        for watched in self.alive.iter_mut().chain(&mut self.unexplained) {
            watched.place = new_places.get(watched.place).copied().unwrap_or(usize::MAX);
        }
        self.unlisted += (keep.len() - kept) as u64;
    }

    /// How many processes that ended well were left out.
    pub(super) const fn unlisted(&self) -> u64 {
        self.unlisted
    }
}
