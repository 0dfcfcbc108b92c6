//! From a run's folder to what a person or a program reads.

mod causes;
mod cells;
mod guarded;

use outlive_diagnose::facts::{CgroupFacts, Change, EndStatus, ProcessFacts, ProcessId, RunFacts};
use outlive_record::kind::{Attribution, StackKind};
use outlive_record::layout::MIN_BOX_SIZE;
use outlive_record::region::Region;
use outlive_record::write::{
    Acquisition, BoxWriter, CodeFacts, CodeId, Identity, StackFacts, StackId, StringId,
};
use serde_json::Value;

use super::{explain, print_text};
use crate::json;
use crate::printer::Style;
use crate::store::{FACTS_FILE, StoredRun};

const ID: ProcessId = ProcessId {
    pid: 4711,
    start_ticks: 99,
};

/// A process that was killed at the limit of its cgroup while `train.py:2` held 3 GiB.
fn killed_run(black_box: &[u8]) -> (tempfile::TempDir, StoredRun) {
    let home = tempfile::tempdir().unwrap();
    let directory = home.path().to_owned();
    fs_err::write(directory.join("train.py"), "import x\nkept = x.load()\n").unwrap();
    fs_err::write(directory.join("4711-99.box"), black_box).unwrap();
    let facts = RunFacts {
        command: vec!["python".to_owned(), "train.py".to_owned()],
        cwd: directory.to_str().unwrap().to_owned(),
        ended_at: Some(1),
        root: ID,
        processes: vec![ProcessFacts {
            id: ID,
            name: "python".to_owned(),
            status: Some(EndStatus::Signaled(9)),
            ended_at: Some(1),
            peak_resident: 3 << 30,
            ..ProcessFacts::default()
        }],
        cgroups: vec![CgroupFacts {
            path: "/job".to_owned(),
            version: 2,
            own: true,
            limit: Some(4 << 30),
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
    };
    fs_err::write(
        directory.join(FACTS_FILE),
        serde_json::to_vec(&facts).unwrap(),
    )
    .unwrap();
    let run = StoredRun {
        id: "20260101-000000-aaaa".to_owned(),
        directory,
    };
    (home, run)
}

fn black_box(directory: &str) -> Vec<u8> {
    let region = Region::leaked(MIN_BOX_SIZE);
    let identity = Identity {
        pid: ID.pid,
        start_ticks: ID.start_ticks,
        cwd: directory.as_bytes(),
        ..Identity::default()
    };
    let writer = BoxWriter::create(region, &identity);
    writer.set_python(0x030C_0100, Attribution::On);
    let code = writer
        .add_code(&CodeFacts {
            file: writer.add_string(b"train.py").unwrap(),
            name: writer.add_string(b"<module>").unwrap(),
            first_line: 2,
            table: writer.add_string(&[0x87, 0x00]).unwrap(),
            format: 12,
            fingerprint: 1,
            address: 1,
        })
        .unwrap();
    let facts = StackFacts {
        kind: StackKind::Python,
        thread: StringId(0),
        library: StringId(0),
        creator: StackId(0),
        flags: 0,
    };
    let stack = writer.add_stack(&facts, [(code, 2)].into_iter()).unwrap();
    writer.acquire(&Acquisition {
        stack,
        bytes: 3 << 30,
        request: 3 << 30,
        flags: 0,
        time: 1,
    });
    writer.reserve_space(stack, 2 << 30);
    region.to_bytes()
}

/// Memory of a native thread that a missing file started, of `python -c`, and without a line.
fn strange_box() -> Vec<u8> {
    let region = Region::leaked(MIN_BOX_SIZE);
    let program = "import x\nfor b in data: pass";
    let arguments = ["python", "-c", program, ""].join("\0");
    let identity = Identity {
        pid: ID.pid,
        start_ticks: ID.start_ticks,
        argv: arguments.as_bytes(),
        ..Identity::default()
    };
    let writer = BoxWriter::create(region, &identity);
    writer.set_python(0x030C_0100, Attribution::On);
    let string = |text: &str| writer.add_string(text.as_bytes()).unwrap();
    let stack_of = |kind, creator, code: Option<CodeId>| {
        let facts = StackFacts {
            kind,
            thread: string("tf_data"),
            library: string("/x/libtensor.so"),
            creator,
            flags: 0,
        };
        let frames = code.map(|code| (code, 2));
        writer.add_stack(&facts, frames.into_iter()).unwrap()
    };
    let code = |file: &str| {
        let code = CodeFacts {
            file: string(file),
            name: string("<module>"),
            first_line: 2,
            table: writer.add_string(&[0x87, 0x00]).unwrap(),
            format: 12,
            fingerprint: 1,
            address: 1,
        };
        Some(writer.add_code(&code).unwrap())
    };
    let long = format!("/gone/{}.py", "very_long_name/".repeat(9));
    let gone = stack_of(StackKind::Python, StackId(0), code(&long));
    let argument = stack_of(StackKind::Python, StackId(0), code("<string>"));
    let native = stack_of(StackKind::Native, gone, None);
    for (stack, bytes) in [
        (native, 1 << 30),
        (argument, 800 << 20),
        (StackId(0), 700 << 20),
    ] {
        writer.acquire(&Acquisition {
            stack,
            bytes,
            request: bytes,
            flags: 0,
            time: 1,
        });
    }
    region.to_bytes()
}

#[test]
fn memory_without_a_plain_line_is_shown_as_what_it_is() {
    let (_home, run) = killed_run(&strange_box());
    let text = text(&run);
    for expected in [
        "  [no source]\n",
        "          thread tf_data (libtensor.so), started here\n",
        "800 MiB  <string>:2 in <module>",
        "  for b in data: pass\n",
        "700 MiB  other: the box had no room for these lines\n",
    ] {
        assert!(text.contains(expected), "no `{expected}` in\n{text}");
    }
    assert!(
        text.lines().all(|line| line.chars().count() <= 100),
        "{text}"
    );
    let source = |mark: &str| {
        let line = text.lines().find(|line| line.contains(mark)).unwrap();
        line.split(mark).next().unwrap().chars().count()
    };
    assert_eq!(source("[no source]"), source("for b in data"), "{text}");
    let mut out = Vec::new();
    json::write_why(&explain(&run).unwrap(), &mut out).unwrap();
    let value: Value = serde_json::from_slice(&out).unwrap();
    for (path, expected) in [
        ("/holders/0/kind", Value::from("thread")),
        ("/holders/0/line", 2.into()),
        ("/holders/0/function", "<module>".into()),
        ("/holders/0/via", "thread tf_data (libtensor.so)".into()),
        ("/holders/1/text", "for b in data: pass".into()),
        ("/holders/2/kind", "other".into()),
        ("/holders/2/estimated_bytes", 0.into()),
    ] {
        assert_eq!(value.pointer(path), Some(&expected), "{path}");
    }
    let file = value.pointer("/holders/0/file").unwrap().as_str().unwrap();
    assert!(file.starts_with("/gone/very_long_name/"), "{file}");
}

fn text(run: &StoredRun) -> String {
    let mut out = Vec::new();
    print_text(&explain(run).unwrap(), &mut out, Style::PLAIN).unwrap();
    String::from_utf8(out).unwrap()
}

/// A killed run with a whole box.
fn whole_run() -> (tempfile::TempDir, StoredRun) {
    let (home, run) = killed_run(&[]);
    let directory = run.directory.to_str().unwrap().to_owned();
    fs_err::write(run.directory.join("4711-99.box"), black_box(&directory)).unwrap();
    (home, run)
}

#[test]
fn the_text_says_what_happened_who_held_it_and_what_to_do() {
    let (_home, run) = whole_run();
    let text = text(&run);
    for expected in [
        "Out of memory: the kernel killed python (pid 4711)",
        "\nproved · run 20260101-000000-aaaa",
        "  memory  limit 4.0 GiB (cgroup v2 /job) · peak 3.0 GiB",
        "cgroup v2 /job: oom_kill 0 -> 1, oom 0 -> 1",
        " 3.0 GiB  train.py:2 in <module>  kept = x.load()",
        "  try     Start at train.py:2 in <module>: it held 3.0 GiB",
        "  not     fault or abort",
    ] {
        assert!(text.contains(expected), "no `{expected}` in\n{text}");
    }
    assert!(
        text.lines().all(|line| line.chars().count() <= 100),
        "{text}"
    );
}

#[test]
fn resident_memory_without_a_line_is_shown_with_the_place_that_reserved_it() {
    let (_home, run) = whole_run();
    assert!(!text(&run).contains("reserved"), "every byte has a line");
    let mut facts = run.facts().unwrap();
    facts.processes[0].last_resident = 4 << 30;
    let facts = serde_json::to_vec(&facts).unwrap();
    fs_err::write(run.directory.join(FACTS_FILE), facts).unwrap();
    let text = text(&run);
    let expected = "more resident, below Python: no line (native libraries, the heap's own)\n\
        \x20                     up to 2.0 GiB reserved by a library's allocator at train.py:2 in \
        <module>\n";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn long_paths_of_cgroups_are_short_in_text_and_whole_in_json() {
    let (_home, run) = whole_run();
    let path = format!("/kubepods.slice/burstable/{}", "0123456789abcdef".repeat(2));
    let mut facts = run.facts().unwrap();
    facts.cgroups[0].path.clone_from(&path);
    let file = run.directory.join(FACTS_FILE);
    fs_err::write(file, serde_json::to_vec(&facts).unwrap()).unwrap();
    let text = text(&run);
    let short = "/kubepods.slice/…/0123456789abcdef0123456789abcdef";
    assert!(text.contains(&format!("(cgroup v2 {short})")), "{text}");
    assert!(!text.contains(&path), "{text}");
    let mut out = Vec::new();
    json::write_why(&explain(&run).unwrap(), &mut out).unwrap();
    let value: Value = serde_json::from_slice(&out).unwrap();
    assert_eq!(
        value["memory"]["limit_source"],
        format!("cgroup v2 {path}").as_str()
    );
    assert!(value["verdict"]["evidence"].to_string().contains(&path));
}

#[test]
fn boxes_without_the_facts_of_their_run_still_say_who_held_memory() {
    let (_home, run) = whole_run();
    fs_err::remove_file(run.directory.join(FACTS_FILE)).unwrap();
    let text = text(&run);
    for expected in [
        "How it ended is not known: there is a black box, and no `run.json` beside it\nunproved",
        " 3.0 GiB  train.py:2 in <module>  kept = x.load()",
    ] {
        assert!(text.contains(expected), "no `{expected}` in\n{text}");
    }
}

#[test]
fn the_time_of_the_end_is_told_to_those_who_ask_later() {
    let (_home, run) = whole_run();
    let mut explanation = explain(&run).unwrap();
    let print = |explanation: &_| {
        let mut out = Vec::new();
        print_text(explanation, &mut out, Style::PLAIN).unwrap();
        String::from_utf8(out).unwrap()
    };
    assert!(!print(&explanation).contains(", ended "));
    explanation.explained_at = Some(60_000_000_001);
    let text = print(&explanation);
    assert!(text.contains(" (60 s ago) · python train.py"), "{text}");
}

#[test]
fn the_json_has_its_documented_shape() {
    let (_home, run) = whole_run();
    let mut out = Vec::new();
    json::write_why(&explain(&run).unwrap(), &mut out).unwrap();
    let value: Value = serde_json::from_slice(&out).unwrap();
    let documented = include_str!("../../../../../docs/why-json.md");
    for (path, expected) in [
        ("/version", Value::from(1)),
        ("/verdict/id", "out_of_memory_cgroup".into()),
        ("/verdict/confidence", "proved".into()),
        ("/first_death/pid", 4711.into()),
        ("/first_death/status/signal", "SIGKILL".into()),
        ("/memory/limit", (4_u64 << 30).into()),
        ("/memory/limit_source", "cgroup v2 /job".into()),
        ("/memory/peak", (3_u64 << 30).into()),
        ("/holders/0/file", "train.py".into()),
        ("/holders/0/line", 2.into()),
        ("/holders/0/function", "<module>".into()),
        ("/holders/0/text", "kept = x.load()".into()),
        ("/holders/0/live_bytes", (3_u64 << 30).into()),
        ("/holders/0/peak_bytes", (3_u64 << 30).into()),
        ("/holders/0/exact", true.into()),
        ("/reserved/0/line", 2.into()),
        ("/reserved/0/text", "kept = x.load()".into()),
        ("/reserved/0/bytes", (2_u64 << 30).into()),
        ("/processes/0/role", "first".into()),
    ] {
        assert_eq!(value.pointer(path), Some(&expected), "{path}");
    }
    for name in value.as_object().unwrap().keys() {
        let named = |form: String| documented.contains(&form);
        assert!(
            named(format!("`{name}`")) || named(format!("`{name}.")),
            "{name} is undocumented"
        );
    }
}

#[test]
fn a_box_that_cannot_be_read_costs_its_lines_and_nothing_else() {
    for (bytes, expected) in [
        (&b"nonsense"[..], "8 bytes are too few"),
        (&[7; 4096][..], "the magic number is missing"),
    ] {
        let (_home, run) = killed_run(bytes);
        let text = text(&run);
        assert!(text.contains("Out of memory: the kernel killed"), "{text}");
        assert!(
            text.replace("\n            ", " ").contains(expected),
            "{text}"
        );
    }
}
