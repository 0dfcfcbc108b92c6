//! The formats that few data sets use, through the `image` crate and within a limit.

use std::error::Error;
use std::io::Cursor;

use image::error::UnsupportedErrorKind;
use image::{DynamicImage, ImageDecoder, ImageError, ImageFormat, ImageReader, Limits};

use super::blend::blended;
use super::{DecodeError, Format, Stored, ico, tiff};
use crate::orientation::Orientation;
use crate::picture::{Colour, Picture};

/// Decodes at full size, if that takes no more than `limit` bytes, the file included.
pub(super) fn decode(
    file: &[u8],
    kind: ImageFormat,
    ground: Colour,
    limit: u64,
) -> Result<(Stored, Picture), DecodeError> {
    let beside = match kind {
        ImageFormat::Ico => return ico::decode(file, ground, limit),
        ImageFormat::Tiff => {
            let numbers = tiff::numbers(file);
            within(numbers.saturating_add(file.len() as u64), limit)?;
            numbers.saturating_add(tiff::pictures(file)?)
        }
        _ => 0,
    };
    decode_here(file, kind, ground, limit, beside)
}

/// Refuses what needs more than there is.
pub(super) fn within(needed: u64, limit: u64) -> Result<(), DecodeError> {
    if needed > limit {
        return Err(DecodeError::OverBudget {
            needed,
            budget: limit,
        });
    }
    Ok(())
}

/// The same for a file that takes so many bytes beside its pixels.
pub(super) fn decode_here(
    file: &[u8],
    kind: ImageFormat,
    ground: Colour,
    limit: u64,
    beside: u64,
) -> Result<(Stored, Picture), DecodeError> {
    let format = Format::Other(kind);
    let broken = |error| from_image(error, format);
    let beside = beside.saturating_add(file.len() as u64);
    within(beside, limit)?;
    let reader = ImageReader::with_format(Cursor::new(file), kind);
    let mut decoder = reader.into_decoder().map_err(broken)?;
    let (width, height) = decoder.dimensions();
    // What the decoder fills, four values a pixel made of it, and three of these.
    let pixels = u64::from(width).saturating_mul(u64::from(height));
    let needed = decoder
        .total_bytes()
        .saturating_mul(2)
        .saturating_add(pixels.saturating_mul(7))
        .saturating_add(beside);
    within(needed, limit)?;
    let mut limits = Limits::no_limits();
    // The rest is what is made of the pixels afterwards. A GIF does not count its own pixels.
    let own = match kind {
        ImageFormat::Gif => decoder.total_bytes(),
        _ => 0,
    };
    limits.max_alloc = Some(limit.saturating_sub(beside).saturating_sub(own));
    decoder.set_limits(limits).map_err(broken)?;
    let tag = decoder
        .orientation()
        .unwrap_or(image::metadata::Orientation::NoTransforms);
    let picture = DynamicImage::from_decoder(decoder).map_err(broken)?;
    let stored = Stored {
        size: (width, height),
        orientation: Orientation::from_tag(tag),
    };
    let picture = on_ground(picture, ground).ok_or(DecodeError::Empty { format })?;
    Ok((stored, picture))
}

fn on_ground(picture: DynamicImage, ground: Colour) -> Option<Picture> {
    let (width, height) = (picture.width(), picture.height());
    if !picture.color().has_alpha() {
        return Picture::new(width, height, picture.into_rgb8().into_raw());
    }
    let pixels = blended(&picture.into_rgba8().into_raw(), ground);
    Picture::new(width, height, pixels)
}

fn from_image(error: ImageError, format: Format) -> DecodeError {
    match error {
        ImageError::IoError(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
            DecodeError::CutOff { format }
        }
        // What is behind these, since they only name the format once more.
        ImageError::Decoding(error) => match error.source() {
            Some(reason) => DecodeError::broken(format, reason),
            None => DecodeError::broken(format, error),
        },
        ImageError::Unsupported(error) => match error.kind() {
            UnsupportedErrorKind::GenericFeature(feature) => DecodeError::broken(format, feature),
            _ => DecodeError::broken(format, error),
        },
        other => DecodeError::broken(format, other),
    }
}
