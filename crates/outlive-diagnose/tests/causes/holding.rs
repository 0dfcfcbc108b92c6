//! Who held the memory, and how it grew.

use outlive_diagnose::facts::EndStatus;
use outlive_diagnose::holders::Moment;
use outlive_diagnose::place::Place;
use outlive_diagnose::{Confidence, VerdictId};
use outlive_record::kind::{EventKind, StackKind, stack_flag};
use outlive_record::layout::facts;
use outlive_record::write::{
    Acquisition, BoxWriter, CodeFacts, CodeId, StackFacts, StackId, StringId,
};

use crate::scene::{GIB, MIB, ROOT, SECOND, Scene};

const TORCH: &str = "/v/lib/python3.12/site-packages/torch/functional.py";

/// A function whose every instruction lies on its first line.
pub(crate) fn code(writer: &BoxWriter, file: &str, name: &str, line: u32) -> CodeId {
    let string = |text: &str| writer.add_string(text.as_bytes()).unwrap();
    let table = writer.add_string(&[0x87, 0x00, 0x87, 0x00]).unwrap();
    writer
        .add_code(&CodeFacts {
            file: string(file),
            name: string(name),
            first_line: line,
            table,
            format: 12,
            fingerprint: 1,
            address: 1,
        })
        .unwrap()
}

pub(crate) fn stack(writer: &BoxWriter, frames: &[CodeId]) -> StackId {
    let facts = StackFacts {
        kind: StackKind::Python,
        thread: StringId(0),
        library: StringId(0),
        creator: StackId(0),
        flags: 0,
    };
    writer
        .add_stack(&facts, frames.iter().map(|&code| (code, 2)))
        .unwrap()
}

pub(crate) fn acquire(writer: &BoxWriter, stack: StackId, bytes: u64, flags: u32) {
    let time = 80 * SECOND;
    writer.acquire(&Acquisition {
        stack,
        bytes,
        request: bytes,
        flags,
        time,
    });
}

#[test]
fn bytes_go_to_the_innermost_line_the_user_wrote() {
    let scene = Scene::killed(9).counted(1).with_box(ROOT, |writer| {
        let main = code(writer, "train.py", "main", 30);
        let step = code(writer, "train.py", "step", 17);
        let conv = code(writer, TORCH, "conv2d", 123);
        let pool = code(writer, TORCH, "pool", 200);
        acquire(writer, stack(writer, &[conv, step, main]), 300 * MIB, 0);
        acquire(writer, stack(writer, &[pool, step, main]), 100 * MIB, 0);
        acquire(
            writer,
            stack(writer, &[main]),
            50 * MIB,
            stack_flag::SAMPLED,
        );
        acquire(writer, StackId(0), 20 * MIB, 0);
    });
    let diagnosis = scene.expect(VerdictId::OutOfMemoryCgroup, Confidence::Proved);
    let found: Vec<(String, u64, bool)> = diagnosis
        .holders
        .iter()
        .map(|holder| {
            (
                holder.place.describe(),
                holder.live_bytes / MIB,
                holder.is_exact(),
            )
        })
        .collect();
    assert_eq!(
        found,
        [
            ("train.py:17 in step".to_owned(), 400, true),
            ("train.py:30 in main".to_owned(), 50, false),
            (
                "other: the box had no room for these lines".to_owned(),
                20,
                true
            ),
        ]
    );
    assert_eq!(
        diagnosis.holders[0].via.as_deref(),
        Some("torch/functional.py:123 conv2d")
    );
    assert_eq!(diagnosis.holders[0].text.as_deref(), Some("source of 17"));
    assert!(
        diagnosis.verdict.advice[0].starts_with("Start at train.py:17 in step: it held 400 MiB")
    );
}

#[test]
fn what_was_given_back_is_shown_at_the_peak() {
    let scene = Scene::ended(EndStatus::Exited(0)).with_box(ROOT, |writer| {
        let big = stack(writer, &[code(writer, "a.py", "big", 1)]);
        let small = stack(writer, &[code(writer, "a.py", "small", 2)]);
        acquire(writer, small, 10 * MIB, 0);
        acquire(writer, big, 500 * MIB, 0);
        writer.release(big, 500 * MIB, 1, false, 85 * SECOND);
    });
    let diagnosis = scene.expect(VerdictId::Finished, Confidence::Proved);
    assert_eq!(diagnosis.moment, Moment::Peak);
    assert_eq!(diagnosis.holders[0].place.describe(), "a.py:1 in big");
    assert_eq!(diagnosis.holders[0].peak_bytes, 500 * MIB);
    assert_eq!(diagnosis.holders[0].live_bytes, 0);
}

#[test]
fn a_thread_without_python_is_named_with_its_creator() {
    let scene = Scene::killed(9).counted(1).with_box(ROOT, |writer| {
        let creator = stack(writer, &[code(writer, "train.py", "start", 5)]);
        let facts = StackFacts {
            kind: StackKind::Native,
            thread: writer.add_string(b"loader").unwrap(),
            library: writer.add_string(b"/x/libtensor.so").unwrap(),
            creator,
            flags: 0,
        };
        let native = writer
            .add_stack(&facts, std::iter::empty::<(CodeId, u32)>())
            .unwrap();
        acquire(writer, native, 100 * MIB, 0);
    });
    let diagnosis = scene.diagnose();
    let holder = &diagnosis.holders[0];
    assert_eq!(holder.place.kind(), "thread");
    assert_eq!(holder.place.describe(), "train.py:5 in start");
    assert_eq!(holder.place.line().unwrap().file, "train.py");
    assert_eq!(holder.text.as_deref(), Some("source of 5"));
    assert_eq!(holder.via.as_deref(), Some("thread loader (libtensor.so)"));
    let advice = &diagnosis.verdict.advice[0];
    assert!(
        advice.starts_with("Start at train.py:5 in start: it held 100 MiB"),
        "{advice}"
    );
}

#[test]
fn a_thread_started_by_a_thread_leads_back_to_python() {
    let scene = Scene::killed(9).counted(1).with_box(ROOT, |writer| {
        let mut creator = stack(writer, &[code(writer, "train.py", "start", 5)]);
        for name in [&b"pool"[..], b"loader"] {
            let facts = StackFacts {
                kind: StackKind::Native,
                thread: writer.add_string(name).unwrap(),
                library: writer.add_string(b"/x/libtensor.so").unwrap(),
                creator,
                flags: 0,
            };
            creator = writer
                .add_stack(&facts, std::iter::empty::<(CodeId, u32)>())
                .unwrap();
        }
        acquire(writer, creator, 100 * MIB, 0);
    });
    let holders = scene.diagnose().holders;
    assert_eq!(holders[0].place.describe(), "train.py:5 in start");
}

#[test]
fn an_import_is_the_line_to_change_only_where_nothing_holds_more() {
    let scene = |imported: u64| {
        Scene::killed(9).counted(1).with_box(ROOT, |writer| {
            let library = stack(writer, &[code(writer, TORCH, "conv2d", 123)]);
            let import = stack(writer, &[code(writer, "imports.py", "<module>", 3)]);
            let step = stack(writer, &[code(writer, "train.py", "step", 17)]);
            acquire(writer, library, 200 * MIB, 0);
            acquire(writer, import, imported, 0);
            acquire(writer, step, 40 * MIB, 0);
        })
    };
    let advice = |imported| scene(imported).diagnose().verdict.advice.remove(0);
    assert!(advice(150 * MIB).starts_with("Start at train.py:17 in step"));
    assert!(advice(300 * MIB).starts_with("Start at imports.py:3 in <module>"));
}

#[test]
fn a_line_that_can_be_changed_goes_before_a_larger_import() {
    let scene = Scene::killed(9).counted(1).with_box(ROOT, |writer| {
        let import = stack(writer, &[code(writer, "imports.py", "<module>", 3)]);
        let step = stack(writer, &[code(writer, "train.py", "step", 17)]);
        acquire(writer, import, 300 * MIB, 0);
        acquire(writer, step, 60 * MIB, 0);
    });
    let advice = scene.diagnose().verdict.advice.remove(0);
    assert!(
        advice.starts_with("Start at train.py:17 in step"),
        "{advice}"
    );
}

#[test]
fn the_way_to_a_line_is_told_only_where_most_came_by_it() {
    let via = |first: u64, second: u64| {
        let scene = Scene::killed(9).counted(1).with_box(ROOT, |writer| {
            let line = code(writer, "train.py", "step", 17);
            let one = stack(writer, &[code(writer, TORCH, "conv2d", 123), line]);
            let two = stack(writer, &[code(writer, TORCH, "linear", 456), line]);
            let three = stack(writer, &[code(writer, TORCH, "relu", 789), line]);
            acquire(writer, one, first, 0);
            acquire(writer, two, second, 0);
            acquire(writer, three, second, 0);
        });
        scene.diagnose().holders.remove(0).via
    };
    assert!(via(300 * MIB, 20 * MIB).unwrap().ends_with("conv2d"));
    assert_eq!(via(30 * MIB, 20 * MIB), None);
}

#[test]
fn estimates_are_counted_in_bytes() {
    let scene = Scene::killed(9).counted(1).with_box(ROOT, |writer| {
        let mixed = stack(writer, &[code(writer, "a.py", "mixed", 1)]);
        let sampled = stack(writer, &[code(writer, "a.py", "sampled", 2)]);
        acquire(writer, mixed, 1000 * MIB, 0);
        acquire(writer, mixed, 5 * MIB, stack_flag::SAMPLED);
        acquire(writer, sampled, 100 * MIB, stack_flag::SAMPLED);
    });
    let holders = scene.diagnose().holders;
    let figures: Vec<_> = holders
        .iter()
        .map(|it| {
            (
                it.estimated_bytes / MIB,
                it.is_exact(),
                it.is_estimate(Moment::End),
            )
        })
        .collect();
    assert_eq!(figures, [(5, false, false), (100, false, true)]);
}

#[test]
fn what_found_no_room_is_shown_and_explained() {
    let scene = Scene::killed(9).counted(1).with_box(ROOT, |writer| {
        let step = stack(writer, &[code(writer, "train.py", "step", 17)]);
        acquire(writer, step, 5 * MIB, 0);
        acquire(writer, StackId(0), 70 * MIB, 0);
        writer.count_lost(facts::LOST_STRINGS, 3);
    });
    let diagnosis = scene.diagnose();
    assert_eq!(diagnosis.holders[0].place, Place::Other);
    assert_eq!(diagnosis.holders[0].live_bytes, 70 * MIB);
    assert!(
        diagnosis.remarks.contains(
            &"The box had no room for more names: lines seen after that are counted as other; \
              `--box-size` gives room"
                .to_owned()
        ),
        "{:?}",
        diagnosis.remarks
    );
    assert!(diagnosis.verdict.advice[0].starts_with("Start at train.py:17"));
}

#[test]
fn the_last_seconds_name_the_last_large_request() {
    let scene = Scene::killed(9)
        .counted(1)
        .with_box(ROOT, |writer| {
            let step = stack(writer, &[code(writer, "train.py", "step", 17)]);
            acquire(writer, step, 512 * MIB, 0);
            let time = 90 * SECOND - 20_000_000;
            writer.add_event(EventKind::Mapped, time, ROOT, 512 * MIB, 1, step, 0);
            writer.add_event(EventKind::Released, time + 1, ROOT, 512 * MIB, 1, step, 0);
        })
        .with_samples(
            ROOT,
            &[(80, GIB, GIB), (88, GIB, GIB), (89, 3 * GIB, 3 * GIB)],
        );
    let growth = scene.diagnose().growth;
    assert_eq!((growth.window, growth.bytes), (SECOND, 2 * GIB));
    let last = growth.last_large.unwrap();
    assert_eq!(last.place.describe(), "train.py:17 in step");
    assert_eq!((last.bytes, last.before_end), (512 * MIB, 20_000_000));
}

#[test]
fn resident_memory_below_python_is_said_to_be_so() {
    let scene = Scene::killed(9)
        .counted(1)
        .with_box(ROOT, |writer| acquire(writer, StackId(0), 100 * MIB, 0))
        .with_samples(ROOT, &[(89, 3 * GIB, 3 * GIB)]);
    let memory = scene.diagnose().memory;
    assert_eq!(memory.unexplained(Moment::End), Some(3 * GIB - 100 * MIB));
}

#[test]
fn what_no_line_explains_is_reckoned_at_one_moment() {
    let scene = Scene::killed(9)
        .counted(1)
        .with_box(ROOT, |writer| {
            acquire(writer, StackId(0), 3 * GIB, 0);
            writer.release(StackId(0), 3 * GIB, 1, false, 0);
        })
        .with_samples(ROOT, &[(80, 3 * GIB, 3 * GIB), (89, 2 * GIB, 2 * GIB)]);
    let memory = scene.diagnose().memory;
    assert_eq!(memory.unexplained(Moment::End), Some(2 * GIB));
    assert_eq!(memory.unexplained(Moment::Peak), None);
}

#[test]
fn memory_without_a_line_is_looked_for_where_it_was_reserved() {
    let scene = |held: u64| {
        let fill = |writer: &BoxWriter| {
            let grow = code(writer, "train.py", "grow", 4);
            let add = code(writer, TORCH, "add", 9);
            let import = stack(writer, &[code(writer, "imports.py", "<module>", 1)]);
            acquire(writer, stack(writer, &[grow]), held, 0);
            writer.reserve_space(stack(writer, &[grow]), GIB as i64);
            writer.reserve_space(stack(writer, &[add, grow]), 2 * GIB as i64);
            writer.reserve_space(import, 4 * GIB as i64);
        };
        Scene::killed(9)
            .counted(1)
            .with_box(ROOT, fill)
            .with_samples(ROOT, &[(89, 3 * GIB, 3 * GIB)])
            .diagnose()
    };
    let diagnosis = scene(40 * MIB);
    let found: Vec<(String, u64, Option<&str>)> = diagnosis
        .reserved
        .iter()
        .map(|it| (it.place.describe(), it.bytes / GIB, it.via.as_deref()))
        .collect();
    assert_eq!(
        found,
        [
            ("imports.py:1 in <module>".to_owned(), 4, None),
            (
                "train.py:4 in grow".to_owned(),
                3,
                Some("torch/functional.py:9 add")
            ),
        ]
    );
    assert_eq!(diagnosis.reserved[1].text.as_deref(), Some("source of 4"));
    let advice = &diagnosis.verdict.advice[0];
    assert_eq!(
        advice,
        "Start at train.py:4 in grow: a library's own allocator reserved 3.0 GiB there, and \
         3.0 GiB resident have no line"
    );
    let advice = &scene(2 * GIB).verdict.advice[0];
    assert!(advice.contains("it held 2.0 GiB"), "{advice}");
}

#[test]
fn a_box_that_is_cut_off_gives_what_it_has() {
    let diagnosis = Scene::killed(9)
        .counted(1)
        .with_box(ROOT, |writer| writer.add_note(1, b"Attribution is off"))
        .cut_box(ROOT, 30 << 10)
        .expect(VerdictId::OutOfMemoryCgroup, Confidence::Proved);
    assert!(
        diagnosis
            .remarks
            .iter()
            .any(|remark| remark.contains("shorter than it says"))
    );
}
