//! JPEG. The header is read here; pixels come from libjpeg-turbo, or, where it was not built in,
//! from a decoder in Rust that cannot shrink while it decodes. Where an eighth of the size is enough
//! most files are decoded by `dc` while they are read; it either is sure of its result or leaves it
//! to them.

mod dc;
mod markers;
#[cfg(not(feature = "turbo"))]
mod rust;
#[cfg(feature = "turbo")]
mod turbo;

pub(super) use self::markers::Frame;
#[cfg(not(feature = "turbo"))]
pub(super) use self::rust::Decoder;
#[cfg(not(feature = "turbo"))]
pub use self::rust::NAME as DECODER_NAME;
#[cfg(feature = "turbo")]
pub(super) use self::turbo::Decoder;
#[cfg(feature = "turbo")]
pub use self::turbo::NAME as DECODER_NAME;

use crate::picture::Picture;
use crate::window::Window;

/// Whether [`decode_in_passing`] may succeed.
pub(super) fn may_pass(stored: (u32, u32), target: (u32, u32)) -> bool {
    dc::suffices(stored, target)
}

/// Decodes a file while it is read, if it is of a common kind and whole.
pub(super) fn decode_in_passing(window: Window<'_>, stored: (u32, u32)) -> Option<Picture> {
    dc::decode(window, stored)
}

/// Turns four values a pixel (cyan, magenta, yellow, black) into three. Programs of one maker store
/// them inverted, and say so by a marker of theirs.
fn rgb_of_cmyk(four: &[u8], inverted: bool) -> Vec<u8> {
    let multiply = |ink: u8, black: u8| {
        let (ink, black) = if inverted {
            (ink, black)
        } else {
            (255 - ink, 255 - black)
        };
        ((u32::from(ink) * u32::from(black) + 127) / 255) as u8
    };
    four.chunks_exact(4)
        .flat_map(|pixel| match *pixel {
            [cyan, magenta, yellow, black] => [
                multiply(cyan, black),
                multiply(magenta, black),
                multiply(yellow, black),
            ],
            _ => [0; 3],
        })
        .collect()
}
