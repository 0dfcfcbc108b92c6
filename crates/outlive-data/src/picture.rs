//! Pixels: 8 bits each of red, green and blue, row after row.

/// A picture in memory, 3 bytes a pixel, no gaps between rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    width: u32,
    height: u32,
    pixels: Vec<u8>,
}

/// A colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Colour(pub [u8; 3]);

impl Colour {
    /// A dark or a light grey, whichever can be read on this colour.
    #[must_use]
    pub fn contrast(self) -> Self {
        let [red, green, blue] = self.0.map(u32::from);
        // The eye's weights, in thousandths.
        let light = red * 299 + green * 587 + blue * 114 > 128_000;
        Self(if light { [40; 3] } else { [230; 3] })
    }
}

impl Picture {
    /// Takes pixels over, or `None` when there are not `3 * width * height` of them.
    pub fn new(width: u32, height: u32, pixels: Vec<u8>) -> Option<Self> {
        let bytes = bytes_of(width, height)?;
        (pixels.len() as u64 == bytes).then_some(Self {
            width,
            height,
            pixels,
        })
    }

    /// Pixels from left to right.
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Pixels from top to bottom.
    pub fn height(&self) -> u32 {
        self.height
    }

    /// All rows, one after another.
    pub fn pixels(&self) -> &[u8] {
        &self.pixels
    }

    /// The pixels alone.
    pub fn into_pixels(self) -> Vec<u8> {
        self.pixels
    }

    /// One row; empty beyond the last.
    pub fn row(&self, y: u32) -> &[u8] {
        let length = self.width as usize * 3;
        let start = y as usize * length;
        self.pixels.get(start..start + length).unwrap_or_default()
    }
}

/// Bytes of a picture of this size, or `None` if they cannot be counted.
pub fn bytes_of(width: u32, height: u32) -> Option<u64> {
    u64::from(width)
        .checked_mul(u64::from(height))?
        .checked_mul(3)
}
