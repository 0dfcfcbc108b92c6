//! Huffman codes, as a file defines them: how many there are of each length, and their symbols.

/// Lengths of codes go up to this.
const LONGEST: usize = 16;
/// Codes up to this length are found by one look-up.
const SHORT: u32 = 10;

/// A table as it is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Definition {
    pub(super) counts: [u8; LONGEST],
    pub(super) symbols: [u8; 256],
}

/// Codes, to be found by the bits that are next.
pub(super) struct Codes {
    /// By the next [`SHORT`] bits: length of the code and symbol; 0 where the code is longer.
    short: [u16; 1 << SHORT],
    /// For each length, what the next 16 bits are below if the code is no longer than that.
    limits: [u32; LONGEST],
    /// For each length, what is added to a code for the place of its symbol.
    offsets: [i32; LONGEST],
    symbols: [u8; 256],
}

/// What stands at the start of some bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Code {
    /// In bits.
    pub(super) length: u32,
    pub(super) symbol: u8,
}

impl Codes {
    /// `None` if these are no prefix codes, or if one consists of ones only.
    pub(super) fn new(definition: &Definition) -> Option<Self> {
        let mut codes = Self {
            short: [0; 1 << SHORT],
            limits: [0; LONGEST],
            offsets: [0; LONGEST],
            symbols: definition.symbols,
        };
        let (mut code, mut place) = (0_u32, 0_i32);
        for (index, &count) in definition.counts.iter().enumerate() {
            let length = index + 1;
            codes.offsets[index] = place - code as i32;
            code += u32::from(count);
            place += i32::from(count);
            if code >= 1 << length {
                return None;
            }
            codes.limits[index] = code << (LONGEST - length);
            code *= 2;
        }
        for index in 0..1_u32 << SHORT {
            let found = codes.find_long((index << (16 - SHORT)) as u16);
            if let Some(code) = found.filter(|code| code.length <= SHORT) {
                codes.short[index as usize] = (code.length as u16) << 8 | u16::from(code.symbol);
            }
        }
        (place <= 256).then_some(codes)
    }

    /// The code at the upper end of `next`.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "it is done for every code")]
    pub(super) fn find(&self, next: u64) -> Option<Code> {
        match self.short[(next >> (64 - SHORT)) as usize] {
            0 => self.find_long((next >> 48) as u16),
            entry => Some(Code {
                length: u32::from(entry >> 8),
                symbol: entry as u8,
            }),
        }
    }

    #[inline(never)]
    fn find_long(&self, next: u16) -> Option<Code> {
        let next = u32::from(next);
        let index = self.limits.iter().position(|&limit| next < limit)?;
        let code = next >> (LONGEST - 1 - index);
        let place = code as i32 + self.offsets[index];
        Some(Code {
            length: index as u32 + 1,
            symbol: *self.symbols.get(place as usize)?,
        })
    }
}

impl Definition {
    /// The symbols that have a code.
    pub(super) fn used(&self) -> &[u8] {
        let count = self.counts.iter().map(|&count| usize::from(count)).sum();
        self.symbols.get(..count).unwrap_or(&self.symbols)
    }
}
