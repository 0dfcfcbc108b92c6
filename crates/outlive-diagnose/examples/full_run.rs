//! Writes a run whose one box is full in every table: `full_run FOLDER` makes `FOLDER/run.json`
//! and a box of 32 MiB. The worst case for `outlive why`, to be measured with a clock.

use std::error::Error;
use std::path::PathBuf;

use outlive_diagnose::facts::{
    CgroupFacts, Change, EndStatus, ProcessFacts, ProcessId, RunFacts, StatusSource,
};
use outlive_record::kind::{Attribution, EventKind, StackKind};
use outlive_record::layout::DEFAULT_BOX_SIZE;
use outlive_record::region::Region;
use outlive_record::timeline::{Sample, TimelineWriter, UNKNOWN};
use outlive_record::write::{
    Acquisition, BoxWriter, CodeFacts, CodeId, Identity, StackFacts, StackId, StringId,
};

const SECOND: u64 = 1_000_000_000;
const ID: ProcessId = ProcessId {
    pid: 4711,
    start_ticks: 99,
};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(std::env::args().nth(1).ok_or("Name a folder")?);
    std::fs::create_dir_all(&folder)?;
    let region = Region::leaked(DEFAULT_BOX_SIZE);
    let identity = Identity {
        pid: ID.pid,
        start_ticks: ID.start_ticks,
        ..Identity::default()
    };
    let writer = BoxWriter::create(region, &identity);
    writer.set_python(0x030C_0100, Attribution::On);
    let codes = fill_codes(&writer);
    fill_stacks(&writer, &codes);
    for number in 0..20_000 {
        let stack = StackId(number as u32 + 1);
        writer.add_event(
            EventKind::Acquired,
            number * 1000,
            1,
            1 << 20,
            number,
            stack,
            0,
        );
    }
    let mut bytes = region.to_bytes();
    fill_time_line(&mut bytes);
    std::fs::write(folder.join("4711-99.box"), bytes)?;
    std::fs::write(folder.join("run.json"), serde_json::to_vec(&facts())?)?;
    Ok(())
}

/// As many functions as fit, most of them in libraries, with line tables of a usual length.
fn fill_codes(writer: &BoxWriter) -> Vec<CodeId> {
    let table: Vec<u8> = (0..60).flat_map(|_| [0xD9, 0x02]).collect();
    let mut codes = Vec::new();
    for number in 0_u64.. {
        let file = if number % 10 == 0 {
            format!("/home/a/project/module_{}.py", number / 50)
        } else {
            format!(
                "/v/lib/python3.12/site-packages/package_{}/module.py",
                number / 50
            )
        };
        let strings = (
            writer.add_string(file.as_bytes()),
            writer.add_string(format!("Class.function_{number}").as_bytes()),
            writer.add_string(&table),
        );
        let (Some(file), Some(name), Some(table)) = strings else {
            break;
        };
        let facts = CodeFacts {
            file,
            name,
            first_line: 10,
            table,
            format: 12,
            fingerprint: number,
            address: number,
        };
        let Some(code) = writer.add_code(&facts) else {
            break;
        };
        codes.push(code);
    }
    codes
}

fn fill_stacks(writer: &BoxWriter, codes: &[CodeId]) {
    let facts = StackFacts {
        kind: StackKind::Python,
        thread: StringId(0),
        library: StringId(0),
        creator: StackId(0),
        flags: 0,
    };
    for number in 0..writer.stack_capacity() {
        // Fifteen library frames, then one of the user's: the longest way to a line.
        let frames: Vec<(CodeId, u32)> = (0..16)
            .filter_map(|depth| {
                let step = number * 16 + depth;
                let wanted = if depth == 15 {
                    number * 10
                } else {
                    step - step % 10 + 1
                };
                let code = *codes.get((wanted % codes.len() as u64) as usize)?;
                Some((code, (step % 60) as u32 * 2))
            })
            .collect();
        let Some(stack) = writer.add_stack(&facts, frames.into_iter()) else {
            break;
        };
        let bytes = (number % 977 + 1) << 10;
        writer.acquire(&Acquisition {
            stack,
            bytes,
            request: bytes,
            flags: 0,
            time: number,
        });
    }
}

fn fill_time_line(bytes: &mut [u8]) {
    let mut timeline = TimelineWriter::new(DEFAULT_BOX_SIZE);
    for number in 0..10_000 {
        let sample = Sample {
            time: number * SECOND / 10,
            resident: number << 20,
            proportional: UNKNOWN,
            cgroup_use: number << 20,
            cgroup_limit: 10 << 30,
            available: UNKNOWN,
            swapped: UNKNOWN,
        };
        timeline.push(&sample, |offset, part| {
            if let Some(place) = bytes.get_mut(offset as usize..offset as usize + part.len()) {
                place.copy_from_slice(part);
            }
        });
    }
}

fn facts() -> RunFacts {
    RunFacts {
        id: "full".to_owned(),
        command: vec!["python".to_owned(), "train.py".to_owned()],
        ended_at: Some(1000 * SECOND),
        root: ID,
        processes: vec![ProcessFacts {
            id: ID,
            name: "python".to_owned(),
            status: Some(EndStatus::Signaled(9)),
            status_source: StatusSource::Waited,
            ended_at: Some(1000 * SECOND),
            black_box: Some("4711-99.box".to_owned()),
            peak_resident: 10 << 30,
            ..ProcessFacts::default()
        }],
        cgroups: vec![CgroupFacts {
            path: "/job".to_owned(),
            version: 2,
            own: true,
            limit: Some(10 << 30),
            oom_kill: Some(Change {
                before: 0,
                after: 1,
            }),
            oom: Some(Change {
                before: 0,
                after: 1,
            }),
            ..CgroupFacts::default()
        }],
        ..RunFacts::default()
    }
}
