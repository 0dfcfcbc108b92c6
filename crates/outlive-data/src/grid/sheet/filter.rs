//! PNG's filters: what is stored of a row, given the row above.

/// Which of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Filter {
    /// The bytes themselves.
    None,
    /// Differences to the neighbour that is nearest to a guess: left, above or between them. The
    /// first row of pixels of a row of cells must depend on nothing: there it is the left one.
    Paeth,
}

const AS_IT_IS: u8 = 0;
const LEFT: u8 = 1;
const PAETH: u8 = 4;
const PIXEL: usize = 3;

/// Makes `filtered` these rows, each with the number of its filter in front. `above` is the row
/// before them, or empty.
pub(super) fn filter(
    filter: Filter,
    above: &[u8],
    rows: &[u8],
    stride: usize,
    filtered: &mut Vec<u8>,
) {
    filtered.clear();
    filtered.reserve(rows.len() + rows.len() / stride + 1);
    let mut above = above;
    for row in rows.chunks_exact(stride) {
        match filter {
            Filter::None => {
                filtered.push(AS_IT_IS);
                filtered.extend_from_slice(row);
            }
            Filter::Paeth if above.is_empty() => push_left(row, filtered),
            Filter::Paeth => push_paeth(row, above, filtered),
        }
        above = row;
    }
}

fn push_left(row: &[u8], filtered: &mut Vec<u8>) {
    let (first, rest) = row.split_at(PIXEL.min(row.len()));
    filtered.push(LEFT);
    filtered.extend_from_slice(first);
    filtered.extend(
        rest.iter()
            .zip(row)
            .map(|(byte, left)| byte.wrapping_sub(*left)),
    );
}

fn push_paeth(row: &[u8], above: &[u8], filtered: &mut Vec<u8>) {
    let (first, rest) = row.split_at(PIXEL.min(row.len()));
    let (above_first, above_rest) = above.split_at(PIXEL.min(above.len()));
    filtered.push(PAETH);
    // Beyond the left edge all is 0, and the guess is the byte above.
    filtered.extend(
        first
            .iter()
            .zip(above_first)
            .map(|(byte, up)| byte.wrapping_sub(*up)),
    );
    let neighbours = row.iter().zip(above_rest).zip(above);
    let differences = rest.iter().zip(neighbours);
    filtered.extend(
        differences
            .map(|(byte, ((left, up), corner))| byte.wrapping_sub(nearest(*left, *up, *corner))),
    );
}

/// The one of three that is nearest to `left + up - corner`, in this order.
fn nearest(left: u8, up: u8, corner: u8) -> u8 {
    let [a, b, c] = [left, up, corner].map(i16::from);
    let (to_left, to_up, to_corner) = ((b - c).abs(), (a - c).abs(), (a + b - 2 * c).abs());
    if to_left <= to_up && to_left <= to_corner {
        left
    } else if to_up <= to_corner {
        up
    } else {
        corner
    }
}
