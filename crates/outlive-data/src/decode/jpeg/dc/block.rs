//! From the bits of a block to the pixel that stands for it, or to four.

use super::bits::Bits;
use super::huffman::{Codes, Definition};
use super::layout::{Component, Layout};
use super::pixels::{Quarters, Strip, pixel};
use super::skips::{COEFFICIENTS, END_OF_BLOCK, Skips, step, value_bits};

/// The means of two blocks differ by no more bits than this, and other coefficients have at most as
/// many as the second says; there is room in the bits' buffer for that.
const MOST_BITS: (u8, u32) = (11, 10);

/// The blocks of all components.
pub(super) struct Blocks {
    sampling: (u32, u32),
    quarter_chroma: bool,
    tables: Vec<Tables>,
    components: Vec<Place>,
}

/// Codes of one or several components.
struct Tables {
    first: Codes,
    others: Codes,
    /// `None` where no pixel stands for a whole block.
    skips: Option<Skips>,
}

/// A component, and how far it has come.
struct Place {
    tables: usize,
    quantization: [u16; 64],
    /// The first coefficient of the last block.
    last: i32,
}

/// Tables of a component, as they are written.
fn definitions(component: &Component) -> (Definition, Definition) {
    (component.first, component.others)
}

impl Blocks {
    pub(super) fn new(layout: &Layout) -> Option<Self> {
        let mut distinct: Vec<(Definition, Definition)> = Vec::new();
        let mut components = Vec::new();
        for component in &layout.components {
            let wanted = definitions(component);
            let known = distinct.iter().position(|known| *known == wanted);
            let tables = known.unwrap_or(distinct.len());
            if known.is_none() {
                distinct.push(wanted);
            }
            components.push(Place {
                tables,
                quantization: component.quantization,
                last: 0,
            });
        }
        // The first are those of luma.
        let skipped = if layout.has_quarter_chroma() {
            1
        } else {
            distinct.len()
        };
        let indexed = distinct.iter().enumerate();
        let tables = indexed.map(|(index, pair)| Tables::new(pair, index < skipped));
        Some(Self {
            sampling: layout.sampling,
            quarter_chroma: layout.has_quarter_chroma(),
            tables: tables.collect::<Option<_>>()?,
            components,
        })
    }

    /// Differences start anew.
    pub(super) fn restart(&mut self) {
        for component in &mut self.components {
            component.last = 0;
        }
    }

    /// All blocks of one unit.
    pub(super) fn unit(
        &mut self,
        bits: &mut Bits<'_>,
        unit: usize,
        strip: &mut Strip,
    ) -> Option<()> {
        let (luma, chroma) = self.components.split_first_mut()?;
        let tables = self.tables.get(luma.tables)?;
        let (across, down) = (self.sampling.0 as usize, self.sampling.1 as usize);
        for y in 0..down {
            for x in 0..across {
                let value = luma.pixel(tables, bits)?;
                strip.luma(unit * across + x, y, value);
            }
        }
        for (index, component) in chroma.iter_mut().enumerate() {
            let tables = self.tables.get(component.tables)?;
            let values = if self.quarter_chroma {
                component.quarters(tables, bits)?
            } else {
                [[component.pixel(tables, bits)?; 2]; 2]
            };
            strip.chroma(index, unit, values);
        }
        Some(())
    }
}

impl Tables {
    fn new((first, others): &(Definition, Definition), skipped: bool) -> Option<Self> {
        let is_known = |&symbol: &u8| match value_bits(symbol) {
            // Of the symbols without a value two have a meaning here: the end, and 16 zeros.
            0 => matches!(symbol, END_OF_BLOCK | 0xf0),
            bits => bits <= MOST_BITS.1,
        };
        if first.used().iter().any(|&symbol| symbol > MOST_BITS.0)
            || !others.used().iter().all(is_known)
        {
            return None;
        }
        let others = Codes::new(others)?;
        Some(Self {
            first: Codes::new(first)?,
            skips: skipped.then(|| Skips::new(&others)),
            others,
        })
    }
}

impl Place {
    /// A block as one pixel: its mean.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "the state of the bits belongs in registers"
    )]
    fn pixel(&mut self, tables: &Tables, bits: &mut Bits<'_>) -> Option<u8> {
        let mut copy = *bits;
        let mean = self.mean(tables, &mut copy)?;
        tables.skips.as_ref()?.block(&tables.others, &mut copy)?;
        *bits = copy;
        pixel((mean + 4) >> 3)
    }

    /// A block as two by two pixels.
    fn quarters(&mut self, tables: &Tables, bits: &mut Bits<'_>) -> Option<[[u8; 2]; 2]> {
        let mut copy = *bits;
        let mut quarters = Quarters::new(self.mean(tables, &mut copy)?);
        let mut place = 0;
        while place < COEFFICIENTS - 1 {
            copy.refill();
            let code = tables.others.find(copy.next())?;
            if code.symbol == END_OF_BLOCK {
                copy.skip(code.length);
                break;
            }
            place += step(code.symbol);
            let factor = *self.quantization.get(place as usize)?;
            let value = value(&mut copy, code.length, value_bits(code.symbol));
            quarters.add(place as usize, value * i32::from(factor));
        }
        *bits = copy;
        quarters.pixels()
    }

    /// The first coefficient of the next block.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "the state of the bits belongs in registers"
    )]
    fn mean(&mut self, tables: &Tables, bits: &mut Bits<'_>) -> Option<i32> {
        bits.refill();
        let code = tables.first.find(bits.next())?;
        self.last += value(bits, code.length, code.symbol.into());
        let mean = i16::try_from(self.last).ok()?;
        let [factor, ..] = self.quantization;
        i16::try_from(i32::from(mean) * i32::from(factor))
            .ok()
            .map(i32::from)
    }
}

/// Steps over a code and takes the value of `count` bits that follows it. A value whose first bit is
/// 0 is negative, and the bits are those of one less.
#[inline(always)]
#[expect(
    clippy::inline_always,
    reason = "the state of the bits belongs in registers"
)]
fn value(bits: &mut Bits<'_>, code: u32, count: u32) -> i32 {
    let next = bits.next() << code;
    bits.skip(code + count);
    let value = (next >> 1 >> (63 - count)) as i32;
    let is_negative = !((next as i64 >> 63) as i32);
    value + (is_negative & (1 - (1 << count)))
}
