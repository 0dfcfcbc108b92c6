//! The time line, written from outside the process by whoever watches it.
//!
//! Two records of one life. The *recent* ring keeps the last samples at full rate: the seconds
//! before a death. The *whole* life keeps at most 2,048 samples over any length of time: when its
//! half is full, every second sample goes to the other half, the interval doubles, and the other
//! half becomes the valid one. A kill during the change leaves the old half valid.
//!
//! The writer has no file: it says which bytes go where, and the caller writes them in order.

use crate::layout::{Layout, RECENT_SAMPLES, SectionKind, WHOLE_SAMPLES, sample, whole};

/// "Not known" in a sample.
pub const UNKNOWN: u64 = u64::MAX;

/// What a process used at one instant, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// `CLOCK_MONOTONIC` nanoseconds.
    pub time: u64,
    /// Resident.
    pub resident: u64,
    /// Proportional set size, or [`UNKNOWN`].
    pub proportional: u64,
    /// Use of the tightest memory cgroup without reclaimable cache, or [`UNKNOWN`].
    pub cgroup_use: u64,
    /// Its limit, or [`UNKNOWN`].
    pub cgroup_limit: u64,
    /// `MemAvailable` of the machine, or [`UNKNOWN`].
    pub available: u64,
    /// Swapped out, or [`UNKNOWN`].
    pub swapped: u64,
}

impl Sample {
    fn encode(&self, sequence: u64) -> [u8; sample::SIZE as usize] {
        let words = [
            sequence,
            self.time,
            self.resident,
            self.proportional,
            self.cgroup_use,
            self.cgroup_limit,
            self.available,
            self.swapped,
        ];
        let mut bytes = [0; sample::SIZE as usize];
        for (place, word) in bytes.chunks_exact_mut(8).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }
}

/// Where the next sample of one box goes.
#[derive(Debug)]
pub struct TimelineWriter {
    layout: Layout,
    recent: u64,
    active: u64,
    interval: u64,
    next_due: u64,
    kept: Vec<Sample>,
}

impl TimelineWriter {
    /// A writer for a fresh box of this size.
    pub fn new(box_size: u64) -> Self {
        Self {
            layout: Layout::for_size(box_size),
            recent: 0,
            active: 0,
            interval: 0,
            next_due: 0,
            kept: Vec::new(),
        }
    }

    /// Adds a sample; `write` is called with file offsets and bytes, in the order they must land.
    pub fn push(&mut self, sample: &Sample, mut write: impl FnMut(u64, &[u8])) {
        self.push_recent(sample, &mut write);
        if sample.time >= self.next_due {
            self.push_whole(sample, &mut write);
        }
    }

    fn push_recent(&mut self, sample: &Sample, write: &mut impl FnMut(u64, &[u8])) {
        let section = self.layout.section(SectionKind::Recent);
        let place = section.record(self.recent % RECENT_SAMPLES, sample::SIZE);
        write(place, &sample.encode(self.recent + 1));
        self.recent += 1;
        write(section.offset, &self.recent.to_le_bytes());
    }

    fn push_whole(&mut self, sample: &Sample, write: &mut impl FnMut(u64, &[u8])) {
        if self.kept.len() as u64 >= WHOLE_SAMPLES {
            self.thin_out(write);
        }
        let index = self.kept.len() as u64;
        self.kept.push(*sample);
        write(self.whole_place(index), &sample.encode(index + 1));
        self.write_count(write);
        self.next_due = sample.time + self.interval;
    }

    /// Copies every second sample to the other half, then declares that half valid.
    fn thin_out(&mut self, write: &mut impl FnMut(u64, &[u8])) {
        let span = match (self.kept.first(), self.kept.last()) {
            (Some(first), Some(last)) => last.time.saturating_sub(first.time),
            _ => 0,
        };
        self.interval = (2 * span / WHOLE_SAMPLES).max(1);
        self.active ^= 1;
        self.kept = self.kept.iter().copied().step_by(2).collect();
        for (index, sample) in self.kept.iter().enumerate() {
            write(
                self.whole_place(index as u64),
                &sample.encode(index as u64 + 1),
            );
        }
        self.write_count(write);
        let section = self.layout.section(SectionKind::Whole);
        write(
            section.offset + whole::ACTIVE,
            &(self.active as u32).to_le_bytes(),
        );
    }

    fn write_count(&self, write: &mut impl FnMut(u64, &[u8])) {
        let section = self.layout.section(SectionKind::Whole);
        let half = self.active * 8;
        write(
            section.offset + whole::INTERVAL + half,
            &self.interval.to_le_bytes(),
        );
        write(
            section.offset + whole::COUNT + half,
            &(self.kept.len() as u64).to_le_bytes(),
        );
    }

    fn whole_place(&self, index: u64) -> u64 {
        let section = self.layout.section(SectionKind::Whole);
        section.record(self.active * WHOLE_SAMPLES + index, sample::SIZE)
    }
}
