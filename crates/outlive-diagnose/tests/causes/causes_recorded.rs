//! Causes by what was recorded, with the program at hand to see loops in, and no finding.

use outlive_diagnose::facts::EndStatus;
use outlive_diagnose::{Cause, CauseId, Confidence, Sureness, VerdictId};
use outlive_record::kind::{EventKind, ExceptionKind};
use outlive_record::write::{Acquisition, BoxWriter, ExceptionFacts, StackId};

use crate::guarded::{guarded, line, raise, refuse};
use crate::holding::{code, stack};
use crate::scene::{GIB, MIB, ROOT, SECOND, Scene};
use crate::stopped::stop;

const PACKAGES: &str = "/v/lib/python3.12/site-packages";

/// Nothing that `check` has a rule for: what a line makes cannot be known.
pub(crate) const KEPT: &str = "import records
def step(kept):
    for name in records.names():
        row = records.load(name)
        kept.append(row)
";

pub(crate) fn hold(writer: &BoxWriter, stack: StackId, bytes: u64, request: u64) {
    writer.acquire(&Acquisition {
        stack,
        bytes,
        request,
        flags: 0,
        time: 88 * SECOND,
    });
}

/// Growth that was stopped at a line of the program.
fn stopped(text: &str, fill: impl FnOnce(&BoxWriter) -> StackId) -> Vec<Cause> {
    let scene = Scene::ended(EndStatus::Exited(1)).with_box(ROOT, |writer| {
        let grown = fill(writer);
        stop(writer, 88 * SECOND, grown);
        raise(writer, "outlive.OutOfHeadroom", "Growth was stopped");
    });
    let scene = scene.with(guarded(0, 1)).program(text);
    scene
        .expect(VerdictId::GrowthStopped, Confidence::Proved)
        .causes
}

/// A request that was refused at a line of the program.
fn refused(text: &str, bytes: u64, fill: impl FnOnce(&BoxWriter) -> StackId) -> Vec<Cause> {
    let scene = Scene::ended(EndStatus::Exited(1)).with_box(ROOT, |writer| {
        let asked = fill(writer);
        refuse(writer, 88 * SECOND, bytes, asked);
        raise(writer, "MemoryError", "");
    });
    let scene = scene.with(guarded(1, 0)).program(text);
    scene
        .expect(VerdictId::AllocationRefused, Confidence::Proved)
        .causes
}

pub(crate) fn first(causes: &[Cause]) -> (CauseId, Sureness, Option<u32>, Option<&str>) {
    let cause = causes.first().unwrap();
    assert!(!cause.evidence.is_empty(), "{cause:#?}");
    let line = cause.line.as_ref().and_then(|line| line.line);
    (cause.id, cause.sureness, line, cause.text.as_deref())
}

#[test]
fn of_what_a_loop_keeps_the_line_is_named_that_keeps_it() {
    let causes = stopped(KEPT, |writer| {
        let grown = line(writer, 4);
        hold(writer, grown, 3 * GIB, 20 * MIB);
        grown
    });
    let expected = (
        CauseId::ResultsKeptInLoop,
        Sureness::Medium,
        Some(5),
        Some("kept.append(row)"),
    );
    assert_eq!(first(&causes), expected);
    assert_eq!(
        causes[0].evidence,
        ["train.py:4 in step held 3.0 GiB of 4.0 GiB, in pieces of at most 20 MiB"]
    );
}

#[test]
fn a_caller_may_be_the_one_that_keeps() {
    let text = "import records
def load(name):
    return records.load(name)
def step(kept):
    for name in records.names():
        kept[name] = load(name)
";
    let causes = stopped(text, |writer| {
        let load = code(writer, "train.py", "load", 3);
        let step = code(writer, "train.py", "step", 6);
        let grown = stack(writer, &[load, step]);
        hold(writer, grown, 3 * GIB, 20 * MIB);
        grown
    });
    assert_eq!(first(&causes).2, Some(6));
}

#[test]
fn a_call_outside_any_loop_makes_too_much_at_once() {
    let text = "def step(text):\n    return text.split()\n";
    let causes = stopped(text, |writer| {
        let grown = line(writer, 2);
        hold(writer, grown, 3 * GIB, MIB);
        grown
    });
    let expected = (CauseId::OversizedTensor, Sureness::Medium, Some(2));
    let (cause, sureness, line, _) = first(&causes);
    assert_eq!((cause, sureness, line), expected);
}

#[test]
fn more_than_there_is_can_mean_only_one_thing() {
    let text = "import records\ndef step():\n    return records.everything()\n";
    let causes = refused(text, 900 * GIB, |writer| line(writer, 3));
    assert_eq!(
        first(&causes),
        (
            CauseId::OversizedTensor,
            Sureness::High,
            Some(3),
            Some("return records.everything()")
        )
    );
    assert_eq!(
        causes[0].evidence,
        [
            "one request for 900.0 GiB was refused at train.py:3 in step, with 4.0 GiB for the whole \
             program"
        ]
    );
    // Without the source it is as sure.
    let scene = Scene::ended(EndStatus::Exited(1)).with_box(ROOT, |writer| {
        refuse(writer, 88 * SECOND, 900 * GIB, line(writer, 3));
        raise(writer, "MemoryError", "");
    });
    let causes = scene.with(guarded(1, 0)).diagnose().causes;
    assert_eq!(first(&causes).1, Sureness::High);
}

#[test]
fn a_request_that_others_left_no_room_for_is_not_sure() {
    let text = "import records\ndef step():\n    return records.everything()\n";
    let causes = refused(text, GIB, |writer| line(writer, 3));
    assert_eq!(
        (first(&causes).0, first(&causes).1),
        (CauseId::OversizedTensor, Sureness::Medium)
    );
    // A small one suffers from what is held elsewhere.
    let causes = refused(KEPT, 30 * MIB, |writer| {
        hold(writer, line(writer, 4), 3 * GIB, 20 * MIB);
        line(writer, 1)
    });
    assert_eq!(
        (first(&causes).0, first(&causes).2),
        (CauseId::ResultsKeptInLoop, Some(5))
    );
}

#[test]
fn library_calls_tell_grids_layers_and_sequences_apart() {
    let text = "def step():\n    return work()\n";
    for (file, function, cause) in [
        ("torchvision/utils.py", "make_grid", CauseId::OversizedGrid),
        (
            "torch/nn/modules/linear.py",
            "Linear.__init__",
            CauseId::OversizedLayer,
        ),
        (
            "torch/nn/modules/rnn.py",
            "LSTM.forward",
            CauseId::UnboundedSequence,
        ),
    ] {
        for bytes in [GIB, 9 * GIB] {
            let causes = refused(text, bytes, |writer| {
                let inner = code(writer, &format!("{PACKAGES}/{file}"), function, 9);
                stack(writer, &[inner, code(writer, "train.py", "step", 2)])
            });
            assert_eq!(first(&causes).0, cause, "{bytes}");
        }
    }
    let text = "import torch\ndef step(parts):\n    return torch.cat(parts)\n";
    let causes = refused(text, GIB, |writer| line(writer, 3));
    assert_eq!(first(&causes).0, CauseId::OversizedGrid);
}

#[test]
fn a_gradient_as_large_as_a_layer_is_the_layers() {
    let text = "def step():\n    layer = make()\n    work(layer).backward()\n";
    let causes = refused(text, GIB, |writer| {
        let linear = format!("{PACKAGES}/torch/nn/modules/linear.py");
        let linear = code(writer, &linear, "Linear.__init__", 9);
        let made = stack(writer, &[linear, code(writer, "train.py", "step", 2)]);
        hold(writer, made, GIB, GIB);
        let graph = format!("{PACKAGES}/torch/autograd/graph.py");
        let graph = code(writer, &graph, "_engine_run_backward", 9);
        stack(writer, &[graph, code(writer, "train.py", "step", 3)])
    });
    assert_eq!(
        (first(&causes).0, first(&causes).2),
        (CauseId::OversizedLayer, Some(2))
    );
}

#[test]
fn layers_of_one_model_are_told_from_models_built_in_a_loop() {
    let grown = |text: &str, functions: &[(&str, u32)]| {
        let causes = stopped(text, |writer| {
            let linear = format!("{PACKAGES}/torch/nn/modules/linear.py");
            let mut frames = vec![code(writer, &linear, "Linear.__init__", 9)];
            let own = functions.iter();
            frames.extend(own.map(|(name, number)| code(writer, "train.py", name, *number)));
            let made = stack(writer, &frames);
            hold(writer, made, 3 * GIB, 20 * MIB);
            made
        });
        first(&causes).0
    };
    let text = "layers = [Linear(9, 9) for _ in range(9)]\n";
    let model = grown(text, &[("<listcomp>", 1), ("<module>", 1)]);
    assert_eq!(model, CauseId::OversizedLayer);
    let text = "class Net:
    def __init__(self):
        for _ in range(9):
            self.layers.append(Linear(9, 9))
for trial in range(9):
    best[trial] = Net()
";
    let one = grown(text, &[("Net.__init__", 4)]);
    assert_eq!(one, CauseId::OversizedLayer);
    let many = grown(text, &[("Net.__init__", 4), ("<module>", 6)]);
    assert_eq!(many, CauseId::VariablesCreatedInLoop);
}

#[test]
fn gradients_in_small_pieces_are_blamed_on_the_layers() {
    let text = "model = make()\nfor batch in data:\n    loss(batch).backward()\n";
    let causes = refused(text, 4 * MIB, |writer| {
        let linear = format!("{PACKAGES}/torch/nn/modules/linear.py");
        let linear = code(writer, &linear, "Linear.__init__", 9);
        let made = stack(writer, &[linear, code(writer, "train.py", "<module>", 1)]);
        hold(writer, made, GIB, 4 * MIB);
        let graph = format!("{PACKAGES}/torch/autograd/graph.py");
        let graph = code(writer, &graph, "_engine_run_backward", 9);
        stack(writer, &[graph, code(writer, "train.py", "<module>", 3)])
    });
    assert_eq!(
        (first(&causes).0, first(&causes).2),
        (CauseId::OversizedLayer, Some(1))
    );
}

#[test]
fn a_value_of_the_turn_before_is_told_from_one_that_is_kept() {
    let text = |keeps: &str| {
        format!("def step():\n    for turn in range(9):\n        {keeps}\n        print(turn)\n")
    };
    for (keeps, cause) in [
        ("features = make()", CauseId::IntermediateOutlivesLoop),
        ("features.append(make())", CauseId::ResultsKeptInLoop),
    ] {
        let causes = refused(&text(keeps), 2 * GIB, |writer| {
            let made = line(writer, 3);
            hold(writer, made, 2 * GIB, 2 * GIB);
            made
        });
        assert_eq!(
            (first(&causes).0, first(&causes).2),
            (cause, Some(3)),
            "{keeps}"
        );
    }
}

#[test]
fn what_a_c_library_hands_over_has_no_python_holder() {
    let text = "import ctypes
libc = ctypes.CDLL(None)
def step(kept):
    for name in names():
        kept.append(libc.strdup(name))
";
    let causes = stopped(text, |writer| {
        let grown = line(writer, 5);
        hold(writer, grown, 3 * GIB, MIB);
        grown
    });
    assert_eq!(
        (first(&causes).0, first(&causes).1),
        (CauseId::NativeLeak, Sureness::Medium)
    );
}

#[test]
fn a_kill_is_explained_by_what_was_granted_last() {
    let text = "import records\ndef step():\n    return records.everything()\n";
    let scene = Scene::killed(9)
        .counted(1)
        .with_box(ROOT, |writer| {
            let asked = line(writer, 3);
            hold(writer, asked, 9 * GIB, 9 * GIB);
            writer.add_event(
                EventKind::Mapped,
                88 * SECOND,
                ROOT,
                9 * GIB,
                0,
                asked,
                9 << 30,
            );
        })
        .program(text);
    let causes = scene
        .expect(VerdictId::OutOfMemoryCgroup, Confidence::Proved)
        .causes;
    assert_eq!(
        (first(&causes).0, first(&causes).1),
        (CauseId::OversizedTensor, Sureness::High)
    );
}

#[test]
fn a_second_attempt_in_a_handler_is_told() {
    let text = "def step(size):
    try:
        return work(size)
    except MemoryError:
        return work(size // 2)
";
    let causes = |refusals, number| {
        let scene = Scene::ended(EndStatus::Exited(1)).with_box(ROOT, |writer| {
            refuse(writer, 88 * SECOND, GIB, line(writer, number));
            raise(writer, "MemoryError", "");
        });
        let scene = scene.with(guarded(refusals, 0)).program(text);
        scene.diagnose().causes
    };
    let again = causes(2, 5);
    assert_eq!(
        (first(&again).0, first(&again).2),
        (CauseId::RecoveryInsideExcept, Some(5))
    );
    assert_eq!(first(&causes(1, 5)).0, CauseId::OversizedTensor);
    assert_eq!(first(&causes(2, 3)).0, CauseId::OversizedTensor);
}

#[test]
fn a_thread_that_was_stopped_is_explained_though_the_program_went_on() {
    let scene = Scene::ended(EndStatus::Exited(0)).with_box(ROOT, |writer| {
        hold(writer, line(writer, 4), 3 * GIB, 20 * MIB);
        stop(writer, 88 * SECOND, line(writer, 4));
        writer.add_exception(&ExceptionFacts {
            kind: ExceptionKind::Thread,
            tid: ROOT + 1,
            time: 88 * SECOND,
            thread: b"loader",
            type_name: b"outlive.OutOfHeadroom",
            message: b"Growth was stopped",
            traceback: b"train.py:4 in step",
        });
    });
    let scene = scene.with(guarded(0, 1)).program(KEPT);
    let causes = scene.diagnose().causes;
    assert_eq!(
        (first(&causes).0, first(&causes).2),
        (CauseId::ResultsKeptInLoop, Some(5))
    );
}
