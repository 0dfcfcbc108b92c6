//! Runs of a notebook's kernel: lines are named by their cells, and advice is what a cell can do.

use outlive_diagnose::facts::EndStatus;
use outlive_diagnose::{Confidence, Liveness, VerdictId};
use outlive_record::kind::ExceptionKind;
use outlive_record::write::{BoxWriter, ExceptionFacts};

use crate::guarded::{guarded, has, refuse};
use crate::holding::{acquire, code, stack};
use crate::scene::{GIB, MIB, ROOT, SECOND, Scene};

const FILE: &str = "/tmp/ipykernel_100/2.py";
const SHELL: &str = "/v/lib/python3.12/site-packages/IPython/core/interactiveshell.py";
const LAUNCHER: &str = "/v/lib/python3.12/site-packages/ipykernel_launcher.py";
const NUMPY: &str = "/v/lib/python3.12/site-packages/numpy/_core/numeric.py";
/// The first run of the cell is long over when memory is acquired, the third has not begun.
const CELLS: &[(&str, u64, &str, u64)] = &[
    (FILE, 2, "kept = []\nkept.append(read())", 10),
    (FILE, 3, "kept = []\nkept.append(read())", 70),
    ("/tmp/ipykernel_100/9.py", 4, "print(kept)", 85),
    (FILE, 5, "kept = []\nkept.append(read())", 95),
];

/// Memory that a cell holds and memory that `IPython` took for itself.
fn fill(writer: &BoxWriter) {
    let launcher = code(writer, LAUNCHER, "<module>", 18);
    let shell = code(writer, SHELL, "run_code", 3500);
    let cell = code(writer, FILE, "<module>", 2);
    let ones = code(writer, NUMPY, "ones", 232);
    let of_cell = stack(writer, &[ones, cell, shell, launcher]);
    acquire(writer, of_cell, 300 * MIB, 0);
    let own = stack(writer, &[ones, shell, launcher]);
    acquire(writer, own, 40 * MIB, 0);
    acquire(writer, stack(writer, &[launcher]), 20 * MIB, 0);
}

#[test]
fn a_killed_kernel_is_told_by_cell_and_line() {
    let scene = Scene::killed(9).counted(1).with_box(ROOT, fill);
    let diagnosis = scene
        .with(guarded(0, 0))
        .notebook(CELLS)
        .expect(VerdictId::OutOfMemoryCgroup, Confidence::Proved);
    let verdict = &diagnosis.verdict;
    assert_eq!(
        verdict.summary,
        "Out of memory: the kernel killed the notebook kernel (pid 100) at the 4.0 GiB limit of \
         cgroup v2 /job"
    );
    let held: Vec<(String, Option<&str>)> = diagnosis
        .holders
        .iter()
        .map(|holder| (holder.place.describe(), holder.text.as_deref()))
        .collect();
    assert_eq!(
        held,
        [
            ("cell [3] line 2".to_owned(), Some("kept.append(read())")),
            ("IPython itself, outside any cell".to_owned(), None),
        ]
    );
    assert_eq!(diagnosis.holders[1].live_bytes, 60 * MIB);
    assert!(verdict.advice[0].starts_with("Start at cell [3] line 2: it held 300 MiB"));
    assert!(has(&verdict.advice, "`%%outlive limit=75%`"));
    assert!(has(
        &verdict.evidence,
        "cell [4] was started last, 5.0 s before the end"
    ));
}

#[test]
fn a_kernel_that_somebody_killed_did_not_run_out_of_memory() {
    let diagnosis = Scene::killed(9)
        .with_box(ROOT, fill)
        .notebook(CELLS)
        .expect(VerdictId::KilledFromOutside, Confidence::Likely);
    let verdict = &diagnosis.verdict;
    assert_eq!(
        verdict.summary,
        "The notebook kernel (pid 100) was killed from outside by SIGKILL; nothing shows who sent \
         it"
    );
    assert!(has(
        &verdict.ruled_out,
        "out of memory: no kill was counted"
    ));
    assert!(has(&verdict.advice, "Jupyter"), "{:?}", verdict.advice);
}

#[test]
fn a_refusal_that_ended_a_kernel_is_told_by_its_cell_without_options_of_the_command() {
    let limited = |run: &mut outlive_diagnose::facts::RunFacts| {
        guarded(1, 0)(run);
        let budget = run.budget.as_mut().unwrap();
        budget.limit = Some(4 * GIB);
    };
    let diagnosis = Scene::ended(EndStatus::Exited(1))
        .with_box(ROOT, |writer| {
            let load = code(writer, FILE, "load", 1);
            refuse(writer, 88 * SECOND, 900 * GIB, stack(writer, &[load]));
            writer.add_exception(&ExceptionFacts {
                kind: ExceptionKind::Main,
                tid: ROOT,
                time: 89 * SECOND,
                thread: b"MainThread",
                type_name: b"MemoryError",
                message: b"",
                traceback: format!("{SHELL}:9 in run\n{FILE}:1 in load").as_bytes(),
            });
        })
        .with(limited)
        .notebook(CELLS)
        .expect(VerdictId::AllocationRefused, Confidence::Proved);
    let verdict = &diagnosis.verdict;
    assert!(
        verdict.summary.starts_with(
            "Outlive refused the notebook kernel (pid 100) 900.0 GiB at cell [3] line 1 in load"
        ),
        "{}",
        verdict.summary
    );
    assert!(has(
        &verdict.advice,
        "Ask for less at cell [3] line 1 in load"
    ));
    assert!(has(
        &verdict.advice,
        "a higher limit in `%%outlive limit=…`"
    ));
    for option in ["outlive run", "--limit", "--allow-sparse"] {
        assert!(!has(&verdict.advice, option), "{:?}", verdict.advice);
    }
    let place = diagnosis.intervention.unwrap().place.unwrap();
    let line = place.line().unwrap();
    assert_eq!((line.file.as_str(), line.line), (FILE, Some(1)));
    assert_eq!(
        line.cell.as_ref().unwrap().text.as_deref(),
        Some("kept = []")
    );
}

#[test]
fn the_last_refusal_that_a_cell_survived_is_told_with_its_place() {
    let diagnosis = Scene::ended(EndStatus::Exited(0))
        .with_box(ROOT, |writer| {
            let cell = code(writer, FILE, "<module>", 2);
            refuse(writer, 75 * SECOND, 2 * GIB, stack(writer, &[cell]));
        })
        .with(guarded(3, 0))
        .notebook(CELLS)
        .expect(VerdictId::Finished, Confidence::Proved);
    assert_eq!(
        diagnosis.remarks,
        [
            "Outlive refused 3 requests, and the program went on; the last was 2.0 GiB at cell [3] \
             line 2: only 1.5 GiB were left of the budget of 4.0 GiB (memory cgroup /job)"
        ]
    );
}

#[test]
fn an_exception_in_a_thread_of_a_cell_is_named_by_the_cell() {
    let diagnosis = Scene::ended(EndStatus::Exited(0))
        .with_box(ROOT, |writer| {
            writer.add_exception(&ExceptionFacts {
                kind: ExceptionKind::Thread,
                tid: ROOT,
                time: 72 * SECOND,
                thread: b"loader",
                type_name: b"ValueError",
                message: b"too few",
                traceback: format!("/usr/lib/python3.12/threading.py:9 in run\n{FILE}:2 in work")
                    .as_bytes(),
            });
        })
        .notebook(CELLS)
        .diagnose();
    let thread = &diagnosis.thread_exceptions[0];
    assert_eq!(
        thread.describe(),
        "loader: ValueError: too few at cell [3] line 2 in work"
    );
}

#[test]
fn a_kernel_that_goes_on_is_called_one() {
    let scene = Scene::ended(EndStatus::Exited(0)).with_box(ROOT, fill);
    let scene = scene.of(ROOT, |kernel| {
        kernel.status = None;
        kernel.ended_at = None;
    });
    let diagnosis = scene
        .while_it_is(Liveness::Running)
        .notebook(CELLS)
        .expect(VerdictId::Running, Confidence::Proved);
    assert_eq!(
        diagnosis.verdict.summary,
        "The notebook kernel (pid 100) is still running"
    );
    assert!(!has(&diagnosis.verdict.evidence, "was started last"));
}
