//! A spool: drawn as a sheet and as a page at any time, while it grows.

use outlive_data::grid::cells::{CellView, Cells, Drawn, Entries, Entry};
use outlive_data::grid::keep::Keep;
use outlive_data::grid::layout::Layout;
use outlive_data::grid::progress::{End, Silent};
use outlive_data::grid::pyramid::{self, Geometry, Pyramid, TileFormat};
use outlive_data::grid::sheet::{self, Effort, Format};
use outlive_data::grid::spool::{Spool, SpoolError, Spooled};
use outlive_data::grid::style::Style;
use outlive_data::grid::text::Ink;

use crate::support::{self, Painted};

fn layout(cells: u64, columns: u64) -> Layout {
    Layout {
        cells,
        columns,
        cell_width: 20,
        cell_height: 15,
        caption_height: 0,
        padding: 2,
    }
}

/// Appends the cell that is next, painted as the other tests have it.
fn push(spool: &mut Spool) {
    let index = spool.len();
    let mut pixels = vec![0; 20 * 15 * 3];
    let mut view = CellView::new(&mut pixels, 60, 20, 15).unwrap();
    let mut drawn = Painted::all().draw(index, &mut view).unwrap();
    drawn.problem = (index == 3).then(|| "Cut off".to_owned());
    let spooled = Spooled {
        entry: Entry {
            name: format!("cell \"{index}\"\n").into(),
            link: "".into(),
            bytes: 5 * index,
            caption: index
                .is_multiple_of(2)
                .then(|| format!("Caption {index}").into()),
        },
        drawn,
    };
    assert_eq!(spool.push(&pixels, &spooled).unwrap(), index);
}

#[test]
fn a_spool_is_drawn_again_and_again_while_it_grows() {
    let folder = tempfile::tempdir().unwrap();
    let mut spool = Spool::new(20, 15, folder.path()).unwrap();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    for columns in [1, 3, 7] {
        for _ in 0..5 {
            push(&mut spool);
        }
        let layout = layout(spool.len(), columns);
        let path = folder.path().join("sheet.png");
        let options = sheet::Options {
            format: Format::Png(Effort::Fast),
            threads: 1,
            max_bytes: 1 << 20,
            fingerprint: None,
            keep: Keep::Finished,
        };
        let mut reader = spool.reader(0, Ink::default());
        let style = Style::default();
        let outcome = sheet::write(layout, style, &mut reader, &path, options, &mut Silent);
        let outcome = outcome.unwrap();
        assert_eq!((outcome.broken, outcome.end), (1, End::Complete));
        let (_, _, pixels) = support::read_png(&path);
        assert!(pixels == support::sheet(&layout, layout.cells, layout.rows(), [255; 3]));
    }
}

#[test]
fn a_page_of_a_spool_has_its_names_and_problems() {
    let folder = tempfile::tempdir().unwrap();
    let mut spool = Spool::new(20, 15, folder.path()).unwrap();
    for _ in 0..10 {
        push(&mut spool);
    }
    let layout = layout(10, 4);
    let options = pyramid::Options {
        format: TileFormat::Png,
        title: String::new(),
        max_bytes: 1 << 26,
        fingerprint: String::new(),
        keep: Keep::Finished,
    };
    let pages = folder.path().join("pages");
    let page = Pyramid::in_folder(&layout, Style::default(), &pages, options).unwrap();
    let mut reader = spool.reader(0, Ink::default());
    let outcome = page.write(&mut reader, &spool, &mut Silent).unwrap();
    assert_eq!((outcome.drawn, outcome.broken), (10, 1));
    let table = std::fs::read_to_string(pages.join("broken.tsv")).unwrap();
    assert_eq!(table, "3\tcell \"3\"\\n\tCut off\n");
    let geometry = Geometry::new(&layout).unwrap();
    let (_, _, pixels) =
        support::read_png(&pages.join(format!("grid_files/{}/0_0.png", geometry.top)));
    let size = (geometry.width, geometry.height);
    let pitch = (geometry.pitch, geometry.pitch);
    assert!(pixels == support::canvas(size, &layout, pitch, 0, 10, [255; 3]));
}

#[test]
fn entries_come_back_and_those_that_are_not_there_are_empty() {
    let folder = tempfile::tempdir().unwrap();
    let mut spool = Spool::new(1, 1, folder.path()).unwrap();
    assert!(spool.is_empty());
    let entry = Entry {
        name: "n</script>\u{2028}".into(),
        link: "../a%20b".into(),
        bytes: u64::MAX,
        caption: Some("".into()),
    };
    let spooled = Spooled {
        entry: entry.clone(),
        drawn: Drawn::default(),
    };
    spool.push(&[1, 2, 3], &spooled).unwrap();
    assert_eq!(spool.entry(0), entry);
    assert_eq!(spool.entry(1), Entry::default());
    let long = Spooled {
        entry: Entry {
            name: "é".repeat(100_000).into(),
            ..Entry::default()
        },
        ..Spooled::default()
    };
    spool.push(&[4, 5, 6], &long).unwrap();
    assert_eq!(spool.entry(1).name.chars().count(), 32 * 1024);
    let error = spool.push(&[1, 2], &long).unwrap_err();
    assert!(matches!(
        error,
        SpoolError::Length {
            expected: 3,
            found: 2
        }
    ));
    assert_eq!(error.to_string(), "A cell has 3 bytes, 2 were given");
    let mut pixels = [0; 3];
    let mut view = CellView::new(&mut pixels, 3, 1, 1).unwrap();
    assert!(spool.reader(0, Ink::default()).draw(2, &mut view).is_err());
}

#[test]
fn captions_are_drawn_below_the_picture() {
    let folder = tempfile::tempdir().unwrap();
    let mut spool = Spool::new(60, 10, folder.path()).unwrap();
    for caption in [Some("Wörter"), None] {
        let spooled = Spooled {
            entry: Entry {
                caption: caption.map(Into::into),
                ..Entry::default()
            },
            ..Spooled::default()
        };
        spool.push(&[9; 60 * 10 * 3], &spooled).unwrap();
    }
    let mut reader = spool.reader(14, Ink::default());
    let mut strips = [0, 1].map(|index| {
        let mut pixels = vec![255; 60 * 24 * 3];
        let mut view = CellView::new(&mut pixels, 180, 60, 24).unwrap();
        reader.draw(index, &mut view).unwrap();
        assert!(pixels[..1800].iter().all(|part| *part == 9));
        pixels[1800..].iter().filter(|part| **part < 128).count()
    });
    assert_eq!(strips[1], 0);
    strips.sort_unstable();
    assert!(strips[1] > 100, "{strips:?}");
}
