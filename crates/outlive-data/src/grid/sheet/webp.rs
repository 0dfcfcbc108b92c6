//! WebP, whose encoder needs the whole picture at once. The caller has looked that it fits.

#![expect(unsafe_code, reason = "libwebp is C")]

use std::ptr;

use super::bands::{Bands, Row};
use super::error::SheetError;
use super::target::{EncodeError, Target, Written};
use crate::grid::layout::Layout;
use crate::grid::progress::End;

/// Pixels a side that the format can hold.
pub(super) const LIMIT: u64 = 16_383;
/// What a pixel takes at most: 3 bytes of ours, and libwebp's own planes, tokens and result. Noise
/// at quality 100 took 31 bytes, something like a photograph at quality 80 took 11.
pub(super) const BYTES_A_PIXEL: u64 = 32;

/// Writes a picture and says how it ended.
pub(super) fn write(
    target: &mut dyn Target,
    bands: &mut Bands<'_>,
    layout: &Layout,
    quality: u8,
) -> Result<Written, EncodeError> {
    let mut pixels = Vec::new();
    let whole = layout.sheet_height() as usize * bands.stride();
    if pixels.try_reserve_exact(whole).is_err() {
        return Err(failed("There is no memory for the picture"));
    }
    pixels.extend(bands.top());
    let mut end = End::Complete;
    for row in 0..layout.rows() {
        let drawn = bands.draw(row).map_err(EncodeError::Other)?;
        if drawn != Row::Blank {
            pixels.extend_from_slice(bands.canvas());
        } else if row == 0 {
            return Ok(Written::Nothing);
        }
        if drawn != Row::Whole {
            end = End::Stopped;
            break;
        }
    }
    let encoded = encode(&pixels, bands.stride(), quality)?;
    target.write_all(encoded.bytes())?;
    target.flush()?;
    Ok(Written::Picture(end))
}

fn encode(pixels: &[u8], stride: usize, quality: u8) -> Result<Encoded, EncodeError> {
    let (width, height) = (stride / 3, pixels.len() / stride.max(1));
    if width == 0 || width as u64 > LIMIT || height as u64 > LIMIT {
        return Err(failed("The picture has a size that the format cannot hold"));
    }
    let mut start = ptr::null_mut();
    // SAFETY: `pixels` has `height` rows of `stride` bytes, since `height` was made by that
    // division, and a row has 3 bytes for each of `width` pixels. All three fit in an `int`:
    // they were compared with the limit above. `start` is a place for one pointer.
    let length = unsafe {
        libwebp_sys::WebPEncodeRGB(
            pixels.as_ptr(),
            width as i32,
            height as i32,
            stride as i32,
            f32::from(quality.min(100)),
            &raw mut start,
        )
    };
    if length == 0 || start.is_null() {
        return Err(failed(
            "The encoder gave nothing, most likely for want of memory",
        ));
    }
    Ok(Encoded { start, length })
}

/// What libwebp wrote, in memory of its own.
struct Encoded {
    start: *mut u8,
    length: usize,
}

impl Encoded {
    fn bytes(&self) -> &[u8] {
        // SAFETY: libwebp gave this pointer with this length, neither is ever changed, and the
        // memory is given back in `drop` only, which cannot run while the slice is borrowed.
        unsafe { std::slice::from_raw_parts(self.start, self.length) }
    }
}

impl Drop for Encoded {
    fn drop(&mut self) {
        // SAFETY: the pointer came from `WebPEncodeRGB`, whose results `WebPFree` takes, and this
        // is the only place that gives it back.
        unsafe { libwebp_sys::WebPFree(self.start.cast()) }
    }
}

fn failed(reason: &str) -> EncodeError {
    EncodeError::Other(SheetError::Encode {
        format: "WebP",
        reason: reason.to_owned(),
    })
}
