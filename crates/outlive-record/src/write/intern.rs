//! Strings, code objects, frames and stacks: written once, referred to by number.
//!
//! What is already in the box is found by the caller's own index; this half only appends.

use core::sync::atomic::Ordering::{Relaxed, Release};

use super::{BoxWriter, CodeId, StackId, StringId};
use crate::kind::StackKind;
use crate::layout::{SECTION_HEADER, SectionKind, code, facts, frame, stack};

/// What a dead process can no longer be asked about a code object.
#[derive(Clone, Copy, Debug)]
pub struct CodeFacts {
    /// File.
    pub file: StringId,
    /// Qualified name.
    pub name: StringId,
    /// First line.
    pub first_line: u32,
    /// Line table.
    pub table: StringId,
    /// Minor version of Python.
    pub format: u32,
    /// Tells two code objects at one address apart.
    pub fingerprint: u64,
    /// Address.
    pub address: u64,
}

/// What identifies a stack beside its frames.
#[derive(Clone, Copy, Debug)]
pub struct StackFacts {
    /// What it describes.
    pub kind: StackKind,
    /// Name of its thread, for stacks without Python frames.
    pub thread: StringId,
    /// Library that asked.
    pub library: StringId,
    /// Stack that created the thread.
    pub creator: StackId,
    /// Bits of [`crate::kind::stack_flag`].
    pub flags: u32,
}

impl BoxWriter {
    /// Appends a string.
    pub fn add_string(&self, bytes: &[u8]) -> Option<StringId> {
        let place = self.reserve_string(bytes.len() as u64)?;
        self.region.put(place.wrapping_add(4), bytes);
        Some(self.publish_string(place, bytes.len() as u64))
    }

    /// Appends a string whose bytes lie in raw memory.
    ///
    /// # Safety
    ///
    /// `len` bytes at `source` are mapped and readable during the call.
    #[expect(
        unsafe_code,
        reason = "passes the caller's promise on to `Region::put_raw`"
    )]
    pub unsafe fn add_raw_string(&self, source: *const u8, len: u64) -> Option<StringId> {
        let place = self.reserve_string(len)?;
        // SAFETY: the caller vouches for the source.
        unsafe { self.region.put_raw(place.wrapping_add(4), source, len) };
        Some(self.publish_string(place, len))
    }

    /// Appends a code object.
    pub fn add_code(&self, facts: &CodeFacts) -> Option<CodeId> {
        let section = self.section(SectionKind::Codes);
        let Some(index) = self.reserve(section, code::SIZE, 1) else {
            self.count_lost(facts::LOST_CODES, 1);
            return None;
        };
        let at = |offset: u64| section.record(index, code::SIZE).wrapping_add(offset);
        self.region.u32(at(code::FILE)).store(facts.file.0, Relaxed);
        self.region.u32(at(code::NAME)).store(facts.name.0, Relaxed);
        self.region
            .u32(at(code::FIRST_LINE))
            .store(facts.first_line, Relaxed);
        self.region
            .u32(at(code::TABLE))
            .store(facts.table.0, Relaxed);
        self.region
            .u32(at(code::FORMAT))
            .store(facts.format, Relaxed);
        self.region
            .u64(at(code::FINGERPRINT))
            .store(facts.fingerprint, Relaxed);
        self.region
            .u64(at(code::ADDRESS))
            .store(facts.address, Relaxed);
        self.region.u32(at(code::READY)).store(1, Release);
        Some(CodeId(index as u32))
    }

    /// Appends a stack; `frames` are (code, instruction offset), innermost first.
    pub fn add_stack(
        &self,
        facts: &StackFacts,
        frames: impl ExactSizeIterator<Item = (CodeId, u32)>,
    ) -> Option<StackId> {
        let depth = frames.len() as u64;
        let frame_section = self.section(SectionKind::Frames);
        let section = self.section(SectionKind::Stacks);
        // Stacks first: a run of frames without a stack is only waste, and both are final.
        let index = self.reserve(section, stack::SIZE, 1)?;
        let first = self.reserve(frame_section, frame::SIZE, depth);
        let depth = if first.is_some() { depth } else { 0 };
        let first = first.unwrap_or(0);
        let mut place = frame_section.record(first, frame::SIZE);
        for (code, offset) in frames.take(depth as usize) {
            self.region.u32(place).store(code.0, Relaxed);
            self.region
                .u32(place.wrapping_add(4))
                .store(offset, Relaxed);
            place = place.wrapping_add(frame::SIZE);
        }
        let at = |offset: u64| section.record(index, stack::SIZE).wrapping_add(offset);
        self.region
            .u32(at(stack::KIND))
            .store(facts.kind as u32, Relaxed);
        self.region
            .u32(at(stack::FRAMES))
            .store(first as u32, Relaxed);
        self.region
            .u32(at(stack::DEPTH))
            .store(depth as u32, Relaxed);
        self.region
            .u32(at(stack::THREAD))
            .store(facts.thread.0, Relaxed);
        self.region
            .u32(at(stack::LIBRARY))
            .store(facts.library.0, Relaxed);
        self.region
            .u32(at(stack::CREATOR))
            .store(facts.creator.0, Relaxed);
        self.region
            .u32(at(stack::FLAGS))
            .store(facts.flags, Relaxed);
        self.region.u32(at(stack::READY)).store(1, Release);
        Some(StackId(index as u32))
    }

    /// Whether a string was ever turned away.
    pub fn is_out_of_strings(&self) -> bool {
        self.region
            .u64(self.fact(facts::LOST_STRINGS))
            .load(Relaxed)
            != 0
    }

    /// How many stacks the box has room for.
    pub const fn stack_capacity(&self) -> u64 {
        self.section(SectionKind::Stacks).capacity(stack::SIZE)
    }

    /// Place of a new string of `len` bytes: a length word and the bytes, padded to four.
    fn reserve_string(&self, len: u64) -> Option<u64> {
        let section = self.section(SectionKind::Strings);
        let words = len.checked_add(7)? & !3;
        if let Some(start) = self.reserve(section, 1, words) {
            return Some(section.record(start, 1));
        }
        self.count_lost(facts::LOST_STRINGS, 1);
        None
    }

    fn publish_string(&self, place: u64, len: u64) -> StringId {
        self.region.u32(place).store(len as u32, Release);
        let start = self
            .section(SectionKind::Strings)
            .offset
            .wrapping_add(SECTION_HEADER);
        StringId((place.wrapping_sub(start) / 4) as u32)
    }
}
