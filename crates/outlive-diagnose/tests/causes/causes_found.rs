//! Causes that `check` finds in the program, where what was recorded lies inside.

use outlive_diagnose::facts::EndStatus;
use outlive_diagnose::{Cause, CauseId, Confidence, Sureness, VerdictId};
use outlive_record::write::{Acquisition, BoxWriter, StackId};

use crate::guarded::{guarded, line, raise, refuse};
use crate::holding::{code, stack};
use crate::scene::{GIB, MIB, ROOT, SECOND, Scene};
use crate::stopped::stop;

const KEPT: &str = "import torch
from torch import nn
model = nn.Linear(4, 4)
def step(batches):
    history = []
    for batch in batches:
        output = model(batch)
        loss = output.mean()
        history.append(loss)
    print(len(history))
";

fn hold(writer: &BoxWriter, stack: StackId, bytes: u64) {
    writer.acquire(&Acquisition {
        stack,
        bytes,
        request: 8 * MIB,
        flags: 0,
        time: 88 * SECOND,
    });
}

fn forward(writer: &BoxWriter, number: u32) -> StackId {
    let linear = "/v/lib/python3.12/site-packages/torch/nn/modules/linear.py";
    let linear = code(writer, linear, "Linear.forward", 9);
    stack(writer, &[linear, code(writer, "train.py", "step", number)])
}

fn stopped(scene: impl FnOnce(Scene) -> Scene, fill: impl FnOnce(&BoxWriter)) -> Vec<Cause> {
    let run = Scene::ended(EndStatus::Exited(1)).with_box(ROOT, |writer| {
        fill(writer);
        stop(writer, 88 * SECOND, StackId(0));
        raise(writer, "outlive.OutOfHeadroom", "Growth was stopped");
    });
    scene(run.with(guarded(0, 1)))
        .expect(VerdictId::GrowthStopped, Confidence::Proved)
        .causes
}

#[test]
fn growth_inside_a_finding_is_its_cause_at_the_line_that_keeps() {
    let causes = stopped(
        |scene| scene.program(KEPT),
        |writer| hold(writer, forward(writer, 7), 3 * GIB),
    );
    let cause = &causes[0];
    assert_eq!(
        (cause.id, cause.sureness),
        (CauseId::AutogradHistoryKept, Sureness::High)
    );
    assert_eq!(cause.line.as_ref().and_then(|line| line.line), Some(9));
    assert_eq!(cause.text.as_deref(), Some("history.append(loss)"));
    assert_eq!(cause.rule.map(|rule| rule.code), Some("OL102"));
    let held = "3.0 GiB were held inside, most of it by train.py:7 in step";
    assert!(cause.evidence.iter().any(|it| it == held), "{cause:#?}");
    let alike = causes.iter().filter(|it| it.id == cause.id);
    assert_eq!(alike.count(), 1, "told once");
}

#[test]
fn a_comment_that_silenced_the_finding_does_not_hide_the_cause() {
    let kept = "history.append(loss)";
    let text = KEPT.replace(kept, "history.append(loss)  # outlive: ignore[OL102]");
    let causes = stopped(
        |scene| scene.program(&text),
        |writer| hold(writer, forward(writer, 7), 3 * GIB),
    );
    assert_eq!(causes[0].rule.map(|rule| rule.code), Some("OL102"));
}

#[test]
fn a_program_that_was_changed_meanwhile_is_believed_less() {
    let causes = stopped(
        |scene| scene.changed_program(KEPT),
        |writer| hold(writer, forward(writer, 7), 3 * GIB),
    );
    assert_eq!(
        (causes[0].id, causes[0].sureness),
        (CauseId::AutogradHistoryKept, Sureness::Medium)
    );
}

#[test]
fn a_finding_elsewhere_in_the_program_is_not_the_cause() {
    let text = format!("{KEPT}def load(names):\n    return [read(name) for name in names]\n");
    let causes = stopped(
        |scene| scene.program(&text),
        |writer| {
            // A little in the loop, and most elsewhere.
            hold(writer, forward(writer, 7), 64 * MIB);
            let load = code(writer, "train.py", "load", 12);
            hold(writer, stack(writer, &[load]), 3 * GIB);
        },
    );
    let found: Vec<CauseId> = causes.iter().map(|cause| cause.id).collect();
    assert_eq!(found, [CauseId::ResultsKeptInLoop], "{causes:#?}");
    assert_eq!(causes[0].line.as_ref().and_then(|line| line.line), Some(12));
}

#[test]
fn growth_beside_what_a_finding_keeps_is_not_its_own() {
    let text = KEPT.replace(
        "        output = model(batch)\n",
        "        rows = read(batch)\n        seen.append(rows)\n        output = model(batch)\n",
    );
    let causes = stopped(
        |scene| scene.program(&text),
        |writer| hold(writer, line(writer, 7), 3 * GIB),
    );
    let found: Vec<_> = causes.iter().map(|it| (it.id, it.sureness)).collect();
    assert_eq!(found, [(CauseId::ResultsKeptInLoop, Sureness::Medium)]);
    assert_eq!(causes[0].text.as_deref(), Some("seen.append(rows)"));
}

#[test]
fn an_evaluation_that_keeps_no_history_grows_by_its_results() {
    let text = |kept: &str| {
        format!(
            "import torch
from torch import nn
model = nn.Linear(4, 4)
def step(batches):
    model.eval()
    results = []
    for batch in batches:
        output = model(batch)
        results.append({kept})
    print(len(results))
"
        )
    };
    let first = |kept: &str| {
        let causes = stopped(
            |scene| scene.program(&text(kept)),
            |writer| hold(writer, forward(writer, 8), 3 * GIB),
        );
        (causes[0].id, causes[0].sureness)
    };
    let (id, sureness) = first("output.detach()");
    assert_eq!(
        (id, sureness),
        (CauseId::ResultsKeptInLoop, Sureness::Medium)
    );
    assert_eq!(
        first("output"),
        (CauseId::InferenceWithGradients, Sureness::High)
    );
}

#[test]
fn a_giant_request_inside_a_loop_that_keeps_little_is_still_giant() {
    let scene = Scene::ended(EndStatus::Exited(1)).with_box(ROOT, |writer| {
        hold(writer, forward(writer, 7), 64 * MIB);
        refuse(writer, 88 * SECOND, 90 * GIB, line(writer, 7));
        raise(writer, "MemoryError", "");
    });
    let causes = scene
        .with(guarded(1, 0))
        .program(KEPT)
        .expect(VerdictId::AllocationRefused, Confidence::Proved)
        .causes;
    assert_eq!(
        (causes[0].id, causes[0].sureness),
        (CauseId::OversizedTensor, Sureness::High)
    );
}

#[test]
fn the_cells_of_a_notebook_are_one_program() {
    const FIRST: &str = "/tmp/ipykernel_100/1.py";
    const SECOND_CELL: &str = "/tmp/ipykernel_100/2.py";
    let cells = [
        (
            FIRST,
            1,
            "%matplotlib inline\nimport torch\nfrom torch import nn\nmodel = nn.Linear(4, 4)",
            10,
        ),
        (
            SECOND_CELL,
            2,
            "\nhistory = []\nfor batch in batches:\n    loss = model(batch).mean()\n    \
             history.append(loss)",
            20,
        ),
        (FIRST, 3, "import torch", 95),
    ];
    let causes = stopped(
        |scene| scene.notebook(&cells),
        |writer| {
            let cell = code(writer, SECOND_CELL, "<module>", 3);
            hold(writer, stack(writer, &[cell]), 3 * GIB);
        },
    );
    let cause = &causes[0];
    assert_eq!(
        (cause.id, cause.sureness),
        (CauseId::AutogradHistoryKept, Sureness::High)
    );
    let line = cause.line.as_ref().unwrap();
    assert_eq!(line.describe(), "cell [2] line 4");
    assert_eq!(cause.text.as_deref(), Some("history.append(loss)"));
}
