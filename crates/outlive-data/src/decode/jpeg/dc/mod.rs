//! JPEG at an eighth of its size, from the means of its blocks alone.
//!
//! A photograph of 12 megapixels for a small cell spends most of its time in libjpeg-turbo taking
//! coefficients apart that are then thrown away; here one look-up steps over two or three of them.
//! The pixels are those of libjpeg-turbo, bit for bit. Only the commonest kind of file is known (one
//! scan, Huffman codes, 8 bits, grey or YCbCr, chroma at most halved), and this is no judge of
//! damage: whatever is unusual or wrong gives `None`, and the other decoder decides.
//!
//! Besides the result it takes one row of blocks and about 64 KiB of tables, less than the strips
//! and the slack that `Cost` counts for every decoder.

mod bits;
mod block;
mod huffman;
mod layout;
mod pixels;
mod skips;

use self::bits::Bits;
use self::block::Blocks;
use self::layout::Layout;
use self::pixels::Strip;
use crate::picture::Picture;

const END_OF_IMAGE: u8 = 0xd9;
const FIRST_RESTART: u8 = 0xd0;

/// The picture at an eighth of its size, if that is at least `target`, and if the file is whole and
/// of the kind that is known here.
pub(super) fn decode(file: &[u8], stored: (u32, u32), target: (u32, u32)) -> Option<Picture> {
    let size = (stored.0.div_ceil(8), stored.1.div_ceil(8));
    if size.0 < target.0 || size.1 < target.1 {
        return None;
    }
    let layout = Layout::read(file).filter(|layout| layout.size == stored)?;
    let mut scan = Scan {
        bits: Bits::new(file.get(layout.scan..)?),
        blocks: Blocks::new(&layout)?,
        interval: layout.restart_interval,
        left: layout.restart_interval,
        restarts: 0,
    };
    let (across, down) = layout.units();
    let mut strip = Strip::new(&layout);
    let mut pixels = Vec::with_capacity(size.0 as usize * size.1 as usize * 3);
    for row in 0..down {
        for unit in 0..across {
            scan.unit(unit as usize, &mut strip)?;
        }
        let rows = (size.1 - row * layout.sampling.1).min(layout.sampling.1);
        strip.append(size.0 as usize, rows as usize, &mut pixels);
    }
    scan.bits.finish()?;
    if scan.bits.marker()? != END_OF_IMAGE {
        return None;
    }
    Picture::new(size.0, size.1, pixels)
}

/// The one scan of a file, unit after unit: a unit holds the blocks of all components for one place.
struct Scan<'file> {
    bits: Bits<'file>,
    blocks: Blocks,
    /// Units between two markers of restart, 0 if there are none.
    interval: u32,
    /// Units until the next of them.
    left: u32,
    restarts: u8,
}

impl Scan<'_> {
    fn unit(&mut self, unit: usize, strip: &mut Strip) -> Option<()> {
        if self.interval > 0 {
            if self.left == 0 {
                self.restart()?;
            }
            self.left -= 1;
        }
        self.blocks.unit(&mut self.bits, unit, strip)?;
        // Otherwise a file that ends early, but claims to be large, is read on for seconds.
        (!self.bits.is_exhausted()).then_some(())
    }

    fn restart(&mut self) -> Option<()> {
        self.bits.finish()?;
        if self.bits.marker()? != FIRST_RESTART + self.restarts {
            return None;
        }
        self.restarts = (self.restarts + 1) % 8;
        self.left = self.interval;
        self.blocks.restart();
        Some(())
    }
}

#[cfg(test)]
mod tests;
