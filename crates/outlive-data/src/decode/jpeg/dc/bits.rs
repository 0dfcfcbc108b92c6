//! The bits of a scan, most significant first, from bytes in which 0xff is followed by 0 unless it
//! begins a marker.

/// Where a scan is read. What takes many steps works on a copy, which the compiler keeps in registers.
#[derive(Clone, Copy)]
pub(super) struct Bits<'file> {
    file: &'file [u8],
    place: Place,
}

/// How far a scan was read, whatever part of the file is in memory.
#[derive(Clone, Copy, Default)]
pub(super) struct Place {
    /// The next byte that is not counted in `count`.
    pub(super) at: usize,
    /// The next bits, at the upper end. Below `count` of them there may be some of the bytes at `at`.
    buffer: u64,
    count: u32,
    /// How many of the bits were made up, since the data ended.
    made_up: u32,
}

/// Whether one of eight bytes is 0xff.
fn has_ff(bytes: u64) -> bool {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let zeros = !bytes;
    zeros.wrapping_sub(ONES) & bytes & (ONES << 7) != 0
}

impl Place {
    /// The start of a scan.
    pub(super) fn start(at: usize) -> Self {
        Self {
            at,
            ..Self::default()
        }
    }
}

impl<'file> Bits<'file> {
    pub(super) fn new(file: &'file [u8], place: Place) -> Self {
        Self { file, place }
    }

    /// Where it goes on.
    pub(super) fn place(&self) -> Place {
        self.place
    }

    /// Makes 56 bits available.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "it is done for every few bits, and its state belongs in registers"
    )]
    pub(super) fn refill(&mut self) {
        let next = self
            .file
            .get(self.place.at..)
            .and_then(|rest| rest.first_chunk());
        let next = next.map_or(u64::MAX, |&bytes| u64::from_be_bytes(bytes));
        if has_ff(next) {
            *self = self.refilled_by_bytes();
            return;
        }
        self.place.buffer |= next >> self.place.count;
        let bytes = (63 - self.place.count) / 8;
        self.place.at += bytes as usize;
        self.place.count += bytes * 8;
    }

    #[cold]
    #[inline(never)]
    fn refilled_by_bytes(mut self) -> Self {
        self.place.buffer &= !(u64::MAX >> self.place.count);
        while self.place.count < 56 {
            let byte = match self.file.get(self.place.at..self.place.at + 2) {
                Some(&[0xff, 0]) => {
                    self.place.at += 2;
                    0xff
                }
                // Data never ends a file: a marker follows.
                Some(&[0xff, _]) | None => {
                    self.place.made_up += 8;
                    0
                }
                Some(&[byte, _]) => {
                    self.place.at += 1;
                    byte
                }
                Some(_) => 0,
            };
            self.place.buffer |= u64::from(byte) << (56 - self.place.count);
            self.place.count += 8;
        }
        self
    }

    /// The next bits, at the upper end.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "it is done for every few bits, and its state belongs in registers"
    )]
    pub(super) fn next(&self) -> u64 {
        self.place.buffer
    }

    /// Steps over some of the bits that [`Self::refill`] made available: the lowest six bits of
    /// `count` say how many.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "it is done for every few bits, and its state belongs in registers"
    )]
    pub(super) fn skip(&mut self, count: u32) {
        // Written so that the processor's own shift does it, which looks at six bits.
        self.place.buffer = self.place.buffer.wrapping_shl(count);
        self.place.count -= count & 63;
    }

    /// Whether more was read than there is.
    pub(super) fn is_exhausted(&self) -> bool {
        self.place.made_up > self.place.count
    }

    /// Steps over what is left of the last byte before a marker. `None` if that is not all there is.
    pub(super) fn finish(&mut self) -> Option<()> {
        let left = self.place.count.checked_sub(self.place.made_up)?;
        self.place = Place::start(self.place.at);
        (left < 8).then_some(())
    }

    /// The marker that is next, after [`Self::finish`].
    pub(super) fn marker(&mut self) -> Option<u8> {
        let rest = self.file.get(self.place.at..)?;
        let fill = rest.iter().take_while(|&&byte| byte == 0xff).count();
        self.place.at += fill + 1;
        rest.get(fill).copied().filter(|_| fill > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_of_ones_is_found_anywhere() {
        for place in 0..8 {
            for others in [0_u64, 0x7f7f_7f7f_7f7f_7f7f, 0xfefe_fefe_fefe_fefe] {
                assert!(!has_ff(others));
                assert!(has_ff(others | 0xff << (place * 8)));
            }
        }
    }

    #[test]
    fn bits_end_at_a_marker() {
        let mut file = vec![0xff, 0];
        file.extend(1..=20);
        file.extend([0xff, 0xff, 0xd9]);
        let mut bits = Bits::new(&file, Place::default());
        for expected in std::iter::once(0xff).chain(1..=20) {
            bits.refill();
            assert_eq!(bits.next() >> 56, expected);
            bits.skip(8);
            assert!(!bits.is_exhausted());
        }
        bits.finish().unwrap();
        assert_eq!(bits.marker(), Some(0xd9));
        assert_eq!(bits.marker(), None);
    }
}
