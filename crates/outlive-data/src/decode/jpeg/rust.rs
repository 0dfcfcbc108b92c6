//! JPEG without C: full size first, shrunk afterwards. Slower and larger than libjpeg-turbo, and
//! it lets damage within a scan pass; files that end too early are errors here too.

use zune_core::bytestream::ZCursor;
use zune_core::colorspace::ColorSpace;
use zune_core::options::DecoderOptions;
use zune_jpeg::JpegDecoder;

use super::markers::Frame;
use super::rgb_of_cmyk;
use crate::decode::{DecodeError, Format};
use crate::picture::Picture;

/// What to call it.
pub const NAME: &str = "zune-jpeg (libjpeg-turbo was not built in)";

/// Largest side of a JPEG file.
const LARGEST: usize = 65_535;

/// Has no state; the other decoder does.
#[derive(Debug, Default)]
pub(crate) struct Decoder;

impl Decoder {
    /// The largest size that comes out, whatever is wanted.
    pub(crate) fn decoded_size(stored: (u32, u32), _target: (u32, u32)) -> (u32, u32) {
        stored
    }

    /// Decodes at full size.
    #[expect(clippy::unused_self, reason = "the other decoder keeps state")]
    pub(crate) fn decode(
        &mut self,
        file: &[u8],
        _target: (u32, u32),
    ) -> Result<Picture, DecodeError> {
        let frame = Frame::read(file)?;
        // Strict mode still takes a file for whole that ends within its last scan.
        if !ends(file) {
            return Err(DecodeError::CutOff {
                format: Format::Jpeg,
            });
        }
        let colours = if frame.components == 4 {
            ColorSpace::CMYK
        } else {
            ColorSpace::RGB
        };
        let options = DecoderOptions::default()
            .set_strict_mode(true)
            .set_max_width(LARGEST)
            .set_max_height(LARGEST)
            .jpeg_set_out_colorspace(colours);
        let mut decoder = JpegDecoder::new_with_options(ZCursor::new(file), options);
        let broken = |error| DecodeError::broken(Format::Jpeg, format!("{error:?}"));
        let mut pixels = decoder.decode().map_err(broken)?;
        if frame.components == 4 {
            pixels = rgb_of_cmyk(&pixels, frame.adobe);
        }
        Picture::new(frame.width, frame.height, pixels)
            .ok_or_else(|| DecodeError::broken(Format::Jpeg, "two sizes in one file"))
    }
}

/// Whether the marker of the end is there; cameras and phones append other data to it.
fn ends(file: &[u8]) -> bool {
    file.windows(2).rev().any(|pair| pair == [0xff, 0xd9])
}
