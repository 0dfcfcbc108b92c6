//! Faults and aborts.

use outlive_diagnose::facts::{Change, EndStatus, FilesystemFacts};
use outlive_diagnose::{Confidence, Liveness, VerdictId};
use outlive_record::write::FatalFacts;

use crate::scene::{GIB, ROOT, SECOND, Scene};

fn shared_memory(scene: Scene, free: u64) -> Scene {
    scene.with(|run| {
        run.shared_memory = Some(FilesystemFacts {
            path: "/dev/shm".to_owned(),
            total: GIB,
            free: GIB / 2,
            free_lowest: free,
        });
    })
}

#[test]
fn a_bus_error_with_full_shared_memory_is_that() {
    shared_memory(Scene::killed(7), 0).expect(VerdictId::SharedMemoryFull, Confidence::Proved);
    let words = "ERROR: Unexpected bus error encountered in worker. This might be caused by \
                 insufficient shared memory (shm).";
    Scene::killed(7)
        .said(words)
        .expect(VerdictId::SharedMemoryFull, Confidence::Likely);
    Scene::raised(
        "OSError",
        "[Errno 28] No space left on device: '/dev/shm/torch_1'",
    )
    .expect(VerdictId::SharedMemoryFull, Confidence::Proved);
}

#[test]
fn a_bus_error_with_room_is_another() {
    let diagnosis =
        shared_memory(Scene::killed(7), GIB / 2).expect(VerdictId::BusError, Confidence::Proved);
    assert!(
        diagnosis
            .verdict
            .ruled_out
            .iter()
            .any(|line| line.starts_with("/dev/shm: "))
    );
    let damaged = FatalFacts {
        signal: 7,
        code: 4,
        ..FatalFacts::default()
    };
    let diagnosis = Scene::killed(7)
        .fatal(&damaged)
        .expect(VerdictId::BusError, Confidence::Proved);
    assert!(diagnosis.verdict.summary.contains("damaged"));
}

#[test]
fn a_segmentation_fault_names_the_library() {
    let fatal = FatalFacts {
        signal: 11,
        code: 1,
        tid: ROOT,
        address: 8,
        sp: 0x7fff_0000_0000,
        library: b"/usr/lib/libcrash.so.2",
        library_offset: 0x1234,
        ..FatalFacts::default()
    };
    let diagnosis = Scene::killed(11)
        .fatal(&fatal)
        .expect(VerdictId::SegmentationFault, Confidence::Proved);
    assert!(diagnosis.verdict.summary.ends_with("inside libcrash.so.2"));
    let line = "python[100]: segfault at 0 ip 00007f01 sp 00007fff00000000 error 4 in \
                libother.so[7f00+1000]";
    let diagnosis = Scene::killed(11)
        .logged(&[line])
        .expect(VerdictId::SegmentationFault, Confidence::Proved);
    assert!(diagnosis.verdict.summary.ends_with("inside libother.so"));
}

#[test]
fn a_fault_next_to_the_stack_pointer_is_an_overflow() {
    let sp = 0x7fff_988a_0140;
    let fatal = FatalFacts {
        signal: 11,
        code: 1,
        address: sp + 92,
        sp,
        ..FatalFacts::default()
    };
    Scene::killed(11)
        .fatal(&fatal)
        .expect(VerdictId::StackOverflow, Confidence::Proved);
    let line = "python[100]: segfault at 7fff988a019c ip 0000560a sp 00007fff988a0140 error 6";
    Scene::killed(11)
        .logged(&[line])
        .expect(VerdictId::StackOverflow, Confidence::Proved);
}

#[test]
fn general_protection_has_no_address() {
    let fatal = FatalFacts {
        signal: 11,
        code: 128,
        sp: 1 << 40,
        ..FatalFacts::default()
    };
    Scene::killed(11)
        .fatal(&fatal)
        .expect(VerdictId::GeneralProtectionFault, Confidence::Proved);
    let line = "traps: python[100] general protection fault ip:7f01 sp:7ffd error:0 in x.so[7f+9]";
    Scene::killed(11)
        .logged(&[line])
        .expect(VerdictId::GeneralProtectionFault, Confidence::Proved);
}

#[test]
fn illegal_instructions_and_divisions_are_told_apart() {
    let line = "traps: python[100] trap invalid opcode ip:7f01 sp:7ffd error:0 in polars.so[7f+9]";
    let diagnosis = Scene::killed(4)
        .logged(&[line])
        .expect(VerdictId::IllegalInstruction, Confidence::Proved);
    assert!(diagnosis.verdict.summary.contains("polars.so"));
    Scene::killed(8).expect(VerdictId::DivideError, Confidence::Proved);
}

#[test]
fn a_fault_that_somebody_sent_is_none() {
    let fatal = FatalFacts {
        signal: 11,
        code: 0,
        sender: 4242,
        ..FatalFacts::default()
    };
    let diagnosis = Scene::killed(11)
        .fatal(&fatal)
        .expect(VerdictId::KilledFromOutside, Confidence::Proved);
    assert!(
        diagnosis
            .verdict
            .summary
            .contains("Process 4242 sent SIGSEGV")
    );
    let own = FatalFacts {
        sender: ROOT,
        ..fatal
    };
    Scene::killed(11)
        .fatal(&own)
        .expect(VerdictId::SegmentationFault, Confidence::Proved);
}

#[test]
fn aborts_are_known_by_their_words() {
    for (words, verdict) in [
        (
            "OMP: Error #15: Initializing libiomp5.so, but found libomp.so already initialized.",
            VerdictId::OpenmpLoadedTwice,
        ),
        (
            "[libprotobuf FATAL google/protobuf/x.cc:1] Check failed",
            VerdictId::ProtobufConflict,
        ),
        (
            "[libprotobuf ERROR] File already exists in database: a.proto",
            VerdictId::ProtobufConflict,
        ),
        (
            "Could not load library libcudnn_ops_infer.so.8",
            VerdictId::CudnnLoadFailed,
        ),
        (
            "Invalid handle. Cannot load symbol cudnnCreateConvolutionDescriptor",
            VerdictId::CudnnLoadFailed,
        ),
        (
            "free(): double free detected in tcache 2",
            VerdictId::HeapCorruption,
        ),
        ("corrupted size vs. prev_size", VerdictId::HeapCorruption),
        (
            "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=3)",
            VerdictId::NcclTimeout,
        ),
        (
            "terminate called after throwing an instance of 'c10::Error'",
            VerdictId::CudaAbort,
        ),
        (
            "Fatal Python error: _Py_CheckRecursiveCall: too deep",
            VerdictId::FatalPythonError,
        ),
        (
            "objc[1]: +[X initialize] may have been in progress in another thread when fork() was called.",
            VerdictId::ForkAfterCuda,
        ),
        ("Fatal Python error: Aborted", VerdictId::Aborted),
    ] {
        Scene::killed(6)
            .said(words)
            .expect(verdict, Confidence::Proved);
    }
    let fatal = FatalFacts {
        signal: 6,
        abort_message: b"free(): invalid pointer\n",
        ..FatalFacts::default()
    };
    Scene::killed(6)
        .fatal(&fatal)
        .expect(VerdictId::HeapCorruption, Confidence::Proved);
}

#[test]
fn an_abort_without_words_is_told_as_it_is() {
    let summary = |scene: Scene| {
        let diagnosis = scene.expect(VerdictId::Aborted, Confidence::Proved);
        diagnosis.verdict.summary
    };
    let plain = "python (pid 100) was ended by SIGABRT";
    assert_eq!(summary(Scene::killed(6)), plain);
    let own = FatalFacts {
        signal: 6,
        code: -6,
        sender: ROOT,
        ..FatalFacts::default()
    };
    assert_eq!(
        summary(Scene::killed(6).fatal(&own)),
        format!("{plain}, which it sent to itself")
    );
}

#[test]
fn old_words_do_not_explain_a_kill() {
    Scene::killed(9)
        .said("free(): invalid pointer\nCUDA out of memory. Tried to allocate 1 GiB\n")
        .expect(VerdictId::KilledFromOutside, Confidence::Likely);
}

#[test]
fn a_crash_for_want_of_threads_is_not_numpys_fault() {
    let words = "OpenBLAS blas_thread_init: pthread_create failed for thread 3 of 64: Resource \
                 temporarily unavailable";
    Scene::killed(11)
        .said(words)
        .expect(VerdictId::ThreadsExhausted, Confidence::Likely);
    Scene::killed(11)
        .said(words)
        .with(|run| {
            run.cgroups[0].pids_max = Some(Change {
                before: 0,
                after: 4,
            });
        })
        .expect(VerdictId::ThreadsExhausted, Confidence::Proved);
}

#[test]
fn a_fault_the_program_recovered_from_ended_nothing() {
    let probe = FatalFacts {
        signal: 11,
        code: 1,
        tid: ROOT,
        library: b"/jvm/libprobe.so",
        time: 20 * SECOND,
        handled: true,
        ..FatalFacts::default()
    };
    let none = "fault or abort: none recorded".to_owned();
    let diagnosis = Scene::killed(9)
        .fatal(&probe)
        .expect(VerdictId::KilledFromOutside, Confidence::Likely);
    assert!(diagnosis.verdict.ruled_out.contains(&none));
    assert!(diagnosis.threads.is_empty());
    let diagnosis = Scene::ended(EndStatus::Exited(3)).fatal(&probe).diagnose();
    assert!(diagnosis.verdict.ruled_out.contains(&none));
    // Nobody saw the end: a record that may have been survived does not make one up.
    let mut lost = Scene::killed(9).fatal(&probe);
    lost = lost.while_it_is(Liveness::SupervisorLost);
    lost.of(ROOT, |process| {
        process.status = None;
        process.ended_at = None;
    })
    .expect(VerdictId::SupervisorLost, Confidence::Unproved);
}

#[test]
fn the_last_fault_that_fits_the_end_is_the_deadly_one() {
    let record = |signal, library, handled| FatalFacts {
        signal,
        code: 1,
        library,
        handled,
        ..FatalFacts::default()
    };
    let scene = |signal: i32, records: &[FatalFacts<'_>]| {
        let scene = Scene::killed(signal).with_box(ROOT, |writer| {
            for facts in records {
                let record = writer.add_fatal(facts, None).unwrap();
                writer.finish_fatal(record);
            }
        });
        scene.diagnose().verdict.evidence.join("\n")
    };
    let probe = record(11, b"/x/probe.so", true);
    let crash = record(11, b"/x/crash.so", true);
    let evidence = scene(11, &[probe, crash]);
    assert!(evidence.contains("crash.so"), "{evidence}");
    let unhandled = record(7, b"/x/bus.so", false);
    let evidence = scene(7, &[unhandled, probe]);
    assert!(evidence.contains("bus.so"), "{evidence}");
    let abort = FatalFacts {
        abort_message: b"free(): invalid pointer\n",
        ..record(6, b"/x/libc.so", true)
    };
    let evidence = scene(6, &[probe, abort]);
    assert!(evidence.contains("free(): invalid pointer"), "{evidence}");
}
