//! Ends that are no deaths, and runs without an end.

use outlive_diagnose::facts::{Change, EndStatus, RunFacts, StatusSource};
use outlive_diagnose::{Confidence, Liveness, VerdictId};
use outlive_record::kind::ChildKind;
use outlive_record::write::{FatalFacts, StackId};

use crate::scene::{GIB, MIB, ROOT, SECOND, Scene};

#[test]
fn a_good_end_says_so() {
    let scene = Scene::ended(EndStatus::Exited(0)).process(
        101,
        ROOT,
        Some(EndStatus::Signaled(9)),
        50 * SECOND,
    );
    let diagnosis = scene.expect(VerdictId::Finished, Confidence::Proved);
    assert!(diagnosis.first_death.is_none());
    assert!(diagnosis.verdict.summary.contains("finished after 100 s"));
}

#[test]
fn a_code_is_told_as_it_is() {
    Scene::ended(EndStatus::Exited(3))
        .with_box(ROOT, |_| {})
        .expect(VerdictId::ExitedWithCode, Confidence::Proved);
}

fn unfinished(liveness: Liveness) -> Scene {
    Scene::killed(9)
        .of(ROOT, |process| {
            process.status = None;
            process.ended_at = None;
        })
        .while_it_is(liveness)
}

#[test]
fn a_run_in_progress_says_so() {
    unfinished(Liveness::Running).expect(VerdictId::Running, Confidence::Proved);
}

#[test]
fn a_run_whose_worker_died_may_hang() {
    let diagnosis = unfinished(Liveness::Running)
        .process(101, ROOT, Some(EndStatus::Signaled(9)), 50 * SECOND)
        .counted(1)
        .expect(VerdictId::Hang, Confidence::Likely);
    assert_eq!(diagnosis.first_death.unwrap().facts.id.pid, 101);
    assert!(diagnosis.verdict.evidence[0].contains("Out of memory"));
}

#[test]
fn a_worker_that_only_its_parent_saw_die_counts_too() {
    let diagnosis = unfinished(Liveness::Running)
        .process(101, ROOT, None, 0)
        .with_box(ROOT, |writer| {
            writer.add_child(ChildKind::Reaped, 50 * SECOND, 101, 9, StackId(0));
        })
        .expect(VerdictId::Hang, Confidence::Likely);
    assert_eq!(diagnosis.first_death.unwrap().facts.id.pid, 101);
}

#[test]
fn without_an_end_nothing_is_claimed() {
    let diagnosis = unfinished(Liveness::SupervisorLost)
        .expect(VerdictId::SupervisorLost, Confidence::Unproved);
    assert_eq!(
        diagnosis.verdict.summary,
        "No end was recorded: Outlive was killed, and the program with it"
    );
    let diagnosis = unfinished(Liveness::SupervisorLost)
        .with_box(ROOT, |_| {})
        .with_samples(ROOT, &[(60, 3 * GIB, 4 * GIB - MIB)])
        .expect(VerdictId::SupervisorLost, Confidence::Unproved);
    assert!(
        diagnosis
            .verdict
            .evidence
            .iter()
            .any(|line| line.contains("nearly gone"))
    );
}

#[test]
fn a_lost_run_is_explained_by_counters_that_moved() {
    let lost = || unfinished(Liveness::SupervisorLost);
    let moved = Some(Change {
        before: 7,
        after: 9,
    });
    // Any process of the machine moves this one.
    let machine = |run: &mut RunFacts| run.vmstat_oom_kill = moved;
    lost()
        .with(machine)
        .expect(VerdictId::SupervisorLost, Confidence::Unproved);
    lost()
        .with(machine)
        .with_box(ROOT, |_| {})
        .with_samples(ROOT, &[(60, 3 * GIB, 4 * GIB - MIB)])
        .expect(VerdictId::OutOfMemoryCgroup, Confidence::Likely);
    lost()
        .with(|run| run.cgroups[0].oom_kill = moved)
        .expect(VerdictId::OutOfMemoryCgroup, Confidence::Likely);
    lost()
        .with(|run| run.cgroups[0].oom_group_kill = moved)
        .expect(VerdictId::OutOfMemoryGroupKill, Confidence::Proved);
}

#[test]
fn a_lost_run_is_explained_by_the_kernel_log() {
    let lost = || {
        unfinished(Liveness::SupervisorLost)
            .of(ROOT, |process| {
                process.status = Some(EndStatus::Signaled(9));
                process.status_source = StatusSource::KernelLog;
                process.ended_at = Some(70 * SECOND);
            })
            .counted(1)
            .logged(&[
                "[   70.000000] oom-kill:constraint=CONSTRAINT_MEMCG,oom_memcg=/job,task=python,pid=100",
                "[   70.000001] Memory cgroup out of memory: Killed process 100 (python) anon-rss:9kB",
            ])
    };
    let diagnosis = lost().expect(VerdictId::OutOfMemoryCgroup, Confidence::Proved);
    assert_eq!(
        diagnosis.verdict.evidence[0],
        "killed by SIGKILL (signal 9), as the kernel log says: nobody was left to wait for it"
    );
    lost()
        .with(|run| run.cgroups[0].oom_group = true)
        .expect(VerdictId::OutOfMemoryGroupKill, Confidence::Proved);
}

#[test]
fn a_lost_supervisor_leaves_the_black_box() {
    let fatal = FatalFacts {
        signal: 11,
        code: 1,
        time: 70 * SECOND,
        ..FatalFacts::default()
    };
    unfinished(Liveness::SupervisorLost)
        .with_box(ROOT, |writer| {
            writer.add_fatal(&fatal, None).unwrap();
        })
        .expect(VerdictId::SegmentationFault, Confidence::Proved);
}
