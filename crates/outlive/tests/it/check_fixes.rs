//! `--fix` and `--diff`: what is changed, and what must not be.

use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Stdio;

use crate::context::{stderr, text};
use crate::project::{EVALUATION, LEAK, Project, SOUND, notebook, stdout};

fn fixed(text: &str) -> String {
    text.replace("total_loss += loss\n", "total_loss += loss.detach()\n")
}

#[test]
fn a_script_is_changed_where_it_must_be_and_nowhere_else() {
    let odd = format!("\u{feff}# caf\u{e9}\r\n{}", LEAK.replace('\n', "\r\n"));
    let project = Project::new(&[("a.py", LEAK), ("b.py", SOUND), ("odd.py", &odd)]);
    fs_err::set_permissions(project.path("a.py"), PermissionsExt::from_mode(0o751)).unwrap();
    let before = fs_err::metadata(project.path("b.py")).unwrap();
    let output = project.check(&["--fix"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(stdout(&output), "Fixed 2 findings in 2 files; none left\n");
    assert_eq!(project.read("a.py"), fixed(LEAK));
    let expected = odd.replace("+= loss\r\n", "+= loss.detach()\r\n");
    assert_eq!(project.read("odd.py"), expected);
    let mode = fs_err::metadata(project.path("a.py"))
        .unwrap()
        .permissions();
    assert_eq!(mode.mode() & 0o777, 0o751);
    let after = fs_err::metadata(project.path("b.py")).unwrap();
    assert_eq!(before.modified().unwrap(), after.modified().unwrap());
    assert_eq!(fs_err::read_dir(project.path("")).unwrap().count(), 3);
    assert_eq!(project.found(&[]), [""; 0]);
}

#[test]
fn a_notebook_keeps_every_byte_outside_of_the_change() {
    let original = notebook(LEAK);
    let project = Project::new(&[("n.ipynb", &original)]);
    assert_eq!(project.check(&["--fix"]).status.code(), Some(0));
    let changed = project.read("n.ipynb");
    // The same words stand in an output, which is not touched.
    let expected = original.replace(
        "        total_loss += loss\\n",
        "        total_loss += loss.detach()\\n",
    );
    assert_ne!(original, expected);
    assert_eq!(changed, expected);
}

#[test]
fn a_diff_shows_the_change_and_makes_none() {
    let original = notebook(LEAK);
    let project = Project::new(&[("a.py", LEAK), ("n.ipynb", &original), ("s.py", SOUND)]);
    let output = project.check(&["--diff"]);
    assert_eq!(output.status.code(), Some(1));
    let shown = stdout(&output);
    assert!(
        shown.starts_with("--- a.py\n+++ a.py\n@@ -5,6 +5,6 @@\n"),
        "{shown}"
    );
    assert!(
        shown.contains("\n--- n.ipynb:cell 2\n+++ n.ipynb:cell 2\n"),
        "{shown}"
    );
    let changes: Vec<&str> = shown
        .lines()
        .filter(|line| line.starts_with(['+', '-']) && !line.contains(['.', ':']))
        .collect();
    assert_eq!(changes, ["-        total_loss += loss"; 2], "{shown}");
    assert_eq!(
        stderr(&output),
        "outlive: Would fix 2 findings in 2 files\n"
    );
    assert_eq!(project.read("a.py"), LEAK);
    assert_eq!(project.read("n.ipynb"), original);
    let output = project.check(&["--diff", "s.py"]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(stdout(&output), "");
    // What the diff says is what a fix does.
    let patch = project.check(&["--diff", "-q", "a.py"]).stdout;
    fs_err::write(project.path("a.patch"), patch).unwrap();
    let mut command = std::process::Command::new("patch");
    command
        .args(["-s", "a.py", "a.patch"])
        .current_dir(project.path(""));
    if let Ok(status) = command.status() {
        assert!(status.success());
        assert_eq!(project.read("a.py"), fixed(LEAK));
    }
}

#[test]
fn standard_input_is_fixed_to_standard_output() {
    let project = Project::new(&[]);
    for (option, expected) in [("--fix", fixed(LEAK)), ("--diff", String::new())] {
        let mut command = project.outlive(&["check", option, "-q", "-"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        child
            .stdin
            .take()
            .unwrap()
            .write_all(LEAK.as_bytes())
            .unwrap();
        let output = child.wait_with_output().unwrap();
        let shown = text(&output.stdout);
        if option == "--fix" {
            assert_eq!(shown, expected);
            assert_eq!(output.status.code(), Some(0));
        } else {
            assert!(shown.contains("\n+        total_loss += loss.detach()\n"));
            assert_eq!(output.status.code(), Some(1));
        }
    }
}

#[test]
fn a_comment_silences_a_finding_and_goes_when_it_does_not() {
    let silenced = LEAK.replace("+= loss\n", "+= loss  # outlive: ignore[OL101]\n");
    let useless = SOUND.replace("(3)", "(3)  # noqa: OL101");
    let original = notebook(&useless);
    let project = Project::new(&[
        ("silenced.py", &silenced),
        ("useless.py", &useless),
        ("useless.ipynb", &original),
    ]);
    assert_eq!(project.found(&[]), ["useless.ipynb:3", "useless.py:3"]);
    let output = project.check(&["--fix"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(project.read("silenced.py"), silenced);
    assert_eq!(project.read("useless.py"), SOUND);
    let expected = original.replace("(3)  # noqa: OL101", "(3)");
    assert_eq!(project.read("useless.ipynb"), expected);
}

#[test]
fn a_link_stays_a_link() {
    let project = Project::new(&[("real/a.py", LEAK)]);
    symlink("real/a.py", project.path("b.py")).unwrap();
    assert_eq!(project.check(&["--fix", "b.py"]).status.code(), Some(0));
    let link = fs_err::symlink_metadata(project.path("b.py")).unwrap();
    assert!(link.is_symlink());
    assert_eq!(project.read("real/a.py"), fixed(LEAK));
}

#[test]
fn what_remains_after_fixes_is_told() {
    let project = Project::new(&[("a.py", LEAK), ("b.py", EVALUATION)]);
    let output = project.check(&["--fix"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert_eq!(
        stdout(&output).lines().last().unwrap(),
        "Fixed 1 finding in 1 file; 2 left (1 error, 1 warning); \
         2 fixable with `--fix --unsafe-fixes`"
    );
    assert_eq!(project.read("b.py"), EVALUATION);
    let output = project.check(&["--fix", "--unsafe-fixes"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_ne!(project.read("b.py"), EVALUATION);
}

#[test]
fn a_file_that_cannot_be_written_is_told_and_keeps_its_findings() {
    let project = Project::new(&[("locked/a.py", LEAK), ("b.py", LEAK)]);
    let open = |path: &str, mode| {
        fs_err::set_permissions(project.path(path), PermissionsExt::from_mode(mode)).unwrap();
    };
    open("", 0o777);
    open("b.py", 0o666);
    open("locked/a.py", 0o666);
    open("locked", 0o555);
    let mut command = project.outlive(&["check", "--fix"]);
    // Nothing is locked for root.
    if rustix::process::geteuid().is_root() {
        command = project.outlive_of_nobody(&["check", "--fix", "--exclude", "outlive"]);
    }
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert_eq!(
        stderr(&output),
        "outlive: locked/a.py: Cannot be fixed: Permission denied\n"
    );
    let shown = stdout(&output);
    assert!(
        shown.starts_with("locked/a.py:8:23: warning OL101"),
        "{shown}"
    );
    assert_eq!(project.read("locked/a.py"), LEAK);
    assert_eq!(project.read("b.py"), fixed(LEAK));
    open("locked", 0o755);
}
