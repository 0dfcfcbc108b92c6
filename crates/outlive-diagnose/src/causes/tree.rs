//! Causes that lie in the tree or beside it: workers that grow, others that take the memory.

use super::inquiry::Inquiry;
use super::suspect::Request;
use crate::cause::{Cause, CauseId, Sureness};
use crate::facts::ProcessFacts;
use crate::size::Size;
use crate::verdict::VerdictId;

/// Words in the arguments of a process that a pool or a loader started afresh.
const STARTED: [&str; 4] = [
    "multiprocessing.spawn",
    "multiprocessing.forkserver",
    "--multiprocessing-fork",
    "loky.backend",
];
/// A process may be seen only so long after it began, nanoseconds.
const SEEN_LATE: u64 = 200_000_000;
/// Other processes shown.
const OTHERS: usize = 3;

/// The process that ran out is a worker.
pub(super) fn worker(inquiry: &Inquiry<'_>) -> Option<Cause> {
    let process = inquiry.process();
    if !inquiry.is_about_memory() || !is_worker(inquiry, process) {
        return None;
    }
    let parent = process.parent;
    let pid = process.id.pid;
    let peak = Size(inquiry.memory().resident_peak);
    let room = inquiry.room()?;
    let sureness = if is_to_blame(inquiry, room) {
        Sureness::High
    } else {
        Sureness::Medium
    };
    let growing = inquiry.growing();
    let suspect = growing.first();
    let line = inquiry.stopped.as_ref().or(suspect.copied());
    let mut cause = Cause::new(CauseId::WorkerKilled, sureness)
        .at(line.map(|it| it.line.clone()))
        .because(format!(
            "pid {pid}, a worker of pid {parent}, ran out of memory with {peak} resident"
        ));
    if let Some(suspect) = suspect.filter(|it| it.bytes >= room / 16) {
        let (place, bytes) = (suspect.describe(), Size(suspect.bytes));
        cause = cause.because(format!("in that worker {place} held {bytes}"));
    } else if let Some(unexplained) = inquiry.memory().unexplained(inquiry.known.holdings.moment) {
        let bytes = Size(unexplained);
        cause = cause.because(format!(
            "{bytes} of it have no line in the worker: pages of its parent that it copied by \
             touching them"
        ));
    }
    Some(cause)
}

/// Whether the worker itself grew, and neither one request of its nor its parent explains more.
fn is_to_blame(inquiry: &Inquiry<'_>, room: u64) -> bool {
    let process = inquiry.process();
    let processes = inquiry.known.tree.processes.iter();
    let mut parents = processes.filter(|it| it.id.pid == process.parent);
    let peak = inquiry.memory().resident_peak;
    let is_smaller = parents.any(|parent| parent.peak_resident / 2 > peak);
    let request = inquiry.request.as_ref();
    peak >= room / 8 && !is_smaller && !request.is_some_and(Request::is_large)
}

fn is_worker(inquiry: &Inquiry<'_>, process: &ProcessFacts) -> bool {
    let tree = inquiry.known.tree;
    let is_root = inquiry.known.input.run.root == process.id;
    let is_child = tree.processes.iter().any(|it| it.id.pid == process.parent);
    let started = || {
        let mut argv = process.argv.iter();
        argv.any(|word| STARTED.iter().any(|mark| word.contains(mark)))
    };
    !is_root && is_child && (inquiry.memory().forked || started())
}

/// The process that ran out is the parent of workers that share its pages, and does not grow.
pub(super) fn parted_pages(inquiry: &Inquiry<'_>) -> Option<Cause> {
    if !inquiry.known.verdict.id.is_kernel_kill() {
        return None;
    }
    let process = inquiry.process();
    let peak = inquiry.memory().resident_peak;
    let tree = inquiry.known.tree;
    let is_copy = |it: &&ProcessFacts| {
        it.parent == process.id.pid && it.argv == process.argv && it.peak_resident >= peak / 2
    };
    let workers: Vec<&ProcessFacts> = tree.processes.iter().filter(is_copy).collect();
    let began = workers.iter().map(|it| it.seen_at).min()?;
    let growing = inquiry.growing();
    let suspect = growing.first()?;
    // What the parent acquires after it has its workers grows in the parent.
    if suspect.last_time > began.saturating_add(SEEN_LATE) {
        return None;
    }
    let (place, bytes) = (suspect.describe(), Size(suspect.bytes));
    let cause = Cause::new(CauseId::WorkerKilled, Sureness::Medium)
        .at(Some(suspect.line.clone()))
        .because(format!(
            "{} forked workers share the {bytes} of {place}, and copy what they touch",
            workers.len()
        ));
    Some(cause)
}

/// Others took the memory of the machine.
pub(super) fn contended(inquiry: &Inquiry<'_>) -> Option<Cause> {
    let run = inquiry.known.input.run;
    let own = inquiry
        .memory()
        .tree_peak
        .unwrap_or(0)
        .max(inquiry.memory().resident_peak);
    let shrunk = run.budget.as_ref().filter(|it| it.source == "MemAvailable");
    let shrunk = shrunk.filter(|it| it.at_end < it.at_start / 4 * 3);
    let of_host = inquiry.known.verdict.id == VerdictId::OutOfMemoryHost;
    if !of_host && (shrunk.is_none() || !inquiry.is_about_memory()) {
        return None;
    }
    let others = &run.machine.largest_others;
    let theirs = others
        .iter()
        .map(|(.., bytes)| *bytes)
        .fold(0, u64::saturating_add);
    if theirs <= own {
        return None;
    }
    let mut cause = Cause::new(CauseId::ContendedMemory, Sureness::Medium).because(format!(
        "the program had {} at its highest, other processes {}",
        Size(own),
        Size(theirs)
    ));
    for (pid, name, bytes) in others.iter().take(OTHERS) {
        cause = cause.because(format!("{name} (pid {pid}) had {}", Size(*bytes)));
    }
    if let Some(budget) = shrunk {
        cause = cause.because(format!(
            "the budget shrank from {} to {} while it ran",
            Size(budget.at_start),
            Size(budget.at_end)
        ));
    }
    Some(cause)
}
