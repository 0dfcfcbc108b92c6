//! Tiles as files: encoded when they are drawn, decoded when a grid is continued.

use zune_core::bytestream::ZCursor;
use zune_core::colorspace::ColorSpace;
use zune_core::options::DecoderOptions;

/// How tiles are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TileFormat {
    /// Small.
    Jpeg {
        /// 1 to 100.
        quality: u8,
    },
    /// Without loss.
    Png,
}

/// From here on colours keep their full resolution.
const FULL_COLOUR: u8 = 90;

impl TileFormat {
    /// The ending of a file name.
    pub fn ending(self) -> &'static str {
        match self {
            Self::Jpeg { .. } => "jpg",
            Self::Png => "png",
        }
    }

    /// A picture of `pixels`, as a file.
    pub fn encode(self, pixels: &[u8], width: usize, height: usize) -> Result<Vec<u8>, String> {
        match self {
            Self::Jpeg { quality } => encode_jpeg(pixels, width, height, quality.clamp(1, 100)),
            Self::Png => encode_png(pixels, width, height).map_err(|error| error.to_string()),
        }
    }

    /// The pixels of a file, if it is a whole picture of this size.
    pub fn decode(self, bytes: &[u8], width: usize, height: usize) -> Option<Vec<u8>> {
        let pixels = match self {
            Self::Jpeg { .. } => decode_jpeg(bytes, width, height)?,
            Self::Png => decode_png(bytes, width, height)?,
        };
        (pixels.len() == width * height * 3).then_some(pixels)
    }
}

#[cfg(feature = "turbo")]
fn encode_jpeg(pixels: &[u8], width: usize, height: usize, quality: u8) -> Result<Vec<u8>, String> {
    let encode = || {
        let mut compressor = turbojpeg::Compressor::new()?;
        compressor.set_quality(i32::from(quality))?;
        compressor.set_subsamp(if quality < FULL_COLOUR {
            turbojpeg::Subsamp::Sub2x2
        } else {
            turbojpeg::Subsamp::None
        })?;
        compressor.compress_to_vec(turbojpeg::Image {
            pixels,
            width,
            pitch: width * 3,
            height,
            format: turbojpeg::PixelFormat::RGB,
        })
    };
    encode().map_err(|error| error.to_string())
}

#[cfg(not(feature = "turbo"))]
fn encode_jpeg(pixels: &[u8], width: usize, height: usize, quality: u8) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let mut encoder = jpeg_encoder::Encoder::new(&mut bytes, quality);
    encoder.set_sampling_factor(if quality < FULL_COLOUR {
        jpeg_encoder::SamplingFactor::F_2_2
    } else {
        jpeg_encoder::SamplingFactor::F_1_1
    });
    encoder.set_chroma_subsampling_method(jpeg_encoder::ChromaSubsamplingMethod::Average);
    let (width, height) = (side(width)?, side(height)?);
    encoder
        .encode(pixels, width, height, jpeg_encoder::ColorType::Rgb)
        .map_err(|error| error.to_string())?;
    Ok(bytes)
}

#[cfg(not(feature = "turbo"))]
fn side(pixels: usize) -> Result<u16, String> {
    u16::try_from(pixels).map_err(|_| format!("JPEG holds no {pixels} pixels a side"))
}

fn encode_png(pixels: &[u8], width: usize, height: usize) -> Result<Vec<u8>, png::EncodingError> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width as u32, height as u32);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(png::Compression::Fast);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(pixels)?;
    writer.finish()?;
    Ok(bytes)
}

fn decode_jpeg(bytes: &[u8], width: usize, height: usize) -> Option<Vec<u8>> {
    let options = DecoderOptions::default()
        .set_strict_mode(true)
        .set_max_width(width)
        .set_max_height(height)
        .jpeg_set_out_colorspace(ColorSpace::RGB);
    let mut decoder = zune_jpeg::JpegDecoder::new_with_options(ZCursor::new(bytes), options);
    let pixels = decoder.decode().ok()?;
    (decoder.dimensions() == Some((width, height))).then_some(pixels)
}

fn decode_png(bytes: &[u8], width: usize, height: usize) -> Option<Vec<u8>> {
    let mut reader = png::Decoder::new(std::io::Cursor::new(bytes))
        .read_info()
        .ok()?;
    let size = (reader.info().width as usize, reader.info().height as usize);
    let is_ours = reader.output_color_type() == (png::ColorType::Rgb, png::BitDepth::Eight);
    if size != (width, height) || !is_ours {
        return None;
    }
    let mut pixels = vec![0; reader.output_buffer_size()?];
    reader.next_frame(&mut pixels).ok()?;
    Some(pixels)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_come_back_and_cut_ones_do_not() {
        let pixels: Vec<u8> = (0..40 * 30 * 3).map(|n| (n / 40) as u8).collect();
        for format in [TileFormat::Png, TileFormat::Jpeg { quality: 95 }] {
            let bytes = format.encode(&pixels, 40, 30).unwrap();
            let back = format.decode(&bytes, 40, 30).unwrap();
            let worst = back.iter().zip(&pixels).map(|(a, b)| a.abs_diff(*b)).max();
            assert!(worst.unwrap() <= if format == TileFormat::Png { 0 } else { 40 });
            assert_eq!(format.decode(&bytes, 30, 40), None);
            assert_eq!(format.decode(&bytes[..20], 40, 30), None);
            assert_eq!(format.decode(&[], 40, 30), None);
        }
        let cut = TileFormat::Png.encode(&pixels, 40, 30).unwrap();
        assert_eq!(TileFormat::Png.decode(&cut[..cut.len() / 2], 40, 30), None);
    }
}
