//! PNG sheets: the pixels, stops and continuations, refusals and full disks.

use std::path::Path;

use crate::support::{self, Painted, read_png};
use outlive_data::grid::cells::Drawn;
use outlive_data::grid::keep::Keep;
use outlive_data::grid::layout::Layout;
use outlive_data::grid::progress::{End, Outcome, Progress, Silent};
use outlive_data::grid::sheet::{self, Effort, Format, Options, Sheet, SheetError};
use outlive_data::grid::style::Style;
use outlive_data::picture::Colour;
use proptest::prelude::*;

const BACKGROUND: [u8; 3] = [9, 200, 31];
const STYLE: Style = Style {
    background: Colour(BACKGROUND),
};

fn options(effort: Effort, threads: usize) -> Options {
    Options {
        format: Format::Png(effort),
        threads,
        max_bytes: 1 << 26,
        fingerprint: Some("these cells".to_owned()),
        keep: Keep::Finished,
    }
}

fn write(layout: Layout, cells: &mut Painted, path: &Path) -> Result<Outcome, SheetError> {
    sheet::write(
        layout,
        STYLE,
        cells,
        path,
        options(Effort::Fast, 2),
        &mut Silent,
    )
}

const SMALL: Layout = Layout {
    cells: 11,
    columns: 3,
    cell_width: 7,
    cell_height: 5,
    caption_height: 2,
    padding: 2,
};

fn layouts() -> impl Strategy<Value = Layout> {
    (
        1..40_u64,
        1..9_u64,
        1..30_u32,
        1..30_u32,
        0..4_u32,
        0..4_u32,
    )
        .prop_map(
            |(cells, columns, cell_width, cell_height, caption_height, padding)| Layout {
                cells,
                columns,
                cell_width,
                cell_height,
                caption_height,
                padding,
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn any_layout_gives_the_pixels_that_were_drawn(
        layout in layouts(),
        level in prop_oneof![Just(Effort::Fast), (0..=9_u8).prop_map(Effort::Level)],
        threads in 0..4_usize,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sheet.png");
        let mut cells = Painted::all();
        let options = options(level, threads);
        let outcome =
            sheet::write(layout, STYLE, &mut cells, &path, options, &mut Silent).unwrap();
        prop_assert_eq!(outcome.drawn, layout.cells);
        prop_assert_eq!(outcome.end, End::Complete);
        let (width, height, pixels) = read_png(&path);
        prop_assert_eq!(u64::from(width), layout.sheet_width());
        prop_assert_eq!(u64::from(height), layout.sheet_height());
        let wanted = support::sheet(&layout, layout.cells, layout.rows(), BACKGROUND);
        prop_assert!(pixels == wanted);
        prop_assert_eq!(names(folder.path()), ["sheet.png"]);
    }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_stop_at_any_cell_leaves_a_picture_and_the_rest_follows_byte_for_byte() {
    let folder = tempfile::tempdir().unwrap();
    let whole = folder.path().join("whole.png");
    write(SMALL, &mut Painted::all(), &whole).unwrap();
    let whole = std::fs::read(&whole).unwrap();
    for stop in 0..=SMALL.cells {
        let path = folder.path().join(format!("{stop}.png"));
        let mut cells = Painted::stopping_after(stop);
        let outcome = write(SMALL, &mut cells, &path).unwrap();
        assert_eq!(outcome.drawn, stop);
        if stop == SMALL.cells {
            assert_eq!(outcome.end, End::Complete);
            continue;
        }
        assert_eq!(outcome.end, End::Stopped);
        let rows = stop.div_ceil(SMALL.columns);
        assert_eq!(path.exists(), stop > 0);
        if stop > 0 {
            let (width, height, pixels) = read_png(&path);
            assert_eq!(u64::from(width), SMALL.sheet_width());
            let wanted = rows * SMALL.pitch_y() + u64::from(SMALL.padding);
            assert_eq!(u64::from(height), wanted);
            assert!(pixels == support::sheet(&SMALL, stop, rows, BACKGROUND));
        }
        let kept = stop / SMALL.columns * SMALL.columns;
        let options = options(Effort::Fast, 2);
        let sheet = Sheet::prepare(SMALL, STYLE, &path, options).unwrap();
        assert_eq!(sheet.order(), kept..SMALL.cells);
        let mut cells = Painted::all();
        let outcome = sheet.write(&mut cells, &mut Silent).unwrap();
        assert_eq!(cells.asked, (kept..SMALL.cells).collect::<Vec<_>>());
        assert_eq!((outcome.kept, outcome.end), (kept, End::Complete));
        assert!(std::fs::read(&path).unwrap() == whole, "{stop}");
        let stop = format!("{stop}.");
        let left = names(folder.path());
        let left = left.iter().filter(|name| name.starts_with(&stop)).count();
        assert_eq!(left, 1);
    }
}

#[test]
fn what_it_goes_on_with_is_no_other_file_and_what_lies_in_its_place_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sheet.png");
    let prepared = || Sheet::prepare(SMALL, STYLE, &path, options(Effort::Fast, 2)).unwrap();
    assert!(!prepared().replaces_another());
    // In the first row and after it.
    for cells in [1, 7] {
        write(SMALL, &mut Painted::stopping_after(cells), &path).unwrap();
        assert!(!prepared().replaces_another(), "{cells}");
        let partial = folder.path().join("sheet.png.outlive-partial");
        std::fs::rename(&path, &partial).unwrap();
        assert!(!prepared().replaces_another(), "{cells}");
        std::fs::write(&path, "of somebody").unwrap();
        assert!(prepared().replaces_another(), "{cells}");
        std::fs::rename(&partial, &path).unwrap();
    }
    write(SMALL, &mut Painted::all(), &path).unwrap();
    assert!(prepared().replaces_another());
}

#[test]
fn another_sheet_of_the_same_width_is_no_stopped_one() {
    let folder = tempfile::tempdir().unwrap();
    let [path, other] = ["sheet.png", "other.png"].map(|name| folder.path().join(name));
    write(SMALL, &mut Painted::all(), &other).unwrap();
    for cells in [1, 7] {
        write(SMALL, &mut Painted::stopping_after(cells), &path).unwrap();
        std::fs::copy(&other, &path).unwrap();
        let prepared = Sheet::prepare(SMALL, STYLE, &path, options(Effort::Fast, 2)).unwrap();
        assert!(prepared.replaces_another(), "{cells}");
        std::fs::remove_file(&path).unwrap();
    }
}

#[test]
fn a_stop_before_anything_is_drawn_leaves_the_picture_of_the_stop_before() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sheet.png");
    write(SMALL, &mut Painted::stopping_after(2), &path).unwrap();
    let before = std::fs::read(&path).unwrap();
    for _ in 0..2 {
        write(SMALL, &mut Painted::stopping_after(0), &path).unwrap();
        assert!(std::fs::read(&path).unwrap() == before);
        assert_eq!(names(folder.path()).len(), 2, "the picture and its record");
    }
    let prepared = Sheet::prepare(SMALL, STYLE, &path, options(Effort::Fast, 2)).unwrap();
    assert!(!prepared.replaces_another());
}

/// Somebody else writes the output while it is drawn.
struct Meanwhile<'a>(&'a Path);

impl Progress for Meanwhile<'_> {
    fn drawn(&mut self, _: u64, _: &Drawn) {
        std::fs::write(self.0, "of somebody").unwrap();
    }
}

#[test]
fn a_file_that_came_meanwhile_is_not_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sheet.png");
    let options = options(Effort::Fast, 2);
    let mut progress = Meanwhile(&path);
    let written = sheet::write(
        SMALL,
        STYLE,
        &mut Painted::all(),
        &path,
        options,
        &mut progress,
    );
    let error = written.unwrap_err().to_string();
    assert!(error.contains("sheet.png.outlive-partial"), "{error}");
    assert_eq!(std::fs::read(&path).unwrap(), b"of somebody");
    let partial = folder.path().join("sheet.png.outlive-partial");
    std::fs::remove_file(&path).unwrap();
    write(SMALL, &mut Painted::all(), &path).unwrap();
    assert!(std::fs::read(&partial).is_err() && std::fs::metadata(&path).is_ok());
}

#[test]
fn several_stops_in_a_row_and_broken_cells_are_counted_over_all_of_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sheet.png");
    let mut outcome = Outcome::default();
    for _ in 0..4 {
        let mut cells = Painted::stopping_after(4);
        cells.broken = |index| index % 2 == 0;
        outcome = write(SMALL, &mut cells, &path).unwrap();
    }
    assert_eq!((outcome.broken, outcome.end), (6, End::Complete));
    let (_, _, pixels) = read_png(&path);
    assert!(pixels == support::sheet(&SMALL, 11, 4, BACKGROUND));
}

#[test]
fn another_fingerprint_another_look_or_another_file_starts_anew() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sheet.png");
    let order = |layout, options| {
        let sheet = Sheet::prepare(layout, STYLE, &path, options).unwrap();
        sheet.order().start
    };
    write(SMALL, &mut Painted::stopping_after(7), &path).unwrap();
    let same = options(Effort::Fast, 1);
    assert_eq!(order(SMALL, options(Effort::Fast, 3)), 6);
    let other = Options {
        fingerprint: Some("other cells".to_owned()),
        ..same
    };
    assert_eq!(order(SMALL, other), 0);
    let none = Options {
        fingerprint: None,
        ..same
    };
    assert_eq!(order(SMALL, none), 0);
    assert_eq!(order(SMALL, options(Effort::Level(6), 1)), 0);
    let wider = Layout {
        columns: 4,
        ..SMALL
    };
    assert_eq!(order(wider, options(Effort::Fast, 1)), 0);
    std::fs::write(&path, [0; 5000]).unwrap();
    assert_eq!(order(SMALL, options(Effort::Fast, 1)), 0);
}

#[test]
fn a_kill_is_survived_by_what_lies_beside_the_sheet() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sheet.png");
    write(SMALL, &mut Painted::stopping_after(7), &path).unwrap();
    // As if it had been killed after more bytes: the file is still a partial one, and longer.
    let mut bytes = std::fs::read(&path).unwrap();
    bytes.extend([77; 100]);
    std::fs::remove_file(&path).unwrap();
    std::fs::write(folder.path().join("sheet.png.outlive-partial"), bytes).unwrap();
    let mut cells = Painted::all();
    let outcome = write(SMALL, &mut cells, &path).unwrap();
    assert_eq!((outcome.kept, outcome.drawn), (6, 5));
    let (_, _, pixels) = read_png(&path);
    assert!(pixels == support::sheet(&SMALL, 11, 4, BACKGROUND));
    assert_eq!(names(folder.path()), ["sheet.png"]);
}

#[test]
fn large_pieces_on_many_threads_are_the_same_bytes_as_on_one() {
    let layout = Layout {
        cells: 60,
        columns: 20,
        cell_width: 100,
        cell_height: 150,
        caption_height: 0,
        padding: 1,
    };
    let folder = tempfile::tempdir().unwrap();
    let files = [1, 5].map(|threads| {
        let path = folder.path().join(threads.to_string());
        let options = options(Effort::Fast, threads);
        sheet::write(
            layout,
            STYLE,
            &mut Painted::all(),
            &path,
            options,
            &mut Silent,
        )
        .unwrap();
        let (_, _, pixels) = read_png(&path);
        assert!(pixels == support::sheet(&layout, 60, 3, BACKGROUND));
        std::fs::read(path).unwrap()
    });
    assert!(files[0] == files[1]);
}

#[test]
fn nothing_and_too_much_are_refused_with_the_reason() {
    let path = Path::new("/nowhere/sheet.png");
    let refusal = |layout| {
        write(layout, &mut Painted::all(), path)
            .unwrap_err()
            .to_string()
    };
    let empty = Layout { cells: 0, ..SMALL };
    assert_eq!(refusal(empty), "There are no cells to draw");
    let no_columns = Layout {
        columns: 0,
        ..SMALL
    };
    assert!(refusal(no_columns).contains("needs a column"));
    let flat = Layout {
        cell_height: 0,
        ..SMALL
    };
    assert!(refusal(flat).contains("needs a column"));
    let tall = Layout {
        cells: u64::MAX,
        columns: 1,
        ..SMALL
    };
    let message = refusal(tall);
    assert!(
        message.contains("PNG holds at most 2147483647 a side"),
        "{message}"
    );
    assert!(message.contains("`-o DIR/`"), "{message}");
    let wide = Layout {
        cells: 10_000_000,
        columns: 10_000_000,
        ..SMALL
    };
    let message = refusal(wide);
    assert!(
        message.contains("A row of cells of 90000002 x 9 pixels needs 2317.4 MiB"),
        "{message}"
    );
    assert!(message.contains("the limit is 64.0 MiB"), "{message}");
    let message = refusal(SMALL);
    assert!(
        message.contains("Cannot write `/nowhere/sheet.png.outlive-partial`"),
        "{message}"
    );
}

#[test]
fn a_source_that_fails_leaves_no_picture_and_the_old_one_as_it_was() {
    struct Failing;
    impl outlive_data::grid::cells::Cells for Failing {
        fn draw(
            &mut self,
            _: u64,
            _: &mut outlive_data::grid::cells::CellView<'_>,
        ) -> Result<Drawn, outlive_data::grid::cells::DrawError> {
            let reason = "The list of files is gone".to_owned();
            Err(outlive_data::grid::cells::DrawError::Failed(reason))
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sheet.png");
    std::fs::write(&path, "old").unwrap();
    let options = options(Effort::Fast, 1);
    let result = sheet::write(SMALL, STYLE, &mut Failing, &path, options, &mut Silent);
    assert_eq!(result.unwrap_err().to_string(), "The list of files is gone");
    assert_eq!(std::fs::read(&path).unwrap(), b"old");
    assert_eq!(names(folder.path()), ["sheet.png"]);
}

#[test]
fn a_full_disk_is_an_error_and_no_picture() {
    support::without_room(
        0,
        "sheet_png::a_full_disk_is_an_error_and_no_picture",
        || {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("sheet.png");
            let error = write(SMALL, &mut Painted::all(), &path).unwrap_err();
            let message = error.to_string();
            assert!(message.contains("Cannot write"), "{message}");
            assert!(message.contains("os error 27"), "{message}");
            assert!(names(folder.path()).is_empty());
        },
    );
}

#[test]
fn files_of_others_beside_the_sheet_are_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sheet.png");
    let beside = |ending: &str| folder.path().join(format!("sheet.png{ending}"));
    let others = [".partial", ".resume", ".resume.new", ".target"].map(beside);
    for other in &others {
        std::fs::write(other, "mine").unwrap();
    }
    let links = [".outlive-partial", ".outlive-resume", ".outlive-resume.new"];
    let target = beside(".target");
    for stop in [7, u64::MAX] {
        for link in links.map(beside) {
            let _ = std::fs::remove_file(&link);
            std::os::unix::fs::symlink(&target, &link).unwrap();
        }
        let mut cells = Painted::stopping_after(stop);
        write(SMALL, &mut cells, &path).unwrap();
        for other in &others {
            assert_eq!(std::fs::read(other).unwrap(), b"mine", "{other:?}");
        }
    }
    let (_, _, pixels) = read_png(&path);
    assert!(pixels == support::sheet(&SMALL, 11, 4, BACKGROUND));
}

#[test]
fn a_sheet_does_not_go_on_through_a_link() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sheet.png");
    write(SMALL, &mut Painted::stopping_after(7), &path).unwrap();
    let target = folder.path().join("target");
    std::fs::rename(&path, &target).unwrap();
    let before = std::fs::read(&target).unwrap();
    for link in [&path, &folder.path().join("sheet.png.outlive-partial")] {
        std::os::unix::fs::symlink(&target, link).unwrap();
    }
    let outcome = write(SMALL, &mut Painted::all(), &path).unwrap();
    assert_eq!((outcome.kept, outcome.drawn), (0, 11));
    assert_eq!(std::fs::read(&target).unwrap(), before);
    assert_eq!(names(folder.path()), ["sheet.png", "target"]);
}

#[test]
fn progress_is_told_of_each_cell_in_order() {
    struct Seen(Vec<(u64, u32)>);
    impl Progress for Seen {
        fn drawn(&mut self, index: u64, drawn: &Drawn) {
            self.0.push((index, drawn.width));
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let mut seen = Seen(Vec::new());
    let options = options(Effort::Fast, 1);
    let path = folder.path().join("sheet.png");
    sheet::write(SMALL, STYLE, &mut Painted::all(), &path, options, &mut seen).unwrap();
    assert_eq!(
        seen.0,
        (0..11)
            .map(|index| (index, index as u32 + 1))
            .collect::<Vec<_>>()
    );
}

#[test]
fn nothing_is_kept_of_an_interrupted_sheet_on_request() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sheet.png");
    write(SMALL, &mut Painted::stopping_after(7), &path).unwrap();
    let anew = Options {
        keep: Keep::Nothing,
        ..options(Effort::Fast, 1)
    };
    let mut cells = Painted::all();
    let outcome = sheet::write(SMALL, STYLE, &mut cells, &path, anew, &mut Silent).unwrap();
    assert_eq!((outcome.kept, outcome.drawn), (0, 11));
    assert_eq!(names(folder.path()), ["sheet.png"]);
}

#[test]
fn what_another_process_has_begun_meanwhile_is_not_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.png");
    let mut cells = Painted::stopping_after(SMALL.cells - 1);
    write(SMALL, &mut cells, &path).unwrap();
    let stopped = std::fs::read(&path).unwrap();
    let sheet = Sheet::prepare(SMALL, STYLE, &path, options(Effort::Fast, 2)).unwrap();
    assert!(!sheet.order().is_empty() && sheet.order().start > 0);
    let partial = folder.path().join("a.png.outlive-partial");
    std::fs::write(&partial, "begun").unwrap();
    let other = std::fs::File::open(&partial).unwrap();
    other.lock().unwrap();
    let written = sheet.write(&mut Painted::all(), &mut Silent);
    let message = written.unwrap_err().to_string();
    assert!(
        message.ends_with("another process is writing it"),
        "{message}"
    );
    assert_eq!(std::fs::read(&partial).unwrap(), b"begun");
    assert!(std::fs::read(&path).unwrap() == stopped);
}
