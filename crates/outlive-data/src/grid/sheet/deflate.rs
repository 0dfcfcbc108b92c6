//! Deflates pieces of one zlib stream on several threads. Each piece ends at a whole byte and depends
//! on nothing before it; the pieces come back in order, and only so many are in the works that
//! memory stays bounded.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::Scope;

use libdeflater::{CompressionLvl, Compressor};
use simd_adler32::Adler32;

use super::{huffman, last_block};

/// The start of a zlib stream: deflate, window of 32 KiB, no preset dictionary.
pub(super) const HEADER: [u8; 2] = [0x78, 0x01];
/// An empty last block.
pub(super) const LAST_BLOCK: [u8; 2] = [0x03, 0x00];
/// The checksum of nothing.
pub(super) const EMPTY_SUM: u32 = 1;

/// Threads at most. Each holds two pieces with what was made of them, about 2 MiB, which no budget
/// knows of; and four deflate faster than dozens can decode.
const MOST_THREADS: usize = 4;
/// Pieces that are smaller are searched, since a table of codes is as large as they are.
const WORTH_A_TABLE: usize = 8 * 1024;

/// How to deflate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    /// Codes alone, no search for repetitions.
    Codes,
    /// By this level of libdeflate, 0 to 9: about as small as zlib's of the same number.
    Search(u8),
}

impl Method {
    fn level(self) -> CompressionLvl {
        let level = match self {
            Self::Codes => 1,
            Self::Search(level) => i32::from(level.min(9)),
        };
        CompressionLvl::new(level).unwrap_or_default()
    }
}

/// A piece that is deflated.
#[derive(Debug, Default)]
pub(super) struct Piece {
    /// What it was made of; its memory is used again.
    pub(super) plain: Vec<u8>,
    /// Empty if it could not be deflated.
    pub(super) deflated: Vec<u8>,
    /// Adler-32 of what it was made of.
    pub(super) sum: u32,
}

/// Threads that deflate.
pub(super) struct Pool {
    workers: Vec<Worker>,
    /// Which worker has the next piece, oldest first.
    busy: VecDeque<usize>,
    next: usize,
}

struct Worker {
    jobs: SyncSender<Piece>,
    done: Receiver<Piece>,
}

impl Pool {
    /// Starts `threads` of them, at least one.
    pub(super) fn start<'scope>(
        scope: &'scope Scope<'scope, '_>,
        threads: usize,
        method: Method,
    ) -> Self {
        let start = |_| {
            let (jobs, to_do) = sync_channel::<Piece>(1);
            let (finished, done) = sync_channel(1);
            scope.spawn(move || {
                let mut compressor = Compressor::new(method.level());
                while let Ok(mut piece) = to_do.recv() {
                    deflate(method, &mut compressor, &mut piece);
                    if finished.send(piece).is_err() {
                        break;
                    }
                }
            });
            Worker { jobs, done }
        };
        Self {
            workers: (0..threads.clamp(1, MOST_THREADS)).map(start).collect(),
            busy: VecDeque::new(),
            next: 0,
        }
    }

    /// Whether a piece must be taken before another can be given.
    pub(super) fn is_full(&self) -> bool {
        // Each worker has one in hand and one that waits.
        self.busy.len() >= self.workers.len() * 2
    }

    /// Gives a piece to a thread. `None` if the thread is gone.
    pub(super) fn give(&mut self, piece: Piece) -> Option<()> {
        let worker = self.workers.get(self.next)?;
        worker.jobs.send(piece).ok()?;
        self.busy.push_back(self.next);
        self.next = (self.next + 1) % self.workers.len();
        Some(())
    }

    /// Waits for the oldest piece. `None` if there is none.
    pub(super) fn take(&mut self) -> Option<Piece> {
        let worker = self.busy.pop_front()?;
        self.workers.get(worker)?.done.recv().ok()
    }
}

fn deflate(method: Method, compressor: &mut Compressor, piece: &mut Piece) {
    let mut sum = Adler32::new();
    sum.write(&piece.plain);
    piece.sum = sum.finish();
    piece.deflated.clear();
    if method == Method::Codes && piece.plain.len() >= WORTH_A_TABLE {
        huffman::deflate(&piece.plain, &mut piece.deflated);
    } else if search(compressor, piece).is_none() {
        // Whoever takes it sees that there is nothing.
        piece.deflated.clear();
    }
}

fn search(compressor: &mut Compressor, piece: &mut Piece) -> Option<()> {
    let most = compressor.deflate_compress_bound(piece.plain.len());
    piece.deflated.resize(most, 0);
    let written = compressor.deflate_compress(&piece.plain, &mut piece.deflated);
    piece.deflated.truncate(written.ok()?);
    last_block::reopen(&mut piece.deflated)
}

/// The sum of two pieces one after the other, of which the second has `length` bytes.
pub(super) fn combined(first: u32, second: u32, length: u64) -> u32 {
    const BASE: u64 = 65521;
    let (first_low, first_high) = (u64::from(first & 0xffff), u64::from(first >> 16));
    let (second_low, second_high) = (u64::from(second & 0xffff), u64::from(second >> 16));
    let low = (first_low + second_low + BASE - 1) % BASE;
    let shift = (length % BASE) * (first_low + BASE - 1);
    let high = (first_high + second_high + shift) % BASE;
    (high << 16 | low) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(bytes: &[u8]) -> u32 {
        let mut sum = Adler32::new();
        sum.write(bytes);
        sum.finish()
    }

    #[test]
    fn sums_of_pieces_make_the_sum_of_the_whole() {
        let bytes: Vec<u8> = (0..200_000_u32)
            .map(|n| (n.wrapping_mul(n) >> 7) as u8)
            .collect();
        for cut in [0, 1, 65_520, 65_521, 65_522, 199_999, 200_000] {
            let (first, second) = bytes.split_at(cut);
            let whole = combined(sum(first), sum(second), second.len() as u64);
            assert_eq!(whole, sum(&bytes), "{cut}");
        }
    }

    #[test]
    fn pieces_come_back_in_order_and_inflate_alone() {
        for method in [Method::Codes, Method::Search(0), Method::Search(6)] {
            pieces_come_back(method);
        }
    }

    fn pieces_come_back(method: Method) {
        std::thread::scope(|scope| {
            let mut pool = Pool::start(scope, 3, method);
            let mut taken = Vec::new();
            for number in 0..50_u8 {
                while pool.is_full() {
                    taken.push(pool.take().unwrap());
                }
                let plain = (0..100_000_u32).map(|n| (n % 251) as u8 ^ number).collect();
                let piece = Piece {
                    plain,
                    ..Piece::default()
                };
                pool.give(piece).unwrap();
            }
            taken.extend(std::iter::from_fn(|| pool.take()));
            assert_eq!(taken.len(), 50);
            for (number, piece) in taken.iter().enumerate() {
                assert_eq!(piece.plain[0], number as u8);
                assert_eq!(piece.sum, sum(&piece.plain));
                let mut stream = piece.deflated.clone();
                stream.extend(LAST_BLOCK);
                let mut inflated = Vec::new();
                let mut decoder = flate2::read::DeflateDecoder::new(&stream[..]);
                std::io::Read::read_to_end(&mut decoder, &mut inflated).unwrap();
                assert!(inflated == piece.plain);
            }
        });
    }
}
