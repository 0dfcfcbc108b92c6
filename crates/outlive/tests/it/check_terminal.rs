//! What the check draws on a terminal.

use std::fs::File;
use std::io::Read;
use std::process::Command;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::project::{LEAK, Project};

/// What a command draws on a terminal of its own.
fn drawn(mut command: Command) -> String {
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&terminal).unwrap();
    unlockpt(&terminal).unwrap();
    let name = ptsname(&terminal, Vec::new()).unwrap();
    let mut options = File::options();
    let screen = options.read(true).write(true);
    let screen = screen.open(name.to_str().unwrap()).unwrap();
    let mut child = command.env("TERM", "xterm").stdout(screen).spawn().unwrap();
    // The command holds the other end, and lets go of it when it ends.
    drop(command);
    let mut bytes = Vec::new();
    // The end of the other side is an error here, after all that it wrote.
    let _ = File::from(terminal).read_to_end(&mut bytes);
    child.wait().unwrap();
    String::from_utf8(bytes).unwrap()
}

#[test]
fn colours_are_for_terminals_and_can_be_turned_off() {
    let project = Project::new(&[("a.py", LEAK)]);
    let check = |arguments: &[&str]| {
        let mut command = project.outlive(&["check"]);
        command.args(arguments).env_remove("NO_COLOR");
        command
    };
    let colourful = drawn(check(&[]));
    assert!(
        colourful.starts_with("\u{1b}[1ma.py:8:23\u{1b}[0m: \u{1b}[1;33mwarning\u{1b}[0m OL101 "),
        "{colourful}"
    );
    assert!(
        colourful.contains("\u{1b}[1;33m^^^^\u{1b}[0m"),
        "{colourful}"
    );
    let plain = drawn(check(&["--no-color"]));
    assert!(plain.starts_with("a.py:8:23: warning OL101 "), "{plain}");
    assert!(!plain.contains('\u{1b}'), "{plain}");
    let mut command = check(&[]);
    command.env("NO_COLOR", "1");
    assert_eq!(drawn(command), plain);
}

#[test]
fn a_page_is_drawn_with_its_headings() {
    let project = Project::new(&[]);
    let mut command = project.outlive(&["explain", "OL101"]);
    command.env_remove("NO_COLOR");
    let page = drawn(command);
    assert!(
        page.starts_with("\u{1b}[1mretained_graph_accumulation (OL101)\u{1b}[0m"),
        "{page}"
    );
}
