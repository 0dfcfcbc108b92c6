//! Cells on disk: a grid that grows one cell at a time and can be drawn at any moment. The cells
//! lie in a file without a name, which goes with the last handle to it; memory is one cell.

use std::borrow::Cow;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::cells::{CellView, Cells, DrawError, Drawn, Entries, Entry};
use super::text::{Caption, Ink};

/// Numbers before the pixels of a cell.
const NUMBERS: usize = 5;
const HEADER: usize = NUMBERS * 8;
/// Lengths in front of the texts of a cell: name, link, caption, problem.
const TEXTS: usize = 4;
/// In place of the length of a text that is not there.
const ABSENT: u32 = u32::MAX;
/// No text of a cell is longer; the rest is cut off.
const LONGEST: usize = 64 * 1024;

/// Cells of one size, each appended once.
#[derive(Debug)]
pub struct Spool {
    cell_width: u32,
    cell_height: u32,
    cells: File,
    texts: File,
    count: u64,
    texts_end: u64,
}

/// A cell to append, besides its pixels.
#[derive(Clone, Debug, Default)]
pub struct Spooled<'a> {
    /// Name, link, bytes and caption.
    pub entry: Entry<'a>,
    /// Size of the picture behind it, and its problem.
    pub drawn: Drawn,
}

/// Draws the cells of a spool.
#[derive(Debug)]
pub struct SpoolReader<'a> {
    spool: &'a Spool,
    pixels: Vec<u8>,
    caption: Option<(Caption, Ink)>,
}

/// Why a cell was not appended.
#[derive(Debug, thiserror::Error)]
pub enum SpoolError {
    /// The pixels are not those of a cell.
    #[error("A cell has {expected} bytes, {found} were given")]
    Length {
        /// Bytes of a cell.
        expected: u64,
        /// Bytes that were given.
        found: u64,
    },
    /// The temporary file cannot be written.
    #[error("Cannot keep cell {index} in a temporary file: {source}")]
    Write {
        /// Which cell.
        index: u64,
        /// What the system says.
        source: io::Error,
    },
}

impl Spool {
    /// An empty one, in files without a name in `folder`.
    pub fn new(cell_width: u32, cell_height: u32, folder: &Path) -> io::Result<Self> {
        Ok(Self {
            cell_width,
            cell_height,
            cells: tempfile::tempfile_in(folder)?,
            texts: tempfile::tempfile_in(folder)?,
            count: 0,
            texts_end: 0,
        })
    }

    /// How many cells there are.
    pub fn len(&self) -> u64 {
        self.count
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Width of a cell.
    pub fn cell_width(&self) -> u32 {
        self.cell_width
    }

    /// Height of a cell, without a caption.
    pub fn cell_height(&self) -> u32 {
        self.cell_height
    }

    /// Appends a cell of `3 * width * height` bytes and gives its index. A cell that could not be
    /// written is not there, and may be appended again.
    pub fn push(&mut self, pixels: &[u8], spooled: &Spooled<'_>) -> Result<u64, SpoolError> {
        if pixels.len() != self.pixel_bytes() {
            return Err(SpoolError::Length {
                expected: self.pixel_bytes() as u64,
                found: pixels.len() as u64,
            });
        }
        let index = self.count;
        let write = |source| SpoolError::Write { index, source };
        let Spooled { entry, drawn } = spooled;
        let texts = texts(entry, drawn.problem.as_deref());
        let numbers: [u64; NUMBERS] = [
            self.texts_end,
            texts.len() as u64,
            entry.bytes,
            u64::from(drawn.width),
            u64::from(drawn.height),
        ];
        let header: Vec<u8> = numbers
            .iter()
            .flat_map(|number| number.to_le_bytes())
            .collect();
        let start = index * self.record_bytes();
        self.texts
            .write_all_at(&texts, self.texts_end)
            .map_err(write)?;
        self.cells.write_all_at(&header, start).map_err(write)?;
        let pixels_start = start + HEADER as u64;
        self.cells
            .write_all_at(pixels, pixels_start)
            .map_err(write)?;
        self.texts_end += texts.len() as u64;
        self.count += 1;
        Ok(index)
    }

    /// Draws cells, each with its caption below it where the view has room for one of `height`
    /// pixels; 0 for none.
    pub fn reader(&self, caption_height: u32, ink: Ink) -> SpoolReader<'_> {
        SpoolReader {
            spool: self,
            pixels: Vec::new(),
            caption: (caption_height > 0).then(|| (Caption::new(caption_height), ink)),
        }
    }

    fn pixel_bytes(&self) -> usize {
        self.cell_width as usize * self.cell_height as usize * 3
    }

    fn record_bytes(&self) -> u64 {
        (HEADER + self.pixel_bytes()) as u64
    }

    fn numbers(&self, index: u64) -> io::Result<[u64; NUMBERS]> {
        if index >= self.count {
            return Err(io::ErrorKind::NotFound.into());
        }
        let mut bytes = [0; HEADER];
        self.cells
            .read_exact_at(&mut bytes, index * self.record_bytes())?;
        let mut numbers = [0; NUMBERS];
        for (number, bytes) in numbers.iter_mut().zip(bytes.chunks_exact(8)) {
            *number = bytes
                .iter()
                .rev()
                .fold(0, |sum, byte| sum << 8 | u64::from(*byte));
        }
        Ok(numbers)
    }

    /// Name, link, caption and problem.
    fn texts(&self, numbers: &[u64; NUMBERS]) -> io::Result<[Option<String>; TEXTS]> {
        let [start, length, ..] = *numbers;
        let mut bytes = vec![0; length as usize];
        self.texts.read_exact_at(&mut bytes, start)?;
        let (lengths, mut rest) = bytes.split_at(bytes.len().min(TEXTS * 4));
        let mut texts = [const { None }; TEXTS];
        for (text, length) in texts.iter_mut().zip(lengths.chunks_exact(4)) {
            let length = length
                .iter()
                .rev()
                .fold(0, |sum, byte| sum << 8 | u32::from(*byte));
            if length != ABSENT {
                let (this, others) = rest.split_at(rest.len().min(length as usize));
                *text = Some(String::from_utf8_lossy(this).into_owned());
                rest = others;
            }
        }
        Ok(texts)
    }
}

impl Entries for Spool {
    fn entry(&self, index: u64) -> Entry<'_> {
        let read = self.numbers(index).and_then(|numbers| {
            let texts = self.texts(&numbers)?;
            Ok((numbers, texts))
        });
        let Ok(([_, _, bytes, ..], [name, link, caption, _])) = read else {
            return Entry::default();
        };
        Entry {
            name: Cow::Owned(name.unwrap_or_default()),
            link: Cow::Owned(link.unwrap_or_default()),
            bytes,
            caption: caption.map(Cow::Owned),
        }
    }
}

impl SpoolReader<'_> {
    fn read(&mut self, index: u64) -> io::Result<(Drawn, Option<String>)> {
        let spool = self.spool;
        let numbers = spool.numbers(index)?;
        let [_, _, caption, problem] = spool.texts(&numbers)?;
        let [_, _, _, width, height] = numbers;
        self.pixels.resize(spool.pixel_bytes(), 0);
        let start = index * spool.record_bytes() + HEADER as u64;
        spool.cells.read_exact_at(&mut self.pixels, start)?;
        let drawn = Drawn {
            width: width as u32,
            height: height as u32,
            problem,
        };
        Ok((drawn, caption))
    }
}

impl Cells for SpoolReader<'_> {
    fn draw(&mut self, index: u64, view: &mut CellView<'_>) -> Result<Drawn, DrawError> {
        let read = self.read(index);
        let (drawn, caption) = read.map_err(|error| {
            DrawError::Failed(format!("Cannot read cell {index} back: {error}"))
        })?;
        let stride = self.spool.cell_width as usize * 3;
        for (y, from) in (0..).zip(self.pixels.chunks_exact(stride.max(1))) {
            for (to, from) in view.row_mut(y).iter_mut().zip(from) {
                *to = *from;
            }
        }
        if let (Some((line, ink)), Some(text)) = (&mut self.caption, caption) {
            line.draw(view, &text, *ink);
        }
        Ok(drawn)
    }
}

/// The texts of a cell, their lengths in front.
fn texts(entry: &Entry<'_>, problem: Option<&str>) -> Vec<u8> {
    let texts: [Option<&str>; TEXTS] = [
        Some(&entry.name),
        Some(&entry.link),
        entry.caption.as_deref(),
        problem,
    ];
    let texts = texts.map(|text| text.map(cut));
    let lengths = texts.map(|text| text.map_or(ABSENT, |text| text.len() as u32));
    let mut bytes: Vec<u8> = lengths
        .iter()
        .flat_map(|length| length.to_le_bytes())
        .collect();
    bytes.extend(texts.iter().copied().flatten().flatten());
    bytes
}

fn cut(text: &str) -> &[u8] {
    let text = text.as_bytes();
    text.get(..LONGEST).unwrap_or(text)
}
