//! What a thread remembers of its last event without Python frames: who called, and which stack
//! that was. Asking the kernel for the thread's name and the loader for the library costs more than
//! all the rest of an event.
//!
//! One word, so that a handler that interrupts, or leaves by `longjmp`, finds the old memory or the
//! new one, never a mixture. It fades: a thread may be renamed and a library unloaded.

use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

/// For how many events it is believed.
const TRUST: u64 = 64;
/// From bit 0: low bits of the caller's address, which lie in code of far less than 8 GiB; then
/// the number of the stack, as wide as in the table of live blocks; then the trust that is left.
const CALLER_BITS: u32 = 33;
const STACK_BITS: u32 = 23;
const TRUST_SHIFT: u32 = CALLER_BITS + STACK_BITS;

/// The word; zero remembers nothing.
#[derive(Debug)]
#[repr(transparent)]
pub struct Memo(AtomicU64);

impl Memo {
    /// The stack of the last event, if this caller made it and the memory has not faded.
    #[inline]
    pub fn recall(&self, caller: usize) -> Option<u32> {
        let word = self.0.load(Relaxed);
        if word >> TRUST_SHIFT == 0 || word & low(CALLER_BITS) != caller as u64 & low(CALLER_BITS) {
            return None;
        }
        self.0.store(word.wrapping_sub(1 << TRUST_SHIFT), Relaxed);
        Some((word >> CALLER_BITS & low(STACK_BITS)) as u32)
    }

    /// Remembers an event, unless its stack found no room.
    pub fn keep(&self, caller: usize, stack: u32) {
        let known = stack != 0 && u64::from(stack) <= low(STACK_BITS);
        let word = TRUST << TRUST_SHIFT
            | u64::from(stack) << CALLER_BITS
            | caller as u64 & low(CALLER_BITS);
        self.0.store(if known { word } else { 0 }, Relaxed);
    }

    /// Remembers nothing.
    pub fn forget(&self) {
        self.0.store(0, Relaxed);
    }
}

const fn low(bits: u32) -> u64 {
    (1 << bits) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_of_one_caller_and_fades() {
        let memo = Memo(AtomicU64::new(0));
        assert_eq!(memo.recall(0), None);
        memo.keep(0x7F12_3456_789A, 4711);
        assert_eq!(memo.recall(0x7F12_3456_789B), None);
        for _ in 0..TRUST {
            assert_eq!(memo.recall(0x7F12_3456_789A), Some(4711));
        }
        assert_eq!(memo.recall(0x7F12_3456_789A), None);
    }

    #[test]
    fn a_stack_without_room_is_not_remembered() {
        let memo = Memo(AtomicU64::new(0));
        memo.keep(0x1234, 7);
        memo.keep(0x1234, 0);
        assert_eq!(memo.recall(0x1234), None);
        memo.keep(0x1234, 1 << 23);
        assert_eq!(memo.recall(0x1234), None);
        memo.keep(0x1234, 7);
        memo.forget();
        assert_eq!(memo.recall(0x1234), None);
    }
}
