//! `outlive grid`, stopped by a signal at any time: what is done can be opened, and the same command
//! goes on.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Output};

use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::context::{stderr, text};
use crate::gallery::{Gallery, Sheet};

/// Images of a grid that takes long enough to be stopped in its middle.
const MANY: usize = 1500;

/// Waits until something is there, and sends a signal. A child that ends before is a failure.
fn stop_when(mut child: Child, signal: Signal, is_there: impl Fn() -> bool) -> Output {
    while !is_there() {
        assert!(child.try_wait().unwrap().is_none(), "it ended too early");
        std::thread::yield_now();
    }
    kill_process(Pid::from_child(&child), signal).unwrap();
    child.wait_with_output().unwrap()
}

fn has_tile(folder: &Path) -> bool {
    let levels = fs_err::read_dir(folder.join("grid_files"))
        .into_iter()
        .flatten();
    let mut tiles = levels.flat_map(|level| fs_err::read_dir(level.unwrap().path()).unwrap());
    tiles.any(|tile| tile.unwrap().path().extension() == Some("png".as_ref()))
}

#[test]
fn a_sheet_that_was_stopped_can_be_opened_and_goes_on() {
    let gallery = Gallery::new();
    gallery.crowd("in", MANY);
    gallery.write("in/1.broken.png", b"broken");
    gallery.write("in/1499.broken.png", b"broken");
    // Not compressed: the place to go on from is written down after every MiB.
    let common = ["in", "--cell", "48", "--effort", "0", "--threads", "1"];
    gallery.summary(&[&common[..], &["-o", "whole.png"]].concat());
    for signal in [Signal::INT, Signal::KILL] {
        let arguments = [&common[..], &["-o", "s.png"]].concat();
        let child = gallery.command(&arguments).spawn().unwrap();
        let record = gallery.path("s.png.outlive-resume");
        let output = stop_when(child, signal, || record.exists());
        if signal == Signal::INT {
            assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
            let said = text(&output.stdout);
            assert!(said.starts_with("Stopped after "), "{said}");
            assert!(said.contains("s.png can be opened"), "{said}");
            assert!(said.contains("The same command goes on"), "{said}");
            let part = gallery.sheet("s.png");
            assert!(part.height < gallery.sheet("whole.png").height);
            let other = gallery.grid(&["in", "-o", "s.png", "--cell", "40"]);
            assert!(stderr(&other).contains("unfinished grid"), "{other:?}");
        }
        let summary = gallery.summary(&arguments);
        assert!(summary["kept"].as_u64().unwrap() > 0, "{summary}");
        assert_eq!(summary["broken"], 2);
        assert_eq!(gallery.sheet("s.png"), gallery.sheet("whole.png"));
        let list = |name: &str| fs_err::read_to_string(gallery.path(name)).unwrap();
        assert_eq!(list("s.png.broken.tsv"), list("whole.png.broken.tsv"));
        fs_err::remove_file(gallery.path("s.png")).unwrap();
    }
}

#[test]
fn a_page_that_was_stopped_can_be_opened_and_goes_on() {
    let gallery = Gallery::new();
    gallery.crowd("in", MANY);
    let common = ["in", "--cell", "48", "--tiles", "png", "--threads", "1"];
    gallery.summary(&[&common[..], &["-o", "whole/"]].concat());
    for signal in [Signal::INT, Signal::KILL] {
        let arguments = [&common[..], &["-o", "page/"]].concat();
        let child = gallery.command(&arguments).spawn().unwrap();
        let page = gallery.path("page");
        let output = stop_when(child, signal, || page.exists() && has_tile(&page));
        if signal == Signal::INT {
            assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
            assert!(page.join("index.html").exists());
            let grid = fs_err::read_to_string(page.join("grid.js")).unwrap();
            assert!(grid.contains("\"complete\":false"), "{grid}");
        }
        let summary = gallery.summary(&arguments);
        assert!(summary["kept"].as_u64().unwrap() > 0, "{summary}");
        assert_eq!(summary["complete"], true);
        for level in [0, 6, 9] {
            let tile = format!("grid_files/{level}/0_0.png");
            let [whole, page] = ["whole", "page"].map(|name| gallery.path(name).join(&tile));
            assert_eq!(Sheet::read(&whole), Sheet::read(&page), "{level}");
        }
        fs_err::remove_dir_all(page).unwrap();
    }
}

#[test]
fn a_terminal_shows_how_far_it_is() {
    let gallery = Gallery::new();
    gallery.crowd("in", 600);
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&terminal).unwrap();
    unlockpt(&terminal).unwrap();
    let name = ptsname(&terminal, Vec::new()).unwrap();
    let screen = File::options()
        .read(true)
        .write(true)
        .open(name.to_str().unwrap())
        .unwrap();
    let mut command = gallery.command(&["in", "-o", "s.png"]);
    let child = command.stderr(screen).spawn().unwrap();
    drop(command);
    let mut drawn = Vec::new();
    // The end of the other side is an error here, after all that it wrote.
    let _ = File::from(terminal).read_to_end(&mut drawn);
    assert!(child.wait_with_output().unwrap().status.success());
    let drawn = text(&drawn);
    assert!(drawn.contains(" of 600 images, "), "{drawn:?}");
    assert!(
        drawn.ends_with("\r\u{1b}[2K"),
        "the line is taken away: {drawn:?}"
    );
}
