//! Requests for memory that were refused, by the host and by the GPU.

use outlive_diagnose::{Confidence, VerdictId};
use outlive_record::kind::{EventKind, ExceptionKind};
use outlive_record::write::{ExceptionFacts, FatalFacts, StackId};

use crate::scene::{GIB, ROOT, SECOND, Scene};

#[test]
fn a_refused_allocation_is_an_exception() {
    for (type_name, message) in [
        ("MemoryError", ""),
        (
            "numpy._core._exceptions._ArrayMemoryError",
            "Unable to allocate 72.8 TiB for an array",
        ),
        ("OSError", "[Errno 12] Cannot allocate memory"),
        (
            "RuntimeError",
            "[enforce fail] DefaultCPUAllocator: can't allocate memory",
        ),
    ] {
        Scene::raised(type_name, message).expect(VerdictId::AllocationRefused, Confidence::Proved);
    }
}

#[test]
fn a_limit_is_to_be_raised_only_where_there_is_one() {
    let refused = || {
        Scene::raised("MemoryError", "").with_box(ROOT, |writer| {
            writer.add_exception(&ExceptionFacts {
                kind: ExceptionKind::Main,
                tid: ROOT,
                time: 89 * SECOND,
                thread: b"MainThread",
                type_name: b"MemoryError",
                message: b"",
                traceback: b"/home/a/me.py:2 in <module>",
            });
            let kind = EventKind::Failed;
            writer.add_event(kind, 89 * SECOND, ROOT, 32 << 40, 0, StackId(0), 0);
        })
    };
    let advice = |scene: Scene| {
        let diagnosis = scene.expect(VerdictId::AllocationRefused, Confidence::Proved);
        diagnosis.verdict.advice
    };
    let unlimited = advice(refused());
    let asked = unlimited.iter().filter(|it| it.starts_with("Ask for less"));
    assert_eq!(asked.count(), 1, "{unlimited:?}");
    let raise = "Or raise the limit that the evidence names".to_owned();
    assert!(!unlimited.contains(&raise), "{unlimited:?}");
    let limited = refused().of(ROOT, |process| process.limits.address_space.0 = Some(GIB));
    assert!(advice(limited).contains(&raise));
}

#[test]
fn native_code_aborts_when_refused() {
    let fatal = FatalFacts {
        signal: 6,
        cxx_type: b"St9bad_alloc",
        ..FatalFacts::default()
    };
    Scene::killed(6)
        .fatal(&fatal)
        .expect(VerdictId::CxxAllocationRefused, Confidence::Proved);
    let scene = Scene::killed(6).with_box(ROOT, |writer| {
        writer.add_stderr(b"memory allocation of 1099511627776 bytes failed\n");
        writer.add_event(
            EventKind::Failed,
            89 * SECOND,
            ROOT,
            1 << 40,
            0,
            StackId(0),
            0,
        );
    });
    let diagnosis = scene.expect(VerdictId::CxxAllocationRefused, Confidence::Proved);
    let refused = "black box: the system refused a request for 1.0 TiB";
    assert!(
        diagnosis
            .verdict
            .evidence
            .iter()
            .any(|line| line == refused)
    );
}

#[test]
fn gpu_memory_is_not_the_hosts() {
    for (type_name, message) in [
        (
            "torch.OutOfMemoryError",
            "CUDA out of memory. Tried to allocate 20.00 GiB",
        ),
        (
            "XlaRuntimeError",
            "RESOURCE_EXHAUSTED: Out of memory while trying to allocate",
        ),
    ] {
        Scene::raised(type_name, message).expect(VerdictId::GpuOutOfMemory, Confidence::Proved);
    }
}
