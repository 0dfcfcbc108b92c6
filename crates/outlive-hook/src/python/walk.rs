//! From a thread state to the places in code it is in, innermost first.

use core::ops::ControlFlow;

use super::Memory;
use super::layout::{
    BYTES_DATA, BYTES_LENGTH, FirstFrame, FrameLayout, OBJECT_TYPE, Position, TEXT_HASH,
    TEXT_LENGTH,
};
use crate::hash::fold;
use crate::sys::interpreter;

/// Deeper stacks lose their outermost frames.
pub const MAX_DEPTH: u32 = 96;
/// Frames whose objects are fetched ahead.
const FETCHED_AHEAD: usize = 24;
/// A chain this long is a loop or garbage.
const MAX_CHAIN: u32 = 20_000;
/// Owners from here on are entries from C, not Python code (3 since 3.12).
const FIRST_C_OWNER: u8 = 3;

/// One frame: a code object and an instruction in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Address of the code object.
    pub code: usize,
    /// Instruction offset in bytes.
    pub offset: u32,
    /// Differs when the address was given to another code object.
    pub fingerprint: u64,
}

/// Calls `visit` for each frame of a thread, innermost first, until it breaks off.
/// Returns `None` when memory could not be read.
#[inline]
pub fn walk<M: Memory>(
    memory: &M,
    layout: &FrameLayout,
    thread_state: usize,
    mut visit: impl FnMut(Place) -> ControlFlow<()>,
) -> Option<()> {
    let code_type = interpreter::code_type();
    let mut frame = first_frame(memory, layout, thread_state)?;
    let mut chain = 0_u32;
    while frame != 0 && chain < MAX_CHAIN {
        chain = chain.wrapping_add(1);
        let code = code_of(memory, layout, frame)?;
        if code != 0 && memory.word(code.wrapping_add(OBJECT_TYPE))? == code_type {
            let place = Place {
                code,
                offset: position(memory, layout, frame, code)?,
                fingerprint: fingerprint(memory, layout, code)?,
            };
            if visit(place).is_break() {
                return Some(());
            }
        }
        frame = memory.word(frame.wrapping_add(layout.previous as usize))?;
    }
    Some(())
}

/// Has the processor fetch what [`walk`] is about to read.
///
/// A program that works through large arrays leaves nothing of the interpreter in the cache. Read
/// one after the other, the objects of a stack are a hundred waits in a row; asked for together,
/// level by level, they are a few.
#[inline]
pub fn fetch_ahead<M: Memory>(memory: &M, layout: &FrameLayout, thread_state: usize) -> Option<()> {
    let mut codes = [0_usize; FETCHED_AHEAD];
    let mut frame = first_frame(memory, layout, thread_state)?;
    let mut depth = 0;
    for slot in &mut codes {
        if frame == 0 {
            break;
        }
        let code = code_of(memory, layout, frame)?;
        memory.expect(code.wrapping_add(OBJECT_TYPE));
        memory.expect(code.wrapping_add(layout.first_line as usize));
        memory.expect(code.wrapping_add(layout.table as usize));
        *slot = code;
        depth += 1;
        frame = memory.word(frame.wrapping_add(layout.previous as usize))?;
    }
    let code_type = interpreter::code_type();
    for code in codes.iter_mut().take(depth) {
        if *code == 0 || memory.word(code.wrapping_add(OBJECT_TYPE))? != code_type {
            *code = 0;
            continue;
        }
        let field = |offset: u32| memory.word(code.wrapping_add(offset as usize));
        memory.expect(field(layout.file)?.wrapping_add(TEXT_LENGTH));
        memory.expect(field(layout.name)?.wrapping_add(TEXT_HASH));
        memory.expect(field(layout.table)?.wrapping_add(BYTES_LENGTH));
    }
    for code in codes.iter().take(depth).filter(|&&code| code != 0) {
        let field = |offset: u32| memory.word(code.wrapping_add(offset as usize));
        let (file, table) = (field(layout.file)?, field(layout.table)?);
        let characters = memory.word(file.wrapping_add(TEXT_LENGTH))?;
        let text = file.wrapping_add(layout.ascii_data as usize);
        memory.expect(last_place(text, characters));
        let length = memory.word(table.wrapping_add(BYTES_LENGTH))?;
        memory.expect(last_place(table.wrapping_add(BYTES_DATA), length));
    }
    Some(())
}

/// What a trial of the layout showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plausible {
    /// Frames were found, and everything in them is of the right type.
    Yes,
    /// There is no frame to try it on yet.
    NoFrames,
    /// Something is not what it should be.
    No,
}

/// Tries the layout on the frames of this thread: every executable is a code object, every file
/// and name a text, every table bytes.
pub fn plausible<M: Memory>(memory: &M, layout: &FrameLayout, thread_state: usize) -> Plausible {
    match first_frame(memory, layout, thread_state) {
        None => return Plausible::No,
        Some(0) => return Plausible::NoFrames,
        Some(_) => {}
    }
    let mut frames = 0_u32;
    let mut right = true;
    let walked = walk(memory, layout, thread_state, |place| {
        frames = frames.wrapping_add(1);
        right &= is_of_type(memory, place.code, layout.file, interpreter::text_type())
            && is_of_type(memory, place.code, layout.name, interpreter::text_type())
            && is_of_type(memory, place.code, layout.table, interpreter::bytes_type())
            && place.offset < 1 << 26;
        if right {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    });
    match (walked, right, frames) {
        (Some(()), true, 0) => Plausible::NoFrames,
        (Some(()), true, _) => Plausible::Yes,
        _ => Plausible::No,
    }
}

fn is_of_type<M: Memory>(memory: &M, code: usize, field: u32, expected: usize) -> bool {
    memory
        .word(code.wrapping_add(field as usize))
        .filter(|&object| object != 0 && object.is_multiple_of(8))
        .and_then(|object| memory.word(object.wrapping_add(OBJECT_TYPE)))
        .is_some_and(|found| found == expected)
}

#[inline]
fn first_frame<M: Memory>(memory: &M, layout: &FrameLayout, thread_state: usize) -> Option<usize> {
    match layout.first {
        FirstFrame::Direct { offset } => memory.word(thread_state.wrapping_add(offset as usize)),
        FirstFrame::ThroughCFrame { c_frame, current } => {
            match memory.word(thread_state.wrapping_add(c_frame as usize))? {
                0 => Some(0),
                c_frame => memory.word(c_frame.wrapping_add(current as usize)),
            }
        }
    }
}

/// What a frame executes, most likely a code object; 0 for entries from C.
#[inline]
fn code_of<M: Memory>(memory: &M, layout: &FrameLayout, frame: usize) -> Option<usize> {
    let owner = match layout.owner {
        Some(owner) => memory.byte(frame.wrapping_add(owner as usize))?,
        None => 0,
    };
    if owner >= FIRST_C_OWNER {
        return Some(0);
    }
    Some(memory.word(frame.wrapping_add(layout.code as usize))? & !7)
}

/// The instruction's offset. A frame that has not started yet points before its first instruction
/// and counts as standing on it.
#[inline]
fn position<M: Memory>(memory: &M, layout: &FrameLayout, frame: usize, code: usize) -> Option<u32> {
    let place = frame.wrapping_add(layout.position as usize);
    match layout.position_kind {
        Position::Index { unit } => {
            let index = memory.half(place)? as i32;
            Some((index.max(0) as u32).wrapping_mul(unit))
        }
        Position::Pointer => {
            let start = code.wrapping_add(layout.instructions as usize);
            let pointer = memory.word(place)?;
            Some(if pointer > start {
                pointer.wrapping_sub(start) as u32
            } else {
                0
            })
        }
    }
}

/// Tells two code objects at one address apart. Addresses alone do not: when a code object is freed
/// and another made, its file name and line table often land where those of the first one were. So
/// the fingerprint takes what they hold: length, hash and last characters of the name, length and
/// last bytes of the table.
#[inline]
fn fingerprint<M: Memory>(memory: &M, layout: &FrameLayout, code: usize) -> Option<u64> {
    let field = |offset: u32| memory.word(code.wrapping_add(offset as usize));
    let first_line = memory.half(code.wrapping_add(layout.first_line as usize))?;
    let file = field(layout.file)?;
    let name = field(layout.name)?;
    let table = field(layout.table)?;
    let characters = memory.word(file.wrapping_add(TEXT_LENGTH))?;
    let table_length = memory.word(table.wrapping_add(BYTES_LENGTH))?;
    let file_hash = memory.word(file.wrapping_add(TEXT_HASH))? as u64;
    let name_hash = memory.word(name.wrapping_add(TEXT_HASH))? as u64;
    let text = file.wrapping_add(layout.ascii_data as usize);
    let file_end = last_word(memory, text, characters)?;
    let table_end = last_word(memory, table.wrapping_add(BYTES_DATA), table_length)?;
    // Side by side rather than in a chain, so that the processor can do them at once.
    let file = fold(file_hash, file_end) ^ characters as u64;
    let table = fold(name_hash, table_end) ^ table_length as u64;
    Some(fold(file, table ^ u64::from(first_line) << 32))
}

#[inline]
const fn last_place(start: usize, length: usize) -> usize {
    start.wrapping_add(length.saturating_sub(8))
}

/// The last eight bytes of `length` at `start`. Objects are at least a word longer than their
/// header, so shorter ones are read from their start.
#[inline]
fn last_word<M: Memory>(memory: &M, start: usize, length: usize) -> Option<u64> {
    let word = memory.word(last_place(start, length))? as u64;
    let unused = 8_usize.saturating_sub(length) as u32;
    // Bytes behind a short object are not part of it.
    Some(word.checked_shl(unused.wrapping_mul(8)).unwrap_or(0))
}
