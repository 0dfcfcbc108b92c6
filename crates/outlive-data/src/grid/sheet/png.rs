//! PNG as a stream: rows of cells go in, chunks come out, and nothing is kept but where the stream
//! stands. Each row of cells is deflated on its own, so the file can be continued from any of them.

use std::collections::VecDeque;
use std::io::{self, SeekFrom};

use serde::{Deserialize, Serialize};

use super::bands::{Bands, Row};
use super::deflate::{EMPTY_SUM, HEADER, LAST_BLOCK, Method, Piece, Pool, combined};
use super::error::SheetError;
use super::filter::{Filter, filter};
use super::target::{EncodeError, Target, Written};
use crate::grid::layout::Layout;
use crate::grid::progress::End;

/// Pixels a side that the format can hold.
pub(super) const LIMIT: u64 = (1 << 31) - 1;
const SIGNATURE: [u8; 8] = [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n'];
/// Where the length of the header chunk is.
const HEADER_AT: u64 = 8;
/// A keyword of the format, and its text.
const SOFTWARE: &[u8] = b"Software\0Outlive grid";
/// Plain bytes that are deflated at a time; far more than the window, so that it costs nothing.
const PIECE: usize = 512 * 1024;
/// Bytes after which it is said again where the file can be continued.
const KEEP_EVERY: u64 = 1 << 20;
/// A chunk must be shorter than 2 GiB.
const CHUNK: usize = 1 << 30;

/// How hard to try.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Effort {
    /// Rows are stored as differences and coded by frequency, without a search for repetitions.
    #[default]
    Fast,
    /// Rows as they are, deflated about as small as by zlib's level of this number, 0 to 9.
    Level(u8),
}

/// Where a file can be continued.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Point {
    /// Whole rows of cells that are in the file.
    pub(super) rows: u64,
    /// Bytes of the file up to here.
    pub(super) offset: u64,
    /// Adler-32 of the plain bytes so far.
    pub(super) sum: u32,
    /// CRC-32 of the last chunk, by which the file is known again.
    pub(super) check: u32,
    /// Broken cells so far.
    pub(super) broken: u64,
}

/// Told where the file can be continued.
pub(super) type Keep<'a> = &'a mut dyn FnMut(Point) -> io::Result<()>;

/// Writes a picture from `from` on and says how it ended. The target stands at `from.offset`.
pub(super) fn write(
    target: &mut dyn Target,
    bands: &mut Bands<'_>,
    layout: &Layout,
    settings: Settings,
    from: Option<Point>,
    keep: Keep<'_>,
) -> Result<Written, EncodeError> {
    std::thread::scope(|scope| {
        let mut stream = Stream {
            target,
            pool: Pool::start(scope, settings.threads, settings.effort.method()),
            steps: VecDeque::new(),
            spare: Vec::new(),
            point: from.unwrap_or(Point {
                sum: EMPTY_SUM,
                ..Point::default()
            }),
            marked: from.unwrap_or_default(),
            kept: from.map_or(0, |point| point.offset),
            filter: settings.effort.filter(),
            keep,
        };
        if from.is_none() {
            stream.begin(layout, &bands.top(), bands.stride())?;
            // A stop in the first row can be continued too.
            stream.steps.push_back(Step::Mark { rows: 0, broken: 0 });
        }
        stream.draw(bands, layout)
    })
}

/// How to write.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    pub(super) effort: Effort,
    pub(super) threads: usize,
}

impl Effort {
    fn method(self) -> Method {
        match self {
            Self::Fast => Method::Codes,
            Self::Level(level) => Method::Search(level),
        }
    }

    fn filter(self) -> Filter {
        match self {
            Self::Fast => Filter::Paeth,
            Self::Level(_) => Filter::None,
        }
    }
}

struct Stream<'a> {
    target: &'a mut dyn Target,
    pool: Pool,
    /// What the pieces in the pool are followed by, oldest first.
    steps: VecDeque<Step>,
    spare: Vec<Piece>,
    point: Point,
    /// The point after the last row of cells that is whole.
    marked: Point,
    /// How much of the file is safe.
    kept: u64,
    filter: Filter,
    keep: Keep<'a>,
}

enum Step {
    Piece,
    /// So many rows of cells are given, of which so many cells are broken.
    Mark {
        rows: u64,
        broken: u64,
    },
}

impl Stream<'_> {
    fn begin(&mut self, layout: &Layout, top: &[u8], stride: usize) -> Result<(), EncodeError> {
        self.target.write_all(&SIGNATURE)?;
        let header = header(layout.sheet_width(), layout.sheet_height());
        write_chunk(self.target, *b"IHDR", &header)?;
        write_chunk(self.target, *b"tEXt", SOFTWARE)?;
        self.point.check = write_chunk(self.target, *b"IDAT", &HEADER)?;
        self.point.offset = HEADER_AT + 12 + 13 + 12 + SOFTWARE.len() as u64 + 12 + 2;
        self.give(top, stride)
    }

    fn draw(&mut self, bands: &mut Bands<'_>, layout: &Layout) -> Result<Written, EncodeError> {
        let before = self.point.broken;
        for row in self.point.rows..layout.rows() {
            let drawn = bands.draw(row).map_err(EncodeError::Other)?;
            if drawn != Row::Blank {
                self.give(bands.canvas(), bands.stride())?;
            }
            if drawn != Row::Whole {
                let rows = row + u64::from(drawn == Row::Begun);
                return self.stop(layout, rows);
            }
            self.steps.push_back(Step::Mark {
                rows: row + 1,
                broken: before + bands.tally.broken,
            });
        }
        self.finish()?;
        Ok(Written::Picture(End::Complete))
    }

    /// Ends the picture after `rows` rows of cells.
    fn stop(&mut self, layout: &Layout, rows: u64) -> Result<Written, EncodeError> {
        if rows == 0 {
            return Ok(Written::Nothing);
        }
        self.finish()?;
        self.keep()?;
        let height = rows * layout.pitch_y() + u64::from(layout.padding);
        self.target.seek(SeekFrom::Start(HEADER_AT))?;
        write_chunk(self.target, *b"IHDR", &header(layout.sheet_width(), height))?;
        Ok(Written::Picture(End::Stopped))
    }

    fn finish(&mut self) -> Result<(), EncodeError> {
        while !self.steps.is_empty() {
            self.take()?;
        }
        let mut end = LAST_BLOCK.to_vec();
        end.extend(self.point.sum.to_be_bytes());
        write_chunk(self.target, *b"IDAT", &end)?;
        write_chunk(self.target, *b"IEND", &[])?;
        self.target.flush()?;
        Ok(())
    }

    /// Says where the file can be continued; all bytes up to there are in it then.
    fn keep(&mut self) -> io::Result<()> {
        self.target.flush()?;
        self.kept = self.marked.offset;
        (self.keep)(self.marked)
    }

    /// Gives rows of pixels to the threads.
    fn give(&mut self, rows: &[u8], stride: usize) -> Result<(), EncodeError> {
        let height = (PIECE / (stride + 1)).max(1);
        let mut above: &[u8] = &[];
        for part in rows.chunks(stride * height) {
            while self.pool.is_full() {
                self.take()?;
            }
            let mut piece = self.spare.pop().unwrap_or_default();
            filter(self.filter, above, part, stride, &mut piece.plain);
            above = part.get(part.len() - stride..).unwrap_or_default();
            self.pool.give(piece).ok_or_else(failed)?;
            self.steps.push_back(Step::Piece);
        }
        Ok(())
    }

    /// Does the oldest step.
    fn take(&mut self) -> Result<(), EncodeError> {
        match self.steps.pop_front() {
            Some(Step::Piece) => {
                let piece = self.pool.take().ok_or_else(failed)?;
                if piece.deflated.is_empty() {
                    return Err(failed());
                }
                for part in piece.deflated.chunks(CHUNK) {
                    self.point.check = write_chunk(self.target, *b"IDAT", part)?;
                    self.point.offset += part.len() as u64 + 12;
                }
                let length = piece.plain.len() as u64;
                self.point.sum = combined(self.point.sum, piece.sum, length);
                self.spare.push(piece);
            }
            Some(Step::Mark { rows, broken }) => {
                self.point.rows = rows;
                self.point.broken = broken;
                self.marked = self.point;
                if self.marked.offset - self.kept >= KEEP_EVERY {
                    self.keep()?;
                }
            }
            None => {}
        }
        Ok(())
    }
}

/// Writes the header of the whole picture over that of one which was stopped.
pub(super) fn restore_height(target: &mut dyn Target, layout: &Layout) -> io::Result<()> {
    target.seek(SeekFrom::Start(HEADER_AT))?;
    let header = header(layout.sheet_width(), layout.sheet_height());
    write_chunk(target, *b"IHDR", &header).map(drop)
}

fn failed() -> EncodeError {
    EncodeError::Other(SheetError::Encode {
        format: "PNG",
        reason: "A thread that deflates is gone".to_owned(),
    })
}

/// 8 bits a channel, red, green and blue, not interlaced.
fn header(width: u64, height: u64) -> [u8; 13] {
    let mut header = [0, 0, 0, 0, 0, 0, 0, 0, 8, 2, 0, 0, 0];
    let (sides, _) = header.split_at_mut(8);
    let (left, right) = sides.split_at_mut(4);
    left.copy_from_slice(&(width as u32).to_be_bytes());
    right.copy_from_slice(&(height as u32).to_be_bytes());
    header
}

/// Writes a chunk and gives its checksum.
fn write_chunk(target: &mut dyn Target, kind: [u8; 4], content: &[u8]) -> io::Result<u32> {
    let mut sum = crc32fast::Hasher::new();
    sum.update(&kind);
    sum.update(content);
    let sum = sum.finalize();
    target.write_all(&(content.len() as u32).to_be_bytes())?;
    target.write_all(&kind)?;
    target.write_all(content)?;
    target.write_all(&sum.to_be_bytes())?;
    Ok(sum)
}
