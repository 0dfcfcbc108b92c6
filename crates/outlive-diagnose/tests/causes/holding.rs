//! Who held the memory, and how it grew.

use outlive_diagnose::facts::EndStatus;
use outlive_diagnose::holders::Moment;
use outlive_diagnose::place::Place;
use outlive_diagnose::{Confidence, VerdictId};
use outlive_record::kind::{EventKind, StackKind, stack_flag};
use outlive_record::write::{
    Acquisition, BoxWriter, CodeFacts, CodeId, StackFacts, StackId, StringId,
};

use crate::scene::{GIB, MIB, ROOT, SECOND, Scene};

const TORCH: &str = "/v/lib/python3.12/site-packages/torch/functional.py";

/// A function whose every instruction lies on its first line.
fn code(writer: &BoxWriter, file: &str, name: &str, line: u32) -> CodeId {
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

fn stack(writer: &BoxWriter, frames: &[CodeId]) -> StackId {
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

fn acquire(writer: &BoxWriter, stack: StackId, bytes: u64, flags: u32) {
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
                holder.exact,
            )
        })
        .collect();
    assert_eq!(
        found,
        [
            ("train.py:17 in step".to_owned(), 400, true),
            ("train.py:30 in main".to_owned(), 50, false),
            (
                "other (the tables of the box were full)".to_owned(),
                20,
                false
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
        writer.release(big, 500 * MIB, false, 85 * SECOND);
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
    let holders = scene.diagnose().holders;
    assert_eq!(holders[0].place.describe(), "thread loader (libtensor.so)");
    assert_eq!(holders[0].place.created_at(), Some("train.py:5"));
    assert!(matches!(holders[0].place, Place::Thread { .. }));
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
    assert_eq!(
        scene.diagnose().memory.unexplained(),
        Some(3 * GIB - 100 * MIB)
    );
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
