//! What the kernel of a notebook leaves in the run's folder: it is the user's own process, so
//! anything may stand there.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::context::{Context, python, text};

/// Says that it is a notebook's kernel, and is killed.
const KERNEL: &str = "\
import json, os
facts = {'pid': os.getpid(), 'session': '/home/a/a \\x1b b.ipynb', 'kernel_id': 'k'}
with open(os.environ['OUTLIVE_RUN_DIR'] + '/kernel.json', 'w') as file:
    json.dump(facts, file)
os.kill(os.getpid(), 9)
";

struct Killed {
    context: Context,
    folder: PathBuf,
}

impl Killed {
    fn new() -> Self {
        let context = Context::new();
        let mut command = context.run();
        command.args(["--quiet", "--", python(), "-c", KERNEL]);
        assert!(!command.status().unwrap().success());
        let folder = context.run_folders().pop().unwrap();
        Self { context, folder }
    }

    fn with_cells(&self, bytes: impl AsRef<[u8]>) -> Value {
        fs_err::write(self.folder.join("cells.jsonl"), bytes).unwrap();
        self.why()
    }

    fn why(&self) -> Value {
        let mut command = self.context.outlive(&["why", "--json"]);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let value: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(value["verdict"]["id"], "killed_from_outside");
        value
    }
}

fn cell(count: u64, source: &str) -> String {
    let cell = json!({ "file": "/tmp/ipykernel_1/2.py", "count": count, "id": null,
                       "source": source, "time": count });
    format!("{cell}\n")
}

fn last_count(why: &Value) -> Option<u64> {
    why["run"]["last_cell"]["count"].as_u64()
}

#[test]
fn a_kernel_that_was_killed_is_called_one_and_its_notebook_is_named() {
    let killed = Killed::new();
    killed.with_cells(cell(7, "x = 1"));
    let output = killed.context.outlive(&["why"]).output().unwrap();
    let shown = text(&output.stdout);
    for expected in [
        "The notebook kernel (pid ",
        " · notebook a ? b.ipynb",
        "cell [7] was started last, ",
    ] {
        assert!(shown.contains(expected), "no `{expected}` in\n{shown}");
    }
    assert!(!shown.to_lowercase().starts_with("out of memory"));
}

#[test]
fn lines_that_make_no_sense_are_passed_over() {
    let killed = Killed::new();
    let mut bytes = cell(3, "x = 1").into_bytes();
    for junk in [
        &b"\n\n"[..],
        b"\xff\xfe\x00\n",
        b"[]\n",
        b"null\n",
        b"{}\n",
        b"{\"file\": 1, \"count\": \"4\", \"source\": [], \"time\": -1}\n",
        b"{\"file\": \"a\", \"count\": 1e99, \"source\": \"\", \"time\": 9}\n",
        b"{\"file\": \"\", \"count\": 9, \"source\": \"\", \"time\": 9}\n",
        &[b"[".repeat(100_000), b"\n".to_vec()].concat(),
    ] {
        bytes.extend_from_slice(junk);
    }
    bytes.extend_from_slice(cell(4, "y = 2").as_bytes());
    let cut = cell(5, "z = 3");
    bytes.extend_from_slice(&cut.as_bytes()[..cut.len() / 2]);
    assert_eq!(last_count(&killed.with_cells(&bytes)), Some(4));
}

#[test]
fn of_a_file_without_end_the_end_is_read() {
    let killed = Killed::new();
    let first = cell(900, &"#".repeat(17 << 20));
    let why = killed.with_cells(first.clone() + &cell(2, "x"));
    assert_eq!(last_count(&why), Some(2), "the first one is too far back");
    assert_eq!(last_count(&killed.with_cells(first)), None);
}

#[test]
fn what_is_no_plain_file_is_left_alone() {
    let killed = Killed::new();
    let place = killed.folder.join("cells.jsonl");
    let elsewhere = killed.folder.join("elsewhere");
    fs_err::write(&elsewhere, cell(3, "x")).unwrap();
    symlink(&elsewhere, &place).unwrap();
    assert_eq!(last_count(&killed.why()), None, "a link");
    fs_err::remove_file(&place).unwrap();
    let mut make = std::process::Command::new("mkfifo");
    assert!(make.arg(&place).status().unwrap().success());
    assert_eq!(last_count(&killed.why()), None, "a pipe");
    fs_err::remove_file(&place).unwrap();
    fs_err::create_dir(&place).unwrap();
    assert_eq!(last_count(&killed.why()), None, "a folder");
    fs_err::remove_dir(&place).unwrap();
    fs_err::write(&place, cell(3, "x")).unwrap();
    assert_eq!(last_count(&killed.why()), Some(3));
    fs_err::set_permissions(&place, PermissionsExt::from_mode(0o000)).unwrap();
    killed.why();
}

#[test]
fn a_kernel_file_that_makes_no_sense_makes_no_notebook() {
    let killed = Killed::new();
    assert_eq!(killed.why()["run"]["notebook"]["kernel_id"], "k");
    for junk in [
        &b""[..],
        b"{",
        b"[]",
        b"{\"pid\": -1}",
        b"{\"pid\": 1, \"session\": 7}",
        &b" ".repeat(1 << 20),
    ] {
        fs_err::write(killed.folder.join("kernel.json"), junk).unwrap();
        assert_eq!(killed.why()["run"]["notebook"], Value::Null);
    }
}
