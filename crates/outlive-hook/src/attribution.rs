//! Who asked: the calling thread's Python frames as a stack of the box, or, without frames, its
//! name, the library that called and the stack that created it.
//!
//! A known stack costs one walk and one look-up, without a lock. A new one is written under the
//! intern lock, with everything a dead process can no longer be asked.

use core::ops::ControlFlow;
use core::sync::atomic::Ordering::Relaxed;

use outlive_record::kind::{StackKind, stack_flag};
use outlive_record::layout::facts;
use outlive_record::write::{BoxWriter, CodeFacts, CodeId, StackFacts, StackId, StringId};

use crate::arena::Arena;
use crate::hash::Hash;
use crate::python::layout::{BYTES_DATA, BYTES_LENGTH, FrameLayout};
use crate::python::text::Text;
use crate::python::walk::{MAX_DEPTH, Place, fetch_ahead, walk};
use crate::python::{self, Memory, text};
use crate::sys::thread::{Thread, thread_id};
use crate::sys::{interpreter, library, peek, process};

/// A code object that found no room: its number is out of range, and read as unknown.
const NAMELESS: CodeId = CodeId(u32::MAX);
/// Longest line table that is kept.
const MAX_TABLE: usize = 1 << 16;

/// The stack of the calling thread.
pub fn stack_of_caller(
    arena: &Arena,
    black_box: &BoxWriter,
    thread: &Thread,
    caller: usize,
) -> StackId {
    if let Some(layout) = python::layout() {
        let thread_state = interpreter::this_thread_state();
        if thread_state != 0 {
            let memory = peek::own_frames();
            fetch_ahead(&memory, layout, thread_state);
            if let Some(stack) = python_stack(arena, black_box, &memory, layout, thread_state) {
                return stack;
            }
        }
    } else if !python::attribution_is_settled() {
        return single_stack(arena, black_box, StackKind::StartUp);
    }
    native_stack(arena, black_box, thread, caller)
}

/// The stack of any thread, given its state; `None` when it has no frames.
pub fn python_stack<M: Memory>(
    arena: &Arena,
    black_box: &BoxWriter,
    memory: &M,
    layout: &FrameLayout,
    thread_state: usize,
) -> Option<StackId> {
    let mut hash = Hash::new(1);
    let mut depth = 0_u32;
    walk(memory, layout, thread_state, |place| {
        depth = depth.wrapping_add(1);
        if depth > MAX_DEPTH {
            return ControlFlow::Break(());
        }
        hash = hash.with_pair(
            place.code as u64 ^ place.fingerprint,
            u64::from(place.offset),
        );
        ControlFlow::Continue(())
    })?;
    if depth == 0 {
        return None;
    }
    let hash = hash.finish();
    if let Some(number) = arena.stacks.find(hash) {
        return Some(StackId(number));
    }
    Some(add_python_stack(
        arena,
        black_box,
        memory,
        layout,
        thread_state,
        hash,
    ))
}

#[cold]
fn add_python_stack<M: Memory>(
    arena: &Arena,
    black_box: &BoxWriter,
    memory: &M,
    layout: &FrameLayout,
    thread_state: usize,
    hash: u64,
) -> StackId {
    if arena.stacks_full.load(Relaxed) != 0 {
        return no_room(black_box);
    }
    let Some(_held) = arena.intern_lock.lock(thread_id()) else {
        black_box.count_lost(facts::LOST_CONTENDED, 1);
        return StackId(0);
    };
    if let Some(number) = arena.stacks.find(hash) {
        return StackId(number);
    }
    let mut frames = [(CodeId(0), 0_u32); MAX_DEPTH as usize];
    let mut depth = 0_usize;
    let mut flags = 0;
    let walked = walk(memory, layout, thread_state, |place| {
        let Some(frame) = frames.get_mut(depth) else {
            flags = stack_flag::TRUNCATED;
            return ControlFlow::Break(());
        };
        *frame = (
            code_of(arena, black_box, memory, layout, place),
            place.offset,
        );
        depth = depth.wrapping_add(1);
        ControlFlow::Continue(())
    });
    if walked.is_none() {
        return StackId(0);
    }
    let facts = StackFacts {
        kind: StackKind::Python,
        thread: StringId(0),
        library: StringId(0),
        creator: StackId(0),
        flags,
    };
    let frames = frames.get(..depth).unwrap_or(&[]);
    add_stack(arena, black_box, &facts, hash, frames)
}

/// Writes a stack and indexes it. Called with the intern lock held. Once a stack finds no room,
/// no other is tried: a full table must not make every event as dear as a first sight.
fn add_stack(
    arena: &Arena,
    black_box: &BoxWriter,
    stack: &StackFacts,
    hash: u64,
    frames: &[(CodeId, u32)],
) -> StackId {
    let added = black_box.add_stack(stack, frames.iter().copied());
    let indexed = added.is_some_and(|added| arena.stacks.add(hash, added.0));
    if !indexed {
        arena.stacks_full.store(1, Relaxed);
    }
    added.unwrap_or_else(|| no_room(black_box))
}

/// Counted on stack 0.
fn no_room(black_box: &BoxWriter) -> StackId {
    black_box.count_lost(facts::LOST_STACKS, 1);
    StackId(0)
}

/// The record of a code object, written at first sight.
fn code_of<M: Memory>(
    arena: &Arena,
    black_box: &BoxWriter,
    memory: &M,
    layout: &FrameLayout,
    place: Place,
) -> CodeId {
    let hash = Hash::new(2)
        .with(place.code as u64)
        .with(place.fingerprint)
        .finish();
    if let Some(number) = arena.codes.find(hash) {
        return CodeId(number);
    }
    if arena.codes_full.load(Relaxed) != 0 {
        black_box.count_lost(facts::LOST_CODES, 1);
        return NAMELESS;
    }
    let field = |offset: u32| {
        memory
            .word(place.code.wrapping_add(offset as usize))
            .unwrap_or(0)
    };
    let mut file = Text::new();
    text::read(memory, layout, field(layout.file), &mut file);
    let mut name = Text::new();
    text::read(memory, layout, field(layout.name), &mut name);
    let first_line = memory
        .half(place.code.wrapping_add(layout.first_line as usize))
        .unwrap_or(0);
    let code = CodeFacts {
        file: string_of(arena, black_box, file.as_bytes()),
        name: string_of(arena, black_box, name.as_bytes()),
        first_line,
        table: line_table(black_box, memory, field(layout.table)),
        format: layout.minor,
        fingerprint: place.fingerprint,
        address: place.code as u64,
    };
    let added = black_box.add_code(&code);
    let indexed = added.is_some_and(|added| arena.codes.add(hash, added.0));
    if !indexed || black_box.is_out_of_strings() {
        // The next one would not fit either, or would have no name.
        arena.codes_full.store(1, Relaxed);
    }
    added.unwrap_or(NAMELESS)
}

/// Copies the line table of a code object into the box.
fn line_table<M: Memory>(black_box: &BoxWriter, memory: &M, object: usize) -> StringId {
    if object == 0 {
        return StringId(0);
    }
    let length = memory
        .word(object.wrapping_add(BYTES_LENGTH))
        .unwrap_or(0)
        .min(MAX_TABLE);
    peek::copy_to_string(black_box, memory, object.wrapping_add(BYTES_DATA), length)
}

/// The record of a string, written at first sight. Called with the intern lock held.
fn string_of(arena: &Arena, black_box: &BoxWriter, bytes: &[u8]) -> StringId {
    if bytes.is_empty() {
        return StringId(0);
    }
    let hash = Hash::new(3).with_bytes(bytes).finish();
    if let Some(number) = arena.strings.find(hash) {
        return StringId(number);
    }
    let Some(added) = black_box.add_string(bytes) else {
        return StringId(0);
    };
    arena.strings.add(hash, added.0);
    added
}

/// A stack without Python frames, remembered by the thread for its next events.
fn native_stack(arena: &Arena, black_box: &BoxWriter, thread: &Thread, caller: usize) -> StackId {
    let knew_creator = thread.creator.load(Relaxed) != 0;
    let creator = creator_of(arena, thread);
    if (creator != 0) == knew_creator
        && let Some(stack) = thread.native.recall(caller)
    {
        return StackId(stack);
    }
    let stack = find_native_stack(arena, black_box, creator, caller);
    thread.native.keep(caller, stack.0);
    stack
}

/// The stack made of thread name, calling library and creator.
fn find_native_stack(arena: &Arena, black_box: &BoxWriter, creator: u32, caller: usize) -> StackId {
    let mut name = [0_u8; 16];
    let length = process::thread_name(&mut name);
    let name = name.get(..length).unwrap_or(&[]);
    let library = library::of(caller);
    let hash = Hash::new(4)
        .with_bytes(name)
        .with(library.map_or(0, |library| library.start as u64))
        .with(u64::from(creator))
        .finish();
    if let Some(number) = arena.stacks.find(hash) {
        return StackId(number);
    }
    if arena.stacks_full.load(Relaxed) != 0 {
        return no_room(black_box);
    }
    let Some(_held) = arena.intern_lock.lock(thread_id()) else {
        black_box.count_lost(facts::LOST_CONTENDED, 1);
        return StackId(0);
    };
    if let Some(number) = arena.stacks.find(hash) {
        return StackId(number);
    }
    let stack = StackFacts {
        kind: StackKind::Native,
        thread: string_of(arena, black_box, name),
        library: string_of(
            arena,
            black_box,
            library.map_or(&[], |library| library.path),
        ),
        creator: StackId(creator),
        flags: 0,
    };
    add_stack(arena, black_box, &stack, hash, &[])
}

/// The stack that created this thread. A thread may be faster than the note of its creation, so
/// an unknown creator is looked up again.
fn creator_of(arena: &Arena, thread: &Thread) -> u32 {
    let known = thread.creator.load(Relaxed);
    if known != 0 {
        return known;
    }
    let found = arena.take_creator(process::thread_handle());
    thread.creator.store(found, Relaxed);
    found
}

/// The one stack of a kind that has no further marks.
fn single_stack(arena: &Arena, black_box: &BoxWriter, kind: StackKind) -> StackId {
    let hash = Hash::new(5).with(kind as u64).finish();
    if let Some(number) = arena.stacks.find(hash) {
        return StackId(number);
    }
    let Some(_held) = arena.intern_lock.lock(thread_id()) else {
        return StackId(0);
    };
    if let Some(number) = arena.stacks.find(hash) {
        return StackId(number);
    }
    let none = StringId(0);
    let stack = StackFacts {
        kind,
        thread: none,
        library: none,
        creator: StackId(0),
        flags: 0,
    };
    add_stack(arena, black_box, &stack, hash, &[])
}
