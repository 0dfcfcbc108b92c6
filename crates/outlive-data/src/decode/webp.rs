//! WebP by libwebp, which shrinks lossy pictures while it decodes them. Of an animation the first
//! picture is shown.
#![expect(
    unsafe_code,
    reason = "libwebp is C and has no wrapper that can shrink"
)]

use libwebp_sys::{
    VP8StatusCode, WEBP_CSP_MODE, WebPBitstreamFeatures, WebPDecode, WebPDecoderConfig,
    WebPGetFeatures,
};

use super::png::blend;
use super::{DecodeError, Format, Stored};
use crate::orientation::Orientation;
use crate::picture::{Colour, Picture, bytes_of};

/// What the header says.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    width: u32,
    height: u32,
    lossless: bool,
    transparent: bool,
    orientation: Orientation,
}

const CUT_OFF: DecodeError = DecodeError::CutOff {
    format: Format::WebP,
};

impl Shape {
    /// Reads the chunks before the pixels.
    pub(super) fn read(file: &[u8]) -> Result<Self, DecodeError> {
        let features = features(first_picture(file)?)?;
        let exif = chunks(file.get(12..).unwrap_or_default())
            .find(|(name, _)| name == b"EXIF")
            .map_or(&[][..], |(_, data)| data);
        Ok(Self {
            width: features.width.unsigned_abs(),
            height: features.height.unsigned_abs(),
            // 0 is "mixed": lossy pixels whose transparency was not looked at yet, or an animation.
            lossless: features.format == 2 || (features.format == 0 && features.has_alpha == 0),
            transparent: features.has_alpha != 0,
            orientation: Orientation::from_exif(exif),
        })
    }

    pub(super) fn stored(&self) -> Stored {
        Stored {
            size: (self.width, self.height),
            orientation: self.orientation,
        }
    }

    /// Bytes that decoding to `target` takes.
    pub(super) fn cost(&self, target: (u32, u32)) -> u64 {
        let pixels = |width: u32, height: u32| u64::from(width) * u64::from(height);
        // Four bytes a pixel out of the library, three of them kept.
        let result = pixels(target.0, target.1) * 7;
        // The scaler keeps a few rows. Lossless pictures are decoded in full, and so is the
        // transparency of lossy ones, which is a lossless picture of its own.
        let rows = u64::from(self.width) * 64;
        let all = pixels(self.width, self.height);
        let whole = if self.lossless { all * 5 } else { 0 };
        let alpha = if self.transparent { all * 5 } else { 0 };
        result + rows + whole.max(alpha)
    }
}

/// Decodes to exactly `target`, if that is not larger than the picture.
pub(super) fn decode(
    file: &[u8],
    target: (u32, u32),
    ground: Colour,
) -> Result<Picture, DecodeError> {
    let data = first_picture(file)?;
    let features = features(data)?;
    let (width, height) = (
        target.0.min(features.width.unsigned_abs()),
        target.1.min(features.height.unsigned_abs()),
    );
    let bytes = bytes_of(width, height).ok_or(CUT_OFF)? / 3 * 4;
    let mut four = vec![0_u8; bytes as usize];
    let mut config = WebPDecoderConfig::new()
        .map_err(|()| DecodeError::broken(Format::WebP, "libwebp has another version"))?;
    config.options.use_scaling = 1;
    config.options.scaled_width = width as i32;
    config.options.scaled_height = height as i32;
    config.output.colorspace = WEBP_CSP_MODE::MODE_RGBA;
    config.output.is_external_memory = 1;
    config.output.u.RGBA = libwebp_sys::WebPRGBABuffer {
        rgba: four.as_mut_ptr(),
        stride: width as i32 * 4,
        size: four.len(),
    };
    // SAFETY: `data` is readable for its length. The output is `four`, which is `size` bytes long,
    // `height` rows of `stride`, outlives the call, and is not looked at before it returns; the
    // library checks size and stride against the scaled size before it writes.
    let status = unsafe { WebPDecode(data.as_ptr(), data.len(), &raw mut config) };
    check(status)?;
    let mut pixels = vec![0; four.len() / 4 * 3];
    for (pixel, from) in pixels.chunks_exact_mut(3).zip(four.chunks_exact(4)) {
        blend(pixel, from, ground);
    }
    Picture::new(width, height, pixels).ok_or(CUT_OFF)
}

fn features(data: &[u8]) -> Result<WebPBitstreamFeatures, DecodeError> {
    let mut features = WebPBitstreamFeatures {
        width: 0,
        height: 0,
        has_alpha: 0,
        has_animation: 0,
        format: 0,
        pad: [0; 5],
    };
    // SAFETY: `data` is readable for its length, and `features` is a valid place to write to.
    let status = unsafe { WebPGetFeatures(data.as_ptr(), data.len(), &raw mut features) };
    check(status)?;
    Ok(features)
}

fn check(status: VP8StatusCode) -> Result<(), DecodeError> {
    let reason = match status {
        VP8StatusCode::VP8_STATUS_OK => return Ok(()),
        VP8StatusCode::VP8_STATUS_NOT_ENOUGH_DATA => return Err(CUT_OFF),
        VP8StatusCode::VP8_STATUS_OUT_OF_MEMORY => "out of memory",
        VP8StatusCode::VP8_STATUS_UNSUPPORTED_FEATURE => "a feature that libwebp does not know",
        _ => "damaged pixels",
    };
    Err(DecodeError::broken(Format::WebP, reason))
}

/// The bytes of the first picture: the whole file, or the first frame of an animation.
fn first_picture(file: &[u8]) -> Result<&[u8], DecodeError> {
    let body = file.get(12..).ok_or(CUT_OFF)?;
    let animated = chunks(body)
        .find(|(name, _)| name == b"VP8X")
        .is_some_and(|(_, data)| data.first().is_some_and(|flags| flags & 2 != 0));
    if !animated {
        return Ok(file);
    }
    let (_, frame) = chunks(body)
        .find(|(name, _)| name == b"ANMF")
        .ok_or(CUT_OFF)?;
    frame.get(16..).ok_or(CUT_OFF)
}

/// Chunks of a RIFF file: a name, a length, and data that is padded to an even length. The last
/// one may be cut off.
fn chunks(mut rest: &[u8]) -> impl Iterator<Item = ([u8; 4], &[u8])> {
    std::iter::from_fn(move || {
        let (name, after) = rest.split_first_chunk::<4>()?;
        let (length, after) = after.split_first_chunk::<4>()?;
        let length = u32::from_le_bytes(*length) as usize;
        let data = after.get(..length).unwrap_or(after);
        let next = length.saturating_add(length & 1);
        rest = after.get(next..).unwrap_or_default();
        Some((*name, data))
    })
}
