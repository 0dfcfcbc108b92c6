//! Black boxes of processes that have ended while the run goes on.
//!
//! A pool that makes a new process for each task leaves a box for each. Boxes take their whole
//! size in advance, so that a full disk cannot hurt the program; what was never touched is given
//! back as soon as the process has ended, and of very many that ended well the oldest go.

use std::collections::{HashSet, VecDeque};
use std::path::Path;

use outlive_diagnose::facts::{EndStatus, ProcessFacts, ProcessId};

use super::aftermath::{facts_from_box, id_from_box_name, is_box};
use super::clock::{self, MILLISECOND};
use super::pace::Allowance;
use super::process::Stat;
use super::recorder::Recorder;
use super::space;

/// So many boxes of processes that ended well are kept.
const MOST_KEPT: usize = 256;
/// How long giving back may take before the supervisor looks up, and how long it then rests. A
/// box takes about half a millisecond, so many hundreds a second can end.
const AT_A_TIME: u64 = 4 * MILLISECOND;
/// Parents asked for the ends of their children at one time.
const PARENTS_ASKED: usize = 8;

/// What is left to do, and what was done.
#[derive(Debug)]
pub(super) struct EndedBoxes {
    /// Files whose process has ended: their space is given back, or will be in a moment.
    known: HashSet<String>,
    waiting: VecDeque<(ProcessId, String)>,
    /// Whose boxes are to be removed.
    surplus: VecDeque<ProcessId>,
    /// When to go on with those that wait.
    next_at: u64,
    /// Whether there may be something new to find.
    is_unsettled: bool,
    directory_changed_at: (i64, i64),
    removed: u64,
    /// Where the remark that counts them is.
    remark: Option<usize>,
    scan: Allowance,
    removal: Allowance,
}

impl EndedBoxes {
    pub(super) fn new() -> Self {
        Self {
            known: HashSet::new(),
            waiting: VecDeque::new(),
            surplus: VecDeque::new(),
            next_at: 0,
            is_unsettled: false,
            directory_changed_at: (0, 0),
            removed: 0,
            remark: None,
            scan: Allowance::new(20, 100 * MILLISECOND),
            removal: Allowance::new(20, 200 * MILLISECOND),
        }
    }

    /// A process has ended.
    pub(super) const fn expect(&mut self) {
        self.is_unsettled = true;
    }

    /// When the supervisor is to be woken for this, if at all.
    pub(super) fn due_at(&self) -> Option<u64> {
        let has_work = !self.waiting.is_empty() || !self.surplus.is_empty();
        has_work.then_some(self.next_at)
    }

    /// Whether the space of this file was given back.
    pub(super) fn is_done(&self, name: &str) -> bool {
        self.known.contains(name) && !self.waiting.iter().any(|(_, waiting)| waiting == name)
    }
}

impl Recorder {
    /// Looks for boxes whose process has ended, and for too many of them.
    pub(super) fn look_for_ended_boxes(&mut self, now: u64) {
        let is_changed = self.ended_boxes.directory_changed_at != self.directory_changed_at;
        if (is_changed || self.ended_boxes.is_unsettled) && self.ended_boxes.scan.is_due(now) {
            let began = clock::monotonic();
            self.ended_boxes.directory_changed_at = self.directory_changed_at;
            self.find_ended_boxes();
            self.ended_boxes.scan.spent(began, clock::monotonic());
        }
        if self.ended_boxes.known.len() > MOST_KEPT && self.ended_boxes.removal.is_due(now) {
            let began = clock::monotonic();
            if self.ended_with_box().count() > MOST_KEPT {
                self.ask_parents(PARENTS_ASKED);
                self.choose_surplus();
            }
            self.ended_boxes.removal.spent(began, clock::monotonic());
        }
    }

    /// Takes care of some of those that were found.
    pub(super) fn settle_boxes(&mut self) {
        let end = clock::monotonic() + AT_A_TIME;
        while clock::monotonic() < end
            && let Some((id, name)) = self.ended_boxes.waiting.pop_front()
        {
            self.settle(id, name);
        }
        self.remove_surplus(end);
        self.ended_boxes.next_at = clock::monotonic() + AT_A_TIME;
    }

    fn find_ended_boxes(&mut self) {
        let Ok(entries) = std::fs::read_dir(&self.directory) else {
            return;
        };
        self.ended_boxes.is_unsettled = false;
        let alive: HashSet<ProcessId> = self.alive.iter().map(|watched| watched.id).collect();
        for name in entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()) {
            let Some(id) = id_from_box_name(&name) else {
                continue;
            };
            if alive.contains(&id) || self.ended_boxes.known.contains(&name) {
                continue;
            }
            if self.is_gone(id) {
                self.ended_boxes.known.insert(name.clone());
                self.ended_boxes.waiting.push_back((id, name));
            } else {
                // Nobody will tell when this one ends, unless it is watched from now on.
                self.ended_boxes.is_unsettled = true;
            }
        }
    }

    /// Whether a process that is not watched has ended for sure. A zombie may be a first thread
    /// that the others outlive.
    fn is_gone(&self, id: ProcessId) -> bool {
        let has_seen_end = || {
            let mut listed = self.facts.processes.iter().rev();
            listed.any(|facts| facts.id == id && facts.ended_at.is_some())
        };
        Stat::of(id.pid).is_none_or(|stat| stat.start_ticks != id.start_ticks) || has_seen_end()
    }

    /// Gives back space, and lists a process that came and went between two looks.
    fn settle(&mut self, id: ProcessId, name: String) {
        // What cannot be given back stays taken.
        let _ = space::give_back_unread(&self.directory.join(&name));
        if !is_box(&name) {
            return;
        }
        let mut listed = self.facts.processes.iter_mut().rev();
        if let Some(facts) = listed.find(|facts| facts.id == id) {
            facts.black_box = Some(name);
        } else if let Some(facts) = facts_from_box(&self.directory, name, id) {
            self.facts.processes.push(facts);
        }
        self.is_changed = true;
    }

    /// Processes that have ended, well or nobody knows how, and have a box.
    fn ended_with_box(&self) -> impl Iterator<Item = &ProcessFacts> {
        let is_known = |facts: &&ProcessFacts| {
            let name = facts.black_box.as_ref();
            name.is_some_and(|name| self.ended_boxes.known.contains(name))
        };
        let may_go =
            |facts: &&ProcessFacts| matches!(facts.status, None | Some(EndStatus::Exited(0)));
        self.facts.processes.iter().filter(may_go).filter(is_known)
    }

    /// Chooses the oldest boxes of processes that ended well, where there are too many.
    pub(super) fn choose_surplus(&mut self) {
        let places = superfluous(&self.facts.processes, MOST_KEPT).into_iter();
        self.ended_boxes.surplus = places
            .filter_map(|place| Some(self.facts.processes.get(place)?.id))
            .collect();
    }

    /// Removes chosen boxes until then: a file may have to wait for the disk before it can go.
    pub(super) fn remove_surplus(&mut self, end: u64) {
        let before = self.ended_boxes.removed;
        while clock::monotonic() < end
            && let Some(id) = self.ended_boxes.surplus.pop_front()
        {
            let mut listed = self.facts.processes.iter_mut();
            if let Some(facts) = listed.find(|facts| facts.id == id)
                && let Some(name) = facts.black_box.take()
            {
                remove(&self.directory, &name);
                self.ended_boxes.known.remove(&name);
                self.ended_boxes.removed += 1;
            }
        }
        if self.ended_boxes.removed == before {
            return;
        }
        self.is_changed = true;
        let remark = format!(
            "The oldest {} black boxes of processes that ended well were removed",
            self.ended_boxes.removed
        );
        let remarks = &mut self.facts.remarks;
        let place = *self.ended_boxes.remark.get_or_insert(remarks.len());
        match remarks.get_mut(place) {
            Some(line) => *line = remark,
            None => remarks.push(remark),
        }
    }
}

/// The box, and what execution of another program set aside before it.
fn remove(directory: &Path, name: &str) {
    let path = directory.join(name);
    // What cannot be removed stays.
    let _ = std::fs::remove_file(path.with_extension("before-exec"));
    let _ = std::fs::remove_file(path);
}

/// Places of processes that ended well and whose box need not be kept, oldest first. A parent of
/// one that ended otherwise is a witness and stays.
fn superfluous(processes: &[ProcessFacts], most: usize) -> Vec<usize> {
    let ended_well = |facts: &ProcessFacts| facts.status == Some(EndStatus::Exited(0));
    let witnesses: HashSet<u32> = processes
        .iter()
        .filter(|facts| !ended_well(facts))
        .map(|facts| facts.parent)
        .collect();
    let mut with_box: Vec<(u64, usize)> = processes
        .iter()
        .enumerate()
        .filter(|(_, facts)| ended_well(facts) && facts.black_box.is_some())
        .map(|(place, facts)| (facts.ended_at.unwrap_or(facts.seen_at), place))
        .collect();
    let surplus = with_box.len().saturating_sub(most);
    with_box.sort_unstable();
    with_box
        .into_iter()
        .map(|(_, place)| place)
        .filter(|place| {
            let process = processes.get(*place);
            process.is_some_and(|facts| !witnesses.contains(&facts.id.pid))
        })
        .take(surplus)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: u32, parent: u32, status: Option<EndStatus>, ended_at: u64) -> ProcessFacts {
        ProcessFacts {
            id: ProcessId {
                pid,
                start_ticks: 1,
            },
            parent,
            status,
            ended_at: Some(ended_at),
            black_box: Some(format!("{pid}-1.box")),
            ..ProcessFacts::default()
        }
    }

    #[test]
    fn the_oldest_that_ended_well_go_and_witnesses_stay() {
        let well = Some(EndStatus::Exited(0));
        let mut without = process(9, 1, well, 1);
        without.black_box = None;
        let processes = [
            process(2, 1, well, 30),
            process(3, 1, Some(EndStatus::Exited(1)), 2),
            process(4, 1, None, 3),
            process(5, 1, well, 10),
            process(6, 1, well, 4),
            process(7, 6, Some(EndStatus::Signaled(9)), 5),
            process(8, 1, well, 20),
            without,
        ];
        assert_eq!(superfluous(&processes, 4), [] as [usize; 0]);
        assert_eq!(superfluous(&processes, 2), [3, 6]);
        assert_eq!(superfluous(&processes, 0), [3, 6, 0]);
    }
}
