//! Halves tiles: each pixel of a parent is the mean of the two by two below it, or of as many as
//! there are at the right and at the bottom.

/// Pixels of a tile.
#[derive(Debug, Default)]
pub(super) struct Pixels {
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) bytes: Vec<u8>,
}

impl Pixels {
    /// Draws `child` at half its size with its corner at (`left`, `top`). What does not fit is
    /// left out.
    pub(super) fn draw_half(&mut self, child: &Self, left: usize, top: usize) {
        let (from, to) = (child.width * 3, self.width * 3);
        let last = child.height.saturating_sub(1);
        for y in 0..child.height.div_ceil(2) {
            let upper = part(&child.bytes, 2 * y * from, from);
            let lower = part(&child.bytes, (2 * y + 1).min(last) * from, from);
            let start = (top + y) * to + left * 3;
            let end = (top + y + 1) * to;
            let row = self.bytes.get_mut(start..end).unwrap_or_default();
            halve(upper, lower, row);
        }
    }
}

fn part(bytes: &[u8], start: usize, length: usize) -> &[u8] {
    bytes.get(start..start + length).unwrap_or_default()
}

/// At an odd edge a pixel stands in for the one that is missing, which leaves the mean of those
/// that are there.
fn halve(upper: &[u8], lower: &[u8], row: &mut [u8]) {
    let pairs = upper.chunks(6).zip(lower.chunks(6));
    for ((upper, lower), pixel) in pairs.zip(row.chunks_exact_mut(3)) {
        if let ([a, b, c, d, e, f], [g, h, i, j, k, l]) = (upper, lower) {
            let means = [
                mean(*a, *d, *g, *j),
                mean(*b, *e, *h, *k),
                mean(*c, *f, *i, *l),
            ];
            pixel.copy_from_slice(&means);
        } else if let ([a, b, c], [g, h, i]) = (upper, lower) {
            let means = [
                mean(*a, *a, *g, *g),
                mean(*b, *b, *h, *h),
                mean(*c, *c, *i, *i),
            ];
            pixel.copy_from_slice(&means);
        }
    }
}

fn mean(a: u8, b: u8, c: u8, d: u8) -> u8 {
    ((u16::from(a) + u16::from(b) + u16::from(c) + u16::from(d) + 2) / 4) as u8
}
