//! Deflate's codes, to be stepped over: what they stand for is of no interest here, only where
//! they end.

/// The longest code there is.
const LONGEST: usize = 15;

/// What stepping over codes came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// One or several bytes (or, among distances, one distance).
    Bytes,
    /// Perhaps some bytes, and a length: a distance follows.
    Length,
    /// Perhaps some bytes, and the end of the block.
    End,
}

/// Codes by their lengths, which is all that defines them.
pub(super) struct Codes {
    /// How many there are of each length, and their symbols in order.
    counts: [u16; LONGEST + 1],
    symbols: Vec<u16>,
}

/// By the next bits, how many to step over, and what that comes to.
pub(super) struct Steps<const SIZE: usize> {
    entries: Box<[Entry; SIZE]>,
    codes: Codes,
    meaning: Meaning,
}

/// Steps over bytes, lengths and the end of a block. A larger table takes longer to fill.
pub(super) type Bytes = Steps<{ 1 << 12 }>;
/// Steps over distances.
pub(super) type Distances = Steps<{ 1 << 8 }>;

/// What a symbol comes to, and how many bits follow its code. `None` if it must not be there.
type Meaning = fn(u16) -> Option<(Step, u32)>;

/// One code, or several.
#[derive(Clone, Copy)]
struct Entry {
    /// With the bits that follow the last of them; 0 where no code is known.
    bits: u8,
    /// Without them.
    code: u8,
    step: Step,
}

const UNKNOWN: Entry = Entry {
    bits: 0,
    code: 0,
    step: Step::Bytes,
};

/// The end of a block among bytes.
const END: u16 = 256;

fn of_byte(symbol: u16) -> Option<(Step, u32)> {
    match symbol {
        0..END => Some((Step::Bytes, 0)),
        END => Some((Step::End, 0)),
        257..=264 | 285 => Some((Step::Length, 0)),
        265..=284 => Some((Step::Length, u32::from(symbol - 261) / 4)),
        _ => None,
    }
}

fn of_distance(symbol: u16) -> Option<(Step, u32)> {
    match symbol {
        0..=3 => Some((Step::Bytes, 0)),
        4..=29 => Some((Step::Bytes, u32::from(symbol) / 2 - 1)),
        _ => None,
    }
}

impl Codes {
    /// `None` if there are more codes than fit. There may be fewer, as where there is one distance.
    pub(super) fn new(lengths: &[u8]) -> Option<Self> {
        Self::of_each(lengths, |_, _, _| ())
    }

    /// Tells of each code, of its length and of its symbol.
    fn of_each(lengths: &[u8], mut told: impl FnMut(usize, usize, u16)) -> Option<Self> {
        let mut codes = Self {
            counts: [0; LONGEST + 1],
            symbols: Vec::with_capacity(lengths.len()),
        };
        let mut next = 0_usize;
        for (length, count) in codes.counts.iter_mut().enumerate().skip(1) {
            next *= 2;
            let symbols = (0..).zip(lengths);
            for (symbol, _) in symbols.filter(|(_, of)| usize::from(**of) == length) {
                (next >> length == 0).then_some(())?;
                told(next, length, symbol);
                codes.symbols.push(symbol);
                *count += 1;
                next += 1;
            }
        }
        Some(codes)
    }
}

impl Bytes {
    /// For the codes of these lengths.
    pub(super) fn new(lengths: &[u8]) -> Option<Self> {
        let mut steps = Self::of(lengths, of_byte)?;
        steps.join();
        Some(steps)
    }
}

impl Distances {
    /// For the codes of these lengths.
    pub(super) fn new(lengths: &[u8]) -> Option<Self> {
        Self::of(lengths, of_distance)
    }
}

impl<const SIZE: usize> Steps<SIZE> {
    /// Codes up to this length are found by one look-up.
    const SHORT: usize = SIZE.trailing_zeros() as usize;

    fn of(lengths: &[u8], meaning: Meaning) -> Option<Self> {
        let mut entries = Box::new([UNKNOWN; SIZE]);
        let codes = Codes::of_each(lengths, |code, length, symbol| {
            let Some((step, more)) = meaning(symbol).filter(|_| length <= Self::SHORT) else {
                return;
            };
            let entry = Entry {
                bits: (length + more as usize) as u8,
                code: length as u8,
                step,
            };
            // Wherever its bits are the next, with the first of them lowest.
            let first = code.reverse_bits() >> (usize::BITS as usize - length);
            let places = entries.iter_mut().skip(first).step_by(1 << length);
            places.for_each(|place| *place = entry);
        })?;
        Some(Self {
            entries,
            codes,
            meaning,
        })
    }

    /// Makes each entry that steps over a byte step over all that follows it and is known.
    fn join(&mut self) {
        let single = self.entries.clone();
        for (index, joined) in self.entries.iter_mut().enumerate() {
            while joined.step == Step::Bytes && joined.bits > 0 {
                let next = single[index >> joined.bits];
                if next.bits == 0 || usize::from(joined.bits + next.code) > Self::SHORT {
                    break;
                }
                *joined = Entry {
                    bits: joined.bits + next.bits,
                    code: joined.bits + next.code,
                    step: next.step,
                };
            }
        }
    }
}

/// Where a stream is read: bits, lowest first.
#[derive(Clone, Copy)]
pub(super) struct Bits<'stream> {
    stream: &'stream [u8],
    /// The next byte that is not counted in `count`.
    at: usize,
    /// The next bits, at the lower end. Above `count` of them there may be some of the byte at `at`.
    buffer: u64,
    count: u32,
}

impl<'stream> Bits<'stream> {
    pub(super) fn new(stream: &'stream [u8]) -> Self {
        Self {
            stream,
            at: 0,
            buffer: 0,
            count: 0,
        }
    }

    /// How many bits lie before the next one.
    pub(super) fn position(&self) -> usize {
        self.at * 8 - self.count as usize
    }

    /// Makes 56 bits available; at the end of the stream they are made up. `None` if such bits were
    /// taken.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "it is done for every few bits, and its state belongs in registers"
    )]
    pub(super) fn refill(&mut self) -> Option<()> {
        let rest = self.stream.get(self.at..).and_then(<[u8]>::first_chunk);
        let Some(&next) = rest else {
            *self = self.refilled_at_end()?;
            return Some(());
        };
        self.buffer |= u64::from_le_bytes(next) << self.count;
        let bytes = (63 - self.count) / 8;
        self.at += bytes as usize;
        self.count += bytes * 8;
        Some(())
    }

    #[cold]
    #[inline(never)]
    fn refilled_at_end(mut self) -> Option<Self> {
        self.buffer &= !(u64::MAX << self.count);
        while self.count < 56 {
            let byte = self.stream.get(self.at).copied().unwrap_or(0);
            self.buffer |= u64::from(byte) << self.count;
            self.at += 1;
            self.count += 8;
        }
        (self.position() <= self.stream.len() * 8).then_some(self)
    }

    /// Takes up to 16 bits.
    pub(super) fn take(&mut self, count: u32) -> Option<u32> {
        self.refill()?;
        let taken = (self.buffer & ((1 << count) - 1)) as u32;
        self.skip(count);
        Some(taken)
    }

    /// Steps over what is left of a byte.
    pub(super) fn align(&mut self) {
        self.skip(self.count % 8);
    }

    /// Steps over whole bytes; the bits before them end at one.
    pub(super) fn skip_bytes(&mut self, count: usize) -> Option<()> {
        let at = self.position() / 8 + count;
        (self.buffer, self.count, self.at) = (0, 0, at);
        (at <= self.stream.len()).then_some(())
    }

    /// Steps over the next code, or over several. There must be 28 bits after a refill, of which one
    /// step takes at most 17 among bytes.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "the state of the bits belongs in registers"
    )]
    pub(super) fn step<const SIZE: usize>(&mut self, steps: &Steps<SIZE>) -> Option<Step> {
        let entry = steps.entries[self.buffer as usize % SIZE];
        if entry.bits == 0 {
            return self.long_step(&steps.codes, steps.meaning);
        }
        self.skip(entry.bits.into());
        Some(entry.step)
    }

    #[cold]
    #[inline(never)]
    fn long_step(&mut self, codes: &Codes, meaning: Meaning) -> Option<Step> {
        let symbol = self.symbol(codes)?;
        let (step, more) = meaning(symbol)?;
        self.skip(more);
        Some(step)
    }

    /// Takes the next code, bit by bit.
    pub(super) fn symbol(&mut self, codes: &Codes) -> Option<u16> {
        self.refill()?;
        let (mut code, mut first, mut place) = (0_i32, 0_i32, 0_i32);
        for (length, &count) in codes.counts.iter().enumerate().skip(1) {
            let count = i32::from(count);
            code |= (self.buffer >> (length - 1)) as i32 & 1;
            if code - first < count {
                self.skip(length as u32);
                return codes.symbols.get((place + code - first) as usize).copied();
            }
            place += count;
            first = (first + count) * 2;
            code *= 2;
        }
        None
    }

    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "it is done for every few bits, and its state belongs in registers"
    )]
    fn skip(&mut self, count: u32) {
        self.buffer >>= count;
        self.count -= count;
    }
}
