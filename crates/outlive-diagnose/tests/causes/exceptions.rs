//! Ends by an exception that nobody caught.

use outlive_diagnose::facts::EndStatus;
use outlive_diagnose::thread_exceptions::ThreadException;
use outlive_diagnose::{Confidence, VerdictId};
use outlive_record::kind::{Attribution, ExceptionKind};
use outlive_record::write::ExceptionFacts;

use crate::scene::{ROOT, SECOND, Scene};

#[test]
fn exceptions_are_known_by_their_words() {
    for (type_name, message, verdict) in [
        (
            "RuntimeError",
            "can't start new thread",
            VerdictId::ThreadsExhausted,
        ),
        (
            "OSError",
            "[Errno 24] Too many open files: 'a'",
            VerdictId::DescriptorsExhausted,
        ),
        (
            "RuntimeError",
            "received 0 items of ancdata",
            VerdictId::DescriptorsExhausted,
        ),
        (
            "OSError",
            "[Errno 28] No space left on device: '/data/x'",
            VerdictId::DiskFull,
        ),
        (
            "OSError",
            "[Errno 27] File too large",
            VerdictId::FileSizeLimit,
        ),
        (
            "RuntimeError",
            "Cannot re-initialize CUDA in forked subprocess.",
            VerdictId::ForkAfterCuda,
        ),
        (
            "NVMLError",
            "Failed to initialize NVML: Driver/library version mismatch",
            VerdictId::DriverMismatch,
        ),
        (
            "ImportError",
            "numpy.core.multiarray failed to import",
            VerdictId::NumpyAbiMismatch,
        ),
        (
            "AttributeError",
            "_ARRAY_API not found",
            VerdictId::NumpyAbiMismatch,
        ),
        ("KeyboardInterrupt", "", VerdictId::Interrupted),
        (
            "ValueError",
            "shapes do not match",
            VerdictId::UncaughtException,
        ),
    ] {
        Scene::raised(type_name, message).expect(verdict, Confidence::Proved);
    }
}

#[test]
fn exceptions_for_want_of_memory_are_known_without_standard_error() {
    for (type_name, message, verdict) in [
        ("MemoryError", "", VerdictId::AllocationRefused),
        (
            "RuntimeError",
            "[enforce fail at alloc_cpu.cpp:121] . DefaultCPUAllocator: can't allocate memory: \
             you tried to allocate 4000000000000 bytes. Error code 12 (Cannot allocate memory)",
            VerdictId::AllocationRefused,
        ),
        (
            "ResourceExhaustedError",
            "{{function_node __wrapped__Fill}} OOM when allocating tensor with shape[9,9] and \
             type float on /job:localhost/replica:0/task:0/device:CPU:0 by allocator cpu",
            VerdictId::AllocationRefused,
        ),
        (
            "ResourceExhaustedError",
            "{{function_node __wrapped__Fill}} OOM when allocating tensor with shape[9,9] and \
             type float on /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc",
            VerdictId::GpuOutOfMemory,
        ),
        (
            "OutOfMemoryError",
            "CUDA out of memory. Tried to allocate 20.00 GiB. GPU 0 has a total capacity of",
            VerdictId::GpuOutOfMemory,
        ),
        (
            "XlaRuntimeError",
            "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 137438953472 bytes.",
            VerdictId::GpuOutOfMemory,
        ),
    ] {
        Scene::raised(type_name, message).expect(verdict, Confidence::Proved);
    }
}

#[test]
fn an_uncaught_exception_tells_its_line() {
    let diagnosis = Scene::raised("ValueError", "shapes do not match")
        .expect(VerdictId::UncaughtException, Confidence::Proved);
    assert!(
        diagnosis
            .verdict
            .summary
            .ends_with("ValueError at /home/a/train.py:2 in step")
    );
    assert_eq!(diagnosis.exceptions.len(), 1);
}

#[test]
fn a_childs_code_explains_only_an_exception_that_speaks_of_it() {
    let scene = |type_name, message| {
        Scene::raised(type_name, message)
            .process(101, ROOT, Some(EndStatus::Exited(3)), 89 * SECOND)
            .with_box(101, |_| {})
    };
    let first = |scene: Scene| scene.diagnose().first_death.unwrap().facts.id.pid;
    assert_eq!(first(scene("ZeroDivisionError", "division by zero")), ROOT);
    let told = "DataLoader worker (pid(s) 101) exited unexpectedly";
    assert_eq!(first(scene("RuntimeError", told)), 101);
}

#[test]
fn a_gpu_fault_is_proved_by_its_xid() {
    let scene = || Scene::raised("RuntimeError", "CUDA error: unspecified launch failure");
    scene().expect(VerdictId::GpuFault, Confidence::Likely);
    let diagnosis = scene()
        .logged(&["NVRM: Xid (PCI:0000:01:00): 79, pid=1, GPU has fallen off the bus."])
        .expect(VerdictId::GpuFault, Confidence::Proved);
    assert!(diagnosis.verdict.advice[0].contains("The GPU was lost"));
}

#[test]
fn an_import_error_at_the_start_is_told_from_one_later() {
    let early = || {
        Scene::raised("ModuleNotFoundError", "No module named 'torhc'").of(ROOT, |process| {
            process.ended_at = Some(5 * SECOND);
        })
    };
    early().expect(VerdictId::FailedAtStart, Confidence::Proved);
    Scene::raised("ModuleNotFoundError", "No module named 'torhc'")
        .expect(VerdictId::UncaughtException, Confidence::Proved);
    Scene::ended(EndStatus::Exited(127)).expect(VerdictId::FailedAtStart, Confidence::Proved);
}

const TRACEBACK: &str =
    "Traceback (most recent call last):\n  File \"a.py\", line 1\nAssertionError: 1 != 2\n";

#[test]
fn a_traceback_on_standard_error_stands_in_where_no_record_could_be_made() {
    Scene::ended(EndStatus::Exited(1))
        .with_box(ROOT, |writer| {
            writer.set_python(0x030F_0100, Attribution::Unsupported);
            writer.add_stderr(TRACEBACK.as_bytes());
        })
        .expect(VerdictId::UncaughtException, Confidence::Likely);
    // What ends a child of `multiprocessing` is caught there and printed.
    Scene::ended(EndStatus::Exited(1))
        .said(&format!("Process ForkProcess-1:\n{TRACEBACK}"))
        .expect(VerdictId::UncaughtException, Confidence::Likely);
}

#[test]
fn an_exception_that_was_caught_and_printed_ended_nothing() {
    let scene = |text: &str| Scene::ended(EndStatus::Exited(1)).said(text);
    let diagnosis = scene(TRACEBACK).expect(VerdictId::ExitedWithCode, Confidence::Proved);
    let told = "standard error last showed AssertionError: 1 != 2";
    assert_eq!(diagnosis.verdict.evidence[1..], [told]);
    let diagnosis = scene(&format!(
        "{TRACEBACK}\nRan 1 test in 0.000s\n\nFAILED (failures=1)\n"
    ))
    .expect(VerdictId::ExitedWithCode, Confidence::Proved);
    assert_eq!(
        diagnosis.verdict.evidence[1..],
        ["standard error: FAILED (failures=1)", told]
    );
    scene(&TRACEBACK.replace("AssertionError: 1 != 2", "MemoryError"))
        .expect(VerdictId::ExitedWithCode, Confidence::Proved);
}

#[test]
fn a_program_that_is_not_there_is_quoted_as_it_was_told() {
    for line in [
        "python: can't open file '/home/a/nofile.py': [Errno 2] No such file or directory",
        "/usr/bin/python: No module named nothing",
    ] {
        let diagnosis = Scene::ended(EndStatus::Exited(2))
            .said(line)
            .of(ROOT, |process| process.ended_at = Some(5 * SECOND))
            .expect(VerdictId::FailedAtStart, Confidence::Proved);
        assert_eq!(
            diagnosis.verdict.evidence[1],
            format!("standard error: {line}")
        );
    }
}

#[test]
fn an_exception_that_ended_a_thread_is_told_whatever_the_verdict() {
    let scene = |code| {
        Scene::ended(EndStatus::Exited(code)).with_box(ROOT, |writer| {
            writer.add_exception(&ExceptionFacts {
                kind: ExceptionKind::Thread,
                tid: ROOT + 1,
                time: 80 * SECOND,
                thread: b"loader",
                type_name: b"RuntimeError",
                message: b"no such shard",
                traceback: b"/usr/lib/python3.12/threading.py:9 in run\n/home/a/thr.py:3 in work",
            });
            writer.add_stderr(b"Traceback (most recent call last):\nRuntimeError: no such shard\n");
        })
    };
    for (code, verdict) in [(0, VerdictId::Finished), (2, VerdictId::ExitedWithCode)] {
        let diagnosis = scene(code).expect(verdict, Confidence::Proved);
        let told: Vec<String> = diagnosis
            .thread_exceptions
            .iter()
            .map(ThreadException::describe)
            .collect();
        assert_eq!(
            told,
            ["loader: RuntimeError: no such shard at /home/a/thr.py:3 in work"]
        );
        let verdict = &diagnosis.verdict;
        assert!(!verdict.summary.contains("RuntimeError"), "{verdict:#?}");
    }
}
