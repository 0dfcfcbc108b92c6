//! `outlive grid`: sheets and pages of real pictures, decoded again.

use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::context::{stderr, text};
use crate::gallery::{BLUE, GREEN, Gallery, RED, Sheet, WHITE};

/// The arguments of a script of a page: what stands between the outer brackets.
fn script(gallery: &Gallery, path: &str) -> Value {
    let script = fs_err::read_to_string(gallery.path(path)).unwrap();
    let start = script.find('(').unwrap() + 1;
    let end = script.rfind(')').unwrap();
    serde_json::from_str(&format!("[{}]", &script[start..end])).unwrap()
}

fn three() -> Gallery {
    let gallery = Gallery::new();
    gallery.picture("in/img10.png", 60, 40, BLUE);
    gallery.picture("in/img2.png", 10, 10, GREEN);
    gallery.picture("in/img1.png", 300, 300, RED);
    gallery
}

#[test]
fn a_sheet_has_its_cells_in_natural_order() {
    let gallery = three();
    let arguments = [
        "in",
        "-o",
        "sheet.png",
        "--cell",
        "20",
        "--columns",
        "2",
        "--padding",
        "3",
    ];
    let output = gallery.grid(&arguments);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(stderr(&output), "", "nothing in a pipe but the summary");
    let summary = text(&output.stdout);
    assert!(summary.starts_with("3 images, "), "{summary}");
    assert!(summary.contains("sheet.png 49 × 49, "), "{summary}");
    let sheet = gallery.sheet("sheet.png");
    assert_eq!((sheet.width, sheet.height), (49, 49));
    assert_eq!(sheet.others((3, 3), (20, 20), RED), 0);
    // A smaller picture keeps its size, in the middle of its cell.
    assert_eq!(sheet.others((31, 8), (10, 10), GREEN), 0);
    assert_eq!(sheet.pixel(30, 8), WHITE);
    assert_eq!(sheet.pixel(13, 36), BLUE);
    assert_eq!(sheet.others((26, 26), (20, 20), WHITE), 0);
}

#[test]
fn look_and_order_follow_the_options() {
    let gallery = three();
    let arguments = [
        "in",
        "-o",
        "s.png",
        "--cell",
        "20x10",
        "--columns",
        "3",
        "--padding",
        "0",
        "--background",
        "#102030",
        "--fit",
        "cover",
        "--reverse",
    ];
    gallery.summary(&arguments);
    let sheet = gallery.sheet("s.png");
    assert_eq!((sheet.width, sheet.height), (60, 10));
    assert_eq!(sheet.others((0, 0), (20, 10), BLUE), 0);
    assert_eq!(sheet.others((20, 0), (20, 10), GREEN), 0);
    assert_eq!(sheet.others((40, 0), (20, 10), RED), 0);
    gallery.summary(&[
        "in",
        "-o",
        "size.png",
        "--cell",
        "20",
        "--columns",
        "1",
        "--order",
        "size",
    ]);
    assert_eq!(gallery.sheet("size.png").pixel(12, 12), GREEN);
}

#[test]
fn broken_images_are_shown_listed_and_told() {
    let gallery = three();
    gallery.write("in/img3.png", b"not a picture");
    gallery.write("in/img4.jpg", b"");
    let output = gallery.grid(&["in", "-o", "s.png", "--cell", "64", "--columns", "5"]);
    assert_eq!(output.status.code(), Some(0));
    let said = text(&output.stdout);
    assert!(said.starts_with("5 images, 2 broken, "), "{said}");
    assert!(said.contains("broken: img3.png: "), "{said}");
    assert!(
        said.contains("all broken images: s.png.broken.tsv"),
        "{said}"
    );
    let list = fs_err::read_to_string(gallery.path("s.png.broken.tsv")).unwrap();
    let rows: Vec<Vec<&str>> = list
        .lines()
        .map(|line| line.split('\t').collect())
        .collect();
    assert_eq!(rows.len(), 2);
    assert_eq!(rows[0][..2], ["2", "img3.png"]);
    assert_eq!(rows[1][..2], ["3", "img4.jpg"]);
    let sheet = gallery.sheet("s.png");
    let cell = |number: u32| (2 + number * 66, 2);
    assert!(
        sheet.others(cell(2), (64, 64), WHITE) > 2000,
        "a broken cell is seen"
    );
    assert_eq!(sheet.pixel(2 + 4 * 66 + 32, 34), BLUE);

    let output = gallery.grid(&["in/img3.png", "in/img4.jpg", "-o", "all.png"]);
    assert_eq!(output.status.code(), Some(1), "every image is broken");
}

#[test]
fn an_image_over_the_budget_is_broken_and_no_more() {
    let gallery = three();
    // 1000 x 1000 pixels, not compressed.
    let mut large = b"BM".to_vec();
    for word in [
        3_000_054_u32,
        0,
        54,
        40,
        1000,
        1000,
        1 | 24 << 16,
        0,
        3_000_000,
        0,
        0,
        0,
        0,
    ] {
        large.extend_from_slice(&word.to_le_bytes());
    }
    large.resize(3_000_054, 90);
    gallery.write("in/large.bmp", &large);
    let summary = gallery.summary(&["in", "-o", "enough.png"]);
    assert_eq!(summary["broken"], 0);
    let summary = gallery.summary(&["in", "-o", "s.png", "--budget", "2MiB", "--order", "size"]);
    assert_eq!(summary["images"], 4);
    assert_eq!(summary["broken"], 1);
    let list = fs_err::read_to_string(gallery.path("s.png.broken.tsv")).unwrap();
    assert!(list.contains("large.bmp"), "{list}");
}

#[test]
fn what_needs_more_memory_names_the_budget_that_is_enough() {
    let gallery = three();
    for output in ["s.webp", "s.png", "page/", "page.zip"] {
        let large = ["in", "-o", output, "--cell", "700", "--budget"];
        let output = gallery.grid(&[&large[..], &["1MiB"]].concat());
        assert_eq!(output.status.code(), Some(2));
        let said = String::from_utf8(output.stderr).unwrap();
        let (_, after) = said.split_once("`--budget ").expect(&said);
        let (budget, _) = after.split_once('`').unwrap();
        let summary = gallery.summary(&[&large[..], &[budget]].concat());
        assert_eq!(
            (&summary["images"], &summary["broken"]),
            (&3.into(), &0.into())
        );
    }
}

#[test]
fn what_does_not_help_is_not_hinted_at() {
    let gallery = three();
    let output = gallery.grid(&["in", "-o", "s.png", "--cell", "8000"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("hint: take smaller cells\n"), "{said}");
    assert!(said.contains("`--budget 256MiB`"), "{said}");
}

#[test]
fn captions_are_drawn_below_their_image() {
    let gallery = three();
    gallery.write(
        "c.tsv",
        "img1.png\tfirst one\nin/img10.png\tlast\n".as_bytes(),
    );
    let arguments = [
        "in",
        "-o",
        "s.png",
        "--cell",
        "64",
        "--columns",
        "3",
        "--captions",
        "c.tsv",
    ];
    gallery.summary(&arguments);
    let sheet = gallery.sheet("s.png");
    assert_eq!((sheet.width, sheet.height), (200, 80));
    let letters = |number: u32| sheet.others((2 + number * 66, 66), (64, 12), WHITE);
    assert!(letters(0) > 20, "by the path that is shown");
    assert_eq!(letters(1), 0, "no caption");
    assert!(letters(2) > 20, "by the path that was given");
    gallery.write("bad.csv", b"only one column\n");
    fs_err::write(gallery.path("other.csv"), "elsewhere.jpg,cat\n").unwrap();
    let output = gallery.grid(&["in", "-o", "o.png", "--captions", "other.csv"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("no caption for any of the first 3"), "{said}");
    let output = gallery.grid(&["in", "-o", "t.png", "--captions", "bad.csv"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("line 1"), "{}", stderr(&output));
}

#[test]
fn a_page_has_tiles_names_and_links() {
    let gallery = three();
    gallery.write("in/img3.png", b"broken");
    let arguments = [
        "in",
        "-o",
        "out/",
        "--tiles",
        "png",
        "--cell",
        "32",
        "--columns",
        "2",
    ];
    let output = gallery.grid(&arguments);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let said = text(&output.stdout);
    assert!(said.contains("out/index.html 68 × 68"), "{said}");
    assert!(said.contains("all broken images: out/broken.tsv"), "{said}");
    let grid = script(&gallery, "out/grid.js");
    assert_eq!(grid[0]["cells"], 4);
    assert_eq!(grid[0]["title"], "in");
    assert_eq!(grid[0]["complete"], true);
    let cells = script(&gallery, "out/cells/0.js");
    let bytes = fs_err::metadata(gallery.path("in/img1.png")).unwrap().len();
    let expected = json!(["img1.png", bytes, 300, 300, null, null, "../in/img1.png"]);
    assert_eq!(cells[1][0], expected);
    assert_eq!(cells[1][2][0], "img3.png");
    assert!(cells[1][2][5].is_string());
    let tile = Sheet::read(&gallery.path("out/grid_files/7/0_0.png"));
    assert_eq!(tile.pixel(16, 16), RED);
    assert_eq!(tile.pixel(34 + 16, 16), GREEN);
    assert_eq!(tile.pixel(34 + 16, 34 + 16), BLUE);
    for file in [
        "index.html",
        "page/page.js",
        "grid.dzi",
        "broken.js",
        "broken.tsv",
    ] {
        assert!(gallery.path("out").join(file).is_file(), "{file}");
    }
}

#[test]
fn an_archive_holds_the_whole_page() {
    let gallery = three();
    let summary = gallery.summary(&["in", "-o", "x.zip", "--title", "Mine <&>"]);
    assert_eq!(summary["complete"], true);
    let bytes = fs_err::read(gallery.path("x.zip")).unwrap();
    assert!(bytes.starts_with(b"PK"));
    let holds = |name: &[u8]| bytes.windows(name.len()).any(|window| window == name);
    for name in [
        "index.html",
        "grid.js",
        "cells/0.js",
        "grid_files/0/0_0.jpg",
    ] {
        assert!(holds(name.as_bytes()), "{name}");
    }
    let again = gallery.grid(&["in", "-o", "x.zip"]);
    assert_eq!(again.status.code(), Some(2));
}

#[test]
fn lists_and_archives_are_read() {
    let gallery = three();
    for (list, option) in [
        ("in/img10.png\nin/gone.png\nin/img1.png", None),
        ("in/img10.png\0in/gone.png\0in/img1.png\0", Some("--null")),
    ] {
        let mut command = gallery.command(&[
            "-",
            "-o",
            "l.png",
            "--order",
            "list",
            "--columns",
            "3",
            "--overwrite",
        ]);
        let mut child = command.args(option).stdin(Stdio::piped()).spawn().unwrap();
        child
            .stdin
            .take()
            .unwrap()
            .write_all(list.as_bytes())
            .unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let said = text(&output.stdout);
        assert!(
            said.contains("broken: in/gone.png: No such file or directory"),
            "{said}"
        );
        let sheet = gallery.sheet("l.png");
        assert_eq!(sheet.pixel(66, 66), BLUE);
        assert_eq!(sheet.pixel(2 + 2 * 130 + 64, 66), RED);
    }
    let packed = Command::new("tar")
        .args(["cf", "a.tar", "in"])
        .current_dir(gallery.path(""))
        .status();
    assert!(packed.unwrap().success());
    let summary = gallery.summary(&["a.tar", "-o", "t.png", "--columns", "3"]);
    assert_eq!(
        (&summary["images"], &summary["broken"]),
        (&json!(3), &json!(0))
    );
    let sheet = gallery.sheet("t.png");
    assert_eq!(sheet.pixel(66, 66), RED);
    // Cut in the middle of the last member: what is before it is shown, and the cut is told.
    let bytes = fs_err::read(gallery.path("a.tar")).unwrap();
    let mut headers = (0..bytes.len()).step_by(512);
    let last = headers
        .rfind(|at| bytes[*at..].starts_with(b"in/img"))
        .unwrap();
    gallery.write("cut.tar", &bytes[..last + 520]);
    let output = gallery.grid(&["cut.tar", "-o", "cut.png"]);
    assert!(
        stderr(&output).contains("Archive is cut off"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn what_is_there_is_not_replaced_unasked() {
    let gallery = three();
    gallery.write("s.png", b"mine");
    gallery.write("notes/todo.txt", b"mine");
    let refused = |arguments: &[&str]| {
        let output = gallery.grid(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        stderr(&output).to_owned()
    };
    assert!(refused(&["in", "-o", "s.png"]).contains("`s.png` exists"));
    assert!(refused(&["in", "-o", "notes"]).contains("not empty"));
    assert_eq!(fs_err::read(gallery.path("s.png")).unwrap(), b"mine");
    gallery.summary(&["in", "-o", "s.png", "--overwrite"]);
    gallery.summary(&["in", "-o", "page/"]);
    assert_eq!(
        gallery.summary(&["in", "-o", "page/"])["kept"],
        3,
        "the same grid is whole"
    );
    assert!(refused(&["in", "-o", "page/", "--cell", "64"]).contains("another grid"));
    assert_eq!(
        gallery.summary(&["in", "-o", "page/", "--cell", "64", "--overwrite"])["drawn"],
        3
    );
}

#[test]
fn broken_images_are_drawn_again_on_request() {
    let gallery = three();
    gallery.picture("in/late.png", 8, 8, RED);
    let late = gallery.path("in/late.png");
    let whole = fs_err::read(&late).unwrap();
    let written = late.metadata().unwrap().modified().unwrap();
    // As after a fault of a disk or of a right: nothing about the file says that it is whole now.
    let replace = |bytes: &[u8]| {
        fs_err::write(&late, bytes).unwrap();
        let file = std::fs::File::options().write(true).open(&late).unwrap();
        file.set_modified(written).unwrap();
    };
    replace(&vec![0; whole.len()]);
    assert_eq!(gallery.summary(&["in", "-o", "page/"])["broken"], 1);
    replace(&whole);
    let same = gallery.summary(&["in", "-o", "page/"]);
    assert_eq!((&same["kept"], &same["broken"]), (&4.into(), &1.into()));
    let again = gallery.summary(&["in", "-o", "page/", "--overwrite"]);
    assert_eq!((&again["drawn"], &again["broken"]), (&4.into(), &0.into()));
    assert_eq!(again["kept"], 0);
    let list = fs_err::read_to_string(gallery.path("page/broken.tsv")).unwrap();
    assert_eq!(list, "");
    assert_eq!(gallery.summary(&["in", "-o", "page/"])["kept"], 4);
}

#[test]
fn an_input_is_never_the_output() {
    let gallery = three();
    gallery.picture("in/sub/x.png", 4, 4, RED);
    gallery.picture("one.png", 4, 4, RED);
    std::os::unix::fs::symlink("one.png", gallery.path("link.png")).unwrap();
    let before = fs_err::read(gallery.path("one.png")).unwrap();
    for arguments in [
        &["one.png", "in", "-o", "one.png", "--overwrite"][..],
        &["in", "./in/../one.png", "-o", "one.png", "--overwrite"],
        &["link.png", "-o", "one.png", "--overwrite"],
        &["in", "-o", "in/"],
        &["in", "-o", "in/sub/../", "--overwrite"],
        &[".", "-o", "./"],
    ] {
        let output = gallery.grid(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let said = stderr(&output);
        assert!(said.contains("is one of the inputs"), "{said}");
        assert!(said.contains("hint: "), "{said}");
    }
    assert_eq!(fs_err::read(gallery.path("one.png")).unwrap(), before);
    assert!(!gallery.path("in/.outlive").exists());
}

#[test]
fn an_image_in_a_folder_or_a_list_is_never_the_output() {
    let gallery = three();
    gallery.picture("in/sub/x.png", 4, 4, RED);
    gallery.write("list.txt", b"in/sub/x.png\n");
    let before = fs_err::read(gallery.path("in/sub/x.png")).unwrap();
    for input in ["in", "in/**/*.png", "@list.txt"] {
        let output = gallery.grid(&[input, "-o", "in/sub/x.png", "--overwrite"]);
        assert_eq!(output.status.code(), Some(2), "{input}");
        let said = stderr(&output);
        assert!(said.contains("is one of the images\nhint: "), "{said}");
    }
    assert_eq!(fs_err::read(gallery.path("in/sub/x.png")).unwrap(), before);
}

#[test]
fn a_grid_is_not_among_its_own_images() {
    let gallery = three();
    for _ in 0..2 {
        assert_eq!(
            gallery.summary(&["in", "-o", "in/s.png", "--overwrite"])["images"],
            3
        );
    }
    fs_err::remove_file(gallery.path("in/s.png")).unwrap();
    for _ in 0..2 {
        let arguments = ["in", "-o", "in/s.jpg", "--overwrite"];
        assert_eq!(gallery.summary(&arguments)["images"], 3);
    }
    fs_err::remove_file(gallery.path("in/s.jpg")).unwrap();
    for _ in 0..2 {
        let arguments = ["in", "-o", "in/page.zip", "--overwrite"];
        assert_eq!(gallery.summary(&arguments)["images"], 3);
    }
    for _ in 0..2 {
        assert_eq!(gallery.summary(&["in", "-o", "in/page/"])["images"], 3);
    }
}

#[test]
fn wrong_arguments_are_told_before_any_work() {
    let gallery = three();
    let refused = |arguments: &[&str], reason: &str| {
        let output = gallery.grid(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let said = stderr(&output);
        assert!(said.contains(reason), "{arguments:?}: {said}");
    };
    refused(
        &["in", "gone.png", "-o", "s.png"],
        "`gone.png`: No such file or directory",
    );
    refused(&["*.gif", "-o", "s.png"], "matches no image");
    refused(&["in", "-o", "s"], "hint: a sheet is");
    refused(&["in", "-o", "no/s.png"], "No folder `no`");
    refused(
        &["in", "-o", "s.png", "--background", "mauve"],
        "not a colour",
    );
    refused(&["in", "-o", "s.png", "--cell", "0"], "not a size");
    refused(&["-", "-", "-o", "s.png"], "can be read once");
    let output = gallery.grid(&["in", "-o", "/proc/s.png"]);
    assert_eq!(output.status.code(), Some(2));
    let said = stderr(&output);
    assert_eq!(
        said.matches("os error").count(),
        1,
        "a cause is said once: {said}"
    );
    gallery.write("empty/readme.txt", b"");
    refused(&["empty", "-o", "s.png"], "No images found");
    // 65,500 pixels are the most that a JPEG holds.
    gallery.crowd("crowd", 520);
    refused(
        &["crowd", "-o", "s.jpg", "--columns", "1"],
        "JPEG holds at most 65500",
    );
    assert!(!gallery.path("s.jpg").exists());
    assert!(!gallery.path("s.png").exists());
}

#[test]
fn hostile_names_break_nothing() {
    let gallery = Gallery::new();
    let name = OsStr::from_bytes(b"a\n\x1b[31m\"<script>\t\\%\xff.png");
    gallery.write(gallery.path("in").join(name), b"broken");
    gallery.picture("in/<script><b>.png", 5, 5, RED);
    for output in ["s.png", "page/"] {
        let run = gallery.grid(&["in", "-o", output, "--captions", "name"]);
        assert_eq!(run.status.code(), Some(0), "{}", stderr(&run));
        assert!(!text(&run.stdout).contains('\u{1b}'));
        assert_eq!(
            text(&run.stdout).lines().count(),
            3,
            "{}",
            text(&run.stdout)
        );
    }
    let list = fs_err::read_to_string(gallery.path("s.png.broken.tsv")).unwrap();
    assert_eq!(list.lines().count(), 1);
    assert!(
        list.contains("a\\n\\x1b[31m\"<script>\\t\\\\%\u{fffd}.png"),
        "{list:?}"
    );
    let source = fs_err::read_to_string(gallery.path("page/cells/0.js")).unwrap();
    assert!(!source.contains('<'), "{source}");
    let cells = script(&gallery, "page/cells/0.js");
    let links: Vec<&str> = cells[1]
        .as_array()
        .unwrap()
        .iter()
        .map(|cell| cell[6].as_str().unwrap())
        .collect();
    let expected = "../in/a%0A%1B%5B31m%22%3Cscript%3E%09%5C%25%FF.png";
    assert!(links.contains(&expected), "{links:?}");
}
