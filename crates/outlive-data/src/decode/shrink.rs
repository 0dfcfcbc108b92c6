//! Shrinks a picture by a whole factor while its rows arrive, so that it never exists in full.
//! Each pixel of the result is the mean of a square of the source; at the right and lower edge of
//! what is left of one.

use crate::picture::Picture;

/// Takes rows, keeps means.
#[derive(Debug)]
pub(super) struct Shrink {
    factor: u32,
    width: u32,
    sums: Vec<u32>,
    rows_in_sums: u32,
    pixels: Vec<u8>,
}

/// The largest whole factor by which `stored` may be shrunk and still be at least `target`.
pub(super) fn factor(stored: (u32, u32), target: (u32, u32)) -> u32 {
    let across = stored.0 / target.0.max(1);
    let down = stored.1 / target.1.max(1);
    // Sums of squares of 2048 pixels of 255 still fit.
    across.min(down).clamp(1, 2048)
}

/// The size after shrinking.
pub(super) fn size(stored: (u32, u32), factor: u32) -> (u32, u32) {
    (stored.0.div_ceil(factor), stored.1.div_ceil(factor))
}

impl Shrink {
    /// For rows of `width` pixels.
    pub(super) fn new(stored: (u32, u32), factor: u32) -> Self {
        let (width, height) = size(stored, factor);
        let sums = if factor > 1 { width as usize * 3 } else { 0 };
        Self {
            factor,
            width: stored.0,
            sums: vec![0; sums],
            rows_in_sums: 0,
            pixels: Vec::with_capacity(width as usize * height as usize * 3),
        }
    }

    /// Takes the next row of red, green and blue.
    pub(super) fn push(&mut self, row: &[u8]) {
        if self.factor == 1 {
            self.pixels.extend_from_slice(row);
            return;
        }
        let square = self.factor as usize * 3;
        for (sums, pixels) in self.sums.chunks_exact_mut(3).zip(row.chunks(square)) {
            let mut sum = [0_u32; 3];
            for pixel in pixels.chunks_exact(3) {
                for (total, &value) in sum.iter_mut().zip(pixel) {
                    *total += u32::from(value);
                }
            }
            for (total, add) in sums.iter_mut().zip(sum) {
                *total += add;
            }
        }
        self.rows_in_sums += 1;
        if self.rows_in_sums == self.factor {
            self.flush();
        }
    }

    /// The picture, if as many rows came as `height` says.
    pub(super) fn finish(mut self, height: u32) -> Option<Picture> {
        self.flush();
        let (width, height) = size((self.width, height), self.factor);
        Picture::new(width, height, self.pixels)
    }

    fn flush(&mut self) {
        if self.rows_in_sums == 0 {
            return;
        }
        let (factor, rows) = (self.factor, self.rows_in_sums);
        for (column, sums) in self.sums.chunks_exact_mut(3).enumerate() {
            let left = self.width - column as u32 * factor;
            let count = factor.min(left) * rows;
            for sum in sums {
                self.pixels.push(((*sum + count / 2) / count) as u8);
                *sum = 0;
            }
        }
        self.rows_in_sums = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares with means taken square by square from the whole picture.
    #[test]
    fn every_pixel_is_the_mean_of_its_square() {
        for (width, height, factor) in [(7, 5, 2), (9, 9, 3), (4, 4, 1), (5, 3, 8), (1, 1, 2)] {
            let value = |x: u32, y: u32, c: u32| (x * 37 + y * 91 + c * 53) % 256;
            let mut shrink = Shrink::new((width, height), factor);
            for y in 0..height {
                let row: Vec<u8> = (0..width * 3)
                    .map(|i| value(i / 3, y, i % 3) as u8)
                    .collect();
                shrink.push(&row);
            }
            let picture = shrink.finish(height).unwrap();
            for (index, &got) in picture.pixels().iter().enumerate() {
                let index = index as u32;
                let (channel, place) = (index % 3, index / 3);
                let (left, top) = (
                    place % picture.width() * factor,
                    place / picture.width() * factor,
                );
                let square: Vec<u32> = (top..(top + factor).min(height))
                    .flat_map(|y| (left..(left + factor).min(width)).map(move |x| (x, y)))
                    .map(|(x, y)| value(x, y, channel))
                    .collect();
                let count = square.len() as u32;
                let mean = (square.iter().sum::<u32>() + count / 2) / count;
                assert_eq!(u32::from(got), mean, "{width}x{height} by {factor}");
            }
        }
    }
}
