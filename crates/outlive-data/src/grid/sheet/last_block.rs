//! Joins deflate streams: a whole one becomes the beginning of a longer one.
//!
//! libdeflate makes whole streams only, whose last block says that it is the last. That is one bit,
//! but where it stands is known to nobody who has not read all codes before it. So they are stepped
//! over here, several at once, for a fraction of the time that deflating took.

use super::codes::{Bits, Bytes, Codes, Distances, Step};

/// Ends a stream at a whole byte with a block that is not the last, so that another may follow.
/// `None` if it is no whole stream.
pub(super) fn reopen(deflated: &mut Vec<u8>) -> Option<()> {
    let mut bits = Bits::new(deflated);
    let last = loop {
        let start = bits.position();
        let is_last = bits.take(1)? == 1;
        skip_block(&mut bits)?;
        if is_last {
            break start;
        }
    };
    let end = bits.position();
    if end.div_ceil(8) != deflated.len() {
        return None;
    }
    *deflated.get_mut(last / 8)? &= !(1 << (last % 8));
    // An empty stored block: three bits of 0, the rest of the byte, and the length twice.
    if matches!(end % 8, 0 | 6 | 7) {
        deflated.push(0);
    }
    deflated.extend([0, 0, 0xff, 0xff]);
    Some(())
}

/// Steps over a block, from its kind on.
fn skip_block(bits: &mut Bits<'_>) -> Option<()> {
    match bits.take(2)? {
        0 => skip_stored(bits),
        1 => {
            let (bytes, distances) = (Bytes::new(&fixed_lengths())?, Distances::new(&[5; 30])?);
            skip_codes(bits, &bytes, &distances)
        }
        2 => {
            let (bytes, distances) = tables(bits)?;
            skip_codes(bits, &bytes, &distances)
        }
        _ => None,
    }
}

fn skip_stored(bits: &mut Bits<'_>) -> Option<()> {
    bits.align();
    let (length, inverse) = (bits.take(16)?, bits.take(16)?);
    (length ^ inverse == 0xffff).then_some(())?;
    bits.skip_bytes(length as usize)
}

fn fixed_lengths() -> [u8; 288] {
    let mut lengths = [8; 288];
    lengths[144..256].fill(9);
    lengths[256..280].fill(7);
    lengths
}

/// The order in which lengths of codes for lengths are stored.
const ORDER: [usize; 19] = [
    16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15,
];

/// The codes of bytes and of distances, as a block with codes of its own begins.
fn tables(bits: &mut Bits<'_>) -> Option<(Bytes, Distances)> {
    let bytes = bits.take(5)? as usize + 257;
    let distances = bits.take(5)? as usize + 1;
    let count = bits.take(4)? as usize + 4;
    let mut own = [0_u8; 19];
    for &place in ORDER.get(..count)? {
        *own.get_mut(place)? = bits.take(3)? as u8;
    }
    let codes = Codes::new(&own)?;
    let mut lengths = [0_u8; 286 + 32];
    let lengths = lengths.get_mut(..bytes + distances)?;
    let mut place = 0;
    while place < lengths.len() {
        let symbol = bits.symbol(&codes)?;
        let (value, count) = match symbol {
            0..=15 => (symbol as u8, 1),
            16 => (*lengths.get(place.checked_sub(1)?)?, 3 + bits.take(2)?),
            17 => (0, 3 + bits.take(3)?),
            _ => (0, 11 + bits.take(7)?),
        };
        let end = place + count as usize;
        lengths.get_mut(place..end)?.fill(value);
        place = end;
    }
    let (bytes, distances) = lengths.split_at(bytes);
    Some((Bytes::new(bytes)?, Distances::new(distances)?))
}

fn skip_codes(bits: &mut Bits<'_>, bytes: &Bytes, distances: &Distances) -> Option<()> {
    // A copy, which the compiler keeps in registers.
    let mut copy = *bits;
    loop {
        copy.refill()?;
        let mut step = copy.step(bytes)?;
        // Two more steps over bytes leave enough of what was refilled for a pair.
        for _ in 0..2 {
            if step == Step::Bytes {
                step = copy.step(bytes)?;
            }
        }
        match step {
            Step::Bytes => {}
            Step::Length => {
                copy.refill()?;
                copy.step(distances)?;
            }
            Step::End => {
                *bits = copy;
                return Some(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use libdeflater::{CompressionLvl, Compressor};
    use proptest::prelude::*;

    use super::*;

    fn deflated(plain: &[u8], level: i32) -> Vec<u8> {
        let mut compressor = Compressor::new(CompressionLvl::new(level).unwrap());
        let mut deflated = vec![0; compressor.deflate_compress_bound(plain.len())];
        let length = compressor.deflate_compress(plain, &mut deflated).unwrap();
        deflated.truncate(length);
        deflated
    }

    fn inflated(stream: &[u8]) -> Vec<u8> {
        let mut plain = Vec::new();
        let mut decoder = flate2::read::DeflateDecoder::new(stream);
        decoder.read_to_end(&mut plain).unwrap();
        assert_eq!(decoder.total_in(), stream.len() as u64);
        plain
    }

    /// Twice the same, one after the other.
    fn assert_joined(plain: &[u8], mut once: Vec<u8>) {
        let last = once.clone();
        reopen(&mut once).unwrap();
        assert!(once.ends_with(&[0, 0, 0xff, 0xff]));
        once.extend(last);
        assert!(inflated(&once) == plain.repeat(2), "{}", plain.len());
    }

    /// Bytes as rows of a photograph have them: close to each other, with a grain.
    fn photograph(count: usize) -> Vec<u8> {
        let mut state = 1_u32;
        let grain = std::iter::repeat_with(move || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 28) as usize
        });
        let values = (0..count).zip(grain);
        values.map(|(n, grain)| (n / 300 + grain) as u8).collect()
    }

    #[test]
    fn streams_of_every_level_are_joined() {
        for plain in [photograph(700_000), b"text and text ".repeat(60_000)] {
            for level in 0..=9 {
                assert_joined(&plain, deflated(&plain, level));
            }
        }
    }

    #[test]
    fn streams_of_other_makers_are_joined() {
        for plain in [photograph(300_000), vec![7; 100_000], Vec::new()] {
            for level in [0, 1, 2, 6, 9] {
                let mut encoder =
                    flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::new(level));
                std::io::Write::write_all(&mut encoder, &plain).unwrap();
                assert_joined(&plain, encoder.finish().unwrap());
            }
        }
    }

    #[test]
    fn what_is_cut_off_or_followed_by_more_is_no_stream() {
        let whole = deflated(&photograph(3000), 6);
        for length in 0..whole.len() {
            assert_eq!(reopen(&mut whole[..length].to_vec()), None, "{length}");
        }
        let mut longer = whole;
        longer.push(0);
        assert_eq!(reopen(&mut longer), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_joined(
            pieces in proptest::collection::vec((any::<u8>(), 1..400_usize, any::<bool>()), 0..200),
            level in 0..=9_i32
        ) {
            let mut plain = Vec::new();
            for (byte, count, is_run) in pieces {
                let value = |n: usize| if is_run { byte } else { (n * usize::from(byte)) as u8 };
                plain.extend((0..count).map(value));
            }
            assert_joined(&plain, deflated(&plain, level));
        }

        #[test]
        fn any_stream_ends(mut bytes in proptest::collection::vec(any::<u8>(), 0..4000)) {
            reopen(&mut bytes);
        }
    }
}
