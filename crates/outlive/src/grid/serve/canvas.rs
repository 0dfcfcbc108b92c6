//! The pixels of one tile, and how cells come onto it at the scale of its level.
//!
//! A pixel belongs to the cell in which its first pixel of full size lies, and is the mean of what
//! it covers of that cell. So cells can be drawn in any order and more than once.

use outlive_data::grid::pyramid::{Geometry, Tile};

/// A tile that is being drawn.
#[derive(Debug)]
pub(super) struct Canvas {
    pub(super) frame: Frame,
    /// 3 bytes a pixel, row after row.
    pub(super) bytes: Vec<u8>,
}

/// Where a tile lies on its level, in pixels of that level.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    pub(super) left: u64,
    pub(super) top: u64,
    pub(super) width: usize,
    pub(super) height: usize,
    /// A pixel of this level is 2 to the power of this many pixels of full size wide.
    pub(super) shift: u32,
}

impl Frame {
    pub(super) fn of(geometry: &Geometry, tile: Tile) -> Self {
        let (width, height) = geometry.tile_size(tile);
        Self {
            left: tile.column * geometry.tile,
            top: tile.row * geometry.tile,
            width,
            height,
            shift: geometry.top - tile.level,
        }
    }
}

impl Canvas {
    /// Draws a cell, of which `square` has all pixels of full size, its padding included.
    pub(super) fn draw_cell(&mut self, geometry: &Geometry, index: u64, square: &[u8]) {
        let pitch = geometry.pitch;
        let frame = self.frame;
        let across = span(
            index % geometry.columns,
            pitch,
            (frame.left, frame.width),
            frame.shift,
        );
        let down = span(
            index / geometry.columns,
            pitch,
            (frame.top, frame.height),
            frame.shift,
        );
        let stride = pitch as usize * 3;
        for (y, from_y, to_y) in down {
            let rows = square
                .get(from_y * stride..to_y * stride)
                .unwrap_or_default();
            for (x, from_x, to_x) in across.clone() {
                let colour = mean(rows, stride, from_x * 3..to_x * 3);
                let start = (y * frame.width + x) * 3;
                if let Some(pixel) = self.bytes.get_mut(start..start + 3) {
                    pixel.copy_from_slice(&colour);
                }
            }
        }
    }
}

/// The pixels of a tile that belong to a cell, in one direction: where they are on the tile, and
/// from where to where they reach in the cell.
fn span(
    number: u64,
    pitch: u64,
    (start, length): (u64, usize),
    shift: u32,
) -> impl Iterator<Item = (usize, usize, usize)> + Clone {
    let scale = 1_u64 << shift;
    let (first, end) = (number * pitch, (number + 1) * pitch);
    let pixels = first.div_ceil(scale).max(start)..end.div_ceil(scale).min(start + length as u64);
    pixels.map(move |pixel| {
        let from = (pixel << shift) - first;
        let to = (from + scale).min(pitch);
        ((pixel - start) as usize, from as usize, to as usize)
    })
}

/// The mean colour of a part of some rows.
fn mean(rows: &[u8], stride: usize, part: std::ops::Range<usize>) -> [u8; 3] {
    let mut sums = [0_u64; 3];
    let mut count = 0;
    for row in rows.chunks_exact(stride.max(1)) {
        for pixel in row.get(part.clone()).unwrap_or_default().chunks_exact(3) {
            for (sum, value) in sums.iter_mut().zip(pixel) {
                *sum += u64::from(*value);
            }
            count += 1;
        }
    }
    let count = count.max(1);
    sums.map(|sum| ((sum + count / 2) / count) as u8)
}

#[cfg(test)]
mod tests {
    use outlive_data::grid::layout::Layout;

    use super::*;

    /// Every level of a grid, drawn cell by cell in one colour each, shows each cell where it is.
    #[test]
    fn cells_fill_their_tiles_at_every_scale() {
        let layout = Layout {
            cells: 12,
            columns: 4,
            cell_width: 19,
            cell_height: 15,
            caption_height: 0,
            padding: 2,
        };
        let geometry = Geometry::new(&layout).unwrap();
        assert_eq!(geometry.pitch, 21);
        for level in (geometry.top - 4)..=geometry.top {
            let tile = Tile {
                level,
                column: 0,
                row: 0,
            };
            let frame = Frame::of(&geometry, tile);
            let mut canvas = Canvas {
                frame,
                bytes: vec![255; frame.width * frame.height * 3],
            };
            for index in (0..12).rev() {
                canvas.draw_cell(&geometry, index, &[index as u8 * 10; 21 * 21 * 3]);
            }
            for y in 0..frame.height {
                for x in 0..frame.width {
                    let (column, row) = ((x << frame.shift) / 21, (y << frame.shift) / 21);
                    let pixel = canvas.bytes[(y * frame.width + x) * 3];
                    assert_eq!(
                        usize::from(pixel),
                        (row * 4 + column) * 10,
                        "{level} {x} {y}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_pixel_is_the_mean_of_what_it_covers() {
        let square: Vec<u8> = (0..16).flat_map(|n| [n * 10; 3]).collect();
        assert_eq!(mean(&square[..24], 12, 0..6), [25; 3]);
        assert_eq!(mean(&square[..12], 12, 9..12), [30; 3]);
    }
}
