//! Transparent pixels on a ground.

use crate::picture::Colour;

/// Pixels of three values, of such with a fourth for how opaque they are.
pub(super) fn blended(four: &[u8], ground: Colour) -> Vec<u8> {
    let mut pixels = vec![0; four.len() / 4 * 3];
    for (pixel, from) in pixels.chunks_exact_mut(3).zip(four.chunks_exact(4)) {
        blend(pixel, from, ground);
    }
    pixels
}

/// A pixel of four values on a ground.
pub(super) fn blend(pixel: &mut [u8], four: &[u8], ground: Colour) {
    let &[ref colour @ .., alpha] = four else {
        return;
    };
    let alpha = u32::from(alpha);
    for ((result, &value), &below) in pixel.iter_mut().zip(colour).zip(&ground.0) {
        let mixed = u32::from(value) * alpha + u32::from(below) * (255 - alpha);
        *result = ((mixed + 127) / 255) as u8;
    }
}
