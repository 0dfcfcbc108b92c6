//! `outlive check` as a person calls it: which files, what is said, how it ends.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::{Command, Stdio};

use crate::context::{stderr, text};
use crate::project::{LEAK, Project, SOUND, hostile_name, notebook, stdout};

#[test]
fn findings_are_told_with_source_witness_and_help() {
    let project = Project::new(&[("train.py", LEAK)]);
    let output = project.check(&[]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let shown = stdout(&output);
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!(
        lines[0],
        "train.py:8:23: warning OL101 retained_graph_accumulation"
    );
    assert_eq!(lines[4], "7 |         loss.backward()");
    assert_eq!(lines[5], "8 |         total_loss += loss");
    assert_eq!(lines[6], "  |                       ^^^^");
    assert!(lines[7].starts_with("  = line 6: "), "{shown}");
    assert!(shown.contains("  = help: "), "{shown}");
    assert!(shown.contains("(`--fix` does it)"), "{shown}");
    assert_eq!(
        lines.last(),
        Some(&"Found 1 finding (1 warning); 1 fixable with `--fix`")
    );
    assert_eq!(stderr(&output), "");
}

#[test]
fn nothing_found_is_said_and_ends_well() {
    let project = Project::new(&[("a.py", SOUND), ("b/c.py", SOUND)]);
    let output = project.check(&[]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(stdout(&output), "No findings in 2 files\n");
    let output = project.check(&["-q"]);
    assert_eq!(stdout(&output), "");
}

#[test]
fn the_exit_code_can_be_turned_off() {
    let project = Project::new(&[("a.py", LEAK)]);
    let output = project.check(&["--exit-zero", "--format", "concise"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(stdout(&output).starts_with("a.py:8:23: warning OL101 "));
    assert_eq!(stdout(&output).lines().count(), 2);
}

#[test]
fn statistics_count_by_rule() {
    let project = Project::new(&[("a.py", LEAK), ("b.py", LEAK)]);
    let output = project.check(&["--statistics"]);
    let first = stdout(&output).lines().next().unwrap();
    assert!(
        first.starts_with("2  OL101  retained_graph_accumulation  "),
        "{first}"
    );
}

#[test]
fn what_git_ignores_is_left_out_with_and_without_a_repository() {
    let project = Project::new(&[
        ("a.py", LEAK),
        ("scratch/b.py", LEAK),
        ("sub/c.py", LEAK),
        ("sub/.ignore", "c.py\n"),
        (".gitignore", "scratch/\n"),
    ]);
    assert_eq!(project.found(&[]), ["a.py:8"]);
    assert_eq!(
        project.found(&["--no-respect-gitignore"]),
        ["a.py:8", "scratch/b.py:8", "sub/c.py:8"]
    );
    fs_err::create_dir(project.path(".git")).unwrap();
    assert_eq!(project.found(&[]), ["a.py:8"]);
    // From below, the file above still counts.
    let mut command = project.outlive(&["check", "--format", "concise", "-q"]);
    let output = command.current_dir(project.path("sub")).output().unwrap();
    assert_eq!(stdout(&output), "");
}

#[test]
fn what_git_ignores_everywhere_is_left_out() {
    let project = Project::new(&[("a.py", LEAK), ("b.py", LEAK), ("git/ignore", "b.py\n")]);
    assert_eq!(project.found(&[]), ["a.py:8"]);
}

#[test]
fn folders_of_others_are_left_out_unless_they_are_named() {
    let project = Project::new(&[
        (".venv/lib/a.py", LEAK),
        ("x/site-packages/b.py", LEAK),
        ("build/c.py", LEAK),
        (".hidden/d.py", LEAK),
        ("e.txt", LEAK),
    ]);
    assert_eq!(project.found(&[]), [".hidden/d.py:8"]);
    assert_eq!(
        project.found(&["build", "x/site-packages", ".venv/lib/a.py", "e.txt"]),
        [
            ".venv/lib/a.py:8",
            "build/c.py:8",
            "e.txt:8",
            "x/site-packages/b.py:8"
        ]
    );
    assert_eq!(
        project.found(&["--force-exclude", ".venv/lib/a.py", "e.txt"]),
        ["e.txt:8"]
    );
    assert_eq!(
        project.found(&["--exclude", "*.txt", "--force-exclude", "e.txt"]),
        [""; 0]
    );
}

#[test]
fn a_file_is_checked_once_however_it_is_named() {
    let project = Project::new(&[("a.py", LEAK)]);
    symlink("a.py", project.path("b.py")).unwrap();
    symlink(".", project.path("loop")).unwrap();
    let absolute = project.path("a.py");
    let arguments = [".", "a.py", "./a.py", absolute.to_str().unwrap()];
    assert_eq!(project.found(&arguments), ["a.py:8"]);
    assert_eq!(project.found(&["b.py"]), ["b.py:8"], "a link that is named");
    let elsewhere = Project::new(&[]);
    symlink(&absolute, elsewhere.path("c.py")).unwrap();
    assert_eq!(elsewhere.found(&[]), ["c.py:8"], "a link to another place");
}

#[test]
fn what_cannot_be_read_is_told_and_the_rest_is_checked() {
    let project = Project::new(&[("a.py", LEAK), ("folder.py/b.py", LEAK)]);
    symlink("nowhere", project.path("dangling.py")).unwrap();
    let pipe = project.path("pipe.py");
    assert!(Command::new("mkfifo").arg(pipe).status().unwrap().success());
    // By walking, such things are none of ours.
    assert_eq!(project.found(&[]), ["a.py:8", "folder.py/b.py:8"]);
    assert_eq!(project.check(&[]).status.code(), Some(1));
    let output = project.check(&["-q", "dangling.py", "pipe.py", "missing.py", "a.py"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stdout(&output).starts_with("a.py:8:23: "), "{output:?}");
    assert_eq!(
        stderr(&output),
        "outlive: dangling.py: Cannot be read: No such file or directory\n\
         outlive: missing.py: Cannot be read: No such file or directory\n\
         outlive: pipe.py: Cannot be read: not a regular file\n"
    );
}

#[test]
fn a_locked_folder_is_told_and_the_rest_is_checked() {
    let project = Project::new(&[("a.py", LEAK), ("locked/b.py", LEAK), ("locked.py", LEAK)]);
    let lock = |path: &str, mode| {
        fs_err::set_permissions(project.path(path), PermissionsExt::from_mode(mode)).unwrap();
    };
    lock("", 0o777);
    lock("locked", 0);
    lock("locked.py", 0);
    let check = |arguments: &[&str]| {
        let arguments = [&["check", "--format", "concise"], arguments].concat();
        // Nothing is locked for root.
        let mut command = if rustix::process::geteuid().is_root() {
            project.outlive_of_nobody(&arguments)
        } else {
            project.outlive(&arguments)
        };
        command.output().unwrap()
    };
    let (met, named) = (check(&[]), check(&["-q", "locked"]));
    lock("locked", 0o755);
    assert_eq!(met.status.code(), Some(1), "{met:?}");
    assert_eq!(
        stderr(&met),
        "outlive: locked: Cannot be read: Permission denied\n\
         outlive: locked.py: Cannot be read: Permission denied\n"
    );
    assert!(stdout(&met).starts_with("a.py:8:23: "), "{met:?}");
    assert_eq!(named.status.code(), Some(2), "{named:?}");
    assert_eq!(
        stderr(&named),
        "outlive: locked: Cannot be read: Permission denied\n"
    );
}

#[test]
fn what_is_not_python_is_a_line_a_file_and_not_a_finding() {
    let project = Project::new(&[("fine.py", SOUND), ("cut.ipynb", "{\"cells\": [")]);
    for number in 10..25 {
        let path = format!("broken{number}.py");
        project.write(path, "import torch\nx = (\ny = )\n");
    }
    let output = project.check(&[]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(stdout(&output), "No findings in 17 files\n");
    let lines: Vec<&str> = stderr(&output).lines().collect();
    assert_eq!(lines.len(), 11, "{lines:?}");
    assert!(lines[0].starts_with("outlive: broken10.py:3:"), "{lines:?}");
    assert_eq!(
        lines[10],
        "outlive: 6 more files are not valid Python; `-v` names them"
    );
    let output = project.check(&["-v"]);
    assert_eq!(stderr(&output).lines().count(), 16);
    assert_eq!(stderr(&project.check(&["-q"])), "");
}

#[test]
fn a_broken_file_is_checked_around_its_mistake() {
    let project = Project::new(&[("a.py", &format!("{LEAK}\nx = = 1\n"))]);
    assert_eq!(project.found(&[]), ["a.py:8"]);
}

#[test]
fn cells_are_named_and_skipped_ones_are_told_on_request() {
    let project = Project::new(&[("n.ipynb", &notebook(LEAK))]);
    let output = project.check(&["--format", "concise", "-v"]);
    assert!(
        stdout(&output).starts_with("n.ipynb:cell 2:8:23: warning OL101 "),
        "{output:?}"
    );
    assert_eq!(stderr(&output).lines().count(), 1, "{output:?}");
    assert!(
        stderr(&output).starts_with("outlive: n.ipynb: "),
        "{output:?}"
    );
    assert!(stderr(&output).contains("%%bash"), "{output:?}");
    assert_eq!(stderr(&project.check(&[])), "");
}

#[test]
fn names_cannot_reach_the_terminal_with_control_characters() {
    let project = Project::new(&[]);
    project.write(hostile_name(), LEAK);
    for format in ["full", "concise"] {
        let output = project.check(&["--format", format]);
        assert_eq!(output.status.code(), Some(1));
        let first = stdout(&output).lines().next().unwrap();
        assert!(
            first.starts_with("a ::error::b,c:?[31m\"<&>%\u{fffd}.py:8:23: warning OL101 "),
            "{first}"
        );
    }
}

#[test]
fn standard_input_is_checked_under_its_name() {
    let project = Project::new(&[("pyproject.toml", "[tool.outlive]\nignore = ['OL101']\n")]);
    let check = |arguments: &[&str], input: &str| {
        let mut command = project.outlive(&["check", "--format", "concise", "-q"]);
        command.args(arguments).stdin(Stdio::piped());
        let child = command.stdout(Stdio::piped()).spawn().unwrap();
        std::io::Write::write_all(&mut child.stdin.as_ref().unwrap(), input.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        (output.status.code(), text(&output.stdout).to_owned())
    };
    let select = ["--select", "OL1"];
    let (code, shown) = check(&[&select[..], &["-"]].concat(), LEAK);
    assert_eq!(code, Some(1));
    assert!(shown.starts_with("-:8:23: warning OL101"), "{shown}");
    let named = ["--stdin-filename", "sub/n.ipynb", "-"];
    let (_, shown) = check(&[&select[..], &named].concat(), &notebook(LEAK));
    assert!(shown.starts_with("sub/n.ipynb:cell 2:8:23: "), "{shown}");
    // The configuration above that name holds.
    assert_eq!(check(&named, &notebook(LEAK)), (Some(0), String::new()));
    let output = project.check(&["-", "a.py"]);
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn a_reader_that_goes_away_is_no_fault() {
    let project = Project::new(&[]);
    for number in 0..300 {
        project.write(format!("a{number}.py"), LEAK);
    }
    let mut command = project.outlive(&["check"]);
    let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(stderr(&output), "");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn findings_go_to_a_file() {
    let project = Project::new(&[("a.py", LEAK)]);
    let output = project.check(&["--format", "concise", "-o", "found.txt"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(stdout(&output), "");
    assert!(project.read("found.txt").starts_with("a.py:8:23: "));
    let output = project.check(&["-o", "missing/found.txt"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("missing/found.txt"), "{output:?}");
}

#[test]
fn a_rule_is_explained_by_code_name_or_cause() {
    let project = Project::new(&[]);
    let explain = |arguments: &[&str]| {
        let mut command = project.outlive(&["explain"]);
        command.args(arguments).output().unwrap()
    };
    let page = explain(&["OL101"]);
    assert_eq!(page.status.code(), Some(0));
    assert!(stdout(&page).starts_with("# retained_graph_accumulation (OL101)\n"));
    for name in [
        "ol101",
        "retained_graph_accumulation",
        "Retained-Graph-Accumulation",
    ] {
        assert_eq!(stdout(&explain(&[name])), stdout(&page), "{name}");
    }
    let of_cause = explain(&["autograd_history_kept"]);
    assert!(stdout(&of_cause).starts_with(stdout(&page)));
    assert!(stdout(&of_cause).contains("(OL102)"));
    let unknown = explain(&["retained_graph_apend"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(stderr(&unknown).starts_with("outlive: No rule `retained_graph_apend`\nhint: "));
    assert!(stderr(&unknown).contains("`retained_graph_append`"));
    let table = explain(&[]);
    assert_eq!(
        stdout(&table).lines().count(),
        1 + outlive_check::rules::ALL.len()
    );
    let json: serde_json::Value =
        serde_json::from_slice(&explain(&["--format", "json", "OL101"]).stdout).unwrap();
    assert_eq!(json["rules"][0]["page"], stdout(&page));
    assert_eq!(json["rules"][0]["fix"], "safe");
}

#[test]
fn the_hook_for_pre_commit_is_a_command_that_works() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let hooks = fs_err::read_to_string(format!("{root}/.pre-commit-hooks.yaml")).unwrap();
    let mut lines = hooks.lines().map(str::trim);
    let entry = lines
        .find_map(|line| line.strip_prefix("entry: outlive "))
        .unwrap();
    let project = Project::new(&[
        ("a.py", LEAK),
        ("old/b.py", LEAK),
        ("pyproject.toml", "[tool.outlive]\nexclude = ['old/']\n"),
    ]);
    // Pre-commit names every file.
    let mut words: Vec<&str> = entry.split(' ').collect();
    words.extend(["-q", "--format", "concise", "a.py", "old/b.py"]);
    let output = project.outlive(&words).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert_eq!(stdout(&output).lines().count(), 1, "{output:?}");
}
