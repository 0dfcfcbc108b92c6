//! `outlive why` as a person or a program calls it.

use serde_json::Value;

use crate::context::{Companion, Context, python, stderr, text};

#[test]
fn what_cannot_be_found_is_said_in_one_line_with_a_hint() {
    let context = Context::new();
    let message = |run: &str| {
        let output = context.outlive(&["why", run]).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert!(output.stdout.is_empty(), "{output:?}");
        stderr(&output).to_owned()
    };
    let none = message("last");
    assert!(none.starts_with("outlive: No runs in "), "{none}");
    assert!(none.ends_with("hint: record one with `outlive run -- COMMAND`\n"));
    assert_eq!(none.lines().count(), 2);
    context.run().args(["--", "true"]).output().unwrap();
    context.run().args(["--", "true"]).output().unwrap();
    let unknown = message("1999");
    assert_eq!(
        unknown,
        "outlive: No run `1999`\nhint: `outlive list` shows the runs that are kept\n"
    );
    let several = message("20");
    for folder in context.run_folders() {
        let id = folder.file_name().unwrap().to_str().unwrap();
        assert!(several.contains(id), "{several}");
    }
}

#[test]
fn the_json_is_valid_and_its_keys_keep_their_order() {
    let context = Context::new();
    context
        .run()
        .args(["--", "sh", "-c", "kill -SEGV $$"])
        .output()
        .unwrap();
    let json = || {
        let output = context
            .outlive(&["why", "--format", "json"])
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        text(&output.stdout).to_owned()
    };
    let first = json();
    let value: Value = serde_json::from_str(&first).unwrap();
    assert_eq!(value["verdict"]["id"], "segmentation_fault");
    assert_eq!(first, json());
}

#[test]
fn a_run_that_lost_its_supervisor_gets_the_same_answer_twice() {
    let context = Context::new();
    let script = "import sys; print('ready', flush=True); sys.stdin.read()";
    let mut program = Companion::start(context.run().args(["--", python(), "-c", script]));
    assert_eq!(program.line(), "ready");
    program.child.kill().unwrap();
    program.child.wait().unwrap();
    assert_eq!(program.line(), "", "the program died with its supervisor");
    let json = || {
        let output = context
            .outlive(&["why", "--format", "json"])
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        text(&output.stdout).to_owned()
    };
    let first = json();
    assert!(first.contains("\"supervisor_lost\""), "{first}");
    assert!(context.facts().looked_late);
    assert_eq!(context.facts().ended_at, None);
    assert_eq!(first, json());
}

/// A program that ends well, though its child does not; prints the child's pid. The child lives
/// until the supervisor watches it: without the hook nobody else writes down how it ended.
const LOSES_A_CHILD: &str = "
import os, subprocess, sys, time
child = subprocess.Popen(['sh', '-c', 'read word; kill -SEGV $$'], stdin=subprocess.PIPE)
folder = f'/proc/{os.getppid()}/fd'
def is_watched():
    for name in os.listdir(folder):
        try:
            if os.readlink(f'{folder}/{name}') == f'/proc/{child.pid}/statm':
                return True
        except FileNotFoundError:
            pass
deadline = time.monotonic() + 60
while not is_watched():
    if time.monotonic() > deadline:
        sys.exit('not watched')
    os.sched_yield()
print(child.pid)
child.communicate(b'now')
";

#[test]
fn the_pid_of_a_child_explains_that_child() {
    let context = Context::new();
    let mut command = context.run();
    let output = command.args(["--", python(), "-c", LOSES_A_CHILD]);
    let output = output.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let pid = text(&output.stdout).trim().to_owned();
    let why = |arguments: &[&str]| {
        let output = context.outlive(arguments).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        text(&output.stdout).to_owned()
    };
    let of_run = why(&["why"]);
    assert!(
        of_run.contains(&format!("  try     outlive why {pid}: ")),
        "{of_run}"
    );
    let value: Value = serde_json::from_str(&why(&["why", &pid, "--json"])).unwrap();
    assert_eq!(value["verdict"]["id"], "segmentation_fault");
    assert_eq!(value["first_death"]["pid"].to_string(), pid);
    let root = context.facts().root.pid.to_string();
    let value: Value = serde_json::from_str(&why(&["why", &root, "--json"])).unwrap();
    assert_eq!(value["verdict"]["id"], "finished");
}

#[test]
fn a_run_is_explained_wherever_its_folder_lies() {
    let context = Context::new();
    context
        .run()
        .args(["--", "sh", "-c", "kill -SEGV $$"])
        .output()
        .unwrap();
    let elsewhere = Context::new();
    let why = |path: &std::path::Path| {
        let mut command = elsewhere.outlive(&["why"]);
        command.arg(path).output().unwrap()
    };
    let folder = context.run_folders().pop().unwrap();
    for path in [folder.join("run.json"), folder.clone()] {
        let output = why(&path);
        assert!(text(&output.stdout).contains("segmentation fault"));
    }
    let output = why(&folder.join("no-such-thing"));
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).starts_with("outlive: No such file or folder: "));
    let output = why(folder.parent().unwrap());
    assert!(stderr(&output).starts_with("outlive: No run in "));
}

#[test]
fn the_peak_of_a_short_process_is_what_the_kernel_saw() {
    let context = Context::new();
    let script = "x = bytearray(64 << 20)";
    let mut command = context.run();
    command.args(["--", python(), "-c", script]);
    assert!(command.status().unwrap().success());
    let facts = context.facts();
    assert!(facts.peak_memory >= 64 << 20, "{}", facts.peak_memory);
    assert!(facts.processes[0].peak_resident >= 64 << 20);
    let output = context
        .outlive(&["list", "--format", "json"])
        .output()
        .unwrap();
    let value: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(value["runs"][0]["peak"].as_u64().unwrap() >= 64 << 20);
}

#[test]
fn commands_cannot_reach_the_terminal_with_control_characters() {
    let context = Context::new();
    let script = ": a\n: b \u{1b}[m";
    context
        .run()
        .args(["--", "sh", "-c", script])
        .output()
        .unwrap();
    for arguments in [&["list"][..], &["why"]] {
        let output = context.outlive(arguments).output().unwrap();
        let shown = text(&output.stdout);
        assert!(shown.contains("sh -c : a : b ?[m"), "{shown}");
    }
}
