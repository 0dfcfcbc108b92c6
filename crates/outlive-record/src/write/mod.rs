//! The writing half: runs inside the recorded process, in any thread, even in a signal handler.
//!
//! Nothing here allocates, locks or panics. Records are reserved by an atomic add on a cursor,
//! filled, and published by a last store; counters are changed in place. A table that is full
//! says so by returning `None`, and the caller counts on stack 0 ("other").

mod counters;
mod intern;
mod records;

pub use counters::Acquisition;
pub use intern::{CodeFacts, StackFacts};
pub use records::{ExceptionFacts, FatalFacts};

use core::sync::atomic::Ordering::{Relaxed, Release};

use crate::layout::{
    self, Layout, MAGIC, SECTION_HEADER, SECTION_KINDS, Section, SectionKind, VERSION, facts,
    header,
};
use crate::region::Region;

/// A string of the box; 0 is "none".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct StringId(pub u32);
/// A code object of the box.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct CodeId(pub u32);
/// A stack of the box; 0 is "other".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct StackId(pub u32);

/// What is known of the process when its box is made.
#[derive(Clone, Copy, Debug, Default)]
pub struct Identity<'a> {
    /// Process id.
    pub pid: u32,
    /// Parent's process id.
    pub ppid: u32,
    /// Start time in clock ticks since boot.
    pub start_ticks: u64,
    /// `CLOCK_MONOTONIC` now.
    pub monotonic: u64,
    /// `CLOCK_REALTIME` now.
    pub realtime: u64,
    /// [`crate::kind::Origin`] as a number.
    pub origin: u32,
    /// The pid it was forked from, or 0.
    pub forked_from: u32,
    /// Requests from this size on are recorded one by one.
    pub exact_from: u64,
    /// Mean bytes between samples.
    pub sample_mean: u64,
    /// Path of the executable.
    pub exe: &'a [u8],
    /// Arguments, each ended by a NUL.
    pub argv: &'a [u8],
    /// Working directory.
    pub cwd: &'a [u8],
}

/// A box under construction and in use.
#[derive(Clone, Copy, Debug)]
pub struct BoxWriter {
    region: Region,
    layout: Layout,
}

impl BoxWriter {
    /// Lays out a fresh, zeroed region and writes the process facts. The magic number goes last:
    /// without it the file does not count as a box.
    pub fn create(region: Region, identity: &Identity<'_>) -> Self {
        let layout = Layout::for_size(region.len());
        let writer = Self { region, layout };
        region.u32(header::VERSION).store(VERSION, Relaxed);
        region
            .u32(header::SECTIONS)
            .store(SECTION_KINDS.len() as u32, Relaxed);
        region.u64(header::BOX_SIZE).store(layout.box_size, Relaxed);
        let mut at = header::TABLE;
        for (kind, record_size) in SECTION_KINDS {
            let section = layout.section(kind);
            region.u32(at).store(kind as u32, Relaxed);
            region
                .u32(at.wrapping_add(4))
                .store(record_size as u32, Relaxed);
            region
                .u64(at.wrapping_add(8))
                .store(section.offset, Relaxed);
            region
                .u64(at.wrapping_add(16))
                .store(section.length, Relaxed);
            at = at.wrapping_add(header::TABLE_ENTRY);
        }
        writer.put_identity(identity);
        writer.put_other_stack();
        // String 0 means "none", so the heap starts behind it.
        region
            .u64(writer.section(SectionKind::Strings).offset)
            .store(4, Relaxed);
        region.u64(header::MAGIC).store(MAGIC, Release);
        writer
    }

    /// The mapped memory.
    pub const fn region(&self) -> &Region {
        &self.region
    }

    /// The layout in use.
    pub const fn layout(&self) -> &Layout {
        &self.layout
    }

    /// States the interpreter's version and whether its lines can be named.
    pub fn set_python(&self, version_hex: u32, attribution: crate::kind::Attribution) {
        self.region
            .u32(self.fact(facts::PYTHON))
            .store(version_hex, Relaxed);
        self.region
            .u32(self.fact(facts::ATTRIBUTION))
            .store(attribution as u32, Release);
    }

    /// States new sampling figures: from now on, figures of smaller blocks are estimates.
    pub fn set_sampling(&self, exact_from: u64, sample_mean: u64) {
        self.region
            .u64(self.fact(facts::EXACT_FROM))
            .store(exact_from, Relaxed);
        self.region
            .u64(self.fact(facts::SAMPLE_MEAN))
            .store(sample_mean, Relaxed);
    }

    /// Adds to one of the `LOST_*` counters of [`layout::facts`].
    pub fn count_lost(&self, counter: u64, amount: u64) {
        self.region
            .u64(self.fact(counter))
            .fetch_add(amount, Relaxed);
    }

    fn put_identity(&self, identity: &Identity<'_>) {
        let region = &self.region;
        region
            .u32(self.fact(facts::PID))
            .store(identity.pid, Relaxed);
        region
            .u32(self.fact(facts::PPID))
            .store(identity.ppid, Relaxed);
        region
            .u64(self.fact(facts::START_TICKS))
            .store(identity.start_ticks, Relaxed);
        region
            .u64(self.fact(facts::MONOTONIC))
            .store(identity.monotonic, Relaxed);
        region
            .u64(self.fact(facts::REALTIME))
            .store(identity.realtime, Relaxed);
        region
            .u32(self.fact(facts::ORIGIN))
            .store(identity.origin, Relaxed);
        region
            .u32(self.fact(facts::FORKED_FROM))
            .store(identity.forked_from, Relaxed);
        region.u32(self.fact(facts::SNAPSHOT)).store(2, Relaxed);
        self.set_sampling(identity.exact_from, identity.sample_mean);
        region.put_text(self.fact(facts::EXE), 4092, identity.exe);
        region.put_text(self.fact(facts::ARGV), 8188, identity.argv);
        region.put_text(self.fact(facts::CWD), 4092, identity.cwd);
    }

    fn put_other_stack(&self) {
        let section = self.section(SectionKind::Stacks);
        let record = section.record(0, layout::stack::SIZE);
        self.region
            .u32(record.wrapping_add(layout::stack::READY))
            .store(1, Relaxed);
        self.region.u64(section.offset).store(1, Relaxed);
    }

    const fn section(&self, kind: SectionKind) -> Section {
        self.layout.section(kind)
    }

    const fn fact(&self, offset: u64) -> u64 {
        self.section(SectionKind::Facts).offset.wrapping_add(offset)
    }

    /// Takes the next record of a section that fills up, or `None` when it is full.
    fn reserve(&self, section: Section, size: u64, count: u64) -> Option<u64> {
        let cursor = self.region.u64(section.offset);
        let capacity = section.length.saturating_sub(SECTION_HEADER) / size;
        let mut next = cursor.load(Relaxed);
        loop {
            let end = next.checked_add(count)?;
            if end > capacity {
                return None;
            }
            match cursor.compare_exchange_weak(next, end, Relaxed, Relaxed) {
                Ok(_) => return Some(next),
                Err(now) => next = now,
            }
        }
    }

    /// Takes the next record of a ring: its number, and where it lies. Its sequence is zeroed, so
    /// that a reader sees a half-written record as absent.
    fn reserve_in_ring(&self, section: Section, size: u64) -> (u64, u64) {
        let number = self.region.u64(section.offset).fetch_add(1, Relaxed);
        let capacity = section.capacity(size).max(1);
        let record = section.record(number % capacity, size);
        self.region.u64(record).store(0, Release);
        (number, record)
    }

    fn publish_in_ring(&self, record: u64, number: u64) {
        self.region
            .u64(record)
            .store(number.wrapping_add(1), Release);
    }
}
