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
