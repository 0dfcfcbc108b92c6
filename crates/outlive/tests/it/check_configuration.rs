//! What a project, or the command line, says about the check.

use crate::context::stderr;
use crate::project::{LEAK, Project, SOUND};

/// A finding whose size decides: 8 GB.
const LARGE: &str = "import torch\n\nx = torch.zeros(1000, 1000, 1000, dtype=torch.float64)\n";

#[test]
fn the_nearest_configuration_holds() {
    let project = Project::new(&[
        (
            "pyproject.toml",
            "[project]\nname = 'x'\n[tool.outlive]\nignore = ['OL101']\n",
        ),
        ("a.py", LEAK),
        ("own/outlive.toml", "info = false\n"),
        ("own/b.py", LEAK),
        // One that does not speak of us is looked over.
        (
            "own/deep/pyproject.toml",
            "[project]\nname = 'outlive-user'\n",
        ),
        ("own/deep/c.py", LEAK),
    ]);
    assert_eq!(project.found(&[]), ["own/b.py:8", "own/deep/c.py:8"]);
    assert_eq!(project.found(&["own/../a.py"]), [""; 0]);
}

#[test]
fn the_hidden_file_comes_first_and_pyproject_last() {
    let project = Project::new(&[
        ("a.py", LEAK),
        ("pyproject.toml", "[tool.outlive]\nselect = ['OL4']\n"),
        ("outlive.toml", "select = ['OL1']\n"),
    ]);
    assert_eq!(project.found(&[]), ["a.py:8"]);
    project.write(".outlive.toml", "select = ['OL4']\n");
    assert_eq!(project.found(&[]), [""; 0]);
}

#[test]
fn options_come_before_the_configuration() {
    let project = Project::new(&[("a.py", LEAK), ("outlive.toml", "ignore = ['OL1']\n")]);
    assert_eq!(project.found(&[]), [""; 0]);
    assert_eq!(project.found(&["--select", "OL901,OL101"]), ["a.py:8"]);
    assert_eq!(
        project.found(&["--extend-select", "retained-graph-accumulation"]),
        ["a.py:8"],
        "the longer name decides"
    );
    assert_eq!(
        project.found(&["--select", "autograd_history_kept", "--ignore", "OL101"]),
        [""; 0]
    );
}

#[test]
fn patterns_are_relative_to_the_configuration() {
    let project = Project::new(&[
        (
            "sub/outlive.toml",
            "exclude = ['/old', '!build/']\nper-file-ignores = { 'tests/' = ['OL1'] }\n",
        ),
        ("sub/old/a.py", LEAK),
        ("sub/new/old/b.py", LEAK),
        ("sub/build/c.py", LEAK),
        ("sub/tests/deep/d.py", LEAK),
        ("tests/e.py", LEAK),
    ]);
    assert_eq!(
        project.found(&[]),
        ["sub/build/c.py:8", "sub/new/old/b.py:8", "tests/e.py:8"]
    );
    assert_eq!(
        project.found(&["--exclude", "sub/*/old,e.py"]),
        ["sub/build/c.py:8"]
    );
}

#[test]
fn sizes_are_compared_with_the_budget() {
    let project = Project::new(&[("a.py", LARGE)]);
    let sizes = ["--select", "OL401", "--budget"];
    let with = |budget: &str| project.found(&[&sizes[..], &[budget]].concat());
    assert_eq!(with("4GiB"), ["a.py:3"]);
    assert_eq!(with("1TiB"), [""; 0]);
    project.write("outlive.toml", "budget = '4GiB'\nselect = ['OL401']\n");
    assert_eq!(project.found(&[]), ["a.py:3"]);
    assert_eq!(project.found(&["--budget", "1TiB"]), [""; 0]);
}

#[test]
fn what_makes_no_sense_is_an_error_with_a_hint() {
    let cases = [
        (
            "selct = ['OL1']",
            "Unknown key `selct` in `",
            "hint: did you mean `select`?",
        ),
        (
            "zzz = 1",
            "Unknown key `zzz` in `",
            "hint: the keys are `select`, ",
        ),
        ("select = ['OL77']", "Unknown rule `OL77` in `", "hint: "),
        ("select = 'OL1'", "Cannot use `", "`select`: "),
        ("select = []", "Cannot use `", "`select`: empty"),
        ("budget = 'much'", "Cannot use `", "`budget`: not a limit"),
        ("ignore = [", "Cannot use `", "line 1: "),
        (
            "exclude = ['{a']",
            "Cannot use the pattern `{a` in `",
            "outlive.toml",
        ),
    ];
    for (text, start, piece) in cases {
        let project = Project::new(&[("a.py", SOUND), ("outlive.toml", text)]);
        let output = project.check(&[]);
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(output.stdout.is_empty());
        let message = stderr(&output);
        assert!(
            message.starts_with(&format!("outlive: {start}")),
            "{message}"
        );
        assert!(message.contains(piece), "{text}: {message}");
        assert!(message.contains("outlive.toml"), "{message}");
        assert!(message.lines().count() <= 2, "{message}");
    }
}

#[test]
fn a_broken_pyproject_matters_only_if_it_speaks_of_us() {
    let project = Project::new(&[("a.py", LEAK), ("pyproject.toml", "[[[")]);
    assert_eq!(project.found(&[]), ["a.py:8"]);
    project.write("pyproject.toml", "[tool.outlive\n");
    assert_eq!(project.check(&[]).status.code(), Some(2));
}

#[test]
fn unknown_rules_on_the_command_line_are_errors() {
    let project = Project::new(&[("a.py", SOUND)]);
    for option in ["--select", "--ignore", "--extend-select"] {
        let output = project.check(&[option, "OL101,retained_graph_apend"]);
        assert_eq!(output.status.code(), Some(2));
        let expected =
            format!("outlive: Unknown rule `retained_graph_apend` in `{option}`\nhint: ");
        assert!(stderr(&output).starts_with(&expected), "{output:?}");
        assert!(stderr(&output).contains("`retained_graph_append`"));
    }
}
