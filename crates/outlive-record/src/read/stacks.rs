//! Stacks with their counters, and their frames with file, function and line.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::Recording;
use super::bytes::{Bytes, text_of};
use crate::kind::StackKind;
use crate::layout::{SECTION_HEADER, SectionKind, code, facts, frame, stack};
use crate::lines::line_at;

/// A stack and what it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stack {
    /// Its number.
    pub id: u32,
    /// What it describes; `None` for a word this version does not know.
    pub kind: Option<StackKind>,
    /// Bits of [`crate::kind::stack_flag`].
    pub flags: u32,
    /// Bytes live at the end.
    pub live_bytes: i64,
    /// How many of them are estimates.
    pub estimated_bytes: i64,
    /// Address space reserved beside them, an upper bound of what is used of it.
    pub reserved_bytes: i64,
    /// Recorded blocks live at the end.
    pub live_count: i64,
    /// Highest value of `live_bytes`.
    pub peak_bytes: i64,
    /// Bytes it held when the process was at its peak.
    pub at_peak_bytes: i64,
    /// Bytes ever acquired.
    pub total_bytes: u64,
    /// Recorded acquisitions.
    pub total_count: u64,
    /// Monotonic time of the last one.
    pub last_time: u64,
    /// Largest single request.
    pub largest: u64,
    /// Stack that created the thread, or 0.
    pub creator: u32,
    /// Number of frames.
    pub depth: u32,
    first_frame: u32,
    thread: u32,
    library: u32,
}

/// One frame of a stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// Number of its code object: frames with equal `code` and `offset` are the same place.
    pub code: u32,
    /// Instruction offset in bytes.
    pub offset: u32,
    /// File, as the interpreter names it; empty when it found no room.
    pub file: Cow<'a, str>,
    /// Qualified name.
    pub function: Cow<'a, str>,
    /// Line, when the table has one for this instruction.
    pub line: Option<u32>,
    /// First line of the function.
    pub first_line: u32,
}

impl<'a> Recording<'a> {
    /// All stacks that were completely written, "other" first.
    pub fn stacks(&self) -> impl Iterator<Item = Stack> + '_ {
        let section = self.part(SectionKind::Stacks);
        let column = self.peak_column();
        let count = record_count(section, stack::SIZE);
        (0..count).filter_map(move |index| {
            let at = Bytes(section.slice(SECTION_HEADER + index * stack::SIZE, stack::SIZE)?);
            (at.u32(stack::READY) == 1).then(|| read_stack(at, index as u32, column))
        })
    }

    /// The stack with this number.
    pub fn stack(&self, id: u32) -> Option<Stack> {
        let section = self.part(SectionKind::Stacks);
        let place = SECTION_HEADER + u64::from(id) * stack::SIZE;
        let at = Bytes(section.slice(place, stack::SIZE)?);
        (at.u32(stack::READY) == 1).then(|| read_stack(at, id, self.peak_column()))
    }

    /// Frames of a stack, innermost first. Lines are decoded here, one table walk a frame.
    pub fn frames(&self, stack: &Stack) -> impl Iterator<Item = Frame<'a>> + use<'_, 'a> {
        self.places(stack)
            .map(|(code, offset)| self.frame(code, offset))
    }

    /// The places of a stack, innermost first, as (code, instruction offset): cheap to compare,
    /// and resolved by [`Self::frame`] once for many stacks.
    pub fn places(&self, stack: &Stack) -> impl Iterator<Item = (u32, u32)> + use<'a> {
        let section = self.part(SectionKind::Frames);
        let first = SECTION_HEADER + u64::from(stack.first_frame) * frame::SIZE;
        (0..u64::from(stack.depth)).map_while(move |index| {
            let entry = Bytes(section.slice(first + index * frame::SIZE, frame::SIZE)?);
            Some((entry.u32(0), entry.u32(4)))
        })
    }

    /// File, function and line of a place.
    pub fn frame(&self, code: u32, offset: u32) -> Frame<'a> {
        let line = self.code_record(code).and_then(|record| {
            let table = self.string_bytes(record.u32(code::TABLE));
            let first_line = record.u32(code::FIRST_LINE);
            line_at(record.u32(code::FORMAT), table, first_line, offset)
        });
        Frame {
            line,
            ..self.function(code, offset)
        }
    }

    /// Length of the table that [`Self::frame`] may walk to find a line: what it costs.
    pub fn line_table_length(&self, code: u32) -> usize {
        self.code_record(code)
            .map_or(0, |record| self.string_bytes(record.u32(code::TABLE)).len())
    }

    /// The files that frames are in, as the interpreter names them, each once.
    pub fn files(&self) -> impl Iterator<Item = Cow<'a, str>> + use<'_, 'a> {
        let section = self.part(SectionKind::Codes);
        let codes = 0..record_count(section, code::SIZE) as u32;
        let records = codes.filter_map(|code| self.code_record(code));
        // Interned: equal names have equal numbers.
        let names: BTreeSet<u32> = records.map(|record| record.u32(code::FILE)).collect();
        let names = names.into_iter().filter(|name| *name != 0);
        names.map(|name| text_of(self.string_bytes(name)))
    }

    fn code_record(&self, code: u32) -> Option<Bytes<'a>> {
        let section = self.part(SectionKind::Codes);
        let place = SECTION_HEADER + u64::from(code) * code::SIZE;
        section
            .slice(place, code::SIZE)
            .map(Bytes)
            .filter(|record| record.u32(code::READY) == 1)
    }

    /// File and function of a place; its line, which takes a walk to find, is left out.
    pub fn function(&self, code: u32, offset: u32) -> Frame<'a> {
        let Some(record) = self.code_record(code) else {
            let unknown = Cow::Borrowed("");
            return Frame {
                code,
                offset,
                file: unknown.clone(),
                function: unknown,
                line: None,
                first_line: 0,
            };
        };
        Frame {
            code,
            offset,
            file: text_of(self.string_bytes(record.u32(code::FILE))),
            function: text_of(self.string_bytes(record.u32(code::NAME))),
            line: None,
            first_line: record.u32(code::FIRST_LINE),
        }
    }

    /// Name of the stack's thread, for stacks without Python frames; empty when not known.
    pub fn thread_name(&self, stack: &Stack) -> Cow<'a, str> {
        text_of(self.string_bytes(stack.thread))
    }

    /// Path of the library that asked for the memory; empty when not known.
    pub fn library(&self, stack: &Stack) -> Cow<'a, str> {
        text_of(self.string_bytes(stack.library))
    }

    fn string_bytes(&self, id: u32) -> &'a [u8] {
        if id == 0 {
            return &[];
        }
        let section = self.part(SectionKind::Strings);
        let place = SECTION_HEADER + u64::from(id) * 4;
        section
            .slice(place + 4, u64::from(section.u32(place)))
            .unwrap_or(&[])
    }

    /// Offset in a stack record of the bytes at the peak: the live column itself when the process
    /// died at its highest, otherwise the column that was kept.
    fn peak_column(&self) -> u64 {
        let selected = u64::from(self.facts.u32(facts::SNAPSHOT));
        if selected > 1 {
            return stack::LIVE_BYTES;
        }
        let kept = self.facts.i64(facts::SNAPSHOT_BYTES + selected * 8);
        if self.facts.i64(facts::LIVE_BYTES) >= kept {
            stack::LIVE_BYTES
        } else {
            stack::AT_PEAK + selected * 8
        }
    }
}

/// How many records a section can hold and claims to hold, whichever is less.
pub(super) fn record_count(section: Bytes<'_>, size: u64) -> u64 {
    let room = (section.0.len() as u64).saturating_sub(SECTION_HEADER) / size;
    section.u64(0).min(room)
}

fn read_stack(at: Bytes<'_>, id: u32, peak_column: u64) -> Stack {
    Stack {
        id,
        kind: StackKind::from_number(at.u32(stack::KIND)),
        flags: at.u32(stack::FLAGS),
        live_bytes: at.i64(stack::LIVE_BYTES),
        estimated_bytes: at.i64(stack::ESTIMATED_BYTES),
        reserved_bytes: at.i64(stack::RESERVED_BYTES),
        live_count: at.i64(stack::LIVE_COUNT),
        peak_bytes: at.i64(stack::PEAK_BYTES),
        at_peak_bytes: at.i64(peak_column),
        total_bytes: at.u64(stack::TOTAL_BYTES),
        total_count: at.u64(stack::TOTAL_COUNT),
        last_time: at.u64(stack::LAST_TIME),
        largest: at.u64(stack::LARGEST),
        creator: at.u32(stack::CREATOR),
        depth: at.u32(stack::DEPTH),
        first_frame: at.u32(stack::FRAMES),
        thread: at.u32(stack::THREAD),
        library: at.u32(stack::LIBRARY),
    }
}
