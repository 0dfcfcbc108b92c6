//! Deflate without looking for repetitions: codes by frequency, and runs of zeros. On differences
//! of pixels of photographs a search finds next to nothing and takes most of the time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Bytes with one table of codes. Smaller ones follow the cells better, and cost 160 bytes each.
const BLOCK: usize = 64 * 1024;
/// Symbols: 256 bytes, the end of a block, and 29 lengths.
const SYMBOLS: usize = 286;
const END: usize = 256;
/// The symbol of a run of [`LONGEST`] bytes, which needs no further bits.
const LONGEST_SYMBOL: usize = 285;
const LONGEST: usize = 258;
/// The longest code that the format allows.
const MOST_BITS: u8 = 15;
/// Runs that are shorter are written as bytes.
const SHORTEST: usize = LONGEST + 1;

/// Appends `plain` as blocks that end at a whole byte, none of them the last of a stream.
pub(super) fn deflate(plain: &[u8], deflated: &mut Vec<u8>) {
    let mut bits = Bits {
        bytes: deflated,
        waiting: 0,
        count: 0,
    };
    for block in plain.chunks(BLOCK) {
        write_block(block, &mut bits);
    }
    bits.flush();
}

fn write_block(block: &[u8], bits: &mut Bits<'_>) {
    let mut counts = [0_u32; SYMBOLS];
    each_token(block, |symbol| bump(&mut counts, symbol));
    bump(&mut counts, END);
    let lengths = code_lengths(&counts);
    let codes = codes(&lengths);
    write_tables(&lengths, bits);
    each_token(block, |symbol| {
        let (code, length) = codes.get(symbol).copied().unwrap_or_default();
        // A run is followed by its distance, 1, whose code is one bit: 0.
        bits.push(code, length + u8::from(symbol == LONGEST_SYMBOL));
    });
    let (code, length) = codes.get(END).copied().unwrap_or_default();
    bits.push(code, length);
}

/// The symbols of a block, in order. A run of zeros is one zero and copies of 258 of it; what is
/// left of it are zeros again, of a bit or two each.
fn each_token(block: &[u8], mut token: impl FnMut(usize)) {
    let mut rest = block;
    while let Some((first, others)) = rest.split_first() {
        token(usize::from(*first));
        rest = others;
        if *first == 0 && rest.len() >= SHORTEST && rest.starts_with(&[0; 8]) {
            let zeros = rest.iter().take_while(|byte| **byte == 0).count();
            for _ in 0..zeros / LONGEST {
                token(LONGEST_SYMBOL);
            }
            rest = rest.get(zeros / LONGEST * LONGEST..).unwrap_or_default();
            // Those that are left over would be counted again for each of them.
            for _ in 0..zeros % LONGEST {
                token(0);
            }
            rest = rest.get(zeros % LONGEST..).unwrap_or_default();
        }
    }
}

fn bump(counts: &mut [u32; SYMBOLS], symbol: usize) {
    if let Some(count) = counts.get_mut(symbol) {
        *count += 1;
    }
}

/// A dynamic block, not the last one. Lengths of codes are written with 4 bits each, which is the
/// whole table of their own codes: 16 symbols of equal length.
fn write_tables(lengths: &[u8; SYMBOLS], bits: &mut Bits<'_>) {
    const NOT_LAST: u64 = 0;
    const DYNAMIC: u64 = 2;
    bits.push(NOT_LAST, 1);
    bits.push(DYNAMIC, 2);
    bits.push(SYMBOLS as u64 - 257, 5);
    bits.push(0, 5); // one distance
    bits.push(19 - 4, 4);
    // The first three of the nineteen are repetitions, which are not used.
    for number in 0..19 {
        bits.push(if number < 3 { 0 } else { 4 }, 3);
    }
    for length in lengths.iter().chain(&[1]) {
        // Codes are written with their highest bit first.
        bits.push(u64::from(length.reverse_bits() >> 4), 4);
    }
}

/// Lengths of codes by frequency, none above the limit. Frequencies are made more alike until the
/// longest code is short enough.
fn code_lengths(counts: &[u32; SYMBOLS]) -> [u8; SYMBOLS] {
    let mut counts = *counts;
    loop {
        let lengths = unlimited_lengths(&counts);
        if lengths.iter().all(|length| *length <= MOST_BITS) {
            return lengths;
        }
        for count in &mut counts {
            *count = count.div_ceil(4);
        }
    }
}

/// Huffman's own construction: the two rarest are joined until one is left. There are always two
/// symbols: the end of the block, and a byte.
fn unlimited_lengths(counts: &[u32; SYMBOLS]) -> [u8; SYMBOLS] {
    let mut heap: BinaryHeap<Reverse<(u32, usize)>> = counts
        .iter()
        .enumerate()
        .filter(|(_, count)| **count > 0)
        .map(|(symbol, count)| Reverse((*count, symbol)))
        .collect();
    let mut parents = vec![0; SYMBOLS];
    while let (Some(Reverse((one, first))), Some(Reverse((other, second)))) =
        (heap.pop(), heap.pop())
    {
        let joined = parents.len();
        parents.push(0);
        for child in [first, second] {
            if let Some(parent) = parents.get_mut(child) {
                *parent = joined;
            }
        }
        if heap.is_empty() {
            break;
        }
        heap.push(Reverse((one + other, joined)));
    }
    // A parent is always behind its children, so depths are known from the back.
    let mut depths = vec![0_u8; parents.len()];
    for node in (0..parents.len()).rev() {
        let parent = parents.get(node).copied().unwrap_or(0);
        if parent > 0 {
            let depth = depths
                .get(parent)
                .map_or(0, |depth| depth.saturating_add(1));
            if let Some(place) = depths.get_mut(node) {
                *place = depth;
            }
        }
    }
    let mut lengths = [0; SYMBOLS];
    for (length, depth) in lengths.iter_mut().zip(depths) {
        *length = depth;
    }
    lengths
}

/// The codes that belong to lengths, with their first bit lowest, as they are written.
fn codes(lengths: &[u8; SYMBOLS]) -> [(u64, u8); SYMBOLS] {
    let mut codes = [(0, 0); SYMBOLS];
    let mut next = 0_u16;
    for bits in 1..=MOST_BITS {
        next <<= 1;
        for (code, length) in codes.iter_mut().zip(lengths) {
            if *length == bits {
                *code = (u64::from(next.reverse_bits() >> (16 - bits)), bits);
                next = next.wrapping_add(1);
            }
        }
    }
    codes
}

/// Bits, lowest first.
struct Bits<'a> {
    bytes: &'a mut Vec<u8>,
    waiting: u64,
    count: u8,
}

impl Bits<'_> {
    /// At most 32 bits at a time.
    #[inline]
    fn push(&mut self, bits: u64, count: u8) {
        self.waiting |= bits << self.count;
        self.count += count;
        if self.count >= 32 {
            self.bytes
                .extend_from_slice(&(self.waiting as u32).to_le_bytes());
            self.waiting >>= 32;
            self.count -= 32;
        }
    }

    /// An empty stored block, which ends at a whole byte.
    fn flush(&mut self) {
        self.push(0, 3);
        let whole = self.waiting.to_le_bytes();
        let count = usize::from(self.count).div_ceil(8);
        self.bytes.extend(whole.iter().take(count));
        self.bytes.extend([0, 0, 0xff, 0xff]);
        (self.waiting, self.count) = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use proptest::prelude::*;

    use super::*;

    fn inflated(deflated: &[u8]) -> Vec<u8> {
        let stream: Vec<u8> = deflated.iter().copied().chain([3, 0]).collect();
        let mut plain = Vec::new();
        let mut decoder = flate2::read::DeflateDecoder::new(&stream[..]);
        decoder.read_to_end(&mut plain).unwrap();
        assert_eq!(decoder.total_in(), stream.len() as u64);
        plain
    }

    fn assert_same(plain: &[u8]) -> usize {
        let mut deflated = Vec::new();
        deflate(plain, &mut deflated);
        assert!(inflated(&deflated) == plain, "{} bytes", plain.len());
        deflated.len()
    }

    #[test]
    fn runs_of_any_length_come_back() {
        for zeros in (0..1200).chain([BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK]) {
            let mut plain = vec![0; zeros];
            assert_same(&plain);
            plain.insert(0, 7);
            plain.push(9);
            assert_same(&plain);
        }
        assert!(assert_same(&vec![0; 1 << 20]) < 1 << 13);
    }

    #[test]
    fn frequencies_that_ask_for_codes_that_are_too_long_are_made_alike() {
        let mut counts = [1_u32; SYMBOLS];
        let (mut one, mut other) = (1, 1);
        for count in counts.iter_mut().take(40) {
            *count = one;
            (one, other) = (other, one + other);
        }
        assert!(
            unlimited_lengths(&counts)
                .iter()
                .any(|length| *length > MOST_BITS)
        );
        let lengths = code_lengths(&counts);
        // A whole code: the shares of all codes are one together.
        let shares: u32 = lengths.iter().map(|length| 1 << (MOST_BITS - length)).sum();
        assert_eq!(shares, 1 << MOST_BITS);
    }

    #[test]
    fn rare_bytes_among_many_come_back() {
        let mut plain = Vec::new();
        let (mut one, mut other) = (1_usize, 1);
        for byte in 0..20 {
            plain.extend(vec![byte; one]);
            (one, other) = (other, one + other);
        }
        assert_same(&plain);
    }

    proptest! {
        #[test]
        fn any_bytes_come_back(
            pieces in proptest::collection::vec((any::<u8>(), 0..700_usize, any::<bool>()), 0..300)
        ) {
            let mut plain = Vec::new();
            for (byte, count, is_run) in pieces {
                if is_run {
                    plain.extend(vec![byte; count]);
                } else {
                    plain.extend((0..count).map(|n| (n * usize::from(byte)) as u8));
                }
            }
            assert_same(&plain);
        }
    }
}
