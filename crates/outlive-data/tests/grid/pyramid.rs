//! Pyramids: every tile against a whole canvas that was halved naively, stops and continuations,
//! the files of the page, refusals.

use std::collections::BTreeMap;
use std::path::Path;

use outlive_data::grid::cells::{CellView, Cells, DrawError, Drawn};
use outlive_data::grid::keep::Keep;
use outlive_data::grid::layout::Layout;
use outlive_data::grid::progress::{End, Outcome, Silent};
use outlive_data::grid::pyramid::{
    self, Geometry, Options, Pyramid, PyramidError, Tile, TileFormat,
};
use outlive_data::grid::style::Style;
use outlive_data::picture::Colour;
use proptest::prelude::*;

use crate::support::{self, Numbered, Painted};

const BACKGROUND: [u8; 3] = [250, 240, 10];
const STYLE: Style = Style {
    background: Colour(BACKGROUND),
};

fn options(format: TileFormat) -> Options {
    Options {
        format,
        title: "A </script> title".to_owned(),
        max_bytes: 1 << 26,
        fingerprint: "these cells".to_owned(),
        keep: Keep::Finished,
    }
}

fn prepared(layout: &Layout, folder: &Path) -> Result<Pyramid, PyramidError> {
    Pyramid::in_folder(layout, STYLE, folder, options(TileFormat::Png))
}

fn write(layout: &Layout, cells: &mut Painted, folder: &Path) -> Outcome {
    let pyramid = prepared(layout, folder).unwrap();
    pyramid.write(cells, &Numbered, &mut Silent).unwrap()
}

/// Tiles of all levels, by halving the whole.
fn naive(layout: &Layout, drawn: u64) -> BTreeMap<Tile, Vec<u8>> {
    let geometry = Geometry::new(layout).unwrap();
    let (mut width, mut height) = (geometry.width, geometry.height);
    let pitch = (geometry.pitch, geometry.pitch);
    let mut whole = support::canvas((width, height), layout, pitch, 0, drawn, BACKGROUND);
    let mut tiles = BTreeMap::new();
    for level in (0..=geometry.top).rev() {
        assert_eq!((width, height), geometry.level_size(level));
        let (columns, rows) = geometry.tiles(level);
        for (column, row) in (0..rows).flat_map(|row| (0..columns).map(move |x| (x, row))) {
            let tile = Tile { level, column, row };
            tiles.insert(tile, cut(&whole, width, height, geometry.tile, tile));
        }
        whole = halved(&whole, width, height);
        (width, height) = (width.div_ceil(2), height.div_ceil(2));
    }
    tiles
}

fn cut(whole: &[u8], width: u64, height: u64, side: u64, tile: Tile) -> Vec<u8> {
    let (left, top) = (tile.column * side, tile.row * side);
    let right = (left + side).min(width);
    (top..(top + side).min(height))
        .flat_map(|y| &whole[((y * width + left) * 3) as usize..((y * width + right) * 3) as usize])
        .copied()
        .collect()
}

fn halved(whole: &[u8], width: u64, height: u64) -> Vec<u8> {
    let mut half = Vec::new();
    for (y, x) in (0..height.div_ceil(2)).flat_map(|y| (0..width.div_ceil(2)).map(move |x| (y, x)))
    {
        for part in 0..3 {
            let mut values = Vec::new();
            for (y, x) in [
                (2 * y, 2 * x),
                (2 * y, 2 * x + 1),
                (2 * y + 1, 2 * x),
                (2 * y + 1, 2 * x + 1),
            ] {
                if x < width && y < height {
                    values.push(u64::from(whole[((y * width + x) * 3 + part) as usize]));
                }
            }
            let count = values.len() as u64;
            half.push(((values.iter().sum::<u64>() + count / 2) / count) as u8);
        }
    }
    half
}

fn assert_same_tiles(layout: &Layout, drawn: u64, folder: &Path) {
    for (tile, wanted) in naive(layout, drawn) {
        let (_, _, pixels) = support::read_png(&folder.join(tile.name("png")));
        assert!(pixels == wanted, "{tile:?}");
    }
}

/// All files below a folder but those for continuing.
fn published(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(at) = folders.pop() {
        for entry in std::fs::read_dir(at).unwrap() {
            let path = entry.unwrap().path();
            let name = path
                .strip_prefix(folder)
                .unwrap()
                .to_str()
                .unwrap()
                .to_owned();
            if path.is_dir() && name != ".outlive" {
                folders.push(path);
            } else if path.is_file() {
                files.insert(name, std::fs::read(&path).unwrap());
            }
        }
    }
    files
}

/// The argument of a script, as a list.
fn argument(script: &[u8]) -> serde_json::Value {
    let script = std::str::from_utf8(script).unwrap();
    let (_, rest) = script.split_once('(').unwrap();
    let (inside, _) = rest.rsplit_once(')').unwrap();
    serde_json::from_str(&format!("[{inside}]")).unwrap()
}

const fn layout(cells: u64, columns: u64, cell: u32) -> Layout {
    Layout {
        cells,
        columns,
        cell_width: cell,
        cell_height: cell,
        caption_height: 0,
        padding: 0,
    }
}

fn layouts() -> impl Strategy<Value = Layout> {
    (
        1..30_u64,
        1..9_u64,
        1..140_u32,
        1..140_u32,
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
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn any_layout_gives_the_tiles_of_a_whole_canvas(layout in layouts()) {
        let folder = tempfile::tempdir().unwrap();
        let mut cells = Painted::all();
        let order: Vec<u64> = pyramid::order(&layout).unwrap().collect();
        let outcome = write(&layout, &mut cells, folder.path());
        prop_assert_eq!((outcome.drawn, outcome.end), (layout.cells, End::Complete));
        prop_assert_eq!(&cells.asked, &order);
        assert_same_tiles(&layout, layout.cells, folder.path());
    }
}

/// Tiles of two by two cells, three by two of them, with odd edges.
const SIX: Layout = Layout {
    cells: 13,
    columns: 5,
    cell_width: 130,
    cell_height: 120,
    caption_height: 11,
    padding: 44,
};

#[test]
fn a_stop_at_any_cell_leaves_a_page_and_the_rest_follows_pixel_for_pixel() {
    assert_eq!(Geometry::new(&SIX).unwrap().tiles(10), (3, 2));
    let whole = tempfile::tempdir().unwrap();
    write(&SIX, &mut Painted::all(), whole.path());
    let whole = published(whole.path());
    for stop in 0..SIX.cells {
        let folder = tempfile::tempdir().unwrap();
        let mut first = Painted::stopping_after(stop);
        let outcome = write(&SIX, &mut first, folder.path());
        assert_eq!((outcome.drawn, outcome.end), (stop, End::Stopped));
        let files = published(folder.path());
        let grid = argument(&files["grid.js"]);
        assert_eq!(grid[0]["complete"], false);
        assert!(files.contains_key("grid_files/0/0_0.png"));
        let cells = argument(&files["cells/0.js"]);
        let sizes = cells[1].as_array().unwrap().iter();
        assert_eq!(sizes.filter(|cell| cell[3] == 7).count() as u64, stop);
        // Twice: once only a little further, then to the end.
        let mut second = Painted::stopping_after(3);
        write(&SIX, &mut second, folder.path());
        let pyramid = prepared(&SIX, folder.path()).unwrap();
        let order: Vec<u64> = pyramid.order().collect();
        let mut last = Painted::all();
        let outcome = pyramid.write(&mut last, &Numbered, &mut Silent).unwrap();
        assert_eq!(last.asked, order);
        assert_eq!(outcome.kept + outcome.drawn, SIX.cells);
        assert_eq!(outcome.end, End::Complete);
        let files = published(folder.path());
        assert!(files.keys().eq(whole.keys()), "{stop}");
        for (name, content) in &whole {
            assert!(files[name] == *content, "{stop}: {name}");
        }
        let again = prepared(&SIX, folder.path()).unwrap();
        assert_eq!(again.order().count(), 0);
    }
}

#[test]
fn finished_tiles_are_kept_after_a_stop_and_after_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    // The first tile has cells 0, 1, 5 and 6.
    write(&SIX, &mut Painted::stopping_after(6), folder.path());
    let pyramid = prepared(&SIX, folder.path()).unwrap();
    let order: Vec<u64> = pyramid.order().take(4).collect();
    let all: Vec<u64> = pyramid::order(&SIX).unwrap().collect();
    let side = Geometry::new(&SIX)
        .unwrap()
        .places(Tile {
            level: 10,
            column: 0,
            row: 0,
        })
        .count();
    assert_eq!(order[..], all[side..side + 4]);
    // A kill leaves tiles and no list of provisional ones. Here: as a stop, the list lost.
    let killed = tempfile::tempdir().unwrap();
    write(&SIX, &mut Painted::all(), killed.path());
    let last = Tile {
        level: 10,
        column: 0,
        row: 1,
    };
    let (mut gone, mut at) = (Vec::new(), last);
    loop {
        gone.push(at.name("png"));
        if at.level == 0 {
            break;
        }
        at = Tile {
            level: at.level - 1,
            column: at.column / 2,
            row: at.row / 2,
        };
    }
    for name in gone {
        std::fs::remove_file(killed.path().join(name)).unwrap();
    }
    let mut cells = Painted::all();
    let outcome = write(&SIX, &mut cells, killed.path());
    assert_eq!((outcome.drawn, cells.asked), (2, vec![10, 11]));
    assert_same_tiles(&SIX, SIX.cells, killed.path());
}

#[test]
fn a_damaged_tile_is_drawn_again() {
    let folder = tempfile::tempdir().unwrap();
    write(&SIX, &mut Painted::all(), folder.path());
    std::fs::write(folder.path().join("grid_files/0/0_0.png"), "no picture").unwrap();
    let mut cells = Painted::all();
    let outcome = write(&SIX, &mut cells, folder.path());
    assert_eq!((outcome.drawn, outcome.kept), (0, SIX.cells));
    assert_same_tiles(&SIX, SIX.cells, folder.path());
}

#[test]
fn another_grid_of_ours_is_replaced_and_other_files_are_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    write(&layout(900, 30, 64), &mut Painted::all(), folder.path());
    std::fs::write(folder.path().join("grid_files/mine.txt"), "mine").unwrap();
    std::fs::write(folder.path().join("grid_files/11/1_0.png.new"), "cut").unwrap();
    std::fs::write(folder.path().join("grid_files/9/1000_0.png"), "mine").unwrap();
    write(&SIX, &mut Painted::all(), folder.path());
    let fresh = tempfile::tempdir().unwrap();
    write(&SIX, &mut Painted::all(), fresh.path());
    let mut wanted = published(fresh.path());
    for name in ["grid_files/mine.txt", "grid_files/9/1000_0.png"] {
        wanted.insert(name.to_owned(), b"mine".to_vec());
    }
    assert!(published(folder.path()) == wanted);
}

#[test]
fn a_folder_of_somebody_else_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("thesis.tex"), "x").unwrap();
    let error = prepared(&SIX, folder.path()).unwrap_err().to_string();
    assert!(
        error.contains("is not empty, and not a grid of Outlive"),
        "{error}"
    );
    let file = folder.path().join("thesis.tex");
    assert!(prepared(&SIX, &file).is_err());
    std::fs::create_dir(folder.path().join(".outlive")).unwrap();
    std::fs::write(folder.path().join(".outlive/grid.json"), "{\"version\":1}").unwrap();
    assert!(prepared(&SIX, folder.path()).is_err());
}

#[test]
fn nothing_and_too_much_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let refusal = |layout| prepared(&layout, folder.path()).unwrap_err().to_string();
    assert_eq!(refusal(layout(0, 1, 1)), "There are no cells to draw");
    assert!(refusal(layout(1, 0, 1)).contains("needs a column"));
    assert!(refusal(layout(u64::MAX, 1, 64)).contains("a page can hold 2147483647 a side"));
    let text = refusal(layout(100, 10, 4000));
    assert!(text.contains("Tiles of 4000 x 4000 pixels need"), "{text}");
    assert!(text.contains("the limit is 64.0 MiB"), "{text}");
}

#[test]
fn one_cell_of_one_pixel_is_a_pyramid() {
    let folder = tempfile::tempdir().unwrap();
    write(&layout(1, 1, 1), &mut Painted::all(), folder.path());
    let (width, height, pixels) = support::read_png(&folder.path().join("grid_files/0/0_0.png"));
    assert_eq!((width, height), (1, 1));
    assert_eq!(pixels, support::painted(0, 0, 0));
    // One tile, the description and four scripts and lists, the state, and the page itself.
    let page = pyramid::FILES.len();
    assert_eq!(published(folder.path()).len(), 1 + 5 + page);
}

#[test]
fn the_files_of_the_page_say_what_was_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let grid = layout(2345, 50, 32);
    let mut cells = Painted::all();
    cells.broken = |index| index % 1000 == 999;
    let outcome = write(&grid, &mut cells, folder.path());
    assert_eq!(outcome.broken, 2);
    let files = published(folder.path());
    let summary = argument(&files["grid.js"]);
    let wanted = serde_json::json!([{
        "version": 1, "title": "A </script> title", "cells": 2345, "columns": 50, "rows": 47,
        "pitch": 32, "cell": 32, "width": 1600, "height": 1504, "tileSize": 512, "format": "png",
        "chunk": 1000, "broken": 2, "complete": true, "live": false,
    }]);
    assert_eq!(summary, wanted);
    assert!(!String::from_utf8_lossy(&files["grid.js"]).contains('<'));
    let chunk = argument(&files["cells/2.js"]);
    assert_eq!(chunk[0], 2);
    assert_eq!(chunk[1].as_array().unwrap().len(), 345);
    let name = "images/2001.jpg";
    assert_eq!(
        chunk[1][1],
        serde_json::json!([name, 20_010, 2002, 7, null, null, format!("../{name}")])
    );
    let broken = argument(&files["broken.js"]);
    assert_eq!(broken[0]["total"], 2);
    assert_eq!(
        broken[0]["cells"][1],
        serde_json::json!([1999, "images/1999.jpg", "Problem of 1999"])
    );
    let table = String::from_utf8_lossy(&files["broken.tsv"]).into_owned();
    assert!(
        table.ends_with("1999\timages/1999.jpg\tProblem of 1999\n"),
        "{table}"
    );
    let descriptor = String::from_utf8_lossy(&files["grid.dzi"]).into_owned();
    assert!(descriptor.contains("TileSize=\"512\""), "{descriptor}");
    assert!(
        descriptor.contains("<Size Width=\"1600\" Height=\"1504\"/>"),
        "{descriptor}"
    );
}

#[test]
fn tiles_as_jpeg_are_close_and_can_be_continued() {
    let folder = tempfile::tempdir().unwrap();
    let format = TileFormat::Jpeg { quality: 92 };
    for stop in [9, u64::MAX] {
        let pyramid = Pyramid::in_folder(&SIX, STYLE, folder.path(), options(format)).unwrap();
        let mut cells = Painted::stopping_after(stop);
        pyramid.write(&mut cells, &Numbered, &mut Silent).unwrap();
        if stop == u64::MAX {
            assert!((cells.asked.len() as u64) < SIX.cells);
        }
    }
    for (tile, wanted) in naive(&SIX, SIX.cells) {
        let bytes = std::fs::read(folder.path().join(tile.name("jpg"))).unwrap();
        let (_, _, pixels) = support::read_jpeg(&bytes);
        let (_, mean) = support::difference(&pixels, &wanted);
        // Colours of a few pixels run into each other.
        let limit = if wanted.len() < 1000 { 20.0 } else { 5.0 };
        assert!(mean < limit, "{tile:?}: {mean}");
    }
}

#[test]
fn an_archive_holds_the_same_files_as_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let grid = layout(2345, 50, 32);
    let file = folder.path().join("grid.zip");
    for stop in [500, u64::MAX] {
        let pages = folder.path().join(format!("pages{stop}"));
        write(&grid, &mut Painted::stopping_after(stop), &pages);
        let pyramid = Pyramid::in_zip(&grid, STYLE, &file, options(TileFormat::Png)).unwrap();
        assert_eq!(pyramid.order().count(), 2345);
        let mut cells = Painted::stopping_after(stop);
        let outcome = pyramid.write(&mut cells, &Numbered, &mut Silent).unwrap();
        assert_eq!(outcome.end == End::Stopped, stop == 500);
        assert!(support::unzipped(&file) == published(&pages));
        assert!(!folder.path().join("grid.zip.outlive-partial").exists());
    }
}

#[test]
fn a_full_disk_is_an_error_and_no_archive() {
    support::without_room(
        32,
        "pyramid::a_full_disk_is_an_error_and_no_archive",
        || {
            let folder = tempfile::tempdir().unwrap();
            let file = folder.path().join("grid.zip");
            let pyramid = Pyramid::in_zip(&SIX, STYLE, &file, options(TileFormat::Png)).unwrap();
            let written = pyramid.write(&mut Painted::all(), &Numbered, &mut Silent);
            let message = written.unwrap_err().to_string();
            assert!(message.contains("os error 27"), "{message}");
            assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        },
    );
}

#[test]
fn files_of_others_beside_the_archive_are_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("grid.zip");
    let other = folder.path().join("grid.zip.partial");
    std::fs::write(&other, "mine").unwrap();
    std::os::unix::fs::symlink(&other, folder.path().join("grid.zip.outlive-partial")).unwrap();
    let pyramid = Pyramid::in_zip(&SIX, STYLE, &file, options(TileFormat::Png)).unwrap();
    let written = pyramid.write(&mut Painted::all(), &Numbered, &mut Silent);
    assert_eq!(written.unwrap().end, End::Complete);
    assert!(file.symlink_metadata().unwrap().is_file());
    assert_eq!(std::fs::read(&other).unwrap(), b"mine");
}

#[test]
fn nothing_is_kept_of_the_same_grid_on_request() {
    let folder = tempfile::tempdir().unwrap();
    let mut cells = Painted {
        broken: |index| index == 2,
        ..Painted::all()
    };
    assert_eq!(write(&SIX, &mut cells, folder.path()).broken, 1);
    let anew = Options {
        keep: Keep::Nothing,
        ..options(TileFormat::Png)
    };
    let pyramid = Pyramid::in_folder(&SIX, STYLE, folder.path(), anew).unwrap();
    assert!(pyramid.replaces_another());
    let outcome = pyramid.write(&mut Painted::all(), &Numbered, &mut Silent);
    let Outcome {
        drawn,
        kept,
        broken,
        ..
    } = outcome.unwrap();
    assert_eq!((drawn, kept, broken), (SIX.cells, 0, 0));
    assert_same_tiles(&SIX, SIX.cells, folder.path());
    let again = write(&SIX, &mut Painted::all(), folder.path());
    assert_eq!(again.kept, SIX.cells);
}

/// A source that tries to write the same folder once more, in the middle.
struct Meddling<'a>(Painted, &'a Path);

impl Cells for Meddling<'_> {
    fn draw(&mut self, index: u64, view: &mut CellView<'_>) -> Result<Drawn, DrawError> {
        for layout in [SIX, layout(40, 5, 30)] {
            let second = prepared(&layout, self.1).unwrap();
            let written = second.write(&mut Painted::all(), &Numbered, &mut Silent);
            let message = written.unwrap_err().to_string();
            assert!(
                message.ends_with("another process is writing it"),
                "{message}"
            );
        }
        self.0.draw(index, view)
    }
}

#[test]
fn a_folder_that_is_being_written_is_left_to_who_writes_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut cells = Meddling(Painted::all(), folder.path());
    let pyramid = prepared(&SIX, folder.path()).unwrap();
    let outcome = pyramid.write(&mut cells, &Numbered, &mut Silent).unwrap();
    assert_eq!((outcome.drawn, outcome.end), (SIX.cells, End::Complete));
    assert_same_tiles(&SIX, SIX.cells, folder.path());
    let again = write(&SIX, &mut Painted::all(), folder.path());
    assert_eq!(again.kept, SIX.cells);
}
