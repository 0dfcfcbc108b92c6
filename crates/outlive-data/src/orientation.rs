//! Which way up a picture is, as a camera wrote it down (EXIF, tag 274).

use image::metadata::Orientation as Tag;

use crate::picture::Picture;

/// What has to be done to a picture before it is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Orientation(Tag);

impl Default for Orientation {
    fn default() -> Self {
        Self(Tag::NoTransforms)
    }
}

impl Orientation {
    /// Reads an EXIF block, with or without its `Exif` prefix. What cannot be read changes nothing.
    pub fn from_exif(block: &[u8]) -> Self {
        let block = block.strip_prefix(b"Exif\0\0").unwrap_or(block);
        Self(Tag::from_exif_chunk(block).unwrap_or(Tag::NoTransforms))
    }

    /// From what the `image` crate found.
    pub(crate) fn from_tag(tag: Tag) -> Self {
        Self(tag)
    }

    /// Whether rows become columns.
    pub fn swaps_sides(self) -> bool {
        matches!(
            self.0,
            Tag::Rotate90 | Tag::Rotate270 | Tag::Rotate90FlipH | Tag::Rotate270FlipH
        )
    }

    /// A size as it is shown, from the size as it is stored, and the other way round.
    pub fn turned(self, (width, height): (u32, u32)) -> (u32, u32) {
        if self.swaps_sides() {
            (height, width)
        } else {
            (width, height)
        }
    }

    /// The picture as it is shown.
    pub fn apply(self, picture: Picture) -> Picture {
        if self.0 == Tag::NoTransforms {
            return picture;
        }
        let (width, height) = self.turned((picture.width(), picture.height()));
        let mut pixels = Vec::with_capacity(picture.pixels().len());
        for y in 0..height {
            for x in 0..width {
                let (from_x, from_y) = self.stored(x, y, picture.width(), picture.height());
                let start = from_x as usize * 3;
                let pixel = picture.row(from_y).get(start..start + 3);
                pixels.extend_from_slice(pixel.unwrap_or(&[0; 3]));
            }
        }
        Picture::new(width, height, pixels).unwrap_or(picture)
    }

    /// Where the pixel that is shown at (x, y) is stored.
    fn stored(self, x: u32, y: u32, width: u32, height: u32) -> (u32, u32) {
        let (right, bottom) = (width - 1, height - 1);
        match self.0 {
            Tag::NoTransforms => (x, y),
            Tag::FlipHorizontal => (right - x, y),
            Tag::Rotate180 => (right - x, bottom - y),
            Tag::FlipVertical => (x, bottom - y),
            Tag::Rotate90FlipH => (y, x),
            Tag::Rotate90 => (y, bottom - x),
            Tag::Rotate270FlipH => (right - y, bottom - x),
            Tag::Rotate270 => (right - y, x),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each of the eight tags, against what the `image` crate makes of it.
    #[test]
    fn all_ways_up_are_those_of_the_image_crate() {
        let pixels: Vec<u8> = (0..3 * 4 * 3).collect();
        for value in 1..=8 {
            let tag = Tag::from_exif(value).unwrap();
            let mut wanted = image::DynamicImage::ImageRgb8(
                image::RgbImage::from_raw(4, 3, pixels.clone()).unwrap(),
            );
            wanted.apply_orientation(tag);
            let turned = Orientation(tag).apply(Picture::new(4, 3, pixels.clone()).unwrap());
            assert_eq!(turned.pixels(), wanted.as_bytes(), "{tag:?}");
            assert_eq!(turned.width(), wanted.width(), "{tag:?}");
        }
    }

    #[test]
    fn damaged_blocks_change_nothing() {
        for block in [
            &b""[..],
            b"Exif\0\0",
            b"II*\0\xff\xff\xff\xff",
            b"MM\0*\0\0\0\x08\0\x01",
        ] {
            assert_eq!(Orientation::from_exif(block), Orientation::default());
        }
    }
}
