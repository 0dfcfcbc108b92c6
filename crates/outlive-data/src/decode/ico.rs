//! ICO: one of the pictures in it, which is a PNG or a bitmap. The `image` crate opens the PNG
//! without a limit and unpacks all that is beside its pixels, so that a file of 1 MiB takes 1 GiB;
//! it is given bitmaps only.

use image::ImageFormat;

use super::other::{decode_here, within};
use super::{DecodeError, Format, SLACK, Stored, png};
use crate::orientation::Orientation;
use crate::picture::{Colour, Picture};

/// Bytes of the header, and of an entry of the directory that follows it.
const HEADER: usize = 6;
const ENTRY: usize = 16;
/// Where an entry says how long its picture is, and where.
const PLACE: usize = 8;

/// Decodes the best picture at full size, if that takes no more than `limit` bytes.
pub(super) fn decode(
    file: &[u8],
    ground: Colour,
    limit: u64,
) -> Result<(Stored, Picture), DecodeError> {
    let (entry, picture) = best(file).ok_or(DecodeError::CutOff {
        format: Format::Other(ImageFormat::Ico),
    })?;
    let length = file.len() as u64;
    if !picture.starts_with(b"\x89PNG") {
        let alone = alone(file, entry, picture);
        // Both files are in memory.
        let left = limit.saturating_sub(length);
        return decode_here(&alone, ImageFormat::Ico, ground, left, 0);
    }
    let shape = png::Shape::read(picture)?;
    let size = shape.stored().size;
    let cost = shape.cost(size).saturating_add(SLACK);
    within(cost.saturating_add(length), limit)?;
    let stored = Stored {
        size,
        orientation: Orientation::default(),
    };
    Ok((stored, png::decode(picture, size, ground)?))
}

/// The entry with most colours, and of these the one with most pixels; and its picture.
fn best(file: &[u8]) -> Option<(&[u8], &[u8])> {
    let count = u16::from_le_bytes(*file.get(4..HEADER)?.first_chunk()?);
    let entries = file.get(HEADER..)?.chunks_exact(ENTRY).take(count.into());
    let entry = entries.max_by_key(|entry| match **entry {
        // 0 stands for 256.
        [width, height, _, _, _, _, low, high, ..] => {
            let side = |stored: u8| u32::from(stored.wrapping_sub(1)) + 1;
            let depth = u16::from_le_bytes([low, high]);
            (depth, side(width) * side(height))
        }
        _ => (0, 0),
    })?;
    let (length, start) = entry.get(PLACE..)?.split_first_chunk::<4>()?;
    let start = u32::from_le_bytes(*start.first_chunk()?) as usize;
    let rest = file.get(start..)?;
    let length = u32::from_le_bytes(*length) as usize;
    Some((entry, rest.get(..length).unwrap_or(rest)))
}

/// A file with this picture alone.
fn alone(file: &[u8], entry: &[u8], picture: &[u8]) -> Vec<u8> {
    let kind = file.get(..4).unwrap_or_default();
    let before = entry.get(..PLACE + 4).unwrap_or_default();
    let start = (HEADER + ENTRY) as u32;
    [kind, &[1, 0], before, &start.to_le_bytes(), picture].concat()
}
