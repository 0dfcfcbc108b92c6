//! What kind of file it is, by its first bytes and never by its name.

use image::ImageFormat;

use super::error::DecodeError;

/// Kinds of files that are decoded here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// JPEG.
    Jpeg,
    /// PNG; of an animated one the first picture.
    Png,
    /// WebP, lossy and lossless; of an animated one the first picture.
    WebP,
    /// One that the `image` crate decodes.
    Other(ImageFormat),
}

impl std::fmt::Display for Format {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Jpeg => "JPEG",
            Self::Png => "PNG",
            Self::WebP => "WebP",
            Self::Other(ImageFormat::Bmp) => "BMP",
            Self::Other(ImageFormat::Gif) => "GIF",
            Self::Other(ImageFormat::Ico) => "ICO",
            Self::Other(ImageFormat::Pnm) => "PNM",
            Self::Other(ImageFormat::Qoi) => "QOI",
            Self::Other(ImageFormat::Tga) => "TGA",
            Self::Other(ImageFormat::Tiff) => "TIFF",
            Self::Other(_) => "Picture",
        })
    }
}

/// First bytes of formats that people keep pictures in and that are not decoded here.
const UNSUPPORTED: [(usize, &[u8], &str); 10] = [
    (4, b"ftypavif", "AVIF"),
    (4, b"ftypheic", "HEIC"),
    (4, b"ftypheix", "HEIC"),
    (4, b"ftypmif1", "HEIF"),
    (0, b"\xff\x0a", "JPEG XL"),
    (0, b"\0\0\0\x0cJXL ", "JPEG XL"),
    (0, b"\0\0\0\x0cjP  ", "JPEG 2000"),
    (0, b"8BPS", "Photoshop"),
    (0, b"%PDF-", "PDF"),
    (0, b"\x76\x2f\x31\x01", "OpenEXR"),
];

impl Format {
    /// The format that a file of these first bytes has.
    pub fn of(start: &[u8]) -> Result<Self, DecodeError> {
        if start.is_empty() {
            return Err(DecodeError::NoBytes);
        }
        let begins =
            |at: usize, bytes: &[u8]| start.get(at..).is_some_and(|rest| rest.starts_with(bytes));
        if begins(0, b"\xff\xd8\xff") {
            return Ok(Self::Jpeg);
        }
        if begins(0, b"\x89PNG\r\n\x1a\n") {
            return Ok(Self::Png);
        }
        if begins(0, b"RIFF") && begins(8, b"WEBP") {
            return Ok(Self::WebP);
        }
        if let Some(&(_, _, name)) = UNSUPPORTED.iter().find(|(at, bytes, _)| begins(*at, bytes)) {
            return Err(DecodeError::Unsupported { name });
        }
        // The larger kind of TIFF, which the crate reads and does not know by its first bytes.
        if begins(0, b"II\x2b\0") || begins(0, b"MM\0\x2b") {
            return Ok(Self::Other(ImageFormat::Tiff));
        }
        let other = match image::guess_format(start) {
            Ok(
                kind @ (ImageFormat::Bmp
                | ImageFormat::Gif
                | ImageFormat::Ico
                | ImageFormat::Pnm
                | ImageFormat::Qoi
                | ImageFormat::Tiff),
            ) => Some(kind),
            _ => is_tga(start).then_some(ImageFormat::Tga),
        };
        other
            .map(Self::Other)
            .ok_or_else(|| DecodeError::NotAPicture {
                start: printable(start),
            })
    }
}

/// TGA has no sign at its beginning. It is one if all numbers of the header agree with each other;
/// asked last, since many things begin with zeros.
fn is_tga(start: &[u8]) -> bool {
    let Some(
        &[
            _,
            map,
            kind,
            _,
            _,
            map_low,
            map_high,
            map_depth,
            _,
            _,
            _,
            _,
            w1,
            w2,
            h1,
            h2,
            depth,
            flags,
        ],
    ) = start.first_chunk()
    else {
        return false;
    };
    let colours = u16::from_le_bytes([map_low, map_high]);
    let has_map = map == 1 && colours > 0 && matches!(map_depth, 15 | 16 | 24 | 32);
    let has_none = map == 0 && colours == 0 && map_depth == 0;
    let agrees = match kind {
        1 | 9 => has_map && matches!(depth, 8 | 16),
        2 | 10 => (has_map || has_none) && matches!(depth, 15 | 16 | 24 | 32),
        3 | 11 => has_none && matches!(depth, 8 | 16),
        _ => false,
    };
    agrees && [w1, w2] != [0; 2] && [h1, h2] != [0; 2] && flags & 0xc0 == 0
}

fn printable(start: &[u8]) -> String {
    let start = start.get(..12).unwrap_or(start);
    format!("\"{}\"", start.escape_ascii())
}
