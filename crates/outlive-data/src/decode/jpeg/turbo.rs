//! JPEG by libjpeg-turbo, which decodes at eighths of the full size for a fraction of the work.
//! Its warnings count as errors, since a picture that is half grey is not the picture.

use turbojpeg::{Colorspace, Decompressor, Image, PixelFormat, ScalingFactor};

use super::markers::Frame;
use super::rgb_of_cmyk;
use crate::decode::{DecodeError, Format};
use crate::picture::Picture;

/// What to call it.
pub const NAME: &str = "libjpeg-turbo";

/// Scans of a progressive file that are decoded. Encoders write about ten; each goes over the whole
/// picture, so that hundreds of empty ones in a small file keep a processor busy for many seconds.
const MAX_SCANS: u32 = 100;

/// Bytes between the last pixel and the end of the file change no pixel.
const HARMLESS: &str = "extraneous bytes before marker 0xd9";

/// Holds the library's state for the next picture.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    decompressor: Option<Decompressor>,
}

impl Decoder {
    /// The size that comes out when at least `target` is wanted.
    pub(crate) fn decoded_size(stored: (u32, u32), target: (u32, u32)) -> (u32, u32) {
        let factor = eighths(stored, target);
        let scaled = |length: u32| factor.scale(length as usize) as u32;
        (scaled(stored.0), scaled(stored.1))
    }

    /// Decodes to at least `target`.
    pub(crate) fn decode(
        &mut self,
        file: &[u8],
        target: (u32, u32),
    ) -> Result<Picture, DecodeError> {
        let decoded = self.attempt(file, target);
        if decoded.is_err() {
            // The library may be left in the middle of this file, and go on there with the next.
            self.decompressor = None;
        }
        decoded
    }

    fn attempt(&mut self, file: &[u8], target: (u32, u32)) -> Result<Picture, DecodeError> {
        let frame = Frame::read(file)?;
        let decompressor = self.decompressor()?;
        let header = decompressor.read_header(file).map_err(broken)?;
        // The size that the budget was asked for is that of our own reading.
        if (header.width, header.height) != (frame.width as usize, frame.height as usize) {
            return Err(DecodeError::broken(Format::Jpeg, "two sizes in one file"));
        }
        let factor = if frame.lossless {
            ScalingFactor::ONE
        } else {
            eighths((frame.width, frame.height), target)
        };
        decompressor.set_scaling_factor(factor).map_err(broken)?;
        let format = match header.colorspace {
            Colorspace::CMYK | Colorspace::YCCK => PixelFormat::CMYK,
            _ => PixelFormat::RGB,
        };
        let (width, height) = (factor.scale(header.width), factor.scale(header.height));
        let mut pixels = vec![0_u8; width * height * format.size()];
        let output = Image {
            pixels: &mut pixels[..],
            width,
            pitch: width * format.size(),
            height,
            format,
        };
        match decompressor.decompress(file, output) {
            Ok(()) => {}
            Err(error) if error.to_string().contains(HARMLESS) => self.decompressor = None,
            Err(error) => return Err(broken(error)),
        }
        if format == PixelFormat::CMYK {
            pixels = rgb_of_cmyk(&pixels, frame.adobe);
        }
        Picture::new(width as u32, height as u32, pixels).ok_or(DecodeError::Empty {
            format: Format::Jpeg,
        })
    }

    fn decompressor(&mut self) -> Result<&mut Decompressor, DecodeError> {
        if self.decompressor.is_none() {
            let mut fresh = Decompressor::new().map_err(broken)?;
            fresh.set_scan_limit(MAX_SCANS).map_err(broken)?;
            self.decompressor = Some(fresh);
        }
        self.decompressor
            .as_mut()
            .ok_or_else(|| DecodeError::broken(Format::Jpeg, "no decoder"))
    }
}

/// The smallest share of the size that still gives `target`. Of the eighths that the library knows,
/// it has fast code for these alone: 3/8 takes longer than 1/2, and 5/8 longer than all.
const SHARES: [usize; 3] = [1, 2, 4];

fn eighths(stored: (u32, u32), target: (u32, u32)) -> ScalingFactor {
    let suffices = |&eighths: &usize| {
        let factor = ScalingFactor::new(eighths, 8);
        factor.scale(stored.0 as usize) >= target.0 as usize
            && factor.scale(stored.1 as usize) >= target.1 as usize
    };
    let eighths = SHARES.into_iter().find(suffices).unwrap_or(8);
    ScalingFactor::new(eighths, 8)
}

#[expect(clippy::needless_pass_by_value, reason = "the shape `map_err` wants")]
fn broken(error: turbojpeg::Error) -> DecodeError {
    let text = error.to_string();
    if text.contains("Premature end") {
        return DecodeError::CutOff {
            format: Format::Jpeg,
        };
    }
    let text = text.trim_start_matches("TurboJPEG error: ");
    DecodeError::broken(Format::Jpeg, text)
}

#[cfg(test)]
mod tests {
    use turbojpeg::{Compressor, Subsamp};

    use super::*;

    #[test]
    fn a_file_without_loss_is_decoded_in_full() {
        let pixels: Vec<u8> = (0..64 * 64 * 3).map(|at| (at / 7) as u8).collect();
        let mut compressor = Compressor::new().unwrap();
        compressor.set_lossless(true).unwrap();
        let image = Image {
            pixels: &pixels[..],
            width: 64,
            pitch: 64 * 3,
            height: 64,
            format: PixelFormat::RGB,
        };
        let file = compressor.compress_to_vec(image).unwrap();
        assert_eq!(Frame::read(&file).unwrap().decoded((8, 8)), (64, 64));
        let decoded = Decoder::default().decode(&file, (8, 8)).unwrap();
        assert!(decoded.pixels() == pixels);
    }

    #[test]
    fn a_damaged_file_harms_none_that_follows() {
        let (width, height) = (24, 16);
        let pixels: Vec<u8> = (0..width * height * 3).map(|at| (at * 7) as u8).collect();
        let mut compressor = Compressor::new().unwrap();
        compressor.set_subsamp(Subsamp::Sub2x2).unwrap();
        let image = Image {
            pixels: &pixels[..],
            width,
            pitch: width * 3,
            height,
            format: PixelFormat::RGB,
        };
        let file = compressor.compress_to_vec(image).unwrap();
        let target = (width as u32, height as u32);
        let expected = Decoder::default().decode(&file, target).unwrap();
        let (mut decoder, mut failures) = (Decoder::default(), 0);
        for at in 2..file.len() {
            for value in [0, 0xff, file[at] ^ 1, file[at] ^ 0x10] {
                let mut damaged = file.clone();
                damaged[at] = value;
                let size = Frame::read(&damaged).map(|frame| frame.width * frame.height);
                if size.is_ok_and(|pixels| pixels > 1 << 20) {
                    continue;
                }
                failures += usize::from(decoder.decode(&damaged, target).is_err());
                let after = decoder.decode(&file, target);
                assert!(after.as_ref() == Ok(&expected), "byte {at} = {value}");
            }
        }
        assert!(failures > 100, "{failures}");
    }
}
