//! Live bytes per stack and for the process, and the holders at the highest peak.
//!
//! The holders at the peak are kept without copying tables at every new high: as long as the total
//! rises, the live column *is* the peak. Only when it falls, and only if the high it falls from is
//! a hundredth above the last one kept, are the live figures copied to the spare `AT_PEAK` column,
//! which is then declared valid. From 1 MiB to 1 TiB that happens at most 1,400 times.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use super::{BoxWriter, StackId};
use crate::kind::stack_flag;
use crate::layout::{SectionKind, facts, stack};

/// Memory that was acquired at a stack.
#[derive(Clone, Copy, Debug)]
pub struct Acquisition {
    /// Who.
    pub stack: StackId,
    /// Bytes it stands for: the request itself, or the weight of a sample.
    pub bytes: u64,
    /// The request.
    pub request: u64,
    /// Bits of [`crate::kind::stack_flag`] to set.
    pub flags: u32,
    /// Monotonic time.
    pub time: u64,
}

impl BoxWriter {
    /// Counts memory in. Returns the live bytes of the process afterwards.
    pub fn acquire(&self, acquired: &Acquisition) -> i64 {
        let region = &self.region;
        let at = self.stack_place(acquired.stack);
        let bytes = acquired.bytes as i64;
        let live = region
            .i64(at.wrapping_add(stack::LIVE_BYTES))
            .fetch_add(bytes, Relaxed);
        region
            .i64(at.wrapping_add(stack::PEAK_BYTES))
            .fetch_max(live.wrapping_add(bytes), Relaxed);
        region
            .i64(at.wrapping_add(stack::LIVE_COUNT))
            .fetch_add(1, Relaxed);
        region
            .u64(at.wrapping_add(stack::TOTAL_BYTES))
            .fetch_add(acquired.bytes, Relaxed);
        region
            .u64(at.wrapping_add(stack::TOTAL_COUNT))
            .fetch_add(1, Relaxed);
        region
            .u64(at.wrapping_add(stack::LAST_TIME))
            .store(acquired.time, Relaxed);
        region
            .u64(at.wrapping_add(stack::LARGEST))
            .fetch_max(acquired.request, Relaxed);
        let flags = region.u32(at.wrapping_add(stack::FLAGS));
        if flags.load(Relaxed) & acquired.flags != acquired.flags {
            flags.fetch_or(acquired.flags, Relaxed);
        }
        if acquired.flags & stack_flag::ESTIMATE != 0 {
            region
                .i64(at.wrapping_add(stack::ESTIMATED_BYTES))
                .fetch_add(bytes, Relaxed);
        }
        region
            .u64(self.fact(facts::TOTAL_BYTES))
            .fetch_add(acquired.bytes, Relaxed);
        region
            .u64(self.fact(facts::TOTAL_COUNT))
            .fetch_add(1, Relaxed);
        region
            .i64(self.fact(facts::LIVE_COUNT))
            .fetch_add(1, Relaxed);
        let total = region
            .i64(self.fact(facts::LIVE_BYTES))
            .fetch_add(bytes, Relaxed);
        let total = total.wrapping_add(bytes);
        if region
            .i64(self.fact(facts::PEAK_BYTES))
            .fetch_max(total, Relaxed)
            < total
        {
            region
                .u64(self.fact(facts::PEAK_TIME))
                .store(acquired.time, Relaxed);
        }
        total
    }

    /// Counts reserved address space in (or out, when negative).
    pub fn reserve_space(&self, stack: StackId, bytes: i64) {
        let at = self.stack_place(stack);
        self.region
            .i64(at.wrapping_add(stack::RESERVED_BYTES))
            .fetch_add(bytes, Relaxed);
    }

    /// Counts memory out, and `blocks` of it. Returns the live bytes of the process afterwards.
    pub fn release(
        &self,
        stack: StackId,
        bytes: u64,
        blocks: i64,
        estimated: bool,
        time: u64,
    ) -> i64 {
        let region = &self.region;
        let released = bytes as i64;
        let total = region.i64(self.fact(facts::LIVE_BYTES));
        self.keep_peak(total.load(Relaxed), released, time);
        let at = self.stack_place(stack);
        region
            .i64(at.wrapping_add(stack::LIVE_BYTES))
            .fetch_sub(released, Relaxed);
        region
            .i64(at.wrapping_add(stack::LIVE_COUNT))
            .fetch_sub(blocks, Relaxed);
        if estimated {
            region
                .i64(at.wrapping_add(stack::ESTIMATED_BYTES))
                .fetch_sub(released, Relaxed);
        }
        region
            .i64(self.fact(facts::LIVE_COUNT))
            .fetch_sub(blocks, Relaxed);
        total.fetch_sub(released, Relaxed).wrapping_sub(released)
    }

    /// Before the total falls from a new high: keeps who holds it.
    #[inline]
    fn keep_peak(&self, total: i64, released: i64, time: u64) {
        let region = &self.region;
        let peak = region.i64(self.fact(facts::PEAK_BYTES)).load(Relaxed);
        // Wait for a real fall, a 64th of the high: loops that free and take again stay at it.
        if total.wrapping_sub(released) > peak.wrapping_sub(peak / 64) {
            return;
        }
        let selected = region.u32(self.fact(facts::SNAPSHOT)).load(Acquire);
        let kept = match selected {
            0 | 1 => region.i64(self.snapshot_bytes(selected)).load(Relaxed),
            _ => 0,
        };
        if total <= kept.wrapping_add(kept / 100) || total < 1 << 20 {
            return;
        }
        self.copy_holders(selected, total, time);
    }

    #[cold]
    fn copy_holders(&self, selected: u32, total: i64, time: u64) {
        let region = &self.region;
        let spare = u32::from(selected == 0);
        // Whoever moves the spare column's total first does the copy; others go on.
        let claim = region.i64(self.snapshot_bytes(spare));
        let before = claim.load(Relaxed);
        if before == total
            || claim
                .compare_exchange(before, total, Relaxed, Relaxed)
                .is_err()
        {
            return;
        }
        region
            .u64(
                self.fact(facts::SNAPSHOT_TIME)
                    .wrapping_add(u64::from(spare).wrapping_mul(8)),
            )
            .store(time, Relaxed);
        let section = self.section(SectionKind::Stacks);
        let count = region
            .u64(section.offset)
            .load(Relaxed)
            .min(self.stack_capacity());
        let column = stack::AT_PEAK.wrapping_add(u64::from(spare).wrapping_mul(8));
        let mut index = 0;
        while index < count {
            let at = section.record(index, stack::SIZE);
            let live = region.i64(at.wrapping_add(stack::LIVE_BYTES)).load(Relaxed);
            region.i64(at.wrapping_add(column)).store(live, Relaxed);
            index = index.wrapping_add(1);
        }
        region.u32(self.fact(facts::SNAPSHOT)).store(spare, Release);
    }

    fn snapshot_bytes(&self, column: u32) -> u64 {
        self.fact(facts::SNAPSHOT_BYTES)
            .wrapping_add(u64::from(column).wrapping_mul(8))
    }

    const fn stack_place(&self, stack: StackId) -> u64 {
        self.section(SectionKind::Stacks)
            .record(stack.0 as u64, stack::SIZE)
    }
}
