//! JPEG at an eighth of its size, from the means of its blocks alone.
//!
//! A photograph of 12 megapixels for a small cell spends most of its time in libjpeg-turbo taking
//! coefficients apart that are then thrown away; here one look-up steps over two or three of them.
//! The pixels are those of libjpeg-turbo, bit for bit. Only the commonest kind of file is known (one
//! scan, Huffman codes, 8 bits, grey or YCbCr, chroma at most halved), and this is no judge of
//! damage: whatever is unusual or wrong gives `None`, and the other decoder decides.
//!
//! The file is decoded while it is read. Besides the result that takes the window, one row of blocks
//! and about 64 KiB of tables, less than the strips and the slack that `Cost` counts.

mod bits;
mod block;
mod huffman;
mod layout;
mod pixels;
mod skips;

use self::bits::{Bits, Place};
use self::block::Blocks;
use self::layout::Layout;
use self::pixels::Strip;
use crate::picture::Picture;
use crate::window::Window;

const END_OF_IMAGE: u8 = 0xd9;
const FIRST_RESTART: u8 = 0xd0;

/// More than a unit takes.
const UNIT_BYTES: usize = 4 << 10;

/// Whether an eighth of the size is at least `target`.
pub(super) fn suffices(stored: (u32, u32), target: (u32, u32)) -> bool {
    let (width, height) = eighth(stored);
    width >= target.0 && height >= target.1
}

fn eighth((width, height): (u32, u32)) -> (u32, u32) {
    (width.div_ceil(8), height.div_ceil(8))
}

/// The picture at an eighth of its size, if the file is whole and of the kind that is known here.
/// The segments before the scan are in the window.
pub(super) fn decode(window: Window<'_>, stored: (u32, u32)) -> Option<Picture> {
    let layout = Layout::read(window.bytes()).filter(|layout| layout.size == stored)?;
    let mut scan = Scan {
        window,
        place: Place::start(layout.scan),
        blocks: Blocks::new(&layout)?,
        interval: layout.restart_interval,
        left: layout.restart_interval,
        restarts: 0,
    };
    let size = eighth(stored);
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
    scan.end()?;
    Picture::new(size.0, size.1, pixels)
}

/// The one scan of a file, unit after unit: a unit holds the blocks of all components for one place.
struct Scan<'file> {
    window: Window<'file>,
    place: Place,
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
        self.advance()?;
        let mut bits = Bits::new(self.window.bytes(), self.place);
        self.blocks.unit(&mut bits, unit, strip)?;
        // Otherwise a file that ends early, but claims to be large, is read on for seconds.
        let is_exhausted = bits.is_exhausted();
        self.place = bits.place();
        (!is_exhausted).then_some(())
    }

    /// Any number of fill bytes may stand before the marker, so that what follows it may not be in
    /// memory yet.
    fn restart(&mut self) -> Option<()> {
        if self.marker()? != FIRST_RESTART + self.restarts {
            return None;
        }
        self.restarts = (self.restarts + 1) % 8;
        self.left = self.interval;
        self.blocks.restart();
        Some(())
    }

    /// After the last unit.
    fn end(&mut self) -> Option<()> {
        (self.marker()? == END_OF_IMAGE).then_some(())
    }

    fn marker(&mut self) -> Option<u8> {
        self.advance()?;
        let mut bits = Bits::new(self.window.bytes(), self.place);
        bits.finish()?;
        let marker = bits.marker()?;
        self.place = bits.place();
        Some(marker)
    }

    /// Sees to it that enough is in memory for a unit.
    fn advance(&mut self) -> Option<()> {
        self.place.at = self.window.advance(self.place.at, UNIT_BYTES)?;
        Some(())
    }
}

#[cfg(test)]
mod tests;
