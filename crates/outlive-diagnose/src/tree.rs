//! Who died, in which order, and whose death is the one to explain.
//!
//! Everything after the first death is secondary: a parent that fails with `ConnectionResetError`
//! because its worker was killed, ranks that are asked to end because a peer failed. But not every
//! early failure matters: programs call small helpers that fail and go on. So a death counts if it
//! can have brought the root process down.

use std::collections::HashMap;

use outlive_record::kind::{ChildKind, ExceptionKind};

use crate::deadly::deadly;
use crate::diagnosis::BlackBoxes;
use crate::facts::{EndStatus, ProcessFacts, ProcessId, RunFacts, StatusSource};
use crate::signal;
use crate::words::headline;

/// Two ends this close together may be noticed in the wrong order.
const SAME_INSTANT: u64 = 500_000_000;
/// How long before the end a failed exit of a child still explains it.
const FAILED_EXIT_WINDOW: u64 = 60_000_000_000;
/// How long before the root's own violent end a child's violent end still explains it. Collective
/// operations wait up to half an hour for a dead peer, then abort.
const ABORT_WINDOW: u64 = 7_200_000_000_000;
/// How many processes are asked for their own fatal signal where nobody saw their end.
const BOXES_ASKED: usize = 6;

/// Words of exceptions that another process brought about.
const OF_OTHERS: [&str; 11] = [
    "process",
    "worker",
    "child",
    "exit",
    "pipe",
    "connection",
    "eof",
    "rank",
    "peer",
    "nccl",
    "gloo",
];

/// How the names of exceptions end that tell of too little memory.
const LACKS_MEMORY: [&str; 2] = ["MemoryError", "OutOfHeadroom"];

/// Whether the run is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Liveness {
    /// It is, and the end was written down.
    Ended,
    /// It goes on.
    Running,
    /// The supervisor is gone and wrote no end.
    SupervisorLost,
}

/// What is to be explained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// The death of this process (its index).
    Death(usize),
    /// The run ended well.
    Finished,
    /// It goes on.
    Running,
    /// It goes on, though this process died.
    Hang(usize),
    /// Nobody knows.
    Lost,
}

impl Subject {
    /// Whether a process died.
    pub const fn is_death(self) -> bool {
        matches!(self, Self::Death(_) | Self::Hang(_))
    }
}

/// The processes of a run, with every end status that can be found.
#[derive(Clone, Debug)]
pub struct Tree {
    /// In the order they were seen.
    pub processes: Vec<ProcessFacts>,
    /// Index of the process that was started.
    pub root: Option<usize>,
    /// Whether it ended with an exception that is about no other process.
    pub root_raised_alone: bool,
}

impl Tree {
    /// Takes the supervisor's list and asks the black boxes where it has gaps.
    pub fn new(run: &RunFacts, boxes: &dyn BlackBoxes, liveness: Liveness) -> Self {
        let mut processes = distinct(&run.processes);
        // While the run goes on, most processes without an end are simply alive, and opening the
        // box of each is dear; those that ended unseen were waited for by their parents.
        let mut own_boxes = if liveness == Liveness::Running {
            0
        } else {
            BOXES_ASKED
        };
        for index in 0..processes.len() {
            if processes
                .get(index)
                .is_none_or(|process| process.status.is_some())
            {
                continue;
            }
            let mut found = status_from_parent(&processes, index, boxes);
            if found.is_none() && own_boxes > 0 {
                own_boxes -= 1;
                found = status_from_own_box(&processes, index, boxes);
            }
            if let (Some(process), Some((status, time))) = (processes.get_mut(index), found) {
                process.status = Some(status);
                process.status_source = StatusSource::Parent;
                process.ended_at = process.ended_at.or(Some(time));
            }
        }
        let root = processes
            .iter()
            .position(|process| process.id == run.root)
            .or_else(|| {
                processes
                    .iter()
                    .position(|process| process.id.pid == run.root.pid)
            });
        let root_process = root.and_then(|root| processes.get(root));
        let root_raised_alone = root_process.is_some_and(|process| raised_alone(process, boxes));
        Self {
            processes,
            root,
            root_raised_alone,
        }
    }

    /// The process that was started.
    pub fn root(&self) -> Option<&ProcessFacts> {
        self.processes.get(self.root?)
    }

    /// Processes that ended other than with code 0, earliest first.
    pub fn deaths(&self) -> Vec<usize> {
        let mut deaths: Vec<usize> = (0..self.processes.len())
            .filter(|&index| self.status(index).is_some_and(|status| !is_fine(status)))
            .collect();
        deaths.sort_by_key(|&index| self.time(index));
        deaths
    }

    /// Which death, or which other end, is to be explained.
    pub fn subject(&self, liveness: Liveness) -> Subject {
        let root_status = self.root.and_then(|root| self.status(root));
        match (root_status, liveness) {
            (Some(status), _) if is_fine(status) => Subject::Finished,
            (Some(_), _) => self.first_death().map_or(Subject::Lost, Subject::Death),
            (None, Liveness::Running) => {
                self.first_violent().map_or(Subject::Running, Subject::Hang)
            }
            (None, _) => self.first_violent().map_or(Subject::Lost, Subject::Death),
        }
    }

    /// What became of the root, whatever became of the others.
    pub fn subject_alone(&self, liveness: Liveness) -> Subject {
        let root = self.root.map(|root| (root, self.status(root)));
        match (root, liveness) {
            (Some((_, Some(status))), _) if is_fine(status) => Subject::Finished,
            (Some((root, Some(_))), _) => Subject::Death(root),
            (_, Liveness::Running) => Subject::Running,
            _ => Subject::Lost,
        }
    }

    /// How many processes of the tree SIGKILL ended.
    pub fn killed(&self) -> usize {
        let killed = Some(EndStatus::Signaled(signal::KILL));
        self.processes
            .iter()
            .filter(|process| process.status == killed)
            .count()
    }

    fn first_violent(&self) -> Option<usize> {
        self.deaths()
            .into_iter()
            .find(|&index| self.status(index).is_some_and(signal::is_violent))
    }

    fn first_death(&self) -> Option<usize> {
        let root = self.root?;
        let mut candidates: Vec<usize> = self
            .deaths()
            .into_iter()
            .filter(|&index| self.explains_root(index, root))
            .collect();
        if candidates.is_empty() {
            candidates.push(root);
        }
        let earliest = self.time(*candidates.first()?);
        // Within one instant the order is not known: a kill causes exits, and children take their
        // parents along, not the other way round.
        candidates
            .into_iter()
            .filter(|&index| self.time(index) <= earliest.saturating_add(SAME_INSTANT))
            .max_by_key(|&index| {
                let violent = self.status(index).is_some_and(signal::is_violent);
                let early = u64::MAX - self.time(index);
                (violent, self.depth(index), early)
            })
    }

    /// Whether the end of `index` can have brought `root` down.
    fn explains_root(&self, index: usize, root: usize) -> bool {
        if index == root {
            return true;
        }
        let (Some(status), Some(root_status)) = (self.status(index), self.status(root)) else {
            return false;
        };
        let (time, root_time) = (self.time(index), self.time(root));
        let before = root_time.saturating_sub(time);
        if time > root_time.saturating_add(SAME_INSTANT) {
            return false;
        }
        let recorded = self
            .processes
            .get(index)
            .is_some_and(|it| it.black_box.is_some());
        match (status, root_status) {
            // A fault is the root's own doing, whatever happened before.
            (_, EndStatus::Signaled(signal::SEGV | signal::ILL | signal::FPE | signal::BUS)) => {
                false
            }
            (violent, EndStatus::Signaled(signal::ABRT)) if signal::is_violent(violent) => {
                before < ABORT_WINDOW
            }
            (violent, EndStatus::Signaled(signal::KILL)) if signal::is_violent(violent) => {
                before < FAILED_EXIT_WINDOW
            }
            (violent, _) if signal::is_violent(violent) => true,
            (EndStatus::Exited(_), EndStatus::Exited(_) | EndStatus::Signaled(signal::ABRT)) => {
                recorded && before < FAILED_EXIT_WINDOW && !self.root_raised_alone
            }
            // Asked to end, and asked by whoever failed first: never the first death itself.
            _ => false,
        }
    }

    fn status(&self, index: usize) -> Option<EndStatus> {
        self.processes.get(index)?.status
    }

    fn time(&self, index: usize) -> u64 {
        self.processes
            .get(index)
            .and_then(|process| process.ended_at)
            .unwrap_or(u64::MAX)
    }

    fn depth(&self, index: usize) -> usize {
        let mut depth = 0;
        let mut process = self.processes.get(index);
        while let Some(child) = process {
            process = self.processes.iter().find(|it| it.id.pid == child.parent);
            depth += 1;
            if depth > self.processes.len() {
                break;
            }
        }
        depth
    }
}

/// A process that was listed twice is one process: whatever either entry knows of it counts.
fn distinct(listed: &[ProcessFacts]) -> Vec<ProcessFacts> {
    let mut places: HashMap<ProcessId, usize> = HashMap::new();
    let mut processes: Vec<ProcessFacts> = Vec::with_capacity(listed.len());
    for entry in listed {
        let place = *places.entry(entry.id).or_insert(processes.len());
        match processes.get_mut(place) {
            Some(process) => merge(process, entry),
            None => processes.push(entry.clone()),
        }
    }
    processes
}

fn merge(process: &mut ProcessFacts, again: &ProcessFacts) {
    if process.status.is_none() {
        process.status = again.status;
        process.status_source = again.status_source;
    }
    process.ended_at = match (process.ended_at, again.ended_at) {
        (Some(left), Some(right)) => Some(left.min(right)),
        (left, right) => left.or(right),
    };
    process.black_box = process.black_box.take().or_else(|| again.black_box.clone());
    process.last_resident = process.last_resident.max(again.last_resident);
    process.peak_resident = process.peak_resident.max(again.peak_resident);
    process.last_use = process.last_use.or(again.last_use);
    process.peak_use = process.peak_use.max(again.peak_use);
    process.cpu_time = process.cpu_time.max(again.cpu_time);
}

/// A program that fails because a child did says something of processes, pipes or peers; one that
/// divides by zero does not.
fn raised_alone(root: &ProcessFacts, boxes: &dyn BlackBoxes) -> bool {
    if !matches!(root.status, Some(EndStatus::Exited(code)) if code != 0) {
        return false;
    }
    let exceptions = boxes
        .open(root.id)
        .map(|recording| recording.exceptions())
        .unwrap_or_default();
    let main = exceptions
        .iter()
        .rev()
        .find(|it| it.kind == Some(ExceptionKind::Main));
    main.is_some_and(|exception| {
        // Lack of memory is the process's own, though the message may name the processes that have
        // it; and the exception that a worker sent over says more than the worker's end.
        let type_name = exception.type_name.as_str();
        if LACKS_MEMORY.iter().any(|name| type_name.ends_with(name)) {
            return true;
        }
        let said = headline(exception).to_lowercase();
        !OF_OTHERS.iter().any(|word| said.contains(word))
    })
}

fn is_fine(status: EndStatus) -> bool {
    status == EndStatus::Exited(0)
}

/// The process's own fatal signal, if it is sure to have died of it.
fn status_from_own_box(
    processes: &[ProcessFacts],
    index: usize,
    boxes: &dyn BlackBoxes,
) -> Option<(EndStatus, u64)> {
    let recording = boxes.open(processes.get(index)?.id)?;
    let fatal = deadly(&recording, None)?;
    Some((EndStatus::Signaled(fatal.signal), fatal.time))
}

/// What its parent saw when it waited for it.
fn status_from_parent(
    processes: &[ProcessFacts],
    index: usize,
    boxes: &dyn BlackBoxes,
) -> Option<(EndStatus, u64)> {
    let process = processes.get(index)?;
    let parent = processes.iter().find(|it| it.id.pid == process.parent)?;
    let reaped = boxes
        .open(parent.id)?
        .children()
        .into_iter()
        .rev()
        .find(|child| {
            child.kind == Some(ChildKind::Reaped)
                && child.pid == process.id.pid
                && child.time >= process.seen_at
        })?;
    Some((signal::from_wait_word(reaped.status)?, reaped.time))
}

#[cfg(test)]
mod tests;
