//! A table that steps over the coefficients of a block, several at once.
//!
//! Each coefficient is a code, which says how many zeros stand before it and how many bits follow
//! the code, and then those bits. The bits that are next tell all of that for the next coefficient,
//! and often for the one or two after it.

use super::bits::Bits;
use super::huffman::{Code, Codes};

/// Bits that the table is indexed by. More of them would not fit into the processor's first cache.
const INDEX: u32 = 13;

/// Coefficients of a block; the first is its mean.
pub(super) const COEFFICIENTS: u32 = 64;

/// What is added to the place in the block at its end.
const END: u32 = 128;
/// More than any place, so that it is never taken for one: the table does not know.
const UNKNOWN: u32 = 255;
/// Entries hold the number of bits below this one, and what is added to the place above it.
const PLACE: u32 = 6;

/// What to step over, by the bits that are next.
pub(super) struct Skips(Box<[u16; 1 << INDEX]>);

/// What a symbol does to the place in the block: the number of coefficients it stands for.
pub(super) fn step(symbol: u8) -> u32 {
    u32::from(symbol >> 4) + 1
}

/// The symbol of the end of a block.
pub(super) const END_OF_BLOCK: u8 = 0;

/// How many bits follow a code.
pub(super) fn value_bits(symbol: u8) -> u32 {
    u32::from(symbol & 15)
}

impl Skips {
    pub(super) fn new(codes: &Codes) -> Self {
        let mut entries = Box::new([0; 1 << INDEX]);
        for (index, entry) in entries.iter_mut().enumerate() {
            let (bits, places) = Self::entry(codes, (index as u64) << (64 - INDEX));
            *entry = (places << PLACE | bits) as u16;
        }
        Self(entries)
    }

    fn entry(codes: &Codes, next: u64) -> (u32, u32) {
        let (mut bits, mut places) = (0, 0);
        while bits < INDEX {
            let code = codes.find(next << bits);
            let Some(code) = code.filter(|code| bits + code.length <= INDEX) else {
                break;
            };
            if code.symbol == END_OF_BLOCK {
                return (bits + code.length, places + END);
            }
            if places + step(code.symbol) >= COEFFICIENTS {
                break;
            }
            bits += code.length + value_bits(code.symbol);
            places += step(code.symbol);
        }
        if places == 0 {
            return (0, UNKNOWN);
        }
        (bits, places)
    }

    /// Steps over all coefficients of a block but the first. `None` if there are too many, or if
    /// what is there is no code.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "the state of the bits belongs in registers"
    )]
    pub(super) fn block(&self, codes: &Codes, bits: &mut Bits<'_>) -> Option<()> {
        let mut place = 1;
        loop {
            bits.refill();
            // No entry steps over more than 23 bits, and no single code with its value over 26.
            for _ in 0..2 {
                let entry = u32::from(self.0[(bits.next() >> (64 - INDEX)) as usize]);
                let after = place + (entry >> PLACE);
                if after < COEFFICIENTS {
                    bits.skip(entry);
                    place = after;
                } else if after == COEFFICIENTS || (END..END + COEFFICIENTS).contains(&after) {
                    bits.skip(entry);
                    return Some(());
                } else {
                    // Also where an entry goes beyond the end of a block into the next.
                    let code = one(codes, bits.next())?;
                    bits.skip(code.length + value_bits(code.symbol));
                    if code.symbol == END_OF_BLOCK {
                        return Some(());
                    }
                    place += step(code.symbol);
                    if place >= COEFFICIENTS {
                        return (place == COEFFICIENTS).then_some(());
                    }
                    break;
                }
            }
        }
    }
}

/// Kept out of the loop that it is rarely needed in.
#[cold]
#[inline(never)]
fn one(codes: &Codes, next: u64) -> Option<Code> {
    codes.find(next)
}
