//! Tiles from what is known already: thumbnails, or mean colours where many cells share a pixel.
//! Nothing is decoded, so this answers at once, whatever the number of cells; what is not known
//! yet is grey.

use std::io;

use outlive_data::grid::pyramid::{Geometry, Tile};
use outlive_data::picture::Colour;

use super::canvas::{Canvas, Frame};
use super::known::{Known, MEAN, SIDE, THUMBNAIL};

/// The colour of a cell of which nothing is known.
pub(super) const UNKNOWN: [u8; 3] = [205, 208, 211];
/// Means that are in memory at a time.
const AT_A_TIME: u64 = 16 << 10;

/// Paints a tile. `background` is where there is no cell.
pub(super) fn paint(
    geometry: &Geometry,
    tile: Tile,
    known: &Known,
    background: Colour,
) -> io::Result<Canvas> {
    let frame = Frame::of(geometry, tile);
    let mut canvas = Canvas {
        frame,
        bytes: background.0.repeat(frame.width * frame.height),
    };
    if geometry.pitch >> frame.shift > 0 {
        from_thumbnails(geometry, known, &mut canvas)?;
    } else {
        from_means(geometry, known, &mut canvas)?;
    }
    Ok(canvas)
}

/// Where a pixel lies: the cell, counted from the first of the tile, and the part of its thumbnail.
#[derive(Clone, Copy)]
struct Spot {
    cell: u64,
    from: usize,
    to: usize,
}

fn spot(pixel: u64, pitch: u64, shift: u32) -> Spot {
    let full = pixel << shift;
    let (cell, inside) = (full / pitch, full % pitch);
    let side = SIDE as u64;
    let from = inside * side / pitch;
    let to = ((inside + (1 << shift)).min(pitch) * side).div_ceil(pitch);
    Spot {
        cell,
        from: from as usize,
        to: to.max(from + 1) as usize,
    }
}

fn from_thumbnails(geometry: &Geometry, known: &Known, canvas: &mut Canvas) -> io::Result<()> {
    let Frame {
        left,
        top,
        width,
        shift,
        ..
    } = canvas.frame;
    let across: Vec<Spot> = (left..left + width as u64)
        .map(|pixel| spot(pixel, geometry.pitch, shift))
        .collect();
    let (Some(first), Some(last)) = (across.first(), across.last()) else {
        return Ok(());
    };
    let (first, columns) = (first.cell, last.cell - first.cell + 1);
    let (mut means, mut thumbnails, mut loaded) = (Vec::new(), Vec::new(), None);
    for (pixel, row) in (top..).zip(canvas.bytes.chunks_exact_mut(width * 3)) {
        let down = spot(pixel, geometry.pitch, shift);
        if loaded != Some(down.cell) {
            let start = down.cell * geometry.columns + first;
            let count = geometry.cells.saturating_sub(start).min(columns) as usize;
            known.means(start, count, &mut means)?;
            known.thumbnails(start, count, &mut thumbnails)?;
            loaded = Some(down.cell);
        }
        for (spot, pixel) in across.iter().zip(row.chunks_exact_mut(3)) {
            let cell = (spot.cell - first) as usize;
            let is_known = means.get(cell * MEAN);
            let thumbnail = thumbnails.get(cell * THUMBNAIL..(cell + 1) * THUMBNAIL);
            match (is_known, thumbnail) {
                (Some(0), _) => pixel.copy_from_slice(&UNKNOWN),
                (Some(_), Some(thumbnail)) => {
                    pixel.copy_from_slice(&part(thumbnail, *spot, down));
                }
                _ => {}
            }
        }
    }
    Ok(())
}

/// The mean of a part of a thumbnail.
fn part(thumbnail: &[u8], across: Spot, down: Spot) -> [u8; 3] {
    let mut mean = Mean::default();
    for row in thumbnail
        .chunks_exact(SIDE * 3)
        .take(down.to)
        .skip(down.from)
    {
        for pixel in row.chunks_exact(3).take(across.to).skip(across.from) {
            mean.add(pixel);
        }
    }
    mean.colour().unwrap_or(UNKNOWN)
}

/// A cell is on the pixel in which it begins.
fn from_means(geometry: &Geometry, known: &Known, canvas: &mut Canvas) -> io::Result<()> {
    let Frame {
        left,
        top,
        width,
        shift,
        ..
    } = canvas.frame;
    let pitch = geometry.pitch;
    let begins = |pixel: u64| (pixel << shift).div_ceil(pitch);
    let (first, end) = (
        begins(left),
        begins(left + width as u64).min(geometry.columns),
    );
    let mut means = Vec::new();
    for (pixel, row) in (top..).zip(canvas.bytes.chunks_exact_mut(width * 3)) {
        let mut sums = vec![Mean::default(); width];
        for cells in begins(pixel)..begins(pixel + 1).min(geometry.rows) {
            let mut column = first;
            while column < end {
                let start = cells * geometry.columns + column;
                let left_over = geometry.cells.saturating_sub(start);
                let count = (end - column).min(AT_A_TIME).min(left_over);
                if count == 0 {
                    break;
                }
                known.means(start, count as usize, &mut means)?;
                for (column, mean) in (column..).zip(means.chunks_exact(MEAN)) {
                    let x = ((column * pitch) >> shift) - left;
                    if let (Some(sum), Some((state, colour))) =
                        (sums.get_mut(x as usize), mean.split_first())
                    {
                        sum.add(if *state == 0 { &UNKNOWN } else { colour });
                    }
                }
                column += count;
            }
        }
        for (sum, pixel) in sums.iter().zip(row.chunks_exact_mut(3)) {
            if let Some(colour) = sum.colour() {
                pixel.copy_from_slice(&colour);
            }
        }
    }
    Ok(())
}

#[derive(Clone, Copy, Default)]
struct Mean {
    sums: [u64; 3],
    count: u64,
}

impl Mean {
    fn add(&mut self, pixel: &[u8]) {
        for (sum, part) in self.sums.iter_mut().zip(pixel) {
            *sum += u64::from(*part);
        }
        self.count += 1;
    }

    fn colour(&self) -> Option<[u8; 3]> {
        (self.count > 0).then(|| self.sums.map(|sum| (sum / self.count) as u8))
    }
}

#[cfg(test)]
mod tests {
    use outlive_data::grid::cells::Drawn;
    use outlive_data::grid::layout::Layout;

    use super::*;

    fn geometry(cells: u64, columns: u64) -> Geometry {
        let layout = Layout {
            cells,
            columns,
            cell_width: 30,
            cell_height: 30,
            caption_height: 0,
            padding: 3,
        };
        Geometry::new(&layout).unwrap()
    }

    fn known(cells: u64) -> Known {
        let known = Known::new(cells, &std::env::temp_dir()).unwrap();
        for index in (0..cells).filter(|index| index % 5 != 2) {
            let thumbnail = [(index % 200) as u8; THUMBNAIL];
            known.record(index, &thumbnail, &Drawn::default()).unwrap();
        }
        known
    }

    #[test]
    fn every_pixel_shows_its_cell_while_cells_are_larger_than_pixels() {
        let (geometry, known) = (geometry(1005, 34), known(1005));
        for level in (geometry.top - 5)..=geometry.top {
            let tile = Tile {
                level,
                column: 0,
                row: 0,
            };
            let canvas = paint(&geometry, tile, &known, Colour([255; 3])).unwrap();
            let frame = canvas.frame;
            for (number, pixel) in canvas.bytes.chunks(3).enumerate() {
                let x = ((number % frame.width) << frame.shift) / 33;
                let y = ((number / frame.width) << frame.shift) / 33;
                let index = y * 34 + x;
                let expected = match index {
                    1005.. => [255; 3],
                    _ if index % 5 == 2 => UNKNOWN,
                    _ => [(index % 200) as u8; 3],
                };
                assert_eq!(pixel, expected, "level {level}, cell {index}");
            }
        }
    }

    #[test]
    fn the_last_pixel_is_the_mean_of_all() {
        let (geometry, known) = (geometry(1005, 34), known(1005));
        let canvas = paint(&geometry, geometry.root(), &known, Colour([255; 3])).unwrap();
        let colours = (0..1005_u64).map(|index| match index % 5 {
            2 => u64::from(UNKNOWN[0]),
            _ => index % 200,
        });
        assert_eq!(u64::from(canvas.bytes[0]), colours.sum::<u64>() / 1005);
        assert_eq!(canvas.bytes.len(), 3);
    }

    #[test]
    fn one_cell_and_long_rows_are_no_exception() {
        for (cells, columns) in [(1, 1), (40_000, 40_000), (40_000, 1)] {
            let (geometry, known) = (geometry(cells, columns), known(cells));
            for tile in geometry.all().filter(|tile| tile.column + tile.row < 2) {
                paint(&geometry, tile, &known, Colour([255; 3])).unwrap();
            }
        }
    }
}
