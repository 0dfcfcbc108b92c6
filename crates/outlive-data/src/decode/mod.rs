//! From the bytes of a file to a picture of the size that is needed.
//!
//! First the header says what decoding will cost ([`header`]), then it is done
//! ([`Decoder::decode`]) within that figure. JPEG and lossy WebP are shrunk while they are decoded,
//! PNG row by row; so a picture of 12 megapixels for a cell of 128 pixels never exists in full.
//! Damaged files are errors: half a picture is not shown as a whole one.

mod blend;
mod error;
mod format;
mod ico;
mod jpeg;
mod other;
mod png;
mod shrink;
mod tiff;
pub(crate) mod vp8l;
mod webp;

pub use self::error::DecodeError;
pub use self::format::Format;
pub use self::jpeg::DECODER_NAME as JPEG_DECODER_NAME;

use crate::fit::Fit;
use crate::orientation::Orientation;
use crate::picture::{Colour, Picture, bytes_of};
use crate::resize::Resize;
use crate::window::Window;

/// Room for tables, rows and small buffers of any decoder, on top of what is worked out.
const SLACK: u64 = 512 << 10;

/// How large the result is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// As it is stored.
    Full,
    /// As large as it is shown in a box of this width and height.
    Box(Fit, u32, u32),
}

/// What the header of a file says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// What kind of file it is.
    pub format: Format,
    /// Width as it is shown.
    pub width: u32,
    /// Height as it is shown.
    pub height: u32,
    /// Which way up it is.
    orientation: Orientation,
    /// What it takes to decode.
    pub cost: Cost,
    /// What it is brought to, as it is shown.
    wanted: Wanted,
}

/// Sizes on the way to a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Wanted {
    /// The least size to decode to.
    decoded: (u32, u32),
    /// The size of the result.
    shown: (u32, u32),
}

impl Wanted {
    fn new(size: (u32, u32), scale: Scale) -> Self {
        match scale {
            Scale::Full => Self {
                decoded: size,
                shown: size,
            },
            Scale::Box(fit, width, height) => {
                let (across, down) = fit.target(size, (width, height));
                Self {
                    // Decoders shrink and never enlarge.
                    decoded: (across.min(size.0), down.min(size.1)),
                    shown: fit.shown(size, (width, height)),
                }
            }
        }
    }
}

/// Bytes that decoding takes, without the file itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cost {
    /// At most this many.
    Bytes(u64),
    /// Known only when all of the file was read.
    Unknown,
}

/// What a format's own module finds in a header, as it is stored.
struct Stored {
    size: (u32, u32),
    orientation: Orientation,
}

/// Reads the header from the first bytes of a file. [`DecodeError::CutOff`] means that more of them
/// are needed, or that there are no more.
pub fn header(start: &[u8], scale: Scale) -> Result<Header, DecodeError> {
    header_with(start, None, scale)
}

/// Where to look for EXIF, if the first bytes of a file say that it comes behind them: at this chunk
/// of RIFF or after it.
pub(crate) fn late_exif(start: &[u8]) -> Option<u64> {
    matches!(Format::of(start), Ok(Format::WebP))
        .then(|| webp::late_exif(start))
        .flatten()
}

/// The same as [`header`], with the EXIF of a file that has it elsewhere.
pub(crate) fn header_with(
    start: &[u8],
    exif: Option<&[u8]>,
    scale: Scale,
) -> Result<Header, DecodeError> {
    let format = Format::of(start)?;
    let shape = match format {
        Format::Jpeg => Shape::Jpeg(jpeg::Frame::read(start)?),
        Format::Png => Shape::Png(png::Shape::read(start)?),
        Format::WebP => Shape::WebP(webp::Shape::read(start, exif)?),
        Format::Other(_) => {
            return Ok(Header {
                format,
                width: 0,
                height: 0,
                orientation: Orientation::default(),
                cost: Cost::Unknown,
                wanted: Wanted::new((0, 0), Scale::Full),
            });
        }
    };
    let stored = shape.stored();
    let header = Header::new(format, &stored, scale)?;
    let target = stored.orientation.turned(header.wanted.decoded);
    let cost = shape.cost(target).saturating_add(SLACK);
    let resized = resizing(
        shape.decoded(target),
        stored.orientation.turned(header.wanted.shown),
    );
    Ok(Header {
        cost: Cost::Bytes(cost.saturating_add(resized)),
        ..header
    })
}

/// Refuses a WebP whose tables, of which the header says nothing, need more than there is.
fn check_tables(file: &[u8], header: &Header, limit: u64) -> Result<(), DecodeError> {
    let tables = webp::table_bytes(file);
    match header.cost {
        Cost::Bytes(cost) if tables > SLACK / 2 => {
            other::within(cost + tables + file.len() as u64, limit)
        }
        _ => Ok(()),
    }
}

/// Bytes that resizing takes: first across, then down, then perhaps turned.
fn resizing(decoded: (u32, u32), shown: (u32, u32)) -> u64 {
    let across = bytes_of(shown.0, decoded.1).unwrap_or(u64::MAX);
    let result = bytes_of(shown.0, shown.1).unwrap_or(u64::MAX);
    across.saturating_add(result.saturating_mul(2))
}

/// What the header of one of our own formats says.
enum Shape {
    Jpeg(jpeg::Frame),
    Png(png::Shape),
    WebP(webp::Shape),
}

impl Shape {
    fn stored(&self) -> Stored {
        match self {
            Self::Jpeg(frame) => frame.stored(),
            Self::Png(shape) => shape.stored(),
            Self::WebP(shape) => shape.stored(),
        }
    }

    /// The size that comes out of the decoder, as it is stored.
    fn decoded(&self, target: (u32, u32)) -> (u32, u32) {
        match self {
            Self::Jpeg(frame) => frame.decoded(target),
            Self::Png(shape) => shape.decoded(target),
            Self::WebP(_) => target,
        }
    }

    /// Bytes that decoding to a target takes, both as they are stored.
    fn cost(&self, target: (u32, u32)) -> u64 {
        match self {
            Self::Jpeg(frame) => frame.cost(target),
            Self::Png(shape) => shape.cost(target),
            Self::WebP(shape) => shape.cost(target),
        }
    }
}

impl Header {
    /// Whether [`Decoder::decode_in_passing`] may succeed.
    pub(crate) fn may_pass(&self) -> bool {
        let stored = self.orientation.turned((self.width, self.height));
        let target = self.orientation.turned(self.wanted.decoded);
        self.format == Format::Jpeg && jpeg::may_pass(stored, target)
    }

    fn new(format: Format, stored: &Stored, scale: Scale) -> Result<Self, DecodeError> {
        let (width, height) = stored.orientation.turned(stored.size);
        if width == 0 || height == 0 {
            return Err(DecodeError::Empty { format });
        }
        Ok(Self {
            format,
            width,
            height,
            orientation: stored.orientation,
            cost: Cost::Unknown,
            wanted: Wanted::new((width, height), scale),
        })
    }
}

/// Decodes one file after another; a thread has its own.
#[derive(Debug, Default)]
pub struct Decoder {
    jpeg: jpeg::Decoder,
    resize: Resize,
}

impl Decoder {
    /// Decodes a whole file, of which `header` was read, to the size that the header was asked for.
    /// Transparent parts show `ground`. `limit` bounds what all of it may take: where the file says
    /// more than its header did, the error says how much is enough.
    pub fn decode(
        &mut self,
        file: &[u8],
        header: &Header,
        scale: Scale,
        ground: Colour,
        limit: u64,
    ) -> Result<(Header, Picture), DecodeError> {
        let target = header.orientation.turned(header.wanted.decoded);
        let (header, picture) = match header.format {
            Format::Jpeg => (*header, self.jpeg.decode(file, target)?),
            Format::Png => (*header, png::decode(file, target, ground)?),
            Format::WebP => {
                check_tables(file, header, limit)?;
                (*header, webp::decode(file, target, ground)?)
            }
            Format::Other(kind) => {
                let (stored, picture) = other::decode(file, kind, ground, limit)?;
                (Header::new(header.format, &stored, scale)?, picture)
            }
        };
        let shown = self
            .shown(picture, &header, scale)
            .ok_or(DecodeError::Empty {
                format: header.format,
            })?;
        Ok((header, shown))
    }

    /// Decodes a file that begins with the bytes that `header` was read of, while it is read. `None`
    /// if it has to be there as a whole, or is damaged.
    pub(crate) fn decode_in_passing(
        &mut self,
        window: Window<'_>,
        header: &Header,
        scale: Scale,
    ) -> Option<Picture> {
        let stored = header.orientation.turned((header.width, header.height));
        let picture = jpeg::decode_in_passing(window, stored)?;
        self.shown(picture, header, scale)
    }

    fn shown(&mut self, picture: Picture, header: &Header, scale: Scale) -> Option<Picture> {
        let resized = self.resized(picture, header, scale)?;
        Some(header.orientation.apply(resized))
    }

    fn resized(&mut self, picture: Picture, header: &Header, scale: Scale) -> Option<Picture> {
        let whole = (picture.width(), picture.height());
        let part = match scale {
            Scale::Full => ((0, 0), whole),
            Scale::Box(fit, width, height) => {
                fit.part(whole, header.orientation.turned((width, height)))
            }
        };
        let shown = header.orientation.turned(header.wanted.shown);
        self.resize.part_to(picture, part, shown)
    }
}

#[cfg(test)]
mod tests;
