//! A batch that is asked for again after it was refused: the answer stays no.
//!
//! TensorFlow's fused map and batch has a batch made by whichever of its elements is ready first. If
//! that fails, the error is noted, but elements that are under way ask once more; and one that gets
//! its memory then copies into the batch that there is not. Whether requests are for the same batch
//! cannot be seen, so none of this kind is granted until those under way must have arrived.

use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

use super::callers;
use crate::sys::clock;

/// How long an element may be under way, in nanoseconds. Whoever tries the same again at once is
/// refused so long, too, though there may be room.
const UNDER_WAY: u64 = 200_000_000;

/// When a batch was last refused. Zeroed memory is never.
#[derive(Debug)]
#[repr(C)]
pub struct Batches {
    refused: AtomicU64,
}

impl Batches {
    /// A request was refused; it may have been a batch.
    pub fn note_refusal(&self, caller: usize) {
        if callers::makes_batch(caller) {
            self.refused.store(clock::monotonic(), Relaxed);
        }
    }

    /// Whether a request is to be refused, though it may fit by now.
    #[inline]
    pub fn refuses(&self, caller: usize) -> bool {
        self.refused.load(Relaxed) != 0
            && self.is_recent(clock::monotonic())
            && callers::makes_batch(caller)
    }

    #[cold]
    fn is_recent(&self, now: u64) -> bool {
        let refused = self.refused.load(Relaxed);
        let is_recent = now.saturating_sub(refused) < UNDER_WAY;
        if !is_recent {
            // Unless another was refused meanwhile.
            let _ = self.refused.compare_exchange(refused, 0, Relaxed, Relaxed);
        }
        is_recent
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::testing::zeroed;

    #[test]
    fn a_refusal_is_recent_until_elements_under_way_have_arrived() {
        let batches = zeroed::<Batches>();
        batches.refused.store(5, Relaxed);
        assert!(batches.is_recent(5 + UNDER_WAY - 1));
        assert!(!batches.is_recent(5 + UNDER_WAY));
        assert_eq!(batches.refused.load(Relaxed), 0);
    }

    #[test]
    fn other_requests_are_no_batches() {
        let batches = zeroed::<Batches>();
        let here = other_requests_are_no_batches as fn() as usize;
        batches.note_refusal(here);
        assert_eq!(batches.refused.load(Relaxed), 0);
        batches.refused.store(clock::monotonic(), Relaxed);
        assert!(!batches.refuses(here));
    }
}
