//! How a grid looks where no cell draws.

use crate::picture::Colour;

/// Colours of the sheet itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Between cells, around pictures and where there is no cell.
    pub background: Colour,
}

impl Default for Style {
    fn default() -> Self {
        Self {
            background: Colour([255; 3]),
        }
    }
}

impl Style {
    /// Paints whole pixels of `bytes` with the background.
    pub(crate) fn fill(self, bytes: &mut [u8]) {
        let Colour(colour) = self.background;
        if colour.iter().all(|part| *part == colour[0]) {
            bytes.fill(colour[0]);
        } else {
            for pixel in bytes.chunks_exact_mut(3) {
                pixel.copy_from_slice(&colour);
            }
        }
    }
}
