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

use super::blend::blended;
use super::{DecodeError, Format, Stored, vp8l};
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
    /// Reads the first chunks. `exif` is one that was found behind them.
    pub(super) fn read(file: &[u8], exif: Option<&[u8]>) -> Result<Self, DecodeError> {
        let features = features(first_picture(file)?)?;
        let exif = exif.or_else(|| {
            let mut chunks = chunks(file.get(12..).unwrap_or_default());
            chunks
                .find(|chunk| chunk.name == *b"EXIF")
                .map(|it| it.data)
        });
        Ok(Self {
            width: features.width.unsigned_abs(),
            height: features.height.unsigned_abs(),
            // 0 is "mixed": lossy pixels whose transparency was not looked at yet, or an animation.
            lossless: features.format == 2 || (features.format == 0 && features.has_alpha == 0),
            transparent: features.has_alpha != 0,
            orientation: Orientation::from_exif(exif.unwrap_or_default()),
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
        // With transparency, four bytes a pixel come out of the library and three are made of them.
        let result = pixels(target.0, target.1) * if self.transparent { 7 } else { 3 };
        // The scaler keeps a few rows. Lossless pictures are decoded in full, and so is the
        // transparency of lossy ones, which is a lossless picture of its own.
        let rows = u64::from(self.width) * 64;
        let all = pixels(self.width, self.height);
        let whole = if self.lossless { all * 5 } else { 0 };
        let alpha = if self.transparent { all * 5 } else { 0 };
        result + rows + whole.max(alpha)
    }
}

/// Where to look for a chunk of EXIF that the first bytes of a file announce and do not have: from this
/// chunk on. It comes after the pixels.
pub(super) fn late_exif(start: &[u8]) -> Option<u64> {
    let mut at = 12;
    let mut is_announced = false;
    for chunk in chunks(start.get(12..)?) {
        let is_whole = at + chunk.stored_length() <= start.len();
        match &chunk.name {
            b"VP8X" => is_announced = chunk.data.first().is_some_and(|flags| flags & 8 != 0),
            b"EXIF" if is_whole => return None,
            _ => {}
        }
        if !is_whole {
            break;
        }
        at += chunk.stored_length();
    }
    is_announced.then_some(at as u64)
}

/// Bytes of the tables that decoding takes beside the pixels, which only the whole file tells.
pub(super) fn table_bytes(file: &[u8]) -> u64 {
    let Ok(picture) = first_picture(file) else {
        return 0;
    };
    let Ok(features) = features(picture) else {
        return 0;
    };
    let size = (
        features.width.unsigned_abs(),
        features.height.unsigned_abs(),
    );
    let body = if picture.starts_with(b"RIFF") { 12 } else { 0 };
    let rest = picture.get(body..).unwrap_or_default();
    if rest.first() == Some(&LOSSLESS) {
        // At the start, and only there, the library takes a picture without a chunk around it.
        return lossless_tables(rest).unwrap_or(0);
    }
    let tables = chunks(rest).filter_map(|chunk| match &chunk.name {
        b"VP8L" => lossless_tables(chunk.data),
        // Transparency, if it is a lossless picture.
        b"ALPH" if chunk.data.first().is_some_and(|how| how & 3 == 1) => {
            vp8l::table_bytes(chunk.data.get(1..)?, size)
        }
        _ => None,
    });
    tables.max().unwrap_or(0)
}

/// With which a lossless picture begins.
const LOSSLESS: u8 = 0x2f;

fn lossless_tables(picture: &[u8]) -> Option<u64> {
    let (head, stream) = picture.split_first_chunk::<5>()?;
    let [LOSSLESS, size @ ..] = *head else {
        return None;
    };
    let size = u32::from_le_bytes(size);
    let side = |bits: u32| (bits & 0x3fff) + 1;
    vp8l::table_bytes(stream, (side(size), side(size >> 14)))
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
    // What says that it has no transparency is shown without, whatever its pixels say.
    let (values, colours) = match features.has_alpha {
        0 => (3, WEBP_CSP_MODE::MODE_RGB),
        _ => (4, WEBP_CSP_MODE::MODE_RGBA),
    };
    let bytes = bytes_of(width, height).ok_or(CUT_OFF)? / 3 * values;
    let mut decoded = vec![0_u8; bytes as usize];
    let mut config = WebPDecoderConfig::new()
        .map_err(|()| DecodeError::broken(Format::WebP, "libwebp has another version"))?;
    config.options.use_scaling = 1;
    config.options.scaled_width = width as i32;
    config.options.scaled_height = height as i32;
    config.output.colorspace = colours;
    config.output.is_external_memory = 1;
    config.output.u.RGBA = libwebp_sys::WebPRGBABuffer {
        rgba: decoded.as_mut_ptr(),
        stride: width as i32 * values as i32,
        size: decoded.len(),
    };
    // SAFETY: `data` is readable for its length. The output is `decoded`, which is `size` bytes long,
    // `height` rows of `stride`, outlives the call, and is not looked at before it returns; the
    // library checks size and stride against the scaled size before it writes.
    let status = unsafe { WebPDecode(data.as_ptr(), data.len(), &raw mut config) };
    check(status)?;
    if values == 4 {
        decoded = blended(&decoded, ground);
    }
    Picture::new(width, height, decoded).ok_or(CUT_OFF)
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
        // Also what the library says of a damaged header of transparency.
        VP8StatusCode::VP8_STATUS_OUT_OF_MEMORY => "damaged transparency, or no memory for it",
        VP8StatusCode::VP8_STATUS_UNSUPPORTED_FEATURE => "a feature that libwebp does not know",
        _ => "damaged pixels",
    };
    Err(DecodeError::broken(Format::WebP, reason))
}

/// The bytes of the first picture: the whole file, or the first frame of an animation.
fn first_picture(file: &[u8]) -> Result<&[u8], DecodeError> {
    let body = file.get(12..).ok_or(CUT_OFF)?;
    let animated = chunks(body)
        .find(|chunk| chunk.name == *b"VP8X")
        .is_some_and(|chunk| chunk.data.first().is_some_and(|flags| flags & 2 != 0));
    if !animated {
        return Ok(file);
    }
    let frame = chunks(body).find(|chunk| chunk.name == *b"ANMF");
    frame.ok_or(CUT_OFF)?.data.get(16..).ok_or(CUT_OFF)
}

/// A chunk of a RIFF file: a name, a length, and data that is padded to an even length.
struct Chunk<'a> {
    name: [u8; 4],
    length: u32,
    /// Shorter than its length, if it is cut off.
    data: &'a [u8],
    rest: &'a [u8],
}

impl<'a> Chunk<'a> {
    fn first(bytes: &'a [u8]) -> Option<Self> {
        let (name, after) = bytes.split_first_chunk::<4>()?;
        let (length, after) = after.split_first_chunk::<4>()?;
        let length = u32::from_le_bytes(*length);
        let padded = length as usize + (length & 1) as usize;
        Some(Self {
            name: *name,
            length,
            data: after.get(..length as usize).unwrap_or(after),
            rest: after.get(padded..).unwrap_or_default(),
        })
    }

    /// Bytes from its name to that of the next one.
    fn stored_length(&self) -> usize {
        8 + self.length as usize + (self.length & 1) as usize
    }
}

/// The last one may be cut off.
fn chunks(bytes: &[u8]) -> impl Iterator<Item = Chunk<'_>> {
    std::iter::successors(Chunk::first(bytes), |chunk| Chunk::first(chunk.rest))
}
