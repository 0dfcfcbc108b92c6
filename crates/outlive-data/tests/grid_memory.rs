//! The memory of a page does not depend on the number of its cells. Alone in its process, since
//! the system keeps one peak for all threads.

#![expect(clippy::unwrap_used, reason = "a test may fail")]

use std::path::Path;

use outlive_data::grid::cells::{CellView, Cells, DrawError, Drawn, Entries, Entry};
use outlive_data::grid::keep::Keep;
use outlive_data::grid::layout::Layout;
use outlive_data::grid::progress::{End, Silent};
use outlive_data::grid::pyramid::{Options, Pyramid, TileFormat};
use outlive_data::grid::style::Style;

/// Cells of one colour, all of them broken.
struct Flat;

impl Cells for Flat {
    fn draw(&mut self, index: u64, view: &mut CellView<'_>) -> Result<Drawn, DrawError> {
        for y in 0..view.height() {
            view.row_mut(y).fill(index as u8);
        }
        Ok(Drawn {
            width: 1,
            height: 1,
            problem: Some("All of them have a problem".to_owned()),
        })
    }
}

impl Entries for Flat {
    fn entry(&self, index: u64) -> Entry<'_> {
        Entry {
            name: format!("a/rather/long/folder/of/images/{index}").into(),
            ..Entry::default()
        }
    }
}

/// The most that was ever resident, in KiB.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    line.unwrap()
        .split_whitespace()
        .nth(1)
        .unwrap()
        .parse()
        .unwrap()
}

fn write(side: u64, folder: &Path) {
    let layout = Layout {
        cells: side * side,
        columns: side,
        cell_width: 4,
        cell_height: 4,
        caption_height: 0,
        padding: 0,
    };
    let options = Options {
        format: TileFormat::Png,
        title: String::new(),
        max_bytes: 1 << 26,
        fingerprint: String::new(),
        keep: Keep::Finished,
    };
    let pyramid = Pyramid::in_folder(&layout, Style::default(), folder, options).unwrap();
    let outcome = pyramid.write(&mut Flat, &Flat, &mut Silent).unwrap();
    assert_eq!((outcome.drawn, outcome.broken), (side * side, side * side));
    assert_eq!(outcome.end, End::Complete);
}

#[test]
fn sixteen_times_the_cells_take_two_more_levels_of_memory() {
    let folder = tempfile::tempdir().unwrap();
    write(128, &folder.path().join("small"));
    let small = peak();
    write(512, &folder.path().join("large"));
    let growth = peak() - small;
    // Two levels more are 1.5 MiB; the facts of 262,144 cells alone would be 4 MiB, the canvas 12.
    assert!(growth < 4 * 1024, "{growth} KiB more than {small} KiB");
}
