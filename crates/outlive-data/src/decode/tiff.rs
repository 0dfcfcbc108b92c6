//! What it takes to open a TIFF file. Its directory holds lists of numbers, one for each strip of
//! the picture and more; the decoder keeps 40 bytes for each number, before it can be told of a
//! limit. A file of 8 MiB took 380 MiB. And a strip may be a JPEG, whose own size the decoder
//! believes, whatever its limit: a file of 400 kB took 580 MiB.

use image::ImageFormat;

use super::jpeg::Frame;
use super::{DecodeError, Format};

const FORMAT: Format = Format::Other(ImageFormat::Tiff);
/// Bytes that a number takes while its list is read: as a value, as a number, and as it came.
const NUMBER: u64 = 48;
/// Tags from here on are not about pixels: names, profiles, what cameras and programs add. Nobody
/// reads them here, and they may be long.
const FIRST_PRIVATE: u16 = 700;
/// The type of text.
const TEXT: u16 = 2;
/// How the pixels are stored, and the number that means JPEG.
const COMPRESSION: u16 = 259;
const JPEG: u64 = 7;
/// What all JPEG of a file have in common.
const TABLES: u16 = 347;
const LONGEST_TABLES: usize = 64 << 10;
/// Bytes before the pixels of such a JPEG.
const LONGEST_HEAD: usize = 64 << 10;
/// Parts may share bytes, but not so often that reading them takes hours.
const MOST_SHARED: u64 = 16;

/// The tags of the parts that a picture is stored in.
struct Parts {
    starts: u16,
    lengths: u16,
    width: u16,
    height: u16,
}

/// Strips are as wide as the picture.
const STRIPS: Parts = Parts {
    starts: 273,
    lengths: 279,
    width: 256,
    height: 278,
};
const TILES: Parts = Parts {
    starts: 324,
    lengths: 325,
    width: 322,
    height: 323,
};
/// The height of the picture.
const HEIGHT: u16 = 257;

/// Bytes that opening takes at most, without the file itself. 0 for a file that will not open.
pub(super) fn numbers(file: &[u8]) -> u64 {
    let most = file.len() as u64;
    let directory = Directory::of(file);
    let entries = directory.iter().flat_map(Directory::entries);
    let about_pixels = entries.filter_map(|entry| {
        let counts = entry.tag < FIRST_PRIVATE && entry.kind != TEXT;
        // There are no more numbers than bytes, whatever is claimed.
        counts.then(|| entry.count.min(most).saturating_mul(NUMBER))
    });
    about_pixels.fold(0, u64::saturating_add)
}

/// Bytes that the largest JPEG in a file takes while it is decoded. Refuses one that is larger than
/// its place: with so many of them a small file could keep a processor busy for hours.
pub(super) fn pictures(file: &[u8]) -> Result<u64, DecodeError> {
    let Some(directory) = Directory::of(file) else {
        return Ok(0);
    };
    let compression = directory.last(COMPRESSION);
    match compression.map(|entry| directory.number(&entry, 0)) {
        Some(Some(JPEG) | None) => {}
        _ => return Ok(0),
    }
    let mut most = 0;
    for parts in [STRIPS, TILES] {
        most = largest(&directory, &parts)?.max(most);
    }
    Ok(most)
}

fn largest(directory: &Directory<'_>, parts: &Parts) -> Result<u64, DecodeError> {
    let odd = |reason: &str| DecodeError::broken(FORMAT, reason);
    let (Some(starts), Some(lengths)) =
        (directory.last(parts.starts), directory.last(parts.lengths))
    else {
        return Ok(0);
    };
    let first = |tag| directory.number(&directory.last(tag)?, 0);
    let width = first(parts.width).ok_or_else(|| odd("no width"))?;
    let height = match (first(parts.height), first(HEIGHT)) {
        (Some(height), _) if parts.height == TILES.height => height,
        // A single strip may claim to be higher than the picture.
        (height, Some(whole)) => height.unwrap_or(whole).min(whole),
        _ => return Err(odd("no height")),
    };
    let tables = directory.last(TABLES);
    let tables = tables.map_or(&[][..], |entry| directory.data(&entry));
    if tables.len() > LONGEST_TABLES {
        return Err(odd("long tables"));
    }
    let file = directory.file.len() as u64;
    let (mut most, mut read) = (0, 0_u64);
    for index in 0..starts.count.min(lengths.count).min(file) {
        let start = directory.number(&starts, index);
        let length = directory.number(&lengths, index);
        let place = start.zip(length).ok_or_else(|| odd("no place of a part"))?;
        let frame = frame(directory.file, tables, place)?;
        if u64::from(frame.width) > width || u64::from(frame.height) > height {
            let (width, height) = (frame.width, frame.height);
            return Err(odd(&format!("a part of {width} x {height} has no room")));
        }
        read = read.saturating_add(place.1);
        if read > file.saturating_mul(MOST_SHARED) {
            return Err(odd("parts that are in one place"));
        }
        most = frame.whole_cost().max(most);
    }
    Ok(most)
}

/// The header of a part. The tables stand before it, without the two bytes that end them and those
/// that begin it.
fn frame(file: &[u8], tables: &[u8], place: (u64, u64)) -> Result<Frame, DecodeError> {
    let index = |number| usize::try_from(number).unwrap_or(usize::MAX);
    let rest = file.get(index(place.0)..).unwrap_or_default();
    let part = rest.get(..index(place.1)).unwrap_or(rest);
    let head = part.get(..LONGEST_HEAD).unwrap_or(part);
    let [common @ .., _, _] = tables else {
        return Frame::read(head);
    };
    Frame::read(&[common, head.get(2..).unwrap_or_default()].concat())
}

/// One entry: what it is about, the type of its numbers, and how many there are.
struct Entry<'a> {
    tag: u16,
    kind: u16,
    count: u64,
    /// The numbers, if they have room here, or where they are.
    field: &'a [u8],
}

/// The first directory of a file.
struct Directory<'a> {
    file: &'a [u8],
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
            file,
            count: order.number(file, start, count_width)?,
            bytes: file.get(start.checked_add(count_width)?..)?,
            order,
            is_big,
        })
    }

    fn entries(&self) -> impl Iterator<Item = Entry<'a>> {
        let (size, width) = if self.is_big { (20, 8) } else { (12, 4) };
        let count = usize::try_from(self.count).unwrap_or(usize::MAX);
        let entries = self.bytes.chunks_exact(size).take(count);
        let order = self.order;
        entries.filter_map(move |entry| {
            Some(Entry {
                tag: order.number(entry, 0, 2)? as u16,
                kind: order.number(entry, 2, 2)? as u16,
                count: order.number(entry, 4, width)?,
                field: entry.get(4 + width..)?,
            })
        })
    }

    /// The entry of a tag. The decoder takes the last one too.
    fn last(&self, tag: u16) -> Option<Entry<'a>> {
        self.entries().filter(|entry| entry.tag == tag).last()
    }

    /// The bytes of an entry, as far as they are there.
    fn data(&self, entry: &Entry<'a>) -> &'a [u8] {
        let length = entry.count.saturating_mul(entry.width());
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        if length <= entry.field.len() {
            return entry.field.get(..length).unwrap_or_default();
        }
        let start = self.order.number(entry.field, 0, entry.field.len());
        let start = start.and_then(|start| usize::try_from(start).ok());
        let rest = start.and_then(|start| self.file.get(start..));
        let rest = rest.unwrap_or_default();
        rest.get(..length).unwrap_or(rest)
    }

    fn number(&self, entry: &Entry<'a>, index: u64) -> Option<u64> {
        let width = usize::try_from(entry.width()).ok()?;
        let at = usize::try_from(index).ok()?.checked_mul(width)?;
        self.order.number(self.data(entry), at, width)
    }
}

impl Entry<'_> {
    /// Bytes of a number.
    fn width(&self) -> u64 {
        match self.kind {
            3 | 8 => 2,
            4 | 9 | 11 | 13 => 4,
            5 | 10 | 12 | 16..=18 => 8,
            _ => 1,
        }
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

    /// The head of a JPEG of one colour, with the marker `kind` of its frame.
    fn jpeg(kind: u8, (width, height): (u16, u16)) -> Vec<u8> {
        let size = [height.to_be_bytes(), width.to_be_bytes()].concat();
        let start = [
            &[0xff, 0xd8, 0xff, kind, 0, 11, 8],
            &size[..],
            &[1, 1, 0x11, 0],
        ]
        .concat();
        [
            &start[..],
            &[0xff, 0xda, 0, 8, 1, 1, 0, 0, 0, 0, 0xff, 0xd9],
        ]
        .concat()
    }

    /// A file of 64 x 64 pixels in one strip, which is `part`.
    fn stored(part: &[u8], tables: &[u8]) -> Vec<u8> {
        let numbers = [
            (256, 64),
            (257, 64),
            (COMPRESSION, 7),
            (273, 200),
            (278, u32::MAX),
            (279, part.len() as u32),
        ];
        let mut file = b"II*\0\x08\0\0\0\x07\0".to_vec();
        for (tag, number) in numbers {
            file.extend(u16::to_le_bytes(tag));
            file.extend(b"\x04\0\x01\0\0\0");
            file.extend(number.to_le_bytes());
        }
        file.extend(TABLES.to_le_bytes());
        file.extend(b"\x07\0");
        file.extend((tables.len() as u32).to_le_bytes());
        file.extend((200 + part.len() as u32).to_le_bytes());
        file.resize(200, 0);
        [&file[..], part, tables].concat()
    }

    #[test]
    fn a_jpeg_inside_counts_and_has_to_fit_its_place() {
        let none = b"\xff\xd8\xff\xd9";
        let plain = pictures(&stored(&jpeg(0xc0, (64, 64)), none)).unwrap();
        let whole = pictures(&stored(&jpeg(0xc2, (64, 64)), none)).unwrap();
        assert_eq!(whole, plain + 64 * 64 * 2);
        let large = stored(&jpeg(0xc2, (65, 64)), none);
        let error = pictures(&large).unwrap_err().to_string();
        assert!(error.contains("65 x 64"), "{error}");
        // A second size among the tables, and a place without a picture.
        let tables = [&jpeg(0xc0, (8, 8))[..15], b"\xff\xd9"].concat();
        assert!(pictures(&stored(&jpeg(0xc0, (64, 64)), &tables)).is_err());
        assert!(pictures(&stored(b"", none)).is_err());
        for end in 0..large.len() {
            // Whatever is cut off, nothing panics.
            let _ = pictures(&large[..end]);
        }
    }
}
