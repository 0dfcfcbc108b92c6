//! One cell: its picture in the middle, its caption below, or the sign of a broken one.

use std::sync::Arc;

use super::broken;
use super::cells::{CellView, Drawn};
use super::text::{Caption, Ink};
use crate::budget::Budget;
use crate::decode::Scale;
use crate::fit::Fit;
use crate::picture::{Colour, Picture};
use crate::resize::Resize;
use crate::source::{Opened, PictureReader};

/// How cells look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CellStyle {
    /// Width of the picture area.
    pub cell_width: u32,
    /// Height of the picture area.
    pub cell_height: u32,
    /// Height of the strip for the caption; 0 for none.
    pub caption_height: u32,
    /// What is behind the pictures.
    pub background: Colour,
    /// How pictures are brought to size.
    pub fit: Fit,
}

impl CellStyle {
    /// Height of picture and caption.
    pub fn height(&self) -> u32 {
        self.cell_height + self.caption_height
    }

    /// Copies the pixels of a cell into the middle of its place, which may be larger or smaller.
    pub fn copy(&self, pixels: &[u8], view: &mut CellView<'_>) {
        let stride = self.cell_width as usize * 3;
        let width = (self.cell_width.min(view.width()) * 3) as usize;
        let left = (view.width().saturating_sub(self.cell_width) / 2 * 3) as usize;
        let top = view.height().saturating_sub(self.height()) / 2;
        for (y, row) in (top..view.height()).zip(pixels.chunks_exact(stride.max(1))) {
            let place = view.row_mut(y).get_mut(left..left + width);
            if let (Some(place), Some(row)) = (place, row.get(..width)) {
                place.copy_from_slice(row);
            }
        }
    }
}

/// Paints one cell after another; a thread has its own.
#[derive(Debug)]
pub struct Painter {
    style: CellStyle,
    reader: PictureReader,
    resize: Resize,
    caption: Caption,
}

impl Painter {
    /// A painter that asks `budget` before it decodes.
    pub fn new(style: CellStyle, budget: Arc<Budget>) -> Self {
        Self {
            style,
            reader: PictureReader::new(budget),
            resize: Resize::default(),
            caption: Caption::new(style.caption_height),
        }
    }

    /// Paints a picture, or says on the cell itself why it cannot be shown. `pixels` becomes the
    /// whole cell.
    pub fn paint(
        &mut self,
        opened: Result<Opened, String>,
        caption: Option<&str>,
        pixels: &mut Vec<u8>,
    ) -> Drawn {
        let CellStyle {
            cell_width,
            cell_height,
            background,
            fit,
            ..
        } = self.style;
        let scale = Scale::Box(fit, cell_width, cell_height);
        let read = opened.and_then(|opened| {
            self.reader
                .read(&opened, scale, background)
                .map_err(|error| error.to_string())
        });
        match read {
            Ok(read) => {
                self.clear(pixels);
                self.place(&read.picture, pixels);
                self.write(caption, pixels);
                Drawn {
                    width: read.width,
                    height: read.height,
                    problem: None,
                }
            }
            Err(problem) => self.paint_broken(problem, caption, pixels),
        }
    }

    /// Draws a picture that is in memory into `pixels`, as `paint` draws one of a file.
    pub fn paint_picture(&mut self, picture: Picture, pixels: &mut Vec<u8>) -> Drawn {
        let size = (picture.width(), picture.height());
        let cell = (self.style.cell_width, self.style.cell_height);
        let (width, height) = self.style.fit.target(size, cell);
        self.clear(pixels);
        if let Some(picture) = self.resize.to(picture, width, height) {
            self.place(&picture, pixels);
        }
        Drawn {
            width: size.0,
            height: size.1,
            problem: None,
        }
    }

    /// Paints the sign of a picture that cannot be shown.
    pub fn paint_broken(
        &mut self,
        problem: String,
        caption: Option<&str>,
        pixels: &mut Vec<u8>,
    ) -> Drawn {
        self.clear(pixels);
        if let Some(mut view) = self.view(pixels) {
            broken::draw(&mut view, self.style.cell_height, &problem);
        }
        self.write(caption, pixels);
        Drawn {
            problem: Some(problem),
            ..Drawn::default()
        }
    }

    fn clear(&self, pixels: &mut Vec<u8>) {
        let count = self.style.cell_width as usize * self.style.height() as usize;
        pixels.clear();
        pixels.reserve_exact(count * 3);
        for _ in 0..count {
            pixels.extend_from_slice(&self.style.background.0);
        }
    }

    /// Centred; what stands over is cut off on both sides.
    fn place(&self, picture: &Picture, pixels: &mut [u8]) {
        let (across, down) = (self.style.cell_width, self.style.cell_height);
        let stride = across as usize * 3;
        let width = picture.width().min(across) as usize * 3;
        let from_x = (picture.width().saturating_sub(across) / 2) as usize * 3;
        let from_y = picture.height().saturating_sub(down) / 2;
        let left = (across.saturating_sub(picture.width()) / 2) as usize * 3;
        let top = down.saturating_sub(picture.height()) / 2;
        for y in 0..picture.height().min(down) {
            let start = (top + y) as usize * stride + left;
            let place = pixels.get_mut(start..start + width);
            let row = picture.row(from_y + y).get(from_x..from_x + width);
            if let (Some(place), Some(row)) = (place, row) {
                place.copy_from_slice(row);
            }
        }
    }

    fn write(&mut self, caption: Option<&str>, pixels: &mut [u8]) {
        let (Some(caption), Some(mut view)) = (caption, self.view(pixels)) else {
            return;
        };
        if self.style.caption_height > 0 {
            let ink = Ink {
                letters: self.style.background.contrast(),
                ground: None,
            };
            self.caption.draw(&mut view, caption, ink);
        }
    }

    fn view<'a>(&self, pixels: &'a mut [u8]) -> Option<CellView<'a>> {
        let width = self.style.cell_width;
        CellView::new(pixels, width as usize * 3, width, self.style.height())
    }
}
