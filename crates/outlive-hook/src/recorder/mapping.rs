//! Memory that is mapped: recorded as ranges, since it may be unmapped in other pieces.

use core::sync::atomic::Ordering::Relaxed;

use outlive_record::kind::{EventKind, stack_flag};
use outlive_record::layout::facts;
use outlive_record::write::{Acquisition, BoxWriter, StackId};

use super::{is_enabled, know_thread, watch_interpreter};
use crate::arena::{self, Arena};
use crate::attribution::stack_of_caller;
use crate::guard;
use crate::mappings::{LARGEST, Range};
use crate::sys::clock;
use crate::sys::thread::{Entered, Thread, thread_id};

/// Size of the arenas of Python's small-object allocator: 256 KiB up to 3.9, 1 MiB since.
pub const ARENA_SIZES: [usize; 2] = [256 << 10, 1 << 20];

/// What kind of mapping it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MappingKind {
    /// Private memory.
    Private,
    /// Private memory without a promise of space: allocators that libraries bring along map so.
    Unpromised,
    /// Shared memory (`/dev/shm`).
    Shared,
}

/// From this size on, memory without a promise is an arena to be filled some day, not memory that
/// somebody asked for: it is noted as reserved and does not count as live.
const RESERVED_FROM: usize = 512 << 20;
/// In a range's stack: it is reserved address space.
const RESERVED: u32 = 1 << 31;
/// In a range's stack: its bytes count as an estimate.
const ESTIMATED: u32 = 1 << 30;

/// Memory was mapped.
pub fn mapped(entered: &Entered, address: usize, size: usize, caller: usize, kind: MappingKind) {
    if !is_enabled() {
        return;
    }
    let Some((arena, black_box)) = arena::recording() else {
        return;
    };
    know_thread(arena, entered.thread);
    watch_interpreter(black_box);
    let stack = stack_of_caller(arena, black_box, entered.thread, caller);
    let reserved = kind == MappingKind::Unpromised && size >= RESERVED_FROM;
    let flags = mapping_flags(kind, size);
    let estimated = flags & stack_flag::ESTIMATE != 0;
    let marks = if reserved { RESERVED } else { 0 } | if estimated { ESTIMATED } else { 0 };
    let range = Range {
        start: address as u64,
        end: (address as u64).wrapping_add(size as u64),
        stack: stack.0 | marks,
    };
    if !note_range(entered.thread, arena, black_box, range) {
        black_box.count_lost(facts::LOST_BLOCKS, 1);
        black_box.count_lost(facts::LOST_BLOCK_BYTES, size as u64);
        return;
    }
    if reserved {
        black_box.reserve_space(stack, size as i64);
        guard::stop::watch_for_good(arena);
        return;
    }
    let time = clock::monotonic();
    let request = size as u64;
    let live = black_box.acquire(&Acquisition {
        stack,
        bytes: request,
        request,
        flags,
        time,
    });
    if kind == MappingKind::Unpromised {
        guard::grew(entered, arena, request);
    } else {
        guard::acquired(entered, arena, request, request);
    }
    let tid = entered.thread.tid.load(Relaxed);
    black_box.add_event(
        EventKind::Mapped,
        time,
        tid,
        request,
        address as u64,
        stack,
        live,
    );
}

fn mapping_flags(kind: MappingKind, size: usize) -> u32 {
    let own = match kind {
        MappingKind::Shared => stack_flag::SHARED,
        MappingKind::Unpromised => stack_flag::ARENA,
        MappingKind::Private if ARENA_SIZES.contains(&size) => stack_flag::ARENA,
        MappingKind::Private => 0,
    };
    stack_flag::MAPPED | own
}

/// Puts a range into the table. What lay there before was unmapped behind our back.
fn note_range(thread: &Thread, arena: &Arena, black_box: &BoxWriter, range: Range) -> bool {
    let Some(_held) = arena.mapping_lock.lock(thread_id()) else {
        return false;
    };
    let cleared = arena.mappings.remove(range.start, range.end, |gone, left| {
        release_range(thread, black_box, gone, left);
    });
    cleared && arena.mappings.insert(range)
}

/// A range is about to be unmapped, or to be mapped over.
pub fn unmapped(entered: &Entered, address: usize, size: usize) {
    let Some((arena, black_box)) = arena::existing() else {
        return;
    };
    let Some(_held) = arena.mapping_lock.lock(thread_id()) else {
        black_box.count_lost(facts::LOST_CONTENDED, 1);
        return;
    };
    let end = (address as u64).saturating_add(size as u64);
    let complete = arena.mappings.remove(address as u64, end, |gone, left| {
        release_range(entered.thread, black_box, gone, left);
    });
    if !complete {
        black_box.count_lost(facts::LOST_BLOCKS, 1);
    }
}

/// Counts a range out, of which `left` pieces stay.
fn release_range(thread: &Thread, black_box: &BoxWriter, range: Range, left: i64) {
    let stack = StackId(range.stack & !(RESERVED | ESTIMATED));
    if range.stack & RESERVED != 0 {
        black_box.reserve_space(stack, (range.len() as i64).wrapping_neg());
        return;
    }
    let time = clock::monotonic();
    let estimated = range.stack & ESTIMATED != 0;
    let blocks = 1_i64.wrapping_sub(left);
    let live = black_box.release(stack, range.len(), blocks, estimated, time);
    guard::leaving(range.start as usize);
    let tid = thread.tid.load(Relaxed);
    black_box.add_event(
        EventKind::Unmapped,
        time,
        tid,
        range.len(),
        range.start,
        stack,
        live,
    );
}

/// The largest ranges that count as held, each with the stack that mapped it.
pub fn largest_mappings(arena: &Arena) -> [Range; LARGEST] {
    let Some(_held) = arena.mapping_lock.lock(thread_id()) else {
        return [Range::default(); LARGEST];
    };
    let found = arena.mappings.largest(|range| range.stack & RESERVED == 0);
    found.map(|range| Range {
        stack: range.stack & !ESTIMATED,
        ..range
    })
}

/// Whether this address lies in a recorded mapping.
pub fn is_mapped(address: usize) -> bool {
    let Some((arena, _)) = arena::existing() else {
        return false;
    };
    let held = arena.mapping_lock.lock(thread_id());
    held.is_some() && arena.mappings.contains(address as u64)
}
