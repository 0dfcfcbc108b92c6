//! Who holds memory, read from the box by the process itself: for the text of an exception.

use core::sync::atomic::Ordering::{Acquire, Relaxed};

use outlive_record::kind::{StackKind, stack_flag};
use outlive_record::layout::{SECTION_HEADER, SectionKind, code, frame, stack};
use outlive_record::lines::line_at;
use outlive_record::write::BoxWriter;

use crate::python::origin::is_library;

/// Lines that are told apart; beyond them the smallest are dropped.
pub const MOST: usize = 32;
/// Stacks that hold less are not looked at.
const SMALLEST: u64 = 64 << 10;
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

/// What one stack holds.
struct Held {
    bytes: u64,
    flags: u32,
    kind: u32,
    frames: u32,
    depth: u32,
}

/// The stacks that hold something.
fn stacks(black_box: &BoxWriter) -> impl Iterator<Item = Held> + '_ {
    let section = black_box.layout().section(SectionKind::Stacks);
    let region = black_box.region();
    let count = region.u64(section.offset).load(Acquire);
    let count = count.min(section.capacity(stack::SIZE));
    (0..count).filter_map(move |index| {
        let place = section.record(index, stack::SIZE);
        let word = |offset: u64| region.u32(place.wrapping_add(offset));
        let live = region.i64(place.wrapping_add(stack::LIVE_BYTES));
        let bytes = u64::try_from(live.load(Relaxed)).ok()?;
        let is_ready = word(stack::READY).load(Acquire) == 1;
        (is_ready && bytes > 0).then(|| Held {
            bytes,
            flags: word(stack::FLAGS).load(Relaxed),
            kind: word(stack::KIND).load(Relaxed),
            frames: word(stack::FRAMES).load(Relaxed),
            depth: word(stack::DEPTH).load(Relaxed),
        })
    })
}

/// The lines that hold most, largest first; the rest of the array is empty.
///
/// The process has no more than `most`. Libraries map tens of mebibytes when they are imported and
/// touch few of them: where more is recorded than there can be, mappings count for less.
pub fn holders(black_box: &BoxWriter, most: u64) -> [Holder; MOST] {
    let sum = |sum: u64, held: Held| sum.saturating_add(held.bytes);
    let own = || stacks(black_box).filter(|held| held.flags & stack_flag::SHARED == 0);
    let is_mapping = |held: &Held| stack_flag::is_plain_mapping(held.flags);
    let mapped = own().filter(is_mapping).fold(0, sum);
    let surplus = own().fold(0, sum).saturating_sub(most);
    let touched = mapped.saturating_sub(surplus);
    let mut found = [Holder::default(); MOST];
    for held in stacks(black_box) {
        let bytes = if is_mapping(&held) {
            part(held.bytes, touched, mapped)
        } else {
            held.bytes
        };
        if bytes < SMALLEST || held.kind != StackKind::Python as u32 {
            continue;
        }
        let (code, offset) = own_frame(black_box, held.frames, held.depth);
        let line = line_of(black_box, code, offset);
        add(&mut found, Holder { bytes, code, line });
    }
    sort(&mut found);
    found
}

/// As much of `bytes` as `of` is of `whole`.
fn part(bytes: u64, of: u64, whole: u64) -> u64 {
    let product = u128::from(bytes).saturating_mul(u128::from(of));
    product.checked_div(u128::from(whole)).unwrap_or(0) as u64
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

    fn hold(black_box: &BoxWriter, frames: &[(outlive_record::write::CodeId, u32)], bytes: u64) {
        hold_as(black_box, frames, bytes, 0);
    }

    fn hold_as(
        black_box: &BoxWriter,
        frames: &[(outlive_record::write::CodeId, u32)],
        bytes: u64,
        flags: u32,
    ) {
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
            flags,
            time: 1,
        });
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
        let found = holders(&black_box, u64::MAX);
        let brief = found.map(|holder| (holder.bytes, holder.line));
        assert_eq!(brief[..3], [(7 << 20, 7), (1 << 20, 99), (0, 0)]);
        let mut file = [0; 64];
        let length = file_of(&black_box, found[0].code, &mut file);
        assert_eq!(&file[..length], b"/home/train.py");
    }
    #[test]
    fn mappings_hold_no_more_than_there_can_be() {
        let black_box = BoxWriter::create(Region::leaked(4 << 20), &Identity::default());
        let import = code(&black_box, b"/home/train.py", 1);
        let load = code(&black_box, b"/home/train.py", 7);
        hold_as(&black_box, &[(import, 0)], 80 << 20, stack_flag::MAPPED);
        hold(&black_box, &[(load, 0)], 50 << 20);
        let brief = |most: u64| holders(&black_box, most).map(|one| (one.bytes >> 20, one.line));
        assert_eq!(brief(u64::MAX)[..2], [(80, 1), (50, 7)]);
        assert_eq!(brief(70 << 20)[..2], [(50, 7), (20, 1)]);
        assert_eq!(brief(10 << 20)[..2], [(50, 7), (0, 0)]);
    }
}
