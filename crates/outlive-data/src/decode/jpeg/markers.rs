//! The segments of a JPEG file before its first scan: size, kind, and which way up it is.

use crate::decode::{DecodeError, Format, Stored};
use crate::orientation::Orientation;
use crate::picture::bytes_of;

/// What the header of a JPEG file says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) width: u32,
    pub(crate) height: u32,
    /// Colours, of which there are four in print.
    pub(super) components: u8,
    /// Sum over the components of their share of the full size, in sixteenths.
    sixteenths: u64,
    /// Whether all coefficients are kept until the last scan.
    whole: bool,
    /// Without coefficients, so that it cannot be shrunk while it is decoded.
    pub(super) lossless: bool,
    /// The marker of programs that invert their four colours.
    pub(super) adobe: bool,
    orientation: Orientation,
}

/// Start of frame, without the three numbers in the range that mean something else.
const FRAMES: [u8; 13] = [
    0xc0, 0xc1, 0xc2, 0xc3, 0xc5, 0xc6, 0xc7, 0xc9, 0xca, 0xcb, 0xcd, 0xce, 0xcf,
];
const START_OF_SCAN: u8 = 0xda;
const END_OF_IMAGE: u8 = 0xd9;

const CUT_OFF: DecodeError = DecodeError::CutOff {
    format: Format::Jpeg,
};

impl Frame {
    /// Reads up to the first scan.
    pub(crate) fn read(file: &[u8]) -> Result<Self, DecodeError> {
        let mut frame: Option<Self> = None;
        let mut orientation = Orientation::default();
        let mut adobe = false;
        let mut at = 2;
        loop {
            let (marker, next) = next_marker(file, at)?;
            if marker == END_OF_IMAGE {
                return Err(DecodeError::broken(
                    Format::Jpeg,
                    "no pixels before its end",
                ));
            }
            // Markers without a segment: restarts and the start of the image.
            if matches!(marker, 0x01 | 0xd0..=0xd8) {
                at = next;
                continue;
            }
            let segment = segment(file, next)?;
            match marker {
                0xe1 if segment.starts_with(b"Exif\0\0") => {
                    orientation = Orientation::from_exif(segment);
                }
                0xee if segment.starts_with(b"Adobe") => adobe = true,
                START_OF_SCAN => {
                    let mut frame = frame.ok_or_else(|| {
                        DecodeError::broken(Format::Jpeg, "no size before pixels")
                    })?;
                    let in_scan = segment.first().copied().unwrap_or(0);
                    frame.whole |= in_scan < frame.components;
                    return Ok(Self {
                        adobe,
                        orientation,
                        ..frame
                    });
                }
                _ if FRAMES.contains(&marker) => {
                    if frame.is_some() {
                        return Err(DecodeError::broken(Format::Jpeg, "two sizes in one file"));
                    }
                    frame = Some(Self::of_segment(marker, segment)?);
                }
                _ => {}
            }
            at = next + 2 + segment.len();
        }
    }

    fn of_segment(marker: u8, segment: &[u8]) -> Result<Self, DecodeError> {
        let &[_, high_h, low_h, high_w, low_w, components, ref table @ ..] = segment else {
            return Err(DecodeError::broken(
                Format::Jpeg,
                "the frame header is too short",
            ));
        };
        let sampling: Vec<(u64, u64)> = table
            .chunks_exact(3)
            .take(components.into())
            .map(|component| match component.get(1) {
                Some(&factors) => (u64::from(factors >> 4), u64::from(factors & 15)),
                None => (1, 1),
            })
            .collect();
        let widest = sampling.iter().map(|&(across, _)| across).max();
        let tallest = sampling.iter().map(|&(_, down)| down).max();
        let full = (widest.unwrap_or(1) * tallest.unwrap_or(1)).max(1);
        let sixteenths = sampling
            .iter()
            .map(|&(across, down)| (across * down * 16).div_ceil(full))
            .sum();
        Ok(Self {
            width: u16::from_be_bytes([high_w, low_w]).into(),
            height: u16::from_be_bytes([high_h, low_h]).into(),
            components,
            sixteenths,
            // Progressive ones, with either way of coding.
            whole: matches!(marker, 0xc2 | 0xc6 | 0xca | 0xce),
            lossless: matches!(marker, 0xc3 | 0xc7 | 0xcb | 0xcf),
            adobe: false,
            orientation: Orientation::default(),
        })
    }

    pub(crate) fn stored(&self) -> Stored {
        Stored {
            size: (self.width, self.height),
            orientation: self.orientation,
        }
    }

    /// The size that comes out when at least `target` is wanted.
    pub(crate) fn decoded(&self, target: (u32, u32)) -> (u32, u32) {
        let size = (self.width, self.height);
        if self.lossless {
            return size;
        }
        super::Decoder::decoded_size(size, target)
    }

    /// Bytes that decoding to at least `target` takes.
    pub(crate) fn cost(&self, target: (u32, u32)) -> u64 {
        let (width, height) = self.decoded(target);
        let decoded = bytes_of(width, height).unwrap_or(u64::MAX);
        // Four values a pixel, before they become three.
        let four = if self.components == 4 {
            decoded / 3 * 4
        } else {
            0
        };
        decoded
            .saturating_add(four)
            .saturating_add(self.coefficients())
            .saturating_add(self.strips())
    }

    /// Bytes that decoding all of it takes, with as many values a pixel as it has.
    pub(crate) fn whole_cost(&self) -> u64 {
        let pixels = u64::from(self.width) * u64::from(self.height);
        pixels * u64::from(self.components) + self.coefficients() + self.strips()
    }

    /// Coefficients take two bytes each, in whole blocks.
    fn coefficients(&self) -> u64 {
        if !self.whole {
            return 0;
        }
        let padded = |length: u32| u64::from(length).next_multiple_of(32);
        padded(self.width) * padded(self.height) * 2 * self.sixteenths / 16
    }

    /// A few rows of blocks at full width, which every decoder holds.
    fn strips(&self) -> u64 {
        u64::from(self.width) * 3 * 64
    }
}

/// The marker at or after `at`, and where what follows it begins.
pub(super) fn next_marker(file: &[u8], at: usize) -> Result<(u8, usize), DecodeError> {
    let rest = file.get(at..).unwrap_or_default();
    let (&first, _) = rest.split_first().ok_or(CUT_OFF)?;
    if first != 0xff {
        return Err(DecodeError::broken(
            Format::Jpeg,
            "no marker where one belongs",
        ));
    }
    // Any number of 0xff may stand before a marker.
    let fill = rest.iter().take_while(|&&byte| byte == 0xff).count();
    let marker = *rest.get(fill).ok_or(CUT_OFF)?;
    Ok((marker, at + fill + 1))
}

/// What follows a marker: two bytes of length that count themselves, and the rest.
pub(super) fn segment(file: &[u8], at: usize) -> Result<&[u8], DecodeError> {
    let Some(&[high, low]) = file.get(at..at + 2) else {
        return Err(CUT_OFF);
    };
    let length = usize::from(u16::from_be_bytes([high, low]));
    if length < 2 {
        return Err(DecodeError::broken(Format::Jpeg, "a segment of no length"));
    }
    file.get(at + 2..at + length).ok_or(CUT_OFF)
}
