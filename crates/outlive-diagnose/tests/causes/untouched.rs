//! Mappings that nobody touched, and imports: what a line is said to hold, and through whom.

use outlive_diagnose::holders::Holder;
use outlive_record::kind::stack_flag;

use crate::holding::{acquire, code, stack};
use crate::scene::{GIB, MIB, ROOT, Scene};

const NUMPY: &str = "/v/lib/python3.12/site-packages/numpy/linalg/__init__.py";

/// 366 MiB of a line, and a library's mappings of 64 and 26 MiB.
fn killed_at(limit: u64) -> Scene {
    Scene::killed(9)
        .counted(1)
        .with(|run| {
            run.cgroups[0].limit = Some(limit);
            run.cgroups[0].peak = Some(limit);
        })
        .of(ROOT, |process| {
            process.peak_resident = limit;
            process.last_resident = limit;
        })
        .with_box(ROOT, |writer| {
            let step = stack(writer, &[code(writer, "train.py", "step", 17)]);
            let blas = stack(writer, &[code(writer, "train.py", "import", 1)]);
            let other = stack(writer, &[code(writer, "train.py", "map", 2)]);
            let shared = stack(writer, &[code(writer, "train.py", "share", 3)]);
            acquire(writer, step, 366 * MIB, 0);
            acquire(writer, blas, 64 * MIB, stack_flag::MAPPED);
            acquire(writer, other, 26 * MIB, stack_flag::MAPPED);
            let flags = stack_flag::MAPPED | stack_flag::SHARED;
            acquire(writer, shared, 2 * MIB, flags);
        })
}

fn figures(holders: &[Holder]) -> Vec<(String, u64, u64)> {
    let figure = |it: &Holder| {
        let name = it.place.line().unwrap().function.clone();
        (name, it.live_bytes / MIB, it.estimated_bytes / MIB)
    };
    holders.iter().map(figure).collect()
}

#[test]
fn lines_hold_no_more_than_there_was() {
    let diagnosis = killed_at(400 * MIB).diagnose();
    assert_eq!(
        figures(&diagnosis.holders),
        [
            ("step".to_owned(), 366, 0),
            ("map".to_owned(), 26, 0),
            ("import".to_owned(), 8, 8),
            ("share".to_owned(), 2, 0),
        ]
    );
    let advice = &diagnosis.verdict.advice[0];
    assert_eq!(
        advice,
        "Start at train.py:17 in step: it held 366 MiB of the 400 MiB in use"
    );
}

#[test]
fn mappings_that_may_have_been_touched_count_in_full() {
    let expected = [
        ("step".to_owned(), 366, 0),
        ("import".to_owned(), 64, 0),
        ("map".to_owned(), 26, 0),
        ("share".to_owned(), 2, 0),
    ];
    assert_eq!(figures(&killed_at(GIB).diagnose().holders), expected);
    // A process that was seen only when it was small.
    assert_eq!(figures(&killed_at(8 * MIB).diagnose().holders), expected);
}

#[test]
fn the_import_machinery_is_named_by_the_module_it_imports() {
    let via = |library: Option<&str>| {
        let scene = Scene::killed(9).counted(1).with_box(ROOT, |writer| {
            let frozen = "<frozen importlib._bootstrap>";
            let mut frames = vec![code(writer, frozen, "_call_with_frames_removed", 241)];
            frames.extend(library.map(|file| code(writer, file, "<module>", 4)));
            frames.push(code(writer, "imports.py", "<module>", 1));
            acquire(writer, stack(writer, &frames), 100 * MIB, 0);
        });
        scene.diagnose().holders.remove(0).via
    };
    assert_eq!(via(Some(NUMPY)).as_deref(), Some("numpy.linalg"));
    assert_eq!(via(None), None);
}
