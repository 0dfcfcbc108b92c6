//! The segments before the scan, if they are of the kind that is known here.

use super::huffman::Definition;
use crate::decode::jpeg::markers::{next_marker, segment};

/// What a scan looks like.
pub(super) struct Layout {
    pub(super) size: (u32, u32),
    /// Blocks of the first component in a unit, across and down; there is one of each other.
    pub(super) sampling: (u32, u32),
    /// Grey, or luma and two of chroma.
    pub(super) components: Vec<Component>,
    pub(super) restart_interval: u32,
    /// Where the bits begin.
    pub(super) scan: usize,
}

/// One component with its tables.
pub(super) struct Component {
    pub(super) quantization: Quantization,
    pub(super) first: Definition,
    pub(super) others: Definition,
}

/// What a file begins with.
const START: [u8; 2] = [0xff, 0xd8];

/// What coefficients are multiplied with, in the order in which they are stored.
type Quantization = [u16; 64];

/// What the segments define, until the scan names what it uses.
#[derive(Default)]
struct Segments {
    quantization: [Option<Quantization>; 4],
    first: [Option<Definition>; 4],
    others: [Option<Definition>; 4],
    restart_interval: u32,
    frame: Option<Frame>,
    says_ycbcr: bool,
}

struct Frame {
    size: (u32, u32),
    /// Identity, factors of sampling, and table of quantization.
    components: Vec<[u8; 3]>,
}

impl Layout {
    pub(super) fn read(file: &[u8]) -> Option<Self> {
        let mut segments = Segments::default();
        let mut at = START.len();
        if !file.starts_with(&START) {
            return None;
        }
        loop {
            let (marker, start) = next_marker(file, at).ok()?;
            let content = segment(file, start).ok()?;
            at = start + 2 + content.len();
            match marker {
                0xc0 | 0xc1 => segments.frame(content)?,
                0xc4 => segments.huffman(content)?,
                0xda => return segments.layout(content, at),
                0xdb => segments.quantization(content)?,
                0xdd => segments.restart_interval(content)?,
                0xe0 => segments.jfif(content)?,
                0xee => segments.adobe(content)?,
                // Other programs' segments, and comments.
                0xe1..=0xef | 0xfe => {}
                _ => return None,
            }
        }
    }

    /// Units across and down.
    pub(super) fn units(&self) -> (u32, u32) {
        let blocks = |length: u32, sampling: u32| length.div_ceil(8).div_ceil(sampling);
        (
            blocks(self.size.0, self.sampling.0),
            blocks(self.size.1, self.sampling.1),
        )
    }

    /// Whether chroma is halved both ways. libjpeg-turbo then takes two by two pixels from a block.
    pub(super) fn has_quarter_chroma(&self) -> bool {
        self.sampling == (2, 2)
    }
}

impl Segments {
    fn frame(&mut self, content: &[u8]) -> Option<()> {
        let &[8, high_h, low_h, high_w, low_w, count, ref table @ ..] = content else {
            return None;
        };
        let (components, []) = table.as_chunks::<3>() else {
            return None;
        };
        if self.frame.is_some() || components.len() != usize::from(count) {
            return None;
        }
        let length = |high, low| u32::from(u16::from_be_bytes([high, low]));
        self.frame = Some(Frame {
            size: (length(high_w, low_w), length(high_h, low_h)),
            components: components.to_vec(),
        });
        Some(())
    }

    fn huffman(&mut self, mut content: &[u8]) -> Option<()> {
        while let Some((&place, rest)) = content.split_first() {
            let (&counts, rest) = rest.split_first_chunk::<16>()?;
            let count = counts.iter().map(|&count| usize::from(count)).sum();
            let (used, rest) = rest.split_at_checked(count)?;
            let mut symbols = [0; 256];
            symbols.get_mut(..count)?.copy_from_slice(used);
            let tables = match place >> 4 {
                0 => &mut self.first,
                1 => &mut self.others,
                _ => return None,
            };
            *tables.get_mut(usize::from(place & 15))? = Some(Definition { counts, symbols });
            content = rest;
        }
        Some(())
    }

    fn quantization(&mut self, mut content: &[u8]) -> Option<()> {
        while let Some((&place, rest)) = content.split_first() {
            // Tables of 16 bits are for files of 12 bits.
            let (bytes, rest) = rest.split_first_chunk::<64>()?;
            *self.quantization.get_mut(usize::from(place))? = Some(bytes.map(u16::from));
            content = rest;
        }
        Some(())
    }

    fn restart_interval(&mut self, content: &[u8]) -> Option<()> {
        let &interval = content.as_array::<2>()?;
        self.restart_interval = u16::from_be_bytes(interval).into();
        Some(())
    }

    /// libjpeg-turbo warns of versions other than the first.
    fn jfif(&mut self, content: &[u8]) -> Option<()> {
        if content.starts_with(b"JFIF\0") {
            let is_known = content.len() >= 14 && content.get(5) == Some(&1);
            self.says_ycbcr = true;
            return is_known.then_some(());
        }
        Some(())
    }

    /// The last of twelve bytes says which colours there are; 1 means YCbCr.
    fn adobe(&mut self, content: &[u8]) -> Option<()> {
        if content.starts_with(b"Adobe") {
            self.says_ycbcr = true;
            return (content.get(11) == Some(&1)).then_some(());
        }
        Some(())
    }

    fn layout(&self, content: &[u8], scan: usize) -> Option<Layout> {
        let frame = self.frame.as_ref()?;
        let (&count, rest) = content.split_first()?;
        // All coefficients, all of their bits.
        let (uses, [0, 63, 0]) = rest.split_at_checked(rest.len().checked_sub(3)?)? else {
            return None;
        };
        let (uses, []) = uses.as_chunks::<2>() else {
            return None;
        };
        if uses.len() != usize::from(count) || uses.len() != frame.components.len() {
            return None;
        }
        let pairs = frame.components.iter().zip(uses);
        let components = pairs.map(|(component, &scan)| self.component(*component, scan));
        Some(Layout {
            size: frame.size,
            sampling: self.sampling(&frame.components)?,
            components: components.collect::<Option<_>>()?,
            restart_interval: self.restart_interval,
            scan,
        })
    }

    fn component(&self, [id, _, quantization]: [u8; 3], scan: [u8; 2]) -> Option<Component> {
        let [of, tables] = scan;
        let table = |place: u8| usize::from(place & 15);
        Some(Component {
            quantization: (*self.quantization.get(usize::from(quantization))?)
                .filter(|_| of == id)?,
            first: (*self.first.get(table(tables >> 4))?)?,
            others: (*self.others.get(table(tables))?)?,
        })
    }

    /// The blocks of the first component in a unit, if the colours are known.
    fn sampling(&self, components: &[[u8; 3]]) -> Option<(u32, u32)> {
        match *components {
            // Blocks of a single component come one by one, whatever it says.
            [[_, 0x11 | 0x12 | 0x21 | 0x22, _]] => Some((1, 1)),
            [[y, luma, _], [cb, 0x11, _], [cr, 0x11, _]] => {
                let is_ycbcr = self.says_ycbcr || [y, cb, cr] == [1, 2, 3];
                let sampling = match luma {
                    0x11 => (1, 1),
                    0x12 => (1, 2),
                    0x21 => (2, 1),
                    0x22 => (2, 2),
                    _ => return None,
                };
                let differ = y != cb && cb != cr && y != cr;
                (is_ycbcr && differ).then_some(sampling)
            }
            _ => None,
        }
    }
}
