//! JPEG as a stream: the encoder asks for rows of pixels, and the rows of cells are drawn when it
//! gets to them. Every row of blocks ends with a restart marker, so that a sheet that is stopped
//! can be cut there and be a whole picture of less height.

use std::cell::{Cell, RefCell};
use std::io::{self, SeekFrom, Write};

use jpeg_encoder::{
    ChromaSubsamplingMethod, Encoder, EncodingError, ImageBuffer, JpegColorType, SamplingFactor,
    rgb_to_ycbcr,
};

use super::bands::{Bands, Row};
use super::error::SheetError;
use super::sign::SIGN;
use super::target::{EncodeError, Target, Written};
use crate::grid::layout::Layout;
use crate::grid::progress::End;

/// Pixels a side that common decoders take.
pub(super) const LIMIT: u64 = 65_500;
/// From here on colours keep their full resolution, as other encoders have it.
const FULL_COLOUR: u8 = 90;
const END_OF_IMAGE: [u8; 2] = [0xff, 0xd9];
/// The segment that says who wrote it, of those that programs may use as they like.
const NOTE: u8 = 4;
const START_OF_FRAME: [u8; 2] = [0xff, 0xc0];
/// From the marker of a frame to its height: the marker, a length and a precision.
const TO_HEIGHT: u64 = 5;

/// Writes a picture and says how it ended.
pub(super) fn write(
    target: &mut dyn Target,
    bands: &mut Bands<'_>,
    layout: &Layout,
    quality: u8,
) -> Result<Written, EncodeError> {
    let (sampling, block) = if quality < FULL_COLOUR {
        (SamplingFactor::F_2_2, 16)
    } else {
        (SamplingFactor::F_1_1, 8)
    };
    let place = Place::default();
    let mut cut = Cut {
        target,
        place: &place,
        block,
        restarts: 0,
        written: 0,
        frame: None,
    };
    let width = layout.sheet_width() as u16;
    let rows = Rows {
        width,
        height: layout.sheet_height() as u16,
        place: &place,
        drawing: RefCell::new(Drawing {
            top: bands.top(),
            bands,
            layout: *layout,
            row: None,
        }),
    };
    let mut encoder = Encoder::new(&mut cut, quality.clamp(1, 100));
    encoder.set_sampling_factor(sampling);
    encoder.set_chroma_subsampling_method(ChromaSubsamplingMethod::Average);
    encoder.set_optimized_huffman_tables(false);
    encoder.set_restart_interval(width.div_ceil(block));
    encoder
        .add_app_segment(NOTE, SIGN.to_vec())
        .map_err(encoding)?;
    let encoded = encoder.encode_image(&rows);
    if let Some(error) = place.error.take() {
        return Err(EncodeError::Other(error));
    }
    match (place.stop.get(), encoded) {
        (None, Ok(())) => {
            cut.target.flush()?;
            Ok(Written::Picture(End::Complete))
        }
        (Some(0), _) => Ok(Written::Nothing),
        (Some(height), Ok(())) => cut.end(height, &[]),
        // The only error after a stop that is not the file's is the cut itself.
        (Some(height), Err(_)) if cut.is_at_end() => cut.end(height, &END_OF_IMAGE),
        (_, Err(EncodingError::IoError(error))) => Err(EncodeError::Target(error)),
        (_, Err(error)) => Err(encoding(error)),
    }
}

#[expect(clippy::needless_pass_by_value, reason = "the shape `map_err` wants")]
fn encoding(error: EncodingError) -> EncodeError {
    EncodeError::Other(SheetError::Encode {
        format: "JPEG",
        reason: error.to_string(),
    })
}

/// What the rows tell the file.
#[derive(Default)]
struct Place {
    /// The header is written, and rows are asked for.
    is_begun: Cell<bool>,
    /// The height at which the picture ends, if the source stopped.
    stop: Cell<Option<u64>>,
    error: Cell<Option<SheetError>>,
}

struct Rows<'a, 'b> {
    width: u16,
    height: u16,
    place: &'a Place,
    drawing: RefCell<Drawing<'a, 'b>>,
}

struct Drawing<'a, 'b> {
    top: Vec<u8>,
    bands: &'a mut Bands<'b>,
    layout: Layout,
    /// The row of cells on the canvas.
    row: Option<u64>,
}

impl ImageBuffer for &Rows<'_, '_> {
    fn get_jpeg_color_type(&self) -> JpegColorType {
        JpegColorType::Ycbcr
    }

    fn width(&self) -> u16 {
        self.width
    }

    fn height(&self) -> u16 {
        self.height
    }

    fn fill_buffers(&self, y: u16, buffers: &mut [Vec<u8>; 4]) {
        self.place.is_begun.set(true);
        let mut drawing = self.drawing.borrow_mut();
        let row = drawing.pixels(u64::from(y), self.place);
        let [luma, blue, red, _] = buffers;
        for pixel in row.chunks_exact(3) {
            if let [r, g, b] = *pixel {
                let (y, cb, cr) = rgb_to_ycbcr(r, g, b);
                luma.push(y);
                blue.push(cb);
                red.push(cr);
            }
        }
    }
}

impl Drawing<'_, '_> {
    /// Row `y` of the pixels. Below the end of a sheet that was stopped it is any row.
    fn pixels(&mut self, y: u64, place: &Place) -> &[u8] {
        let stride = self.bands.stride();
        let padding = u64::from(self.layout.padding);
        let Some(inside) = y.checked_sub(padding) else {
            return part(&self.top, y, stride);
        };
        let row = inside / self.layout.pitch_y();
        let is_new = self.row.is_none_or(|last| last < row);
        if is_new && place.stop.get().is_none() {
            self.row = Some(row);
            let rows = match self.bands.draw(row) {
                Ok(Row::Whole) => None,
                Ok(Row::Begun) => Some(row + 1),
                Ok(Row::Blank) => Some(row),
                Err(error) => {
                    place.error.set(Some(error));
                    Some(0)
                }
            };
            let end = |rows| match rows {
                0 => 0,
                rows => rows * self.layout.pitch_y() + padding,
            };
            place.stop.set(rows.map(end));
        }
        part(self.bands.canvas(), inside % self.layout.pitch_y(), stride)
    }
}

fn part(rows: &[u8], y: u64, stride: usize) -> &[u8] {
    let start = y as usize * stride;
    rows.get(start..start + stride).unwrap_or_default()
}

/// Passes bytes on until the picture is as high as it shall be.
struct Cut<'a> {
    target: &'a mut dyn Target,
    place: &'a Place,
    /// Rows of pixels in a row of blocks.
    block: u16,
    restarts: u64,
    written: u64,
    /// Where the frame begins.
    frame: Option<u64>,
}

impl Cut<'_> {
    /// Whether all blocks up to the stop are written.
    fn is_at_end(&self) -> bool {
        let height = self.place.stop.get();
        height.is_some_and(|height| self.restarts >= height.div_ceil(u64::from(self.block)))
    }

    /// Makes what is written a picture of this height.
    fn end(self, height: u64, last: &[u8]) -> Result<Written, EncodeError> {
        self.target.write_all(last)?;
        let frame = self.frame.ok_or(io::ErrorKind::InvalidData);
        let frame = frame.map_err(io::Error::from)?;
        self.target.seek(SeekFrom::Start(frame + TO_HEIGHT))?;
        self.target.write_all(&(height as u16).to_be_bytes())?;
        self.target.flush()?;
        Ok(Written::Picture(End::Stopped))
    }
}

impl Write for Cut<'_> {
    /// The encoder writes each marker by itself, so that it is known by its two bytes. In the data
    /// between markers these do not occur.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.place.is_begun.get() {
            if matches!(bytes, [0xff, 0xd0..=0xd7]) {
                self.restarts += 1;
                if self.is_at_end() {
                    return Err(io::ErrorKind::Other.into());
                }
            }
        } else if bytes == START_OF_FRAME && self.frame.is_none() {
            self.frame = Some(self.written);
        }
        self.target.write_all(bytes)?;
        self.written += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.target.flush()
    }
}
