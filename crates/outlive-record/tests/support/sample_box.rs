//! A small box in which every section has something.

use outlive_record::kind::{Attribution, ChildKind, EventKind, ExceptionKind, StackKind};
use outlive_record::layout::MIN_BOX_SIZE;
use outlive_record::region::Region;
use outlive_record::timeline::{Sample, TimelineWriter};
use outlive_record::write::{
    Acquisition, BoxWriter, CodeFacts, ExceptionFacts, FatalFacts, Identity, StackFacts, StackId,
    StringId,
};

/// Its bytes, as a file would have them.
pub(crate) fn bytes() -> Vec<u8> {
    let region = Region::leaked(MIN_BOX_SIZE);
    let writer = BoxWriter::create(region, &identity());
    writer.set_python(0x030b_07f0, Attribution::On);
    for number in 0..40 {
        let stack = add_stack(&writer, number);
        hold(&writer, stack, number);
    }
    add_last_words(&writer);
    let mut file = region.to_bytes();
    add_time_line(&mut file);
    file
}

fn identity() -> Identity<'static> {
    Identity {
        pid: 4711,
        ppid: 4710,
        start_ticks: 99,
        monotonic: 1,
        realtime: 2,
        exact_from: 1 << 16,
        sample_mean: 1 << 19,
        exe: b"/usr/bin/python3",
        argv: b"python\0train.py\0",
        cwd: b"/home/somebody",
        ..Identity::default()
    }
}

fn add_stack(writer: &BoxWriter, number: u32) -> StackId {
    let text = |text: String| writer.add_string(text.as_bytes()).unwrap_or_default();
    // Location tables of 3.11 and pairs of 3.9: each version reads its own.
    let table: &[u8] = &[0x80, 0x00, 0xd8, 0x04, 0x08, 0xf0, 0x02, 0x01, 0x05, 0x08];
    let code = writer.add_code(&CodeFacts {
        file: text(format!("/home/somebody/module_{number}.py")),
        name: text(format!("Trainer.step_{number}")),
        first_line: number * 10,
        table: writer.add_string(table).unwrap_or_default(),
        format: 9 + number % 6,
        fingerprint: u64::from(number),
        address: 0x7f00_0000,
    });
    let kind = if number.is_multiple_of(5) {
        StackKind::Native
    } else {
        StackKind::Python
    };
    let facts = StackFacts {
        kind,
        thread: text("worker".to_owned()),
        library: StringId(0),
        creator: StackId(number / 2),
        flags: number % 32,
    };
    let frames: Vec<_> = (0..number % 7)
        .filter_map(|depth| Some((code?, depth * 2)))
        .collect();
    writer
        .add_stack(&facts, frames.into_iter())
        .unwrap_or_default()
}

fn hold(writer: &BoxWriter, stack: StackId, number: u32) {
    let bytes = u64::from(number + 1) << 16;
    let time = u64::from(number);
    let live = writer.acquire(&Acquisition {
        stack,
        bytes,
        request: bytes,
        flags: 0,
        time,
    });
    writer.add_event(EventKind::Acquired, time, 4711, bytes, 0x7000, stack, live);
}

fn add_last_words(writer: &BoxWriter) {
    let facts = FatalFacts {
        signal: 11,
        tid: 4711,
        library: b"/usr/lib/libc.so.6",
        thread: b"python",
        abort_message: b"free(): invalid pointer",
        ..FatalFacts::default()
    };
    if let Some(record) = writer.add_fatal(&facts, None) {
        writer.add_fatal_thread(record, 4711, b"python", StackId(3));
        writer.finish_fatal(record);
    }
    for time in 0..70 {
        writer.add_exception(&ExceptionFacts {
            kind: ExceptionKind::Thread,
            tid: 4712,
            time,
            thread: b"worker",
            type_name: b"ValueError",
            message: "größer als erlaubt".as_bytes(),
            traceback: b"train.py:7 in step",
        });
        writer.add_child(ChildKind::Reaped, time, 4800, 9, StackId(1));
        writer.add_note(time, b"Tables are nearly full");
        writer.add_stderr(&[b'x'; 1500]);
    }
}

fn add_time_line(file: &mut [u8]) {
    let mut writer = TimelineWriter::new(MIN_BOX_SIZE);
    for number in 0..3000_u64 {
        let sample = Sample {
            time: number * 50_000_000,
            resident: number << 20,
            proportional: number << 19,
            cgroup_use: number << 20,
            cgroup_limit: 1 << 34,
            available: 1 << 35,
            swapped: 0,
        };
        writer.push(&sample, |offset, bytes| {
            let start = offset as usize;
            file[start..start + bytes.len()].copy_from_slice(bytes);
        });
    }
}
