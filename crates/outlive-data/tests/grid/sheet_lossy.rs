//! JPEG and WebP sheets: close to what was drawn, also when they are stopped.

use std::path::Path;

use outlive_data::grid::keep::Keep;
use outlive_data::grid::layout::Layout;
use outlive_data::grid::progress::{End, Outcome, Silent};
use outlive_data::grid::sheet::{self, Format, Options, SheetError};
use outlive_data::grid::style::Style;
use outlive_data::picture::Colour;

use crate::support::{self, Painted, difference, read_jpeg};

const BACKGROUND: [u8; 3] = [90, 120, 31];

fn write(
    layout: Layout,
    cells: &mut Painted,
    path: &Path,
    format: Format,
) -> Result<Outcome, SheetError> {
    let style = Style {
        background: Colour(BACKGROUND),
    };
    let options = Options {
        format,
        threads: 2,
        max_bytes: 1 << 24,
        fingerprint: Some("ignored".to_owned()),
        keep: Keep::Finished,
    };
    sheet::write(layout, style, cells, path, options, &mut Silent)
}

/// Cells and padding in multiples of 16, so that edges fall between blocks of any kind.
const ALIGNED: Layout = Layout {
    cells: 8,
    columns: 3,
    cell_width: 48,
    cell_height: 32,
    caption_height: 16,
    padding: 16,
};
/// Rows of cells end within rows of blocks.
const ODD: Layout = Layout {
    cells: 8,
    columns: 3,
    cell_width: 21,
    cell_height: 19,
    caption_height: 0,
    padding: 3,
};

#[test]
fn a_jpeg_stopped_at_any_cell_is_a_whole_picture_of_less_height() {
    for (layout, quality) in [(ALIGNED, 95), (ALIGNED, 80), (ODD, 95), (ODD, 80)] {
        for stop in 0..=layout.cells {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("sheet.jpg");
            let mut cells = Painted::stopping_after(stop);
            let outcome = write(layout, &mut cells, &path, Format::Jpeg { quality }).unwrap();
            let is_whole = stop == layout.cells;
            assert_eq!(outcome.end == End::Complete, is_whole);
            let left = std::fs::read_dir(folder.path()).unwrap().count();
            assert_eq!(left, usize::from(stop > 0));
            if stop == 0 {
                continue;
            }
            let (width, height, pixels) = read_jpeg(&std::fs::read(&path).unwrap());
            let rows = stop.div_ceil(layout.columns);
            let wanted = support::sheet(&layout, stop, rows, BACKGROUND);
            assert_eq!(u64::from(width), layout.sheet_width());
            assert_eq!((width * height * 3) as usize, wanted.len());
            let (_, mean) = difference(&pixels, &wanted);
            let limit = if layout == ALIGNED { 4.0 } else { 12.0 };
            assert!(mean < limit, "{stop} {quality}: {mean}");
        }
    }
}

#[test]
fn a_webp_is_close_to_what_was_drawn_also_when_it_is_stopped() {
    for stop in [0, 1, 5, 8] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sheet.webp");
        let mut cells = Painted::stopping_after(stop);
        let outcome = write(ALIGNED, &mut cells, &path, Format::WebP { quality: 90 }).unwrap();
        assert_eq!(outcome.end == End::Complete, stop == 8);
        assert_eq!(path.exists(), stop > 0);
        if stop == 0 {
            continue;
        }
        let (width, height, pixels) = support::read_webp(&std::fs::read(&path).unwrap());
        let wanted = support::sheet(&ALIGNED, stop, stop.div_ceil(3), BACKGROUND);
        assert_eq!((width * height * 3) as usize, wanted.len());
        let (_, mean) = difference(&pixels, &wanted);
        assert!(mean < 6.0, "{mean}");
    }
}

#[test]
fn what_a_format_cannot_hold_is_refused_with_the_way_out() {
    let path = Path::new("/nowhere/sheet");
    let jpeg = Format::Jpeg { quality: 80 };
    let webp = Format::WebP { quality: 80 };
    let of_width = |cell_width| Layout {
        cells: 1,
        columns: 1,
        cell_width,
        cell_height: 1,
        caption_height: 0,
        padding: 0,
    };
    let message = |layout, format| {
        let result = write(layout, &mut Painted::all(), path, format);
        result.unwrap_err().to_string()
    };
    let text = message(of_width(65_501), jpeg);
    assert!(
        text.contains("65501 x 1 pixels, JPEG holds at most 65500 a side"),
        "{text}"
    );
    assert!(
        text.contains("hint: take fewer columns or smaller cells, write a PNG, or"),
        "{text}"
    );
    assert!(message(of_width(65_500), jpeg).contains("Cannot write"));
    assert!(message(of_width(16_384), webp).contains("at most 16383"));
    assert!(message(of_width(16_383), webp).contains("Cannot write"));
    let large = Layout {
        cells: 400,
        columns: 20,
        cell_width: 128,
        cell_height: 128,
        ..of_width(1)
    };
    let text = message(large, webp);
    assert!(
        text.contains("A WebP sheet of 2560 x 2560 pixels needs 200.9 MiB"),
        "{text}"
    );
    assert!(text.contains("the limit is 16.0 MiB"), "{text}");
}

#[test]
fn a_full_disk_is_an_error_and_no_picture() {
    support::without_room(
        0,
        "sheet_lossy::a_full_disk_is_an_error_and_no_picture",
        || {
            for format in [Format::Jpeg { quality: 80 }, Format::WebP { quality: 80 }] {
                let folder = tempfile::tempdir().unwrap();
                let path = folder.path().join("sheet");
                let error = write(ALIGNED, &mut Painted::all(), &path, format).unwrap_err();
                assert!(error.to_string().contains("os error 27"), "{error}");
                assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
            }
        },
    );
}

#[test]
fn names_tell_formats() {
    let quality = 80;
    assert_eq!(
        Format::of_name("a.b.JPG", quality),
        Some(Format::Jpeg { quality })
    );
    assert_eq!(
        Format::of_name("a.webp", quality),
        Some(Format::WebP { quality })
    );
    assert_eq!(
        Format::of_name("a.png", quality).map(Format::name),
        Some("PNG")
    );
    assert_eq!(Format::of_name("png", quality), None);
}
