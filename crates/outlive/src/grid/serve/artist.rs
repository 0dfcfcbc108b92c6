//! Draws one cell after another at its full size; a thread has its own.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use outlive_data::budget::Budget;
use outlive_data::grid::cells::{CellView, Drawn};
use outlive_data::grid::decoded::Source;
use outlive_data::grid::painter::{CellStyle, Painter};
use outlive_data::grid::pyramid::Geometry;

use super::known::{SIDE, THUMBNAIL, Thumbnail};

/// Decodes and draws.
pub(super) struct Artist {
    geometry: Geometry,
    style: CellStyle,
    source: Arc<dyn Source>,
    budget: Arc<Budget>,
    painter: Painter,
    /// The cell as it comes from the painter, and with its padding.
    pixels: Vec<u8>,
    square: Vec<u8>,
}

impl Artist {
    pub(super) fn new(
        geometry: Geometry,
        style: CellStyle,
        source: Arc<dyn Source>,
        budget: Arc<Budget>,
    ) -> Self {
        Self {
            geometry,
            style,
            source,
            painter: Painter::new(style, Arc::clone(&budget)),
            budget,
            pixels: Vec::new(),
            square: Vec::new(),
        }
    }

    /// Draws a cell, which [`Artist::square`] then is. A decoder that panics spoils its own cell,
    /// and no other.
    pub(super) fn draw(&mut self, index: u64) -> Drawn {
        let caption = self.source.caption(index);
        let opened = self.source.open(index);
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            self.painter
                .paint(opened, caption.as_deref(), &mut self.pixels)
        }));
        let drawn = outcome.unwrap_or_else(|_| {
            self.painter = Painter::new(self.style, Arc::clone(&self.budget));
            let problem = "The decoder failed on it".to_owned();
            self.painter
                .paint_broken(problem, caption.as_deref(), &mut self.pixels)
        });
        self.put_in_square();
        drawn
    }

    /// The cell that was drawn last, with its padding: as many pixels as the pitch in both
    /// directions.
    pub(super) fn square(&self) -> &[u8] {
        &self.square
    }

    /// The same at its smallest.
    pub(super) fn thumbnail(&self) -> Thumbnail {
        let pitch = self.geometry.pitch as usize;
        let mut thumbnail = [0; THUMBNAIL];
        for (number, pixel) in thumbnail.chunks_exact_mut(3).enumerate() {
            let (across, down) = (part(number % SIDE, pitch), part(number / SIDE, pitch));
            let mut sums = [0_u64; 3];
            for y in down.clone() {
                let row = y * pitch * 3;
                let row = self
                    .square
                    .get(row + across.start * 3..row + across.end * 3);
                for pixel in row.unwrap_or_default().chunks_exact(3) {
                    for (sum, value) in sums.iter_mut().zip(pixel) {
                        *sum += u64::from(*value);
                    }
                }
            }
            let count = (across.len() * down.len()).max(1) as u64;
            pixel.copy_from_slice(&sums.map(|sum| (sum / count) as u8));
        }
        thumbnail
    }

    fn put_in_square(&mut self) {
        let pitch = self.geometry.pitch as usize;
        self.square.clear();
        self.square.reserve_exact(pitch * pitch * 3);
        for _ in 0..pitch * pitch {
            self.square.extend_from_slice(&self.style.background.0);
        }
        let Geometry {
            cell_width,
            cell_height,
            ..
        } = self.geometry;
        let view = CellView::new(&mut self.square, pitch * 3, cell_width, cell_height);
        if let Some(mut view) = view {
            self.style.copy(&self.pixels, &mut view);
        }
    }
}

/// The pixels of a cell that make one of its thumbnail, in one direction; never none.
fn part(number: usize, pitch: usize) -> std::ops::Range<usize> {
    let start = number * pitch / SIDE;
    start..((number + 1) * pitch / SIDE).max(start + 1)
}
