//! From coefficients to pixels, with the numbers of libjpeg-turbo, so that they are the same.

use super::layout::Layout;

/// A pixel from its distance to the middle. libjpeg-turbo's own clamping is not defined further out,
/// where only damaged files go.
#[inline]
pub(super) fn pixel(distance: i32) -> Option<u8> {
    let is_defined = (-512..512).contains(&distance);
    is_defined.then(|| (distance + 128).clamp(0, 255) as u8)
}

/// The coefficients from which a block becomes two by two pixels: those of rows and columns 0, 1, 3,
/// 5 and 7. libjpeg-turbo leaves the others out.
pub(super) struct Quarters {
    /// More than there are: one is for those that are left out.
    values: [i32; 32],
    /// Whether all but the mean are left out.
    is_even: bool,
    is_large: bool,
}

/// The place of all that are left out.
const LEFT_OUT: u8 = 25;

/// For each stored coefficient its place in [`Quarters`].
const PLACES: [u8; 64] = places();

const fn places() -> [u8; 64] {
    const ROWS: [u8; 8] = [0, 1, 9, 2, 9, 3, 9, 4];
    let mut places = [LEFT_OUT; 64];
    let (mut x, mut y, mut index) = (0, 0, 0);
    while index < 64 {
        if ROWS[x] < 9 && ROWS[y] < 9 {
            places[index] = ROWS[y] * 5 + ROWS[x];
        }
        // Diagonals, up and down in turn.
        if (x + y) % 2 == 0 {
            if x == 7 {
                y += 1;
            } else {
                x += 1;
                y = y.saturating_sub(1);
            }
        } else if y == 7 {
            x += 1;
        } else {
            y += 1;
            x = x.saturating_sub(1);
        }
        index += 1;
    }
    places
}

/// Shares of rows (or columns) 1, 3, 5 and 7 in the upper half, in parts of 2¹³.
const SHARES: [i32; 4] = [29_692, -10_426, 6_967, -5_906];

/// Coefficients of undamaged files, times the four of the first pass, are below half of this. Up to
/// here nothing overflows, neither here nor in the numbers of 16 bits that libjpeg-turbo uses.
const LARGEST: i32 = 1 << 14;

fn is_large(value: i32) -> bool {
    // One comparison instead of two, as this is done for every coefficient.
    (value + LARGEST) as u32 >= 2 * LARGEST as u32
}

/// The two halves of a row or column of coefficients, rounded by `shift` bits.
#[inline]
fn halves(values: [i32; 5], shift: u32) -> [i32; 2] {
    let [mean, a, b, c, d] = values;
    // Most columns are like this, and the compiler's eight multiplications at once are slow.
    if a | b | c | d == 0 {
        return [((mean << 15) + (1 << (shift - 1))) >> shift; 2];
    }
    let odd = a * SHARES[0] + b * SHARES[1] + c * SHARES[2] + d * SHARES[3];
    let mean = (mean << 15) + (1 << (shift - 1));
    [(mean + odd) >> shift, (mean - odd) >> shift]
}

impl Quarters {
    pub(super) fn new(mean: i32) -> Self {
        let mut values = [0; 32];
        values[0] = mean;
        Self {
            values,
            is_even: true,
            is_large: is_large(mean),
        }
    }

    /// Takes a stored coefficient.
    #[inline]
    pub(super) fn add(&mut self, place: usize, value: i32) {
        if let Some(&place) = PLACES.get(place) {
            self.values[usize::from(place % 32)] = value;
            self.is_even &= place == LEFT_OUT;
            self.is_large |= is_large(value);
        }
    }

    /// `None` where numbers are larger than those of undamaged files.
    #[inline]
    pub(super) fn pixels(&self) -> Option<[[u8; 2]; 2]> {
        let values = &self.values;
        if self.is_large {
            return None;
        }
        if self.is_even {
            return Some([[pixel((values[0] + 4) >> 3)?; 2]; 2]);
        }
        let (mut upper, mut lower, mut any_large) = ([0; 5], [0; 5], false);
        for x in 0..5 {
            // Spelled out: `map` would be a call.
            let column = [
                values[x],
                values[x + 5],
                values[x + 10],
                values[x + 15],
                values[x + 20],
            ];
            [upper[x], lower[x]] = halves(column, 13);
            any_large |= is_large(upper[x]) | is_large(lower[x]);
        }
        if any_large {
            return None;
        }
        let ([a, b], [c, d]) = (halves(upper, 20), halves(lower, 20));
        Some([[pixel(a)?, pixel(b)?], [pixel(c)?, pixel(d)?]])
    }
}

/// One row of units, all components at the size of the result.
pub(super) struct Strip {
    sampling: (usize, usize),
    width: usize,
    luma: Vec<u8>,
    /// Empty if the picture is grey.
    chroma: [Vec<u8>; 2],
}

impl Strip {
    pub(super) fn new(layout: &Layout) -> Self {
        let sampling = (layout.sampling.0 as usize, layout.sampling.1 as usize);
        let width = layout.units().0 as usize * sampling.0;
        let plane = vec![0; width * sampling.1];
        let chroma = if layout.components.len() == 1 {
            [Vec::new(), Vec::new()]
        } else {
            [plane.clone(), plane.clone()]
        };
        Self {
            sampling,
            width,
            luma: plane,
            chroma,
        }
    }

    #[inline]
    pub(super) fn luma(&mut self, x: usize, y: usize, value: u8) {
        if let Some(pixel) = self.luma.get_mut(y * self.width + x) {
            *pixel = value;
        }
    }

    /// Fills a unit, of which `values` are the four quarters.
    #[inline]
    pub(super) fn chroma(&mut self, plane: usize, unit: usize, values: [[u8; 2]; 2]) {
        let (across, down) = self.sampling;
        let Some(plane) = self.chroma.get_mut(plane) else {
            return;
        };
        for (y, row) in values.iter().enumerate().take(down) {
            let start = y * self.width + unit * across;
            // One or two bytes: a copy of a slice would be a call.
            if let Some(pixels) = plane.get_mut(start..start + across) {
                pixels
                    .iter_mut()
                    .zip(row)
                    .for_each(|(pixel, &value)| *pixel = value);
            }
        }
    }

    /// Appends the upper `rows` rows as red, green and blue.
    pub(super) fn append(&self, width: usize, rows: usize, pixels: &mut Vec<u8>) {
        let [blue, red] = &self.chroma;
        for y in 0..rows {
            let row = y * self.width..y * self.width + width;
            let luma = self.luma.get(row.clone()).unwrap_or_default();
            let start = pixels.len();
            pixels.resize(start + width * 3, 0);
            let (pixels, _) = pixels.get_mut(start..).unwrap_or_default().as_chunks_mut();
            match (blue.get(row.clone()), red.get(row)) {
                (Some(blue), Some(red)) => {
                    let chroma = blue.iter().zip(red);
                    for ((pixel, &y), (&cb, &cr)) in pixels.iter_mut().zip(luma).zip(chroma) {
                        *pixel = rgb(y, cb, cr);
                    }
                }
                _ => pixels
                    .iter_mut()
                    .zip(luma)
                    .for_each(|(pixel, &grey)| *pixel = [grey; 3]),
            }
        }
    }
}

/// What chroma adds to luma, by its value: libjpeg's numbers, in parts of 2¹⁶.
struct Shares {
    red: [i32; 256],
    blue: [i32; 256],
    /// Of green, by blue and by red; their sum is still to be divided.
    green: [[i32; 256]; 2],
}

static CHROMA: Shares = shares();

const fn shares() -> Shares {
    const HALF: i32 = 1 << 15;
    let mut shares = Shares {
        red: [0; 256],
        blue: [0; 256],
        green: [[0; 256]; 2],
    };
    let mut value = 0;
    while value < 256 {
        let distance = value as i32 - 128;
        shares.red[value] = (91_881 * distance + HALF) >> 16;
        shares.blue[value] = (116_130 * distance + HALF) >> 16;
        shares.green[0][value] = -22_554 * distance;
        shares.green[1][value] = -46_802 * distance + HALF;
        value += 1;
    }
    shares
}

#[inline]
fn rgb(y: u8, cb: u8, cr: u8) -> [u8; 3] {
    let (y, cb, cr) = (i32::from(y), usize::from(cb), usize::from(cr));
    let green = (CHROMA.green[0][cb] + CHROMA.green[1][cr]) >> 16;
    let red = (y + CHROMA.red[cr]).clamp(0, 255) as u8;
    let blue = (y + CHROMA.blue[cb]).clamp(0, 255) as u8;
    [red, (y + green).clamp(0, 255) as u8, blue]
}
