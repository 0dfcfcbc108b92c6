//! The seam between a renderer and whoever has the pictures.

use std::borrow::Cow;

/// A rectangle of a canvas that belongs to one cell. Its pixels are background when it is handed
/// out.
#[derive(Debug)]
pub struct CellView<'a> {
    pixels: &'a mut [u8],
    stride: usize,
    width: u32,
    height: u32,
}

impl<'a> CellView<'a> {
    /// A cell whose first pixel is the first of `pixels`, on a canvas with rows of `stride` bytes.
    /// `None` if the canvas is too small.
    pub fn new(pixels: &'a mut [u8], stride: usize, width: u32, height: u32) -> Option<Self> {
        let row = width as usize * 3;
        let last = (height as usize).checked_sub(1)?;
        let needed = stride.checked_mul(last)?.checked_add(row)?;
        (row <= stride && needed <= pixels.len()).then_some(Self {
            pixels,
            stride,
            width,
            height,
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

    /// One row of the cell, 3 bytes a pixel; empty beyond the last.
    pub fn row_mut(&mut self, y: u32) -> &mut [u8] {
        if y >= self.height {
            return &mut [];
        }
        let start = y as usize * self.stride;
        let end = start + self.width as usize * 3;
        self.pixels.get_mut(start..end).unwrap_or_default()
    }
}

/// What became of a cell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Drawn {
    /// Width of the picture behind it; 0 if it could not be read.
    pub width: u32,
    /// Height of the same.
    pub height: u32,
    /// Why the cell is drawn as broken, in one line.
    pub problem: Option<String>,
}

/// Why a source has no more cells.
#[derive(Debug, thiserror::Error)]
pub enum DrawError {
    /// Somebody asked to stop; what is done should be left readable.
    #[error("Stopped")]
    Stopped,
    /// The source itself failed, not one of its pictures.
    #[error("{0}")]
    Failed(String),
}

/// Whoever has the pictures. A picture that cannot be read is drawn as broken, and is no error.
pub trait Cells {
    /// Draws cell `index`. Called once for each index of the order that the renderer gave, in that
    /// order.
    fn draw(&mut self, index: u64, view: &mut CellView<'_>) -> Result<Drawn, DrawError>;
}

/// What is known of a cell before it is drawn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry<'a> {
    /// What to show as its name: a path, or what the user called it.
    pub name: Cow<'a, str>,
    /// Where its full image is, relative to the page or absolute, as an address of a link (already
    /// percent-encoded); empty if there is none.
    pub link: Cow<'a, str>,
    /// Bytes of the file; 0 if there is none.
    pub bytes: u64,
    /// A line of text of the user's choice.
    pub caption: Option<Cow<'a, str>>,
}

/// Names of the cells, by index, in any order and more than once.
pub trait Entries {
    /// The entry of a cell; the default one for an index that is not there.
    fn entry(&self, index: u64) -> Entry<'_>;
}
