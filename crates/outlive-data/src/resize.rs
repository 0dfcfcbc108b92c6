//! Resizing with a filter that looks at every pixel of the source, so that fine patterns do not
//! shimmer. The buffers are kept between calls and let go after an outlier.

use fast_image_resize::images::{Image, ImageRef};
use fast_image_resize::{FilterType, PixelType, ResizeAlg, ResizeOptions, Resizer};

use crate::picture::Picture;

/// Buffers above this are not kept for the next picture.
const KEPT_BYTES: usize = 4 << 20;

/// Resizes one picture after another.
#[derive(Debug, Default)]
pub struct Resize {
    resizer: Resizer,
}

impl Resize {
    /// All of a picture at another size.
    pub fn to(&mut self, picture: Picture, width: u32, height: u32) -> Option<Picture> {
        let whole = (picture.width(), picture.height());
        self.part_to(picture, ((0, 0), whole), (width, height))
    }

    /// A part of a picture, given by its offset and size, at another size; the picture itself if
    /// nothing changes. `None` if the size is 0 or the part is not within the picture.
    pub fn part_to(
        &mut self,
        picture: Picture,
        (offset, part): ((u32, u32), (u32, u32)),
        (width, height): (u32, u32),
    ) -> Option<Picture> {
        let whole = (picture.width(), picture.height());
        if whole == (width, height) && whole == part {
            return Some(picture);
        }
        if width == 0 || height == 0 {
            return None;
        }
        let source = ImageRef::new(
            picture.width(),
            picture.height(),
            picture.pixels(),
            PixelType::U8x3,
        )
        .ok()?;
        let mut target = Image::new(width, height, PixelType::U8x3);
        let options = ResizeOptions::new()
            .resize_alg(ResizeAlg::Convolution(FilterType::Hamming))
            .crop(
                offset.0.into(),
                offset.1.into(),
                part.0.into(),
                part.1.into(),
            );
        self.resizer.resize(&source, &mut target, &options).ok()?;
        if self.resizer.size_of_internal_buffers() > KEPT_BYTES {
            self.resizer.reset_internal_buffers();
        }
        Picture::new(width, height, target.into_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flat_picture_stays_flat() {
        let picture = Picture::new(300, 200, [9, 80, 200].repeat(300 * 200)).unwrap();
        let small = Resize::default().to(picture, 30, 17).unwrap();
        assert_eq!(small.pixels(), [9, 80, 200].repeat(30 * 17));
    }

    #[test]
    fn a_part_is_all_that_is_seen() {
        let mut pixels = [200, 0, 0].repeat(90 * 10);
        for row in pixels.chunks_exact_mut(90 * 3) {
            row[30 * 3..60 * 3].copy_from_slice(&[0, 0, 200].repeat(30));
        }
        let picture = Picture::new(90, 10, pixels).unwrap();
        let middle = Resize::default()
            .part_to(picture, ((30, 0), (30, 10)), (5, 5))
            .unwrap();
        // The filter looks a little beyond the edge of the part.
        assert_eq!(middle.row(2)[3..12], [0, 0, 200].repeat(3));
        assert!(middle.row(2)[0] < 20);
    }

    #[test]
    fn nothing_has_no_size() {
        let picture = Picture::new(3, 2, vec![0; 18]).unwrap();
        assert_eq!(Resize::default().to(picture, 0, 2), None);
    }
}
