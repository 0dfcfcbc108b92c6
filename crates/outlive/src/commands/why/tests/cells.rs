//! A run of a notebook's kernel, as people and programs read it.

use outlive_record::kind::{Attribution, EventKind, ExceptionKind, StackKind};
use outlive_record::layout::MIN_BOX_SIZE;
use outlive_record::region::Region;
use outlive_record::write::{
    Acquisition, BoxWriter, CodeFacts, ExceptionFacts, Identity, StackFacts, StackId, StringId,
};
use serde_json::{Value, json};

use super::{ID, killed_run, text};
use crate::commands::why::explain;
use crate::json;
use crate::store::{FACTS_FILE, StoredRun};

const FILE: &str = "/tmp/ipykernel_4711/2.py";

/// A cell that holds 3 GiB, asked for more, and whose thread raised.
fn black_box() -> Vec<u8> {
    let region = Region::leaked(MIN_BOX_SIZE);
    let identity = Identity {
        pid: ID.pid,
        start_ticks: ID.start_ticks,
        ..Identity::default()
    };
    let writer = BoxWriter::create(region, &identity);
    writer.set_python(0x030C_0100, Attribution::On);
    let string = |text: &str| writer.add_string(text.as_bytes()).unwrap();
    let code = writer
        .add_code(&CodeFacts {
            file: string(FILE),
            name: string("<module>"),
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
        time: 50,
    });
    writer.add_event(EventKind::Acquired, 50, 1, 3 << 30, 0, stack, 0);
    writer.add_exception(&ExceptionFacts {
        kind: ExceptionKind::Thread,
        tid: ID.pid,
        time: 80,
        thread: b"loader",
        type_name: b"ValueError",
        message: b"",
        traceback: format!("/usr/lib/python3.12/threading.py:9 in run\n{FILE}:2 in work")
            .as_bytes(),
    });
    region.to_bytes()
}

fn notebook_run() -> (tempfile::TempDir, StoredRun) {
    let (home, run) = killed_run(&black_box());
    let mut facts = run.facts().unwrap();
    facts.processes[0].ended_at = Some(100);
    let file = run.directory.join(FACTS_FILE);
    fs_err::write(file, serde_json::to_vec(&facts).unwrap()).unwrap();
    let kernel = json!({
        "kernel_id": "k", "connection_file": null, "session": "/home/a/Photos.ipynb",
        "cwd": "/home/a", "pid": ID.pid, "parent": 1, "started": 1.5,
    });
    fs_err::write(run.directory.join("kernel.json"), kernel.to_string()).unwrap();
    let cell = |count: u64, time: u64| {
        let source = "images = []\nimages.append(load())";
        json!({ "file": FILE, "count": count, "id": "a1", "source": source, "time": time })
    };
    let cells = format!("{}\n{}\n{}\n", cell(3, 40), cell(5, 70), cell(7, 700));
    fs_err::write(run.directory.join("cells.jsonl"), cells).unwrap();
    (home, run)
}

#[test]
fn the_text_names_the_notebook_the_cell_and_its_line() {
    let (_home, run) = notebook_run();
    let text = text(&run);
    for expected in [
        "Out of memory: the kernel killed the notebook kernel (pid 4711) at the 4.0 GiB limit of",
        " · notebook Photos.ipynb\n",
        "cell [5] was started last, 0.00 s before the end",
        "  thread  loader: ValueError at cell [5] line 2 in work\n",
        " 3.0 GiB  cell [3] line 2  images.append(load())\n",
        "  last    3.0 GiB at cell [3] line 2, 0.00 s before the end\n",
        "  try     Start at cell [3] line 2: it held 3.0 GiB of the 3.0 GiB in use\n",
    ] {
        assert!(text.contains(expected), "no `{expected}` in\n{text}");
    }
    assert!(!text.contains("ipykernel"), "{text}");
}

#[test]
fn the_json_keeps_the_file_and_adds_the_cell() {
    let (_home, run) = notebook_run();
    let mut out = Vec::new();
    json::write_why(&explain(&run).unwrap(), &mut out).unwrap();
    let value: Value = serde_json::from_slice(&out).unwrap();
    let cell = |count: u64| json!({ "count": count, "id": "a1" });
    for (path, expected) in [
        ("/run/notebook/session", Value::from("/home/a/Photos.ipynb")),
        ("/run/notebook/kernel_id", "k".into()),
        ("/run/notebook/pid", ID.pid.into()),
        ("/run/last_cell", cell(5)),
        ("/holders/0/file", FILE.into()),
        ("/holders/0/line", 2.into()),
        ("/holders/0/function", "<module>".into()),
        ("/holders/0/cell", cell(3)),
        ("/holders/0/text", "images.append(load())".into()),
        ("/growth/last_large/place/cell", cell(3)),
        (
            "/growth/last_large/place/text",
            "images.append(load())".into(),
        ),
        ("/exceptions/0/places/0/line", 9.into()),
        ("/exceptions/0/places/0/cell", Value::Null),
        ("/exceptions/0/places/1/cell", cell(5)),
        ("/exceptions/0/places/1/function", "work".into()),
        (
            "/exceptions/0/places/1/text",
            "images.append(load())".into(),
        ),
        (
            "/exceptions/0/traceback/1",
            format!("{FILE}:2 in work").into(),
        ),
    ] {
        assert_eq!(value.pointer(path), Some(&expected), "{path}");
    }
    let documented = include_str!("../../../../../../docs/why-json.md");
    for field in ["`run.notebook`", "`run.last_cell`", "`cell`", "`places`"] {
        assert!(documented.contains(field), "{field} is undocumented");
    }
}
