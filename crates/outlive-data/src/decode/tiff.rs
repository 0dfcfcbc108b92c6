//! What it takes to open a TIFF file. Its directory holds lists of numbers, one for each strip of
//! the picture and more; the decoder keeps 40 bytes for each number, before it can be told of a
//! limit. A file of 8 MiB took 380 MiB.

/// Bytes that a number takes while its list is read: as a value, as a number, and as it came.
const NUMBER: u64 = 48;
/// Tags from here on are not about pixels: names, profiles, what cameras and programs add. Nobody
/// reads them here, and they may be long.
const FIRST_PRIVATE: u16 = 700;
/// The type of text.
const TEXT: u16 = 2;

/// Bytes that opening takes at most, without the file itself. 0 for a file that will not open.
pub(super) fn numbers(file: &[u8]) -> u64 {
    let most = file.len() as u64;
    let entries = Directory::of(file).map(Directory::entries);
    let about_pixels = entries.into_iter().flatten().filter_map(|entry| {
        let counts = entry.tag < FIRST_PRIVATE && entry.kind != TEXT;
        // There are no more numbers than bytes, whatever is claimed.
        counts.then(|| entry.count.min(most).saturating_mul(NUMBER))
    });
    about_pixels.fold(0, u64::saturating_add)
}

/// One entry: what it is about, the type of its numbers, and how many there are.
struct Entry {
    tag: u16,
    kind: u16,
    count: u64,
}

/// The first directory of a file.
struct Directory<'a> {
    bytes: &'a [u8],
    count: u64,
    order: Order,
    is_big: bool,
}

/// Which byte of a number comes first.
#[derive(Clone, Copy)]
enum Order {
    Little,
    Big,
}

impl Order {
    /// The number that begins at `at` and has `width` bytes.
    fn number(self, bytes: &[u8], at: usize, width: usize) -> Option<u64> {
        let bytes = bytes.get(at..at.checked_add(width)?)?;
        let add = |sum: u64, byte: &u8| sum << 8 | u64::from(*byte);
        Some(match self {
            Self::Little => bytes.iter().rev().fold(0, add),
            Self::Big => bytes.iter().fold(0, add),
        })
    }
}

impl<'a> Directory<'a> {
    fn of(file: &'a [u8]) -> Option<Self> {
        let order = match file.get(..2)? {
            b"II" => Order::Little,
            b"MM" => Order::Big,
            _ => return None,
        };
        let is_big = order.number(file, 2, 2)? == 43;
        let (at, width, count_width) = if is_big { (8, 8, 8) } else { (4, 4, 2) };
        let start = usize::try_from(order.number(file, at, width)?).ok()?;
        Some(Self {
            count: order.number(file, start, count_width)?,
            bytes: file.get(start.checked_add(count_width)?..)?,
            order,
            is_big,
        })
    }

    fn entries(self) -> impl Iterator<Item = Entry> + 'a {
        let (size, width) = if self.is_big { (20, 8) } else { (12, 4) };
        let count = usize::try_from(self.count).unwrap_or(usize::MAX);
        let entries = self.bytes.chunks_exact(size).take(count);
        entries.filter_map(move |entry| {
            Some(Entry {
                tag: self.order.number(entry, 0, 2)? as u16,
                kind: self.order.number(entry, 2, 2)? as u16,
                count: self.order.number(entry, 4, width)?,
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A directory with these tags, types and counts.
    fn file(entries: &[(u16, u16, u32)], length: usize) -> Vec<u8> {
        let mut file = b"II*\0\x08\0\0\0".to_vec();
        file.extend((entries.len() as u16).to_le_bytes());
        for (tag, kind, count) in entries {
            file.extend(tag.to_le_bytes());
            file.extend(kind.to_le_bytes());
            file.extend(count.to_le_bytes());
            file.extend([0; 4]);
        }
        file.resize(length, 0);
        file
    }

    #[test]
    fn numbers_about_pixels_count_as_far_as_they_can_be_there() {
        let one = file(&[(256, 3, 1), (273, 4, 2000), (270, 2, 9000)], 10_000);
        assert_eq!(numbers(&one), 2001 * NUMBER);
        let claimed = file(&[(273, 1, u32::MAX), (34_377, 1, 9000)], 10_000);
        assert_eq!(numbers(&claimed), 10_000 * NUMBER);
        for end in 0..60 {
            // Whatever is cut off, nothing panics.
            let _ = numbers(&claimed[..end]);
        }
        let big = b"MM\0\x2b\0\x08\0\0\0\0\0\0\0\0\0\x10\0\0\0\0\0\0\0\x01\x01\x11\0\x04";
        let big = [&big[..], &5_u64.to_be_bytes(), &[0; 8]].concat();
        assert_eq!(numbers(&big), 5 * NUMBER);
    }
}
