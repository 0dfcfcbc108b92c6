//! `outlive check --watch`: what changes is checked again, and Ctrl-C ends it well.

use rustix::process::{Signal, kill_process};

use crate::context::Companion;
use crate::project::{LEAK, Project, SOUND};

#[test]
fn changes_are_checked_until_ctrl_c() {
    let project = Project::new(&[("a.py", SOUND)]);
    let mut command = project.outlive(&["check", "--watch", "--format", "concise"]);
    let mut watch = Companion::start(&mut command);
    let mut next = || {
        let mut lines = vec![watch.line()];
        while lines.last().unwrap() != "Watching; Ctrl-C ends" {
            lines.push(watch.line());
        }
        lines.truncate(lines.len() - 1);
        lines
    };
    assert_eq!(next(), ["No findings in 1 file"]);
    project.write("sub/b.py", LEAK);
    let found = next();
    assert!(
        found[0].starts_with("sub/b.py:8:23: warning OL101"),
        "{found:?}"
    );
    project.write("outlive.toml", "ignore = ['OL1']\n");
    assert_eq!(next(), ["No findings in 2 files"]);
    fs_err::remove_file(project.path("a.py")).unwrap();
    assert_eq!(next(), ["No findings in 1 file"]);
    kill_process(watch.pid(), Signal::INT).unwrap();
    assert_eq!(watch.child.wait().unwrap().code(), Some(0));
}
