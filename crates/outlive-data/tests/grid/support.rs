//! Cells that are painted by their index, and the same drawn without any cleverness.

use std::collections::BTreeMap;
use std::path::Path;

use outlive_data::grid::cells::{CellView, Cells, DrawError, Drawn, Entries, Entry};
use outlive_data::grid::layout::Layout;

/// Runs a test, which is called `name`, where files cannot get longer than some blocks
/// of 512 bytes: a write fails as on a full disk. The limit is one of a process, so it is one of its own.
pub(crate) fn without_room(blocks: u32, name: &str, test: impl FnOnce()) {
    const INSIDE: &str = "OUTLIVE_TEST_WITHOUT_ROOM";
    if std::env::var_os(INSIDE).is_some() {
        return test();
    }
    let script = "trap '' XFSZ; ulimit -f $2; exec \"$0\" --exact \"$1\"";
    let output = std::process::Command::new("sh")
        .args(["-c", script])
        .arg(std::env::current_exe().unwrap())
        .args([name, &blocks.to_string()])
        .env(INSIDE, "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("1 passed"), "{said}");
}

/// A source that paints each cell differently and may stop.
pub(crate) struct Painted {
    /// How many cells it still draws.
    pub(crate) left: u64,
    /// Which cells are broken.
    pub(crate) broken: fn(u64) -> bool,
    /// What was asked for.
    pub(crate) asked: Vec<u64>,
}

impl Painted {
    pub(crate) fn all() -> Self {
        Self::stopping_after(u64::MAX)
    }

    pub(crate) fn stopping_after(left: u64) -> Self {
        Self {
            left,
            broken: |_| false,
            asked: Vec::new(),
        }
    }
}

impl Cells for Painted {
    fn draw(&mut self, index: u64, view: &mut CellView<'_>) -> Result<Drawn, DrawError> {
        if self.left == 0 {
            return Err(DrawError::Stopped);
        }
        self.left -= 1;
        self.asked.push(index);
        for y in 0..view.height() {
            for (x, pixel) in view.row_mut(y).chunks_exact_mut(3).enumerate() {
                pixel.copy_from_slice(&painted(index, x as u64, u64::from(y)));
            }
        }
        Ok(Drawn {
            width: index as u32 + 1,
            height: 7,
            problem: (self.broken)(index).then(|| format!("Problem of {index}")),
        })
    }
}

/// The pixel at a place of a cell: smooth enough for JPEG, different for each cell.
pub(crate) fn painted(index: u64, x: u64, y: u64) -> [u8; 3] {
    [
        (index * 37 % 200) as u8 + (x % 50) as u8,
        (index * 61 % 200) as u8 + (y % 50) as u8,
        (index * 11 % 240) as u8,
    ]
}

/// A whole canvas, drawn pixel by pixel. Cells from `drawn` on are background.
pub(crate) fn canvas(
    size: (u64, u64),
    layout: &Layout,
    pitch: (u64, u64),
    origin: u64,
    drawn: u64,
    background: [u8; 3],
) -> Vec<u8> {
    let (width, height) = size;
    let mut pixels = Vec::new();
    for y in 0..height {
        for x in 0..width {
            pixels.extend(pixel(x, y, layout, pitch, origin, drawn).unwrap_or(background));
        }
    }
    pixels
}

fn pixel(
    x: u64,
    y: u64,
    layout: &Layout,
    pitch: (u64, u64),
    origin: u64,
    drawn: u64,
) -> Option<[u8; 3]> {
    let (x, y) = (x.checked_sub(origin)?, y.checked_sub(origin)?);
    let (column, row) = (x / pitch.0, y / pitch.1);
    let (x, y) = (x % pitch.0, y % pitch.1);
    let index = row * layout.columns + column;
    let height = u64::from(layout.cell_height + layout.caption_height);
    let is_inside = x < u64::from(layout.cell_width) && y < height;
    (is_inside && column < layout.columns && index < layout.cells.min(drawn))
        .then(|| painted(index, x, y))
}

/// The flat sheet with `drawn` cells and rows up to `rows`.
pub(crate) fn sheet(layout: &Layout, drawn: u64, rows: u64, background: [u8; 3]) -> Vec<u8> {
    let height = rows * layout.pitch_y() + u64::from(layout.padding);
    let size = (layout.sheet_width(), height);
    let pitch = (layout.pitch_x(), layout.pitch_y());
    canvas(
        size,
        layout,
        pitch,
        u64::from(layout.padding),
        drawn,
        background,
    )
}

/// A PNG file: width, height, pixels.
pub(crate) fn read_png(path: &Path) -> (u32, u32, Vec<u8>) {
    let file = std::io::BufReader::new(std::fs::File::open(path).unwrap());
    let mut reader = png::Decoder::new(file).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let frame = reader.next_frame(&mut pixels).unwrap();
    assert_eq!(frame.color_type, png::ColorType::Rgb);
    reader.finish().unwrap();
    (frame.width, frame.height, pixels)
}

/// A JPEG file: width, height, pixels.
pub(crate) fn read_jpeg(bytes: &[u8]) -> (u32, u32, Vec<u8>) {
    let options = zune_core::options::DecoderOptions::default().set_strict_mode(true);
    let options = options.set_max_width(70_000).set_max_height(70_000);
    let cursor = zune_core::bytestream::ZCursor::new(bytes);
    let mut decoder = zune_jpeg::JpegDecoder::new_with_options(cursor, options);
    let pixels = decoder.decode().unwrap();
    let (width, height) = decoder.dimensions().unwrap();
    (width as u32, height as u32, pixels)
}

/// A WebP file: width, height, pixels.
pub(crate) fn read_webp(bytes: &[u8]) -> (u32, u32, Vec<u8>) {
    let mut decoder = image_webp::WebPDecoder::new(std::io::Cursor::new(bytes)).unwrap();
    let (width, height) = decoder.dimensions();
    let mut pixels = vec![0; decoder.output_buffer_size().unwrap()];
    decoder.read_image(&mut pixels).unwrap();
    (width, height, pixels)
}

/// The largest and the mean difference of two pictures.
pub(crate) fn difference(one: &[u8], other: &[u8]) -> (u8, f64) {
    assert_eq!(one.len(), other.len());
    let differences = || one.iter().zip(other).map(|(a, b)| a.abs_diff(*b));
    let sum: u64 = differences().map(u64::from).sum();
    let mean = sum as f64 / one.len().max(1) as f64;
    (differences().max().unwrap_or(0), mean)
}
/// Names that are numbers.
pub(crate) struct Numbered;

impl Entries for Numbered {
    fn entry(&self, index: u64) -> Entry<'_> {
        Entry {
            name: format!("images/{index}.jpg").into(),
            link: format!("../images/{index}.jpg").into(),
            bytes: index * 10,
            caption: None,
        }
    }
}

/// The files of an archive, read through its directory and checked against its own headers.
pub(crate) fn unzipped(path: &Path) -> BTreeMap<String, Vec<u8>> {
    let bytes = std::fs::read(path).unwrap();
    let number = |at: usize, length: usize| {
        let bytes = bytes[at..at + length].iter().rev();
        bytes.fold(0_usize, |number, byte| number << 8 | usize::from(*byte))
    };
    let end = bytes.len() - 22;
    assert_eq!(number(end, 4), 0x0605_4b50);
    assert_eq!(number(end - 20, 4), 0x0706_4b50);
    let end_64 = number(end - 12, 8);
    assert_eq!(number(end_64, 4), 0x0606_4b50);
    let (entries, mut at) = (number(end_64 + 32, 8), number(end_64 + 48, 8));
    assert_eq!(number(end + 10, 2), entries);
    let mut files = BTreeMap::new();
    for _ in 0..entries {
        assert_eq!(number(at, 4), 0x0201_4b50);
        let name_length = number(at + 28, 2);
        let name = String::from_utf8(bytes[at + 46..at + 46 + name_length].to_vec()).unwrap();
        let extra = at + 46 + name_length + 4;
        let (length, local) = (number(extra, 8), number(extra + 16, 8));
        assert_eq!(number(local, 4), 0x0403_4b50);
        assert_eq!(
            bytes[local + 30..local + 30 + name_length],
            *name.as_bytes()
        );
        let start = local + 30 + name_length + number(local + 28, 2);
        let content = bytes[start..start + length].to_vec();
        assert_eq!(number(at + 16, 4), crc32fast::hash(&content) as usize);
        assert_eq!(number(local + 14, 4), crc32fast::hash(&content) as usize);
        assert!(files.insert(name, content).is_none());
        at += 46 + name_length + number(at + 30, 2);
    }
    assert_eq!(at, end_64);
    files
}
