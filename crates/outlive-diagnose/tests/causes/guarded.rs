//! Requests that Outlive refused, caught and not.

use outlive_diagnose::facts::{BudgetFacts, EndStatus};
use outlive_diagnose::interventions::Deed;
use outlive_diagnose::{Confidence, VerdictId};
use outlive_record::kind::{EventKind, ExceptionKind};
use outlive_record::ledger::reserve_of;
use outlive_record::write::{BoxWriter, ExceptionFacts, FatalFacts, StackFacts, StackId, StringId};

use crate::holding::{acquire, code, stack};
use crate::scene::{GIB, MIB, ROOT, SECOND, Scene};

/// Of the cgroup of every scene, less its reserve.
pub(crate) const BUDGET: u64 = 4 * GIB - reserve_of(4 * GIB);

pub(crate) fn raise(writer: &BoxWriter, type_name: &str, message: &str) {
    writer.add_exception(&ExceptionFacts {
        kind: ExceptionKind::Main,
        tid: ROOT,
        time: 89 * SECOND,
        thread: b"MainThread",
        type_name: type_name.as_bytes(),
        message: message.as_bytes(),
        traceback: b"/home/a/train.py:30 in main\n/home/a/train.py:17 in step",
    });
}

pub(crate) fn refuse(writer: &BoxWriter, time: u64, bytes: u64, stack: StackId) {
    let headroom = (GIB + GIB / 2) as i64;
    writer.add_event(
        EventKind::Refused,
        time,
        ROOT,
        bytes,
        BUDGET,
        stack,
        headroom,
    );
}

/// A line of the user's.
pub(crate) fn line(writer: &BoxWriter, number: u32) -> StackId {
    let code = code(writer, "train.py", "step", number);
    stack(writer, &[code])
}

pub(crate) fn guarded(
    refusals: u64,
    stops: u64,
) -> impl FnOnce(&mut outlive_diagnose::facts::RunFacts) {
    move |run| {
        run.budget = Some(BudgetFacts {
            asked: "auto".to_owned(),
            at_start: BUDGET,
            at_end: BUDGET,
            source: "memory cgroup /job".to_owned(),
            source_limit: 4 * GIB,
            headroom_lowest: (12 * MIB) as i64,
            refusals,
            stops,
            ..BudgetFacts::default()
        });
    }
}

pub(crate) fn has(lines: &[String], part: &str) -> bool {
    lines.iter().any(|line| line.contains(part))
}

#[test]
fn a_refusal_is_told_with_the_line_the_room_and_the_budget() {
    for (type_name, message) in [
        ("MemoryError", ""),
        (
            "RuntimeError",
            "[enforce fail at alloc_cpu.cpp:121] . DefaultCPUAllocator: can't allocate memory",
        ),
        (
            "ResourceExhaustedError",
            "OOM when allocating tensor on device:CPU:0 by allocator cpu",
        ),
        (
            "XlaRuntimeError",
            "RESOURCE_EXHAUSTED: Out of memory allocating 2147483648 bytes.",
        ),
    ] {
        let diagnosis = Scene::ended(EndStatus::Exited(1))
            .with_box(ROOT, |writer| {
                refuse(writer, 88 * SECOND, 2 * GIB, line(writer, 17));
                raise(writer, type_name, message);
            })
            .with(guarded(1, 0))
            .expect(VerdictId::AllocationRefused, Confidence::Proved);
        let verdict = &diagnosis.verdict;
        assert_eq!(
            verdict.summary,
            "Outlive refused python (pid 100) 2.0 GiB at train.py:17 in step: only 1.5 GiB were \
             left of the budget of 4.0 GiB (memory cgroup /job), and nothing caught the exception"
        );
        assert!(has(
            &verdict.evidence,
            "black box: Outlive refused a request for 2.0 GiB at"
        ));
        assert_eq!(
            verdict.advice[0],
            "Ask for less at train.py:17 in step: 2.0 GiB were refused there"
        );
        assert!(has(
            &verdict.advice,
            "raise the limit of memory cgroup /job"
        ));
        assert!(
            !has(&verdict.advice, "sparse"),
            "it would fit: {verdict:#?}"
        );
        let caught = format!("`except {type_name}` around it");
        assert!(has(&verdict.advice, &caught), "{verdict:#?}");
        assert_eq!(diagnosis.intervention.as_ref().unwrap().deed, Deed::Refused);
        assert!(diagnosis.remarks.is_empty(), "{:?}", diagnosis.remarks);
    }
}

#[test]
fn a_request_beyond_the_whole_budget_may_be_meant_to_stay_empty() {
    let diagnosis = Scene::ended(EndStatus::Exited(1))
        .with_box(ROOT, |writer| {
            refuse(writer, 88 * SECOND, 900 * GIB, line(writer, 17));
            raise(writer, "MemoryError", "Unable to allocate 900. GiB");
        })
        .with(guarded(1, 0))
        .expect(VerdictId::AllocationRefused, Confidence::Proved);
    assert!(has(
        &diagnosis.verdict.advice,
        "`outlive run --allow-sparse`"
    ));
}

#[test]
fn of_several_attempts_in_a_row_the_first_wish_is_told() {
    let diagnosis = Scene::ended(EndStatus::Exited(1))
        .with_box(ROOT, |writer| {
            let place = line(writer, 17);
            refuse(writer, 20 * SECOND, 3 * GIB, line(writer, 5));
            for (number, bytes) in (0..).zip([2 * GIB, GIB, GIB / 2]) {
                refuse(writer, 88 * SECOND + number, bytes, place);
            }
            raise(writer, "MemoryError", "");
        })
        .with(guarded(4, 0))
        .expect(VerdictId::AllocationRefused, Confidence::Proved);
    let intervention = diagnosis.intervention.unwrap();
    assert_eq!((intervention.bytes, intervention.attempts), (2 * GIB, 3));
    assert_eq!(
        diagnosis.remarks,
        ["Besides, Outlive refused 1 request in this run"]
    );
}

#[test]
fn the_line_that_holds_most_is_named_too_where_little_was_asked_for() {
    let diagnosis = Scene::ended(EndStatus::Exited(1))
        .with_box(ROOT, |writer| {
            acquire(writer, line(writer, 8), 3 * GIB, 0);
            refuse(writer, 88 * SECOND, 200 * MIB, line(writer, 17));
            raise(writer, "MemoryError", "");
        })
        .with(guarded(1, 0))
        .expect(VerdictId::AllocationRefused, Confidence::Proved);
    let advice = &diagnosis.verdict.advice;
    assert!(
        advice[0].starts_with("Ask for less at train.py:17 in step"),
        "{advice:#?}"
    );
    assert!(
        advice[1].starts_with("Start at train.py:8 in step: it held 3.0 GiB"),
        "{advice:#?}"
    );
}

#[test]
fn a_refusal_that_was_caught_is_a_remark_whatever_the_end() {
    let with_refusals = |scene: Scene, count| {
        scene
            .with_box(ROOT, |writer| {
                refuse(writer, 88 * SECOND, 2 * GIB, line(writer, 17));
                writer.add_note(88 * SECOND, b"Refused a request for 2048 MiB: 1 MiB left");
            })
            .with(guarded(count, 0))
    };
    let finished = with_refusals(Scene::ended(EndStatus::Exited(0)), 3)
        .expect(VerdictId::Finished, Confidence::Proved);
    assert_eq!(
        finished.remarks,
        [
            "Outlive refused 3 requests, and the program went on; the last was 2.0 GiB at train.py:17 in \
         step: only 1.5 GiB were left of the budget of 4.0 GiB (memory cgroup /job)"
        ]
    );
    let exited = with_refusals(Scene::ended(EndStatus::Exited(3)), 1)
        .expect(VerdictId::ExitedWithCode, Confidence::Proved);
    assert_eq!(
        exited.remarks,
        [
            "Outlive refused 1 request, and the program went on; it was 2.0 GiB at train.py:17 in step: \
         only 1.5 GiB were left of the budget of 4.0 GiB (memory cgroup /job)"
        ]
    );
    assert!(exited.intervention.is_none());
    let other = Scene::ended(EndStatus::Exited(1))
        .with_box(ROOT, |writer| {
            refuse(writer, 88 * SECOND, 2 * GIB, line(writer, 17));
            raise(writer, "ValueError", "shapes do not match");
        })
        .with(guarded(1, 2))
        .expect(VerdictId::UncaughtException, Confidence::Proved);
    assert_eq!(
        other.remarks,
        [
            "Outlive refused 1 request and stopped growth 2 times, and the program went on; the last \
         was 2.0 GiB at train.py:17 in step: only 1.5 GiB were left of the budget of 4.0 GiB \
         (memory cgroup /job)"
        ]
    );
}

#[test]
fn a_refusal_of_long_ago_or_before_the_systems_own_is_not_blamed() {
    let later = |fill: fn(&BoxWriter)| {
        Scene::ended(EndStatus::Exited(1))
            .with_box(ROOT, |writer| {
                fill(writer);
                raise(writer, "MemoryError", "");
            })
            .with(guarded(1, 0))
            .expect(VerdictId::AllocationRefused, Confidence::Proved)
    };
    let long_ago = later(|writer| refuse(writer, 10 * SECOND, GIB, line(writer, 17)));
    assert!(long_ago.intervention.is_none());
    assert!(!long_ago.verdict.summary.contains("Outlive"));
    let by_system = later(|writer| {
        refuse(writer, 87 * SECOND, GIB, line(writer, 17));
        let kind = EventKind::Failed;
        writer.add_event(kind, 88 * SECOND, ROOT, 9 * GIB, 0, StackId(0), 0);
    });
    assert!(by_system.intervention.is_none());
    assert!(has(
        &by_system.verdict.evidence,
        "the system refused a request for 9.0 GiB"
    ));
}

#[test]
fn the_gpus_memory_is_not_the_guards() {
    Scene::ended(EndStatus::Exited(1))
        .with_box(ROOT, |writer| {
            refuse(writer, 88 * SECOND, GIB, line(writer, 17));
            raise(
                writer,
                "torch.OutOfMemoryError",
                "CUDA out of memory. Tried",
            );
        })
        .with(guarded(1, 0))
        .expect(VerdictId::GpuOutOfMemory, Confidence::Proved);
}

#[test]
fn native_code_that_aborts_is_named_with_its_library() {
    let diagnosis = Scene::killed(6)
        .with_box(ROOT, |writer| {
            let facts = StackFacts {
                kind: outlive_record::kind::StackKind::Python,
                thread: StringId(0),
                library: writer.add_string(b"/v/polars/polars.abi3.so").unwrap(),
                creator: StackId(0),
                flags: 0,
            };
            let code = code(writer, "train.py", "step", 17);
            let stack = writer.add_stack(&facts, [(code, 2)].into_iter()).unwrap();
            refuse(writer, 88 * SECOND, 2 * GIB, stack);
            writer.add_stderr(b"memory allocation of 2147483648 bytes failed\n");
            let fatal = FatalFacts {
                signal: 6,
                time: 88 * SECOND + 5,
                ..FatalFacts::default()
            };
            let record = writer.add_fatal(&fatal, None).unwrap();
            writer.finish_fatal(record);
        })
        .with(guarded(1, 0))
        .expect(VerdictId::CxxAllocationRefused, Confidence::Proved);
    assert!(
        diagnosis.verdict.summary.starts_with(
            "Native code (polars.abi3.so) in python (pid 100) aborted when Outlive refused it \
             2.0 GiB at train.py:17 in step: only 1.5 GiB were left"
        ),
        "{:#?}",
        diagnosis.verdict
    );
}

#[test]
fn the_users_own_limit_is_named_and_is_the_trees() {
    let limit = GIB;
    let scene = Scene::ended(EndStatus::Exited(1))
        .with_box(ROOT, |writer| {
            let budget = limit - reserve_of(limit);
            let kind = EventKind::Refused;
            let place = line(writer, 17);
            writer.add_event(kind, 88 * SECOND, ROOT, GIB, budget, place, -5);
            raise(writer, "MemoryError", "");
        })
        .with(guarded(1, 0))
        .with(|run| {
            run.peak_memory = 3 * GIB;
            run.budget.as_mut().unwrap().limit = Some(limit);
        });
    let diagnosis = scene.expect(VerdictId::AllocationRefused, Confidence::Proved);
    assert!(
        diagnosis
            .verdict
            .summary
            .contains("nothing was left of the budget of 1.0 GiB (--limit)"),
        "{}",
        diagnosis.verdict.summary
    );
    assert!(has(&diagnosis.verdict.advice, "raise `--limit`"));
    let memory = &diagnosis.memory;
    assert_eq!(
        (memory.limit, memory.limit_source.as_str(), memory.peak),
        (Some(limit), "--limit", 3 * GIB)
    );
}
