//! The regular looks at a running tree: new processes and boxes, memory of each, of the cgroups
//! and of the machine. How often each look is taken follows what it costs.

use std::os::unix::fs::MetadataExt;

use outlive_diagnose::facts::BudgetFacts;
use outlive_record::timeline::{Sample, UNKNOWN};

use super::cgroup_meter::CgroupMeter;
use super::clock::{self, MILLISECOND, SECOND};
use super::guard::Guard;
use super::kept_file::KeptFile;
use super::machine;
use super::pace::{Allowance, Pace};
use super::recorder::Recorder;
use super::tree;
use super::watched::Watched;

/// A change of memory worth writing to disk.
const NOTABLE: u64 = 1 << 20;

/// What the kernel walks over when it is asked for proportional sizes: 20 ms a GiB were measured on
/// a fast machine, 50 on a slow one.
const SHARES_BYTES_PER_NANOSECOND: u64 = 20;

/// When to look at what.
#[derive(Debug)]
pub(super) struct Schedule {
    pub(super) next_sample_at: u64,
    pub(super) file: Allowance,
    pace: Pace,
    tree: Allowance,
    shares: Allowance,
    /// The same while a limit is near that depends on it.
    urgent_shares: Allowance,
}

impl Schedule {
    pub(super) const fn starting_at(now: u64) -> Self {
        Self {
            next_sample_at: now,
            file: Allowance::new(2000, 3 * SECOND),
            pace: Pace::starting_at(now),
            tree: Allowance::new(1000, 20 * MILLISECOND),
            shares: Allowance::new(1000, 2 * SECOND),
            urgent_shares: Allowance::new(5, 200 * MILLISECOND),
        }
    }
}

/// Tells cheaply whether a process may have been born. The last field of `/proc/loadavg` is the
/// newest process or thread id of the machine: while it stands still, nobody was.
#[derive(Debug)]
pub(super) struct Births {
    file: Option<KeptFile>,
    newest: String,
}

impl Births {
    pub(super) fn open() -> Self {
        Self {
            file: KeptFile::open("/proc/loadavg").ok(),
            newest: String::new(),
        }
    }

    /// Since the last call.
    fn are_any_new(&mut self) -> bool {
        let Some(text) = self.file.as_mut().and_then(KeptFile::read_text) else {
            return true;
        };
        let newest = text.rsplit(' ').next().unwrap_or_default();
        let is_new = newest != self.newest;
        newest.clone_into(&mut self.newest);
        is_new
    }
}

impl Recorder {
    /// Does everything that is due.
    pub(super) fn tick(&mut self, now: u64) {
        if now >= self.schedule.next_sample_at {
            self.sample(now);
        }
        if self.ended_boxes.due_at().is_some_and(|due| now >= due) {
            self.settle_boxes();
        }
    }

    fn sample(&mut self, now: u64) {
        self.look_for_boxes(now);
        self.look_for_replaced_boxes(now);
        self.look_for_processes(now);
        let processes = &mut self.facts.processes;
        let mut moved = 0;
        for watched in &mut self.alive {
            if let Some(facts) = processes.get_mut(watched.place) {
                moved += watched.look(facts);
            }
        }
        self.look_at_shares(now);
        self.look_closely(now);
        let is_short = self.tend(now);
        self.look_for_ended_boxes(now);
        self.is_changed |= moved > NOTABLE;
        let resident = self.resident();
        self.schedule.next_sample_at = self.schedule.pace.next(now, moved, resident);
        if is_short {
            self.schedule.next_sample_at = self.schedule.pace.while_short(now);
        }
        if self.is_changed && self.schedule.file.is_due(now) {
            self.refresh();
        }
    }

    fn look_for_processes(&mut self, now: u64) {
        if !self.schedule.tree.is_due(now) || !self.births.are_any_new() {
            return;
        }
        self.find_processes(now);
    }

    fn find_processes(&mut self, now: u64) {
        let began = clock::monotonic();
        for pid in tree::descendants(self.ancestor, self.witness) {
            self.watch(pid, now);
        }
        self.schedule.tree.spent(began, clock::monotonic());
    }

    /// New black boxes change the folder.
    pub(super) fn look_for_boxes(&mut self, now: u64) {
        let Ok(meta) = std::fs::metadata(&self.directory) else {
            return;
        };
        let changed_at = (meta.mtime(), meta.mtime_nsec());
        if changed_at == self.directory_changed_at {
            return;
        }
        self.directory_changed_at = changed_at;
        self.replaced_boxes.0 = true;
        // Whoever made it may be somebody new.
        self.find_processes(now);
        for watched in &mut self.alive {
            if let Some(facts) = self.facts.processes.get_mut(watched.place) {
                watched.find_box(&self.directory, facts);
            }
        }
    }

    /// A process that executes another program sets its box aside and makes a new one.
    fn look_for_replaced_boxes(&mut self, now: u64) {
        let (may_be, looked_at) = self.replaced_boxes;
        if may_be && now.saturating_sub(looked_at) >= SECOND {
            self.replaced_boxes = (false, now);
            for watched in &mut self.alive {
                watched.follow_box(&self.directory);
            }
        }
    }

    /// Resident sizes of all, added up.
    fn resident(&self) -> u64 {
        self.alive.iter().map(|watched| watched.resident).sum()
    }

    fn look_at_shares(&mut self, now: u64) {
        let cost = self.resident() / SHARES_BYTES_PER_NANOSECOND;
        let is_urgent = self.guard.as_ref().is_some_and(Guard::asks_for_shares);
        let schedule = &mut self.schedule;
        let (allowance, is_due) = if is_urgent {
            let alive = self.alive.iter_mut();
            alive.for_each(Watched::look_at_shared_memory);
            let is_due = schedule.urgent_shares.is_due(now);
            (&mut schedule.urgent_shares, is_due)
        } else {
            let is_due = schedule.shares.is_due_for(now, cost);
            (&mut schedule.shares, is_due)
        };
        if is_due {
            let began = clock::monotonic();
            self.alive.iter_mut().for_each(Watched::look_at_shares);
            allowance.spent(began, clock::monotonic());
        }
        let held = self.alive.iter().map(Watched::held).sum();
        self.facts.peak_memory = self.facts.peak_memory.max(held);
    }

    /// Limits, names, cgroups: what a program may change about itself.
    fn look_closely(&mut self, now: u64) {
        let mut has_moved = false;
        let root = self.facts.root;
        for watched in &mut self.alive {
            let Some(facts) = self.facts.processes.get_mut(watched.place) else {
                continue;
            };
            if watched.is_close_look_due(now, facts.seen_at) {
                watched.look_closely(facts);
                let process = watched.id.pid.to_string();
                has_moved |= self.chain.include(&process);
                if let Some(guard) = self.guard.as_mut().filter(|_| watched.id == root) {
                    guard.follow(&self.chain, &process);
                }
            }
        }
        if has_moved {
            self.meter = CgroupMeter::open(&self.chain);
        }
    }

    /// Samples, and the guard with what they show. Gives whether the headroom is short.
    fn tend(&mut self, now: u64) -> bool {
        let before = self.guard.as_ref().map(Guard::before);
        self.record_samples(now);
        let (Some(guard), Some(before)) = (&mut self.guard, before) else {
            return false;
        };
        let is_short = guard.tend(before, &self.alive, &self.facts.machine, now);
        let budget = guard.facts();
        let known = self.facts.budget.as_ref();
        let interventions = |facts: &BudgetFacts| (facts.refusals, facts.stops);
        self.is_changed |= known.map(interventions) != Some(interventions(&budget));
        self.facts.budget = Some(budget);
        is_short
    }

    fn record_samples(&mut self, now: u64) {
        let available = self.machine.look(&mut self.facts.machine);
        machine::look_at_shared_memory(&mut self.facts.shared_memory);
        let reading = self.meter.read();
        let shared = Sample {
            time: now,
            resident: 0,
            proportional: UNKNOWN,
            cgroup_use: reading.map_or(UNKNOWN, |reading| reading.usage),
            cgroup_limit: reading.and_then(|reading| reading.limit).unwrap_or(UNKNOWN),
            available: available.unwrap_or(UNKNOWN),
            swapped: UNKNOWN,
        };
        for watched in &mut self.alive {
            watched.record(&shared);
            if let (Some(reading), Some(facts)) =
                (reading, self.facts.processes.get_mut(watched.place))
                && watched.resident > 0
            {
                facts.last_use = Some(reading.usage);
                facts.peak_use = facts.peak_use.max(facts.last_use);
            }
        }
    }
}
