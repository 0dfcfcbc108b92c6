//! What libwebp takes for the tables of a lossless picture, beside its pixels: one group of five
//! codes for each kind of area, of which a small file can have 65,536. Found out by reading the
//! picture up to where these codes begin.

/// Entries of all tables of a group, by the number of bits of its cache of colours, as libwebp takes
/// them.
const ENTRIES: [u64; 12] = [
    2954, 2956, 2958, 2962, 2970, 2986, 3018, 3082, 3212, 3468, 3980, 5004,
];
/// Bytes of an entry, and of a group without them.
const ENTRY: u64 = 4;
const GROUP: u64 = 568;
/// Up to this number groups are counted by the highest of them, and beyond it by those that are used.
const COUNTED_BY_HIGHEST: usize = 1000;

/// Symbols of the five codes: green with lengths, red, blue, transparency, distances.
const LITERALS: usize = 256;
const LENGTHS: usize = 24;
const DISTANCES: usize = 40;
const LONGEST_CODE: usize = 15;
/// The order in which the lengths of the code for lengths come.
const ORDER: [usize; 19] = [
    17, 18, 0, 1, 2, 3, 4, 5, 16, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
];

/// Bytes of the tables for a picture of this size. `None` if the stream is damaged before they begin:
/// then the library takes no memory for them either.
pub(super) fn table_bytes(stream: &[u8], (width, height): (u32, u32)) -> Option<u64> {
    let mut bits = Bits {
        bytes: stream,
        at: 0,
    };
    let (mut width, height) = (width as usize, height as usize);
    let mut seen = 0_u32;
    while bits.read(1)? == 1 {
        let kind = bits.read(2)?;
        if seen & (1 << kind) != 0 {
            return None;
        }
        seen |= 1 << kind;
        match kind {
            0 | 1 => {
                let by = bits.read(3)? + 2;
                bits.picture(shared(width, by), shared(height, by), &mut |_| {})?;
            }
            3 => {
                let colours = bits.read(8)? as usize + 1;
                bits.picture(colours, 1, &mut |_| {})?;
                width = shared(
                    width,
                    match colours {
                        17.. => 0,
                        5..=16 => 1,
                        3..=4 => 2,
                        _ => 3,
                    },
                );
            }
            _ => {}
        }
    }
    let cache = bits.cache()?;
    let groups = if bits.read(1)? == 1 {
        bits.groups(width, height)?
    } else {
        1
    };
    let entries = ENTRIES.get(cache as usize)?;
    Some(groups as u64 * (entries * ENTRY + GROUP))
}

/// A length in steps of a power of two.
fn shared(length: usize, by: u32) -> usize {
    length.div_ceil(1 << by)
}

/// A stream of bits, the lowest of each byte first.
struct Bits<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Bits<'_> {
    fn read(&mut self, count: u32) -> Option<u32> {
        let mut value = 0;
        for place in 0..count {
            let byte = self.bytes.get(self.at / 8)?;
            value |= u32::from(byte >> (self.at % 8) & 1) << place;
            self.at += 1;
        }
        Some(value)
    }

    /// Bits of the cache of colours; 0 without one.
    fn cache(&mut self) -> Option<u32> {
        if self.read(1)? == 0 {
            return Some(0);
        }
        let bits = self.read(4)?;
        (1..=11).contains(&bits).then_some(bits)
    }

    /// The number of groups, from the small picture that says which area has which.
    fn groups(&mut self, width: usize, height: usize) -> Option<usize> {
        let by = self.read(3)? + 2;
        let mut used = vec![false; 1 << 16];
        self.picture(shared(width, by), shared(height, by), &mut |group| {
            if let Some(used) = used.get_mut(usize::from(group)) {
                *used = true;
            }
        })?;
        let highest = used.iter().rposition(|used| *used).unwrap_or(0) + 1;
        if highest <= COUNTED_BY_HIGHEST && highest <= width * height {
            return Some(highest);
        }
        Some(used.iter().filter(|used| **used).count())
    }

    /// Reads past a small picture, and tells the red and green of all its colours. Which pixel has
    /// which does not matter, so repetitions are counted and not followed.
    fn picture(&mut self, width: usize, height: usize, tell: &mut dyn FnMut(u16)) -> Option<()> {
        let cache = self.cache()?;
        let cached = if cache == 0 { 0 } else { 1 << cache };
        let green = self.code(LITERALS + LENGTHS + cached)?;
        let red = self.code(LITERALS)?;
        let blue = self.code(LITERALS)?;
        let alpha = self.code(LITERALS)?;
        let distance = self.code(DISTANCES)?;
        let mut left = width * height;
        while left > 0 {
            let symbol = usize::from(green.symbol(self)?);
            let mut pixels = 1;
            if symbol < LITERALS {
                tell(red.symbol(self)? << 8 | symbol as u16);
                blue.symbol(self)?;
                alpha.symbol(self)?;
            } else if symbol < LITERALS + LENGTHS {
                pixels = self.number(symbol - LITERALS)?;
                let symbol = distance.symbol(self)?;
                self.number(usize::from(symbol))?;
            } else {
                // A colour from before, or black where the cache is empty yet.
                tell(0);
            }
            left = left.checked_sub(pixels)?;
        }
        Some(())
    }

    /// A length or a distance: the symbol says its size, and more bits the rest.
    fn number(&mut self, symbol: usize) -> Option<usize> {
        if symbol < 4 {
            return Some(symbol + 1);
        }
        let more = (symbol - 2) >> 1;
        let rest = self.read(more as u32)? as usize;
        Some(((2 + (symbol & 1)) << more) + rest + 1)
    }

    fn code(&mut self, symbols: usize) -> Option<Code> {
        let mut lengths = vec![0; symbols.max(LITERALS)];
        if self.read(1)? == 1 {
            let is_pair = self.read(1)? == 1;
            let width = if self.read(1)? == 0 { 1 } else { 8 };
            *lengths.get_mut(self.read(width)? as usize)? = 1;
            if is_pair {
                *lengths.get_mut(self.read(8)? as usize)? = 1;
            }
        } else {
            self.lengths(lengths.get_mut(..symbols)?)?;
        }
        Code::of(lengths.get(..symbols)?)
    }

    /// The lengths of the words of a code, which are coded themselves.
    fn lengths(&mut self, lengths: &mut [u8]) -> Option<()> {
        let mut of_lengths = [0; ORDER.len()];
        let given = self.read(4)? as usize + 4;
        for &symbol in ORDER.get(..given)? {
            *of_lengths.get_mut(symbol)? = self.read(3)? as u8;
        }
        let code = Code::of(&of_lengths)?;
        let mut words = lengths.len();
        if self.read(1)? == 1 {
            let width = 2 + 2 * self.read(3)?;
            words = 2 + self.read(width)? as usize;
            if words > lengths.len() {
                return None;
            }
        }
        let (mut at, mut before) = (0, 8);
        while at < lengths.len() && words > 0 {
            words -= 1;
            let symbol = code.symbol(self)?;
            let (length, times) = match symbol {
                0..=15 => (symbol as u8, 1),
                16 => (before, 3 + self.read(2)? as usize),
                17 => (0, 3 + self.read(3)? as usize),
                _ => (0, 11 + self.read(7)? as usize),
            };
            if length > 0 {
                before = length;
            }
            lengths.get_mut(at..at + times)?.fill(length);
            at += times;
        }
        Some(())
    }
}

/// A code of words of different lengths.
struct Code {
    /// How many words there are of each length.
    counts: [usize; LONGEST_CODE + 1],
    /// In the order of their words.
    symbols: Vec<u16>,
}

impl Code {
    /// The code with words of these lengths. `None` if some bits would mean nothing.
    fn of(lengths: &[u8]) -> Option<Self> {
        let mut counts = [0; LONGEST_CODE + 1];
        let mut symbols = Vec::new();
        for length in 1..=LONGEST_CODE {
            let before = symbols.len();
            let of_length = lengths.iter().zip(0..);
            let of_length = of_length.filter(|(it, _)| usize::from(**it) == length);
            symbols.extend(of_length.map(|(_, symbol)| symbol));
            *counts.get_mut(length)? = symbols.len() - before;
        }
        let longest = (1..=LONGEST_CODE).map(|length| {
            let count = counts.get(length).copied().unwrap_or(0);
            count << (LONGEST_CODE - length)
        });
        let is_full = longest.sum::<usize>() == 1 << LONGEST_CODE;
        (is_full || symbols.len() == 1).then_some(Self { counts, symbols })
    }

    fn symbol(&self, bits: &mut Bits<'_>) -> Option<u16> {
        if let [only] = self.symbols[..] {
            // Nothing has to be said for it.
            return Some(only);
        }
        let (mut word, mut first, mut index) = (0, 0, 0);
        for count in self.counts.get(1..)? {
            word |= bits.read(1)? as usize;
            if word < first + count {
                return self.symbols.get(index + word - first).copied();
            }
            index += count;
            first = (first + count) << 1;
            word <<= 1;
        }
        None
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A stream that is written bit by bit.
    #[derive(Default)]
    struct Writer {
        bytes: Vec<u8>,
        at: usize,
    }

    impl Writer {
        fn put(&mut self, value: u32, count: u32) {
            for place in 0..count {
                if self.at.is_multiple_of(8) {
                    self.bytes.push(0);
                }
                let last = self.bytes.last_mut().unwrap();
                *last |= ((value >> place & 1) as u8) << (self.at % 8);
                self.at += 1;
            }
        }

        /// A code with one symbol, 0, of no bits.
        fn nothing(&mut self) {
            self.put(0b0001, 4);
        }

        /// A code of `symbols`, of which the first 256 have 8 bits each.
        fn bytes(&mut self, symbols: usize) {
            self.put(0, 1);
            // Of the lengths, 8 and a run of zeros have one bit each.
            self.put(12 - 4, 4);
            for &length in &ORDER[..12] {
                self.put(u32::from(length == 8 || length == 18), 3);
            }
            self.put(0, 1);
            for _ in 0..LITERALS {
                self.put(0, 1);
            }
            if symbols > LITERALS {
                self.put(1, 1);
                self.put((symbols - LITERALS - 11) as u32, 7);
            }
        }
    }

    /// A black picture of a multiple of four pixels a side, with a group for every 4 x 4 pixels: as a
    /// chunk of RIFF.
    pub(crate) fn bomb(side: u32) -> Vec<u8> {
        let mut stream = Writer::default();
        stream.put(u32::from(b'\x2f'), 8);
        stream.put(side - 1, 14);
        stream.put(side - 1, 14);
        stream.put(0, 4);
        // No transformation, no cache; groups for the smallest areas.
        stream.put(0b100, 3);
        stream.put(0, 3);
        stream.put(0, 1);
        stream.bytes(LITERALS + LENGTHS);
        stream.bytes(LITERALS);
        for _ in 0..3 {
            stream.nothing();
        }
        let groups = side * side / 16;
        for group in 0..groups {
            let word = |byte: u32| (byte as u8).reverse_bits().into();
            stream.put(word(group & 0xff), 8);
            stream.put(word(group >> 8), 8);
        }
        for _ in 0..groups * 5 {
            stream.nothing();
        }
        let mut chunk = b"VP8L".to_vec();
        let data = stream.bytes;
        chunk.extend((data.len() as u32).to_le_bytes());
        chunk.extend(&data);
        chunk.resize(chunk.len().next_multiple_of(2), 0);
        chunk
    }

    /// A file of these chunks.
    pub(crate) fn file_of(chunks: &[&[u8]]) -> Vec<u8> {
        let chunks = chunks.concat();
        let mut file = b"RIFF".to_vec();
        file.extend((chunks.len() as u32 + 4).to_le_bytes());
        file.extend(b"WEBP");
        file.extend(chunks);
        file
    }

    #[test]
    fn groups_are_counted_and_damage_ends_the_count() {
        let stream = &bomb(128)[8 + 5..];
        let group = 2954 * 4 + 568;
        assert_eq!(table_bytes(stream, (128, 128)), Some(1024 * group));
        for length in 0..2 * 1024 {
            assert_eq!(table_bytes(&stream[..length], (128, 128)), None);
        }
        let stream = &bomb(64)[8 + 5..];
        assert_eq!(table_bytes(stream, (64, 64)), Some(256 * group));
    }
}
