//! PNG, row by row. Interlaced files come as seven passes over the whole picture and are the one
//! kind that has to be held in full.

use std::io::Cursor;

use png::{ColorType, DecodingError, Limits, Reader, Transformations};

use super::blend::blend;
use super::shrink::{self, Shrink};
use super::{DecodeError, Format, Stored};
use crate::orientation::Orientation;
use crate::picture::{Colour, Picture, bytes_of};

/// What the header says.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    width: u32,
    height: u32,
    interlaced: bool,
    orientation: Orientation,
    /// Bytes of the longest chunk before the pixels.
    longest: u64,
}

/// Pixels that any file may have, and how many more for each of its bytes: a small one could keep a
/// processor busy for minutes otherwise, since a byte can stand for eight thousand of them.
const MOST_PIXELS: u64 = 1 << 30;
const MOST_A_BYTE: u64 = 500;

const CUT_OFF: DecodeError = DecodeError::CutOff {
    format: Format::Png,
};

impl Shape {
    /// Reads the chunks before the pixels.
    pub(super) fn read(file: &[u8]) -> Result<Self, DecodeError> {
        let reader = open(file)?;
        Ok(Self {
            longest: longest_chunk(file),
            ..Self::of(&reader)
        })
    }

    fn of(reader: &Reader<Cursor<&[u8]>>) -> Self {
        let info = reader.info();
        let exif = info.exif_metadata.as_deref().unwrap_or_default();
        Self {
            width: info.width,
            height: info.height,
            interlaced: info.interlaced,
            orientation: Orientation::from_exif(exif),
            longest: 0,
        }
    }

    pub(super) fn stored(&self) -> Stored {
        Stored {
            size: (self.width, self.height),
            orientation: self.orientation,
        }
    }

    /// The size that comes out when at least `target` is wanted.
    pub(super) fn decoded(&self, target: (u32, u32)) -> (u32, u32) {
        let stored = (self.width, self.height);
        shrink::size(stored, shrink::factor(stored, target))
    }

    /// Bytes that decoding to at least `target` takes.
    pub(super) fn cost(&self, target: (u32, u32)) -> u64 {
        let (width, height) = self.decoded(target);
        let result = bytes_of(width, height).unwrap_or(u64::MAX);
        // Two raw rows of at most 8 bytes a pixel, one made of them, one of three colours; sums.
        let rows = u64::from(self.width) * (8 * 2 + 8 + 3) + u64::from(width) * 12;
        let whole = if self.interlaced {
            u64::from(self.width) * u64::from(self.height) * 4
        } else {
            0
        };
        // A chunk is gathered in a buffer that doubles, and some are copied from there.
        let chunk = self.longest * 3;
        result
            .saturating_add(rows)
            .saturating_add(whole)
            .saturating_add(chunk)
    }
}

/// Decodes to at least `target`.
pub(super) fn decode(
    file: &[u8],
    target: (u32, u32),
    ground: Colour,
) -> Result<Picture, DecodeError> {
    let mut reader = open(file)?;
    let shape = Shape::of(&reader);
    let stored = (shape.width, shape.height);
    check_work(stored, file.len() as u64)?;
    let (colours, _) = reader.output_color_type();
    let mut shrink = Shrink::new(stored, shrink::factor(stored, target));
    let mut row = vec![0; shape.width as usize * 3];
    if shape.interlaced {
        let size = reader.output_buffer_size().ok_or(CUT_OFF)?;
        let mut whole = vec![0; size];
        reader.next_frame(&mut whole).map_err(broken)?;
        let line = whole.len() / shape.height.max(1) as usize;
        for stored_row in whole.chunks_exact(line.max(1)) {
            to_rgb(stored_row, colours, ground, &mut row);
            shrink.push(&row);
        }
    } else {
        for _ in 0..shape.height {
            let stored_row = reader.next_row().map_err(broken)?.ok_or(CUT_OFF)?;
            to_rgb(stored_row.data(), colours, ground, &mut row);
            shrink.push(&row);
        }
    }
    shrink.finish(shape.height).ok_or(CUT_OFF)
}

fn check_work((width, height): (u32, u32), bytes: u64) -> Result<(), DecodeError> {
    let pixels = u64::from(width) * u64::from(height);
    if pixels <= MOST_PIXELS.max(bytes.saturating_mul(MOST_A_BYTE)) {
        return Ok(());
    }
    let reason = format!("{pixels} pixels in {bytes} bytes, more than a picture has");
    Err(DecodeError::broken(Format::Png, reason))
}

/// Bytes of the longest chunk between the signature and the first pixels.
fn longest_chunk(file: &[u8]) -> u64 {
    let mut longest = 0;
    let mut rest = file.get(8..).unwrap_or_default();
    while let Some(([a, b, c, d, name @ ..], after)) = rest.split_first_chunk::<8>() {
        if name == b"IDAT" {
            break;
        }
        let length = u32::from_be_bytes([*a, *b, *c, *d]);
        longest = longest.max(u64::from(length));
        rest = after.get(length as usize + 4..).unwrap_or_default();
    }
    longest
}

fn open(file: &[u8]) -> Result<Reader<Cursor<&[u8]>>, DecodeError> {
    // Rows and small chunks only: what a file claims beyond that is asked of the budget first.
    let mut decoder = png::Decoder::new_with_limits(Cursor::new(file), Limits { bytes: 64 << 20 });
    decoder.set_transformations(Transformations::normalize_to_color8());
    decoder.set_ignore_text_chunk(true);
    decoder.set_ignore_iccp_chunk(true);
    decoder.read_info().map_err(broken)
}

/// One row as red, green and blue.
fn to_rgb(stored: &[u8], colours: ColorType, ground: Colour, row: &mut [u8]) {
    let pixels = row.chunks_exact_mut(3);
    match colours {
        ColorType::Rgb | ColorType::Indexed => {
            for (pixel, from) in pixels.zip(stored.chunks_exact(3)) {
                pixel.copy_from_slice(from);
            }
        }
        ColorType::Rgba => {
            for (pixel, from) in pixels.zip(stored.chunks_exact(4)) {
                blend(pixel, from, ground);
            }
        }
        ColorType::Grayscale => {
            for (pixel, &grey) in pixels.zip(stored) {
                pixel.fill(grey);
            }
        }
        ColorType::GrayscaleAlpha => {
            for (pixel, from) in pixels.zip(stored.chunks_exact(2)) {
                if let &[grey, alpha] = from {
                    blend(pixel, &[grey, grey, grey, alpha], ground);
                }
            }
        }
    }
}

fn broken(error: DecodingError) -> DecodeError {
    match error {
        DecodingError::IoError(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
            CUT_OFF
        }
        other => DecodeError::broken(Format::Png, other),
    }
}
