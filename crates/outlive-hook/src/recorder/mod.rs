//! What happens at a recorded event. The exports decide whether an event is recorded at all; here
//! it is attributed, counted and, if large, put into the ring.
//!
//! Order, everywhere: a release is recorded *before* the real function runs (afterwards the
//! address may belong to another thread), an acquisition *after* it succeeded; `realloc` is both.

mod mapping;

pub use mapping::{ARENA_SIZES, MappingKind, is_mapped, largest_mappings, mapped, unmapped};

use core::sync::atomic::AtomicU8;
use core::sync::atomic::Ordering::Relaxed;

use outlive_record::kind::{EventKind, stack_flag};
use outlive_record::layout::facts;
use outlive_record::write::{Acquisition, BoxWriter, StackId};

use crate::arena::{self, Arena};
use crate::attribution::stack_of_caller;
use crate::filter::FILTER;
use crate::guard;
use crate::live::{Block, CAPACITY};
use crate::python::{self, bootstrap};
use crate::sampling::{distance, next_random, weight};
use crate::sys::thread::{Entered, Thread};
use crate::sys::{altstack, clock, interpreter, process};

/// Bytes of small requests between two looks whether the interpreter is up.
const START_UP_STEP: i64 = 4 << 10;
/// At most this many doublings of the thresholds.
const MAX_COARSENESS: u32 = 7;

/// Whether anything is recorded: not decided yet, yes, or never.
static STATE: AtomicU8 = AtomicU8::new(UNDECIDED);
const UNDECIDED: u8 = 0;
const ENABLED: u8 = 1;
const DISABLED: u8 = 2;

/// Starts recording, or lets everything pass for good. Called in the constructor.
pub fn decide(is_prepared: bool) {
    STATE.store(if is_prepared { ENABLED } else { DISABLED }, Relaxed);
}

/// Whether anything is recorded in this process.
#[inline]
pub fn is_enabled() -> bool {
    STATE.load(Relaxed) == ENABLED
}

/// Memory was acquired: large, or the thread's countdown ran out.
pub fn acquired(entered: &Entered, address: usize, size: usize, caller: usize) {
    let thread = entered.thread;
    let recording = match STATE.load(Relaxed) {
        ENABLED => arena::recording(),
        // The loader itself allocates while the constructor prepares: it must come by again.
        UNDECIDED => None,
        _ => {
            thread.countdown.store(i64::MAX, Relaxed);
            return;
        }
    };
    let Some((arena, black_box)) = recording else {
        thread.countdown.store(START_UP_STEP, Relaxed);
        return;
    };
    know_thread(arena, thread);
    let size = size as u64;
    let exact = size >= arena.exact_from();
    let (bytes, flags) = if exact {
        (size, 0)
    } else {
        if !hit_by_sample(arena, black_box, thread, size) {
            return;
        }
        (weight(size, arena.sample_mean()), stack_flag::SAMPLED)
    };
    watch_interpreter(black_box);
    let stack = stack_of_caller(arena, black_box, thread, caller);
    let time = clock::monotonic();
    let block = Block::new(stack.0, bytes, !exact);
    if !arena.live.insert(address, block) {
        // No room to see its release: counted as other, so that no line is blamed for good.
        black_box.count_lost(facts::LOST_BLOCKS, 1);
        black_box.count_lost(facts::LOST_BLOCK_BYTES, bytes);
        return;
    }
    FILTER.add(address);
    coarsen_if_crowded(arena, black_box);
    let acquisition = Acquisition {
        stack,
        bytes: block.bytes,
        request: size,
        flags,
        time,
    };
    let live = black_box.acquire(&acquisition);
    guard::acquired(entered, arena, size, bytes);
    if exact {
        let tid = thread.tid.load(Relaxed);
        black_box.add_event(
            EventKind::Acquired,
            time,
            tid,
            size,
            address as u64,
            stack,
            live,
        );
    }
}

/// Memory is about to be given back. Needs no proof of entry: nothing here can come back to the
/// hook, and a release that is not seen would blame a line for good.
///
/// Returns what was recorded, for `realloc`, which puts it back if the call fails.
pub fn released(thread: &Thread, address: usize) -> Option<Block> {
    let (arena, black_box) = arena::existing()?;
    let block = arena.live.remove(address)?;
    FILTER.remove(address);
    let time = clock::monotonic();
    let live = black_box.release(StackId(block.stack), block.bytes, 1, block.sampled, time);
    guard::count_growth(arena, thread, (block.bytes as i64).wrapping_neg());
    if !block.sampled {
        let tid = thread.tid.load(Relaxed);
        let stack = StackId(block.stack);
        let (bytes, address) = (block.bytes, address as u64);
        black_box.add_event(EventKind::Released, time, tid, bytes, address, stack, live);
    }
    Some(block)
}

/// A `realloc` failed: the old block is live after all.
pub fn put_back(address: usize, block: Block) {
    let Some((arena, black_box)) = arena::existing() else {
        return;
    };
    if arena.live.insert(address, block) {
        FILTER.add(address);
        let stack = StackId(block.stack);
        let time = clock::monotonic();
        let bytes = block.bytes;
        let flags = if block.sampled {
            stack_flag::SAMPLED
        } else {
            0
        };
        black_box.acquire(&Acquisition {
            stack,
            bytes,
            request: 0,
            flags,
            time,
        });
    }
}

/// The allocator or the kernel said no.
pub fn failed(entered: &Entered, size: usize, caller: usize) {
    if !is_enabled() {
        return;
    }
    let Some((arena, black_box)) = arena::recording() else {
        return;
    };
    know_thread(arena, entered.thread);
    let stack = stack_of_caller(arena, black_box, entered.thread, caller);
    let tid = entered.thread.tid.load(Relaxed);
    let time = clock::monotonic();
    black_box.add_event(EventKind::Failed, time, tid, size as u64, 0, stack, 0);
}

/// Fills in the thread's words at its first recorded event in this process.
pub fn know_thread(arena: &Arena, thread: &Thread) {
    let generation = arena.generation.load(Relaxed);
    if thread.generation.load(Relaxed) == generation {
        return;
    }
    let tid = process::tid();
    thread.tid.store(tid, Relaxed);
    thread.random.store(0, Relaxed);
    thread
        .creator
        .store(arena.take_creator(process::thread_handle()), Relaxed);
    thread.native.forget();
    guard::meet(arena, thread);
    thread.generation.store(generation, Relaxed);
    altstack::provide(thread);
}

/// Whether the next sample falls into this request; if so, the distance to the one after is drawn.
/// None is taken while the interpreter starts.
///
/// Requests come here whose countdown has run out, and once the thresholds have doubled also larger
/// ones that only count down.
fn hit_by_sample(arena: &Arena, black_box: &BoxWriter, thread: &Thread, size: u64) -> bool {
    if !python::attribution_is_settled() {
        thread.countdown.store(START_UP_STEP, Relaxed);
        watch_interpreter(black_box);
        return false;
    }
    let mean = arena.sample_mean();
    let first = thread.random.load(Relaxed) == 0;
    let left = if first {
        // The countdown so far only served to bring the thread here.
        draw_distance(thread, mean)
    } else {
        thread.countdown.load(Relaxed)
    };
    let left = left.saturating_sub(size as i64);
    let is_hit = left < 0;
    let next = if is_hit {
        draw_distance(thread, mean)
    } else {
        left
    };
    thread.countdown.store(next, Relaxed);
    is_hit
}

/// Bytes until the next sample.
fn draw_distance(thread: &Thread, mean: u64) -> i64 {
    let state = match thread.random.load(Relaxed) {
        0 => clock::monotonic() ^ (u64::from(thread.tid.load(Relaxed)) << 40),
        state => state,
    };
    let random = next_random(state);
    thread.random.store(random, Relaxed);
    distance(random, mean)
}

/// Until the question of lines is settled: tries again, tells the box, and has the bootstrap run.
#[inline]
pub fn watch_interpreter(black_box: &BoxWriter) {
    if bootstrap::is_wanted() {
        settle(black_box);
    }
}

#[cold]
fn settle(black_box: &BoxWriter) {
    if python::try_verify() || python::attribution_is_settled() {
        black_box.set_python(interpreter::version_hex(), python::attribution());
        bootstrap::request();
    }
}

/// The table of live blocks fills up: look at fewer blocks from now on, each standing for more.
fn coarsen_if_crowded(arena: &Arena, black_box: &BoxWriter) {
    let level = arena.coarseness.load(Relaxed);
    if level >= MAX_COARSENESS || arena.live.len() < CAPACITY / 16 * level.wrapping_add(8) {
        return;
    }
    let next = level.wrapping_add(1);
    if arena
        .coarseness
        .compare_exchange(level, next, Relaxed, Relaxed)
        .is_ok()
    {
        black_box.set_sampling(arena.exact_from(), arena.sample_mean());
    }
}
