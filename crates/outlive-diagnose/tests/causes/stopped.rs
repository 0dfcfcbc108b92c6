//! Growth that Outlive stopped, exceptions that a parent got from its worker, and a kill in spite
//! of it all.

use outlive_diagnose::facts::EndStatus;
use outlive_diagnose::{Confidence, Diagnosis, VerdictId};
use outlive_record::kind::EventKind;
use outlive_record::write::{Acquisition, BoxWriter, StackId};

use crate::guarded::{BUDGET, guarded, has, line, raise, refuse};
use crate::holding::acquire;
use crate::scene::{GIB, MIB, ROOT, SECOND, Scene, id};

pub(crate) fn stop(writer: &BoxWriter, time: u64, stack: StackId) {
    let headroom = (20 * MIB) as i64;
    let used = BUDGET - 20 * MIB;
    writer.add_event(
        EventKind::Stopped,
        time,
        ROOT,
        used,
        BUDGET,
        stack,
        headroom,
    );
}

#[test]
fn stopped_growth_is_told_with_the_line_that_grew() {
    let diagnosis = Scene::ended(EndStatus::Exited(1))
        .with_box(ROOT, |writer| {
            // Loaded long ago, and more than what grew.
            let loaded = line(writer, 8);
            writer.acquire(&Acquisition {
                stack: loaded,
                bytes: 2 * GIB,
                request: 2 * GIB,
                flags: 0,
                time: 10 * SECOND,
            });
            let grown = line(writer, 17);
            writer.acquire(&Acquisition {
                stack: grown,
                bytes: GIB,
                request: MIB,
                flags: 0,
                time: 88 * SECOND,
            });
            stop(writer, 88 * SECOND, StackId(0));
            let message = "Growth was stopped with 20 MiB of headroom left\n  held by 1.0 GiB";
            raise(writer, "outlive.OutOfHeadroom", message);
        })
        .with(guarded(0, 1))
        .expect(VerdictId::GrowthStopped, Confidence::Proved);
    let verdict = &diagnosis.verdict;
    assert_eq!(
        verdict.summary,
        "Outlive stopped the growth of python (pid 100): only 20 MiB were left of the budget of \
         4.0 GiB (memory cgroup /job), and nothing caught the exception"
    );
    assert!(verdict.advice[0].starts_with("Start at train.py:17 in step: it held 1.0 GiB"));
    assert!(has(
        &verdict.evidence,
        "it was raised at /home/a/train.py:17 in step"
    ));
    assert!(!has(&verdict.evidence, "held by"), "{verdict:#?}");
    assert_eq!(diagnosis.holders[0].place.describe(), "train.py:8 in step");
}

/// The root raises again what a worker met; the worker ends in order.
fn carried_over(fill: impl FnOnce(&BoxWriter), type_name: &str, message: &str) -> Diagnosis {
    Scene::ended(EndStatus::Exited(1))
        .with_box(ROOT, |writer| raise(writer, type_name, message))
        .process(101, ROOT, Some(EndStatus::Exited(0)), 89 * SECOND)
        .with_box(101, |writer| {
            acquire(writer, line(writer, 9), GIB, 0);
            fill(writer);
        })
        .process(102, ROOT, Some(EndStatus::Exited(0)), 89 * SECOND)
        .with_box(102, |_| {})
        .with(guarded(1, 1))
        .diagnose()
}

#[test]
fn an_exception_of_a_worker_that_its_parent_raises_is_explained_by_the_worker() {
    let diagnosis = carried_over(
        |writer| stop(writer, 88 * SECOND, StackId(0)),
        "outlive.OutOfHeadroom",
        "Caught OutOfHeadroom in DataLoader worker process 0.\nOriginal Traceback",
    );
    assert_eq!(diagnosis.verdict.id, VerdictId::GrowthStopped);
    assert!(
        diagnosis
            .verdict
            .summary
            .starts_with("Outlive stopped the growth of python (pid 101): ")
            && diagnosis
                .verdict
                .summary
                .ends_with("and python (pid 100) did not catch its exception"),
        "{:#?}",
        diagnosis.verdict
    );
    assert_eq!(diagnosis.shown, Some(id(101)));
    assert!(diagnosis.verdict.advice[0].starts_with("Start at train.py:9 in step"));
    assert_eq!(diagnosis.first_death.unwrap().facts.id, id(ROOT));

    let diagnosis = carried_over(
        |writer| refuse(writer, 88 * SECOND, 2 * GIB, line(writer, 33)),
        "MemoryError",
        "",
    );
    assert_eq!(diagnosis.verdict.id, VerdictId::AllocationRefused);
    assert_eq!(
        diagnosis.verdict.advice[0],
        "Ask for less at train.py:33 in step: 2.0 GiB were refused there"
    );
    assert_eq!(diagnosis.intervention.unwrap().process, id(101));
}

#[test]
fn a_worker_that_ends_later_does_not_hide_the_exception_of_its_parent() {
    let diagnosis = Scene::ended(EndStatus::Exited(1))
        .with_box(ROOT, |writer| {
            let message = "Growth was stopped with 20 MiB of headroom left (cgroup /process/a)";
            raise(writer, "outlive.OutOfHeadroom", message);
        })
        .process(101, ROOT, Some(EndStatus::Exited(1)), 89 * SECOND)
        .with_box(101, |writer| {
            stop(writer, 88 * SECOND, line(writer, 9));
            writer.add_stderr(b"Process Process-1:\nTraceback (most recent call last):\n");
            writer.add_stderr(b"EOFError: Ran out of input\n");
        })
        .with(guarded(0, 1))
        .expect(VerdictId::GrowthStopped, Confidence::Proved);
    assert_eq!(diagnosis.first_death.unwrap().facts.id, id(ROOT));
    assert_eq!(diagnosis.shown, Some(id(101)));
}

#[test]
fn a_pool_that_breaks_right_after_broke_of_the_stop() {
    let scene = |time: u64| {
        Scene::ended(EndStatus::Exited(1))
            .with_box(ROOT, |writer| {
                let name = "concurrent.futures.process.BrokenProcessPool";
                raise(
                    writer,
                    name,
                    "A process in the pool was terminated abruptly",
                );
            })
            .process(101, ROOT, Some(EndStatus::Exited(0)), 89 * SECOND)
            .with_box(101, move |writer| stop(writer, time, line(writer, 9)))
            .with(guarded(0, 1))
    };
    let diagnosis = scene(88 * SECOND).expect(VerdictId::GrowthStopped, Confidence::Likely);
    let summary = &diagnosis.verdict.summary;
    assert!(
        summary.starts_with("Outlive stopped the growth of python (pid 101) at train.py:9")
            && summary.ends_with("and right after that the pool of python (pid 100) broke"),
        "{summary}"
    );
    scene(40 * SECOND).expect(VerdictId::UncaughtException, Confidence::Proved);
}

#[test]
fn a_kill_in_spite_of_the_guard_is_explained_and_says_how_little_was_left() {
    let diagnosis = Scene::killed(9)
        .counted(1)
        .with(guarded(2, 0))
        .expect(VerdictId::OutOfMemoryCgroup, Confidence::Proved);
    assert!(has(
        &diagnosis.remarks,
        "The guard was on: the lowest headroom it saw was 12 MiB"
    ));
    assert!(has(
        &diagnosis.remarks,
        "Outlive refused 2 requests, and the program went on"
    ));
}

#[test]
fn the_end_of_a_long_message_is_read_on_standard_error() {
    let long = format!(
        "Caught RuntimeError in DataLoader worker process 0.\nOriginal Traceback\n{}",
        "  File \"/v/lib/python3.12/site-packages/torch/utils/data/worker.py\"\n".repeat(30)
    );
    let scene = |message: &str| {
        Scene::ended(EndStatus::Exited(1))
            .with_box(ROOT, |writer| {
                raise(writer, "RuntimeError", message);
                writer.add_stderr(b"RuntimeError: DefaultCPUAllocator: can't allocate memory\n");
            })
            .process(101, ROOT, Some(EndStatus::Exited(0)), 89 * SECOND)
            .with_box(101, |writer| {
                refuse(writer, 88 * SECOND, 2 * GIB, line(writer, 9));
            })
            .with(guarded(1, 0))
    };
    let diagnosis = scene(&long).expect(VerdictId::AllocationRefused, Confidence::Proved);
    assert_eq!(diagnosis.intervention.unwrap().process, id(101));
    scene("short").expect(VerdictId::UncaughtException, Confidence::Proved);
}

#[test]
fn a_child_that_fails_right_after_without_a_word_failed_of_it() {
    let child = |seconds_before: u64| {
        Scene::raised("RuntimeError", "worker process failed with 1")
            .process(101, ROOT, Some(EndStatus::Exited(1)), 80 * SECOND)
            .with_box(101, |writer| {
                stop(writer, (80 - seconds_before) * SECOND, line(writer, 9));
            })
            .with(guarded(0, 1))
    };
    let diagnosis = child(1).expect(VerdictId::GrowthStopped, Confidence::Likely);
    assert_eq!(diagnosis.first_death.unwrap().facts.id, id(101));
    assert!(
        diagnosis
            .verdict
            .summary
            .ends_with("and right after that it ended itself with exit code 1"),
        "{:#?}",
        diagnosis.verdict
    );
    assert!(diagnosis.remarks.is_empty(), "{:?}", diagnosis.remarks);
    child(30).expect(VerdictId::ExitedWithCode, Confidence::Proved);
}

#[test]
fn a_program_that_gives_up_by_itself_is_told_what_came_before() {
    let diagnosis = Scene::ended(EndStatus::Exited(1))
        .with_box(ROOT, |writer| {
            refuse(writer, 89 * SECOND, 2 * GIB, line(writer, 9));
        })
        .with(guarded(1, 0))
        .expect(VerdictId::ExitedWithCode, Confidence::Proved);
    assert!(has(
        &diagnosis.verdict.evidence,
        "Outlive refused a request for 2.0 GiB"
    ));
}

#[test]
fn a_program_that_shows_its_refusal_and_gives_up_failed_of_it() {
    let scene = |shown: &'static str| {
        Scene::ended(EndStatus::Exited(1))
            .with_box(ROOT, move |writer| {
                refuse(writer, 89 * SECOND, 85 * MIB, line(writer, 9));
                writer.add_stderr(b"Traceback (most recent call last):\n  File \"train.py\"\n");
                writer.add_stderr(shown.as_bytes());
            })
            .with(guarded(1, 0))
    };
    let shown =
        "tf.errors_impl.ResourceExhaustedError: Error in user-defined function passed to it\n";
    let diagnosis = scene(shown).expect(VerdictId::AllocationRefused, Confidence::Likely);
    let evidence = &diagnosis.verdict.evidence;
    assert!(has(evidence, "standard error: tf.errors_impl.Resource"));
    assert!(has(evidence, "Outlive refused a request for 85 MiB"));
    scene("ValueError: shapes do not match\n")
        .expect(VerdictId::ExitedWithCode, Confidence::Proved);
}

#[test]
fn words_on_standard_error_are_proof_beside_the_record_of_the_stop() {
    let said = "Process Process-1:\nTraceback (most recent call last):\n  File \"train.py\", line 9\n\
                outlive.OutOfHeadroom: Growth was stopped\n";
    let scene = |fill: fn(&BoxWriter)| {
        Scene::ended(EndStatus::Exited(1))
            .with_box(ROOT, |writer| {
                fill(writer);
                writer.add_stderr(said.as_bytes());
            })
            .with(guarded(0, 1))
    };
    scene(|writer| stop(writer, 89 * SECOND, StackId(0)))
        .expect(VerdictId::GrowthStopped, Confidence::Proved);
    scene(|_| {}).expect(VerdictId::GrowthStopped, Confidence::Likely);
}
