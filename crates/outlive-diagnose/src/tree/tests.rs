//! Whose death is the one to explain.

use super::{Liveness, Subject, Tree};
use crate::diagnosis::BlackBoxes;
use crate::facts::{EndStatus, ProcessFacts, ProcessId, RunFacts};
use outlive_record::read::Recording;

const SECOND: u64 = 1_000_000_000;

fn process(pid: u32, parent: u32, status: Option<EndStatus>, ended: u64) -> ProcessFacts {
    ProcessFacts {
        id: ProcessId {
            pid,
            start_ticks: u64::from(pid),
        },
        parent,
        status,
        ended_at: status.map(|_| ended),
        black_box: Some(format!("{pid}-{pid}.box")),
        ..ProcessFacts::default()
    }
}

fn check(processes: Vec<ProcessFacts>, expected: Subject) {
    let tree = Tree {
        processes,
        root: Some(0),
        root_raised_alone: false,
    };
    assert_eq!(tree.subject(Liveness::Ended), expected);
}

#[test]
fn a_killed_worker_comes_before_its_parents_exception() {
    check(
        vec![
            process(1, 0, Some(EndStatus::Exited(1)), 10 * SECOND),
            process(2, 1, Some(EndStatus::Signaled(9)), 9 * SECOND),
            process(3, 1, Some(EndStatus::Signaled(15)), 8 * SECOND),
        ],
        Subject::Death(1),
    );
}

#[test]
fn a_worker_noticed_just_after_its_parent_is_still_first() {
    check(
        vec![
            process(1, 0, Some(EndStatus::Exited(1)), 10 * SECOND),
            process(2, 1, Some(EndStatus::Signaled(9)), 10 * SECOND + 1),
        ],
        Subject::Death(1),
    );
}

#[test]
fn cleaning_up_long_after_a_failure_is_secondary() {
    check(
        vec![
            process(1, 0, Some(EndStatus::Exited(1)), 40 * SECOND),
            process(2, 1, Some(EndStatus::Exited(1)), 5 * SECOND),
            process(3, 1, Some(EndStatus::Signaled(9)), 35 * SECOND),
        ],
        Subject::Death(1),
    );
}

#[test]
fn a_helper_that_failed_is_not_to_blame() {
    let mut helper = process(2, 1, Some(EndStatus::Exited(127)), SECOND);
    helper.black_box = None;
    check(
        vec![
            process(1, 0, Some(EndStatus::Signaled(9)), 500 * SECOND),
            helper,
        ],
        Subject::Death(0),
    );
}

#[test]
fn a_fault_of_the_root_is_its_own() {
    check(
        vec![
            process(1, 0, Some(EndStatus::Signaled(11)), 10 * SECOND),
            process(2, 1, Some(EndStatus::Signaled(9)), 9 * SECOND),
        ],
        Subject::Death(0),
    );
}

#[test]
fn an_interrupted_wait_leads_back_to_the_killed_worker() {
    check(
        vec![
            process(1, 0, Some(EndStatus::Signaled(2)), 4000 * SECOND),
            process(2, 1, Some(EndStatus::Signaled(9)), 9 * SECOND),
        ],
        Subject::Death(1),
    );
}

#[test]
fn a_good_end_forgives_dead_children() {
    check(
        vec![
            process(1, 0, Some(EndStatus::Exited(0)), 10 * SECOND),
            process(2, 1, Some(EndStatus::Signaled(9)), 9 * SECOND),
        ],
        Subject::Finished,
    );
}

#[test]
fn a_process_listed_again_is_the_same_process() {
    let worker = |status, ended, peak_resident| ProcessFacts {
        peak_resident,
        ..process(2, 1, status, ended)
    };
    let mut reused = worker(Some(EndStatus::Exited(0)), 30 * SECOND, 5);
    reused.id.start_ticks += 1;
    let run = RunFacts {
        root: process(1, 0, None, 0).id,
        processes: vec![
            process(1, 0, Some(EndStatus::Exited(1)), 20 * SECOND),
            worker(None, 0, 700),
            worker(Some(EndStatus::Signaled(9)), 10 * SECOND, 0),
            worker(Some(EndStatus::Signaled(9)), 11 * SECOND, 0),
            reused,
        ],
        ..RunFacts::default()
    };
    let tree = Tree::new(&run, &NoBoxes, Liveness::Ended);
    let found: Vec<_> = tree
        .processes
        .iter()
        .map(|it| (it.id.pid, it.status, it.ended_at, it.peak_resident))
        .collect();
    assert_eq!(
        found,
        [
            (1, Some(EndStatus::Exited(1)), Some(20 * SECOND), 0),
            (2, Some(EndStatus::Signaled(9)), Some(10 * SECOND), 700),
            (2, Some(EndStatus::Exited(0)), Some(30 * SECOND), 5),
        ]
    );
}

struct NoBoxes;

impl BlackBoxes for NoBoxes {
    fn open(&self, _: ProcessId) -> Option<Recording<'_>> {
        None
    }
}

#[test]
fn a_run_that_goes_on_after_a_death_may_hang() {
    let processes = vec![
        process(1, 0, None, 0),
        process(2, 1, Some(EndStatus::Signaled(9)), 9 * SECOND),
    ];
    let tree = Tree {
        processes,
        root: Some(0),
        root_raised_alone: false,
    };
    assert_eq!(tree.subject(Liveness::Running), Subject::Hang(1));
    assert_eq!(tree.subject(Liveness::SupervisorLost), Subject::Death(1));
}
