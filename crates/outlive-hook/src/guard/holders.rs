//! Who holds memory, read from the box by the process itself: for the text of an exception.

use core::sync::atomic::Ordering::{Acquire, Relaxed};

use outlive_record::kind::StackKind;
use outlive_record::layout::{SECTION_HEADER, SectionKind, code, frame, stack};
use outlive_record::lines::line_at;
use outlive_record::write::BoxWriter;

use crate::live::Block;
use crate::mappings::{LARGEST, Range};
use crate::python::origin::is_library;
use crate::sys::residency;

/// Lines that are told apart; beyond them the smallest are dropped.
pub const MOST: usize = 32;
/// Stacks that hold less are not looked at.
const SMALLEST: i64 = 64 << 10;
const MAX_TABLE: usize = 8192;

/// A line and what it holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Holder {
    /// Live bytes.
    pub bytes: u64,
    /// Its code object in the box.
    pub code: u32,
    /// Its line; 0 when not known.
    pub line: u32,
}

/// The lines that hold most, largest first; the rest of the array is empty. `untouched` says how
/// much of what a stack mapped has no pages.
pub fn holders(black_box: &BoxWriter, untouched: &Untouched) -> [Holder; MOST] {
    let mut found = [Holder::default(); MOST];
    let section = black_box.layout().section(SectionKind::Stacks);
    let region = black_box.region();
    let count = region.u64(section.offset).load(Acquire);
    let count = count.min(section.capacity(stack::SIZE));
    for index in 0..count {
        let at = |offset: u64| section.record(index, stack::SIZE).wrapping_add(offset);
        let live = region.i64(at(stack::LIVE_BYTES)).load(Relaxed);
        let is_python = region.u32(at(stack::KIND)).load(Relaxed) == StackKind::Python as u32;
        if live < SMALLEST || !is_python || region.u32(at(stack::READY)).load(Acquire) != 1 {
            continue;
        }
        let bytes = (live as u64).saturating_sub(untouched.of(index as u32));
        let (code, line) = place_of(black_box, index);
        add(&mut found, Holder { bytes, code, line });
    }
    sort(&mut found);
    found
}

/// The line that holds a block of a stack; nothing for one without Python frames.
pub fn holder_of(black_box: &BoxWriter, block: Block) -> Option<Holder> {
    let section = black_box.layout().section(SectionKind::Stacks);
    let index = u64::from(block.stack);
    if index >= section.capacity(stack::SIZE) {
        return None;
    }
    let word = |offset: u64| {
        let place = section.record(index, stack::SIZE).wrapping_add(offset);
        black_box.region().u32(place).load(Acquire)
    };
    let is_python = word(stack::KIND) == StackKind::Python as u32 && word(stack::READY) == 1;
    is_python.then(|| {
        let (code, line) = place_of(black_box, index);
        Holder {
            bytes: block.bytes,
            code,
            line,
        }
    })
}

/// Code object and line of a stack that is complete.
fn place_of(black_box: &BoxWriter, index: u64) -> (u32, u32) {
    let section = black_box.layout().section(SectionKind::Stacks);
    let word = |offset: u64| {
        let place = section.record(index, stack::SIZE).wrapping_add(offset);
        black_box.region().u32(place).load(Relaxed)
    };
    let (code, offset) = own_frame(black_box, word(stack::FRAMES), word(stack::DEPTH));
    (code, line_of(black_box, code, offset))
}

/// Bytes that stacks mapped and never touched. Libraries map tens of mebibytes when they are
/// imported, and use few of them.
#[derive(Debug, Default)]
pub struct Untouched([(u32, u64); LARGEST]);

impl Untouched {
    /// Asks the kernel about the largest of the mapped ranges.
    pub fn in_ranges(ranges: &[Range; LARGEST]) -> Self {
        Self(ranges.map(|range| {
            let missing = residency::untouched(range.start, range.len());
            (range.stack, missing.unwrap_or(0))
        }))
    }

    fn of(&self, stack: u32) -> u64 {
        let own = self.0.iter().filter(|(by, _)| *by == stack);
        own.fold(0, |sum, (_, bytes)| sum.saturating_add(*bytes))
    }
}

/// Largest first. The library's own sort may panic, on orders that are none.
fn sort(found: &mut [Holder; MOST]) {
    let mut rest: &mut [Holder] = found;
    while let Some((first, others)) = rest.split_first_mut() {
        for other in others.iter_mut() {
            if other.bytes > first.bytes {
                core::mem::swap(first, other);
            }
        }
        rest = others;
    }
}

/// Adds to the figure of a line; a new line takes the place of the smallest.
fn add(found: &mut [Holder; MOST], new: Holder) {
    let same =
        |kept: &&mut Holder| kept.bytes > 0 && (kept.code, kept.line) == (new.code, new.line);
    if let Some(kept) = found.iter_mut().find(same) {
        kept.bytes = kept.bytes.saturating_add(new.bytes);
        return;
    }
    if let Some(least) = found.iter_mut().min_by_key(|kept| kept.bytes)
        && least.bytes < new.bytes
    {
        *least = new;
    }
}

/// The innermost frame of the user's own code, or else the innermost one.
fn own_frame(black_box: &BoxWriter, first: u32, depth: u32) -> (u32, u32) {
    let section = black_box.layout().section(SectionKind::Frames);
    let region = black_box.region();
    let frame_at = |index: u32| {
        let place = section.record(u64::from(first.wrapping_add(index)), frame::SIZE);
        let word = |offset: u64| region.u32(place.wrapping_add(offset)).load(Relaxed);
        (word(0), word(4))
    };
    let own = (0..depth).map(frame_at).find(|&(code, _)| {
        let mut file = [0_u8; 512];
        let length = file_of(black_box, code, &mut file);
        let file = file.get(..length).unwrap_or(&[]);
        !is_library(file)
    });
    own.unwrap_or_else(|| frame_at(0))
}

/// The file of a code object; returns its length.
pub fn file_of(black_box: &BoxWriter, code: u32, buffer: &mut [u8]) -> usize {
    string(black_box, code_word(black_box, code, code::FILE), buffer)
}

/// The name of a code object; returns its length.
pub fn name_of(black_box: &BoxWriter, code: u32, buffer: &mut [u8]) -> usize {
    string(black_box, code_word(black_box, code, code::NAME), buffer)
}

fn line_of(black_box: &BoxWriter, code: u32, offset: u32) -> u32 {
    let mut table = [0_u8; MAX_TABLE];
    let length = string(
        black_box,
        code_word(black_box, code, code::TABLE),
        &mut table,
    );
    let table = table.get(..length).unwrap_or(&[]);
    let format = code_word(black_box, code, code::FORMAT);
    let first_line = code_word(black_box, code, code::FIRST_LINE);
    line_at(format, table, first_line, offset).unwrap_or(0)
}

fn code_word(black_box: &BoxWriter, code: u32, field: u64) -> u32 {
    let section = black_box.layout().section(SectionKind::Codes);
    if u64::from(code) >= section.capacity(code::SIZE) {
        return 0;
    }
    let place = section.record(u64::from(code), code::SIZE);
    let word = place.wrapping_add(field);
    black_box.region().u32(word).load(Relaxed)
}

/// Copies a string of the box; what does not fit is left out.
fn string(black_box: &BoxWriter, number: u32, buffer: &mut [u8]) -> usize {
    if number == 0 {
        return 0;
    }
    let section = black_box.layout().section(SectionKind::Strings);
    let start = section.offset.wrapping_add(SECTION_HEADER);
    let place = start.wrapping_add(u64::from(number).wrapping_mul(4));
    let length = black_box.region().u32(place).load(Acquire) as usize;
    let length = length.min(buffer.len());
    if let Some(part) = buffer.get_mut(..length) {
        black_box.region().get(place.wrapping_add(4), part);
    }
    length
}

#[cfg(test)]
mod tests {
    use super::*;
    use outlive_record::region::Region;
    use outlive_record::write::{Acquisition, CodeFacts, Identity, StackFacts, StackId, StringId};

    fn code(black_box: &BoxWriter, file: &[u8], first_line: u32) -> outlive_record::write::CodeId {
        let code = CodeFacts {
            file: black_box.add_string(file).unwrap(),
            name: black_box.add_string(b"work").unwrap(),
            first_line,
            // One entry without a line step: everything is on the first line.
            table: black_box.add_string(&[0x87 | 13 << 3, 0]).unwrap(),
            format: 11,
            fingerprint: 1,
            address: u64::from(first_line),
        };
        black_box.add_code(&code).unwrap()
    }

    fn hold(
        black_box: &BoxWriter,
        frames: &[(outlive_record::write::CodeId, u32)],
        bytes: u64,
    ) -> StackId {
        let facts = StackFacts {
            kind: StackKind::Python,
            thread: StringId(0),
            library: StringId(0),
            creator: StackId(0),
            flags: 0,
        };
        let stack = black_box.add_stack(&facts, frames.iter().copied()).unwrap();
        black_box.acquire(&Acquisition {
            stack,
            bytes,
            request: bytes,
            flags: 0,
            time: 1,
        });
        stack
    }

    #[test]
    fn bytes_are_summed_by_the_users_own_line() {
        let black_box = BoxWriter::create(Region::leaked(4 << 20), &Identity::default());
        let own = code(&black_box, b"/home/train.py", 7);
        let library = code(&black_box, b"/v/lib/site-packages/numpy/a.py", 99);
        hold(&black_box, &[(library, 0), (own, 0)], 5 << 20);
        hold(&black_box, &[(own, 0)], 2 << 20);
        hold(&black_box, &[(library, 0)], 1 << 20);
        hold(&black_box, &[(own, 0)], 100);
        let found = holders(&black_box, &Untouched::default());
        let brief = found.map(|holder| (holder.bytes, holder.line));
        assert_eq!(brief[..3], [(7 << 20, 7), (1 << 20, 99), (0, 0)]);
        let mut file = [0; 64];
        let length = file_of(&black_box, found[0].code, &mut file);
        assert_eq!(&file[..length], b"/home/train.py");
    }
    #[test]
    fn what_was_mapped_and_never_touched_is_not_held() {
        let black_box = BoxWriter::create(Region::leaked(4 << 20), &Identity::default());
        let import = code(&black_box, b"/home/train.py", 1);
        let load = code(&black_box, b"/home/train.py", 7);
        let mapped = hold(&black_box, &[(import, 0)], 80 << 20);
        hold(&black_box, &[(load, 0)], 50 << 20);
        let mut untouched = Untouched::default();
        untouched.0[3] = (mapped.0, 30 << 20);
        untouched.0[5] = (mapped.0, 40 << 20);
        let found = holders(&black_box, &untouched);
        let brief = found.map(|holder| (holder.bytes >> 20, holder.line));
        assert_eq!(brief[..3], [(50, 7), (10, 1), (0, 0)]);
    }
}
