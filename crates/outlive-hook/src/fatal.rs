//! The process is dying of a signal: signal, place and the Python stacks of all threads go into
//! the box, before anything else may happen to it.
//!
//! Runs in a signal handler, possibly on a broken heap: memory is read through the kernel, nothing
//! is allocated, and locks are given up on quickly.

use core::sync::atomic::Ordering::Relaxed;

use outlive_record::write::{BoxWriter, FatalFacts, StackId};

use crate::arena::{self, Arena};
use crate::attribution::python_stack;
use crate::python::layout::FrameLayout;
use crate::python::{self, Memory};
use crate::sys::peek::Checked;
use crate::sys::{c_library, clock, interpreter, library, map, process};

/// A program that recovers from faults at one place (a probe, a barrier of a garbage collector)
/// may do so all the time: after this many in a row the place is known.
const ENOUGH_REPEATS: u32 = 8;

/// What the kernel says about a signal.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    /// Signal.
    pub signal: i32,
    /// `si_code`.
    pub code: i32,
    /// Faulting address.
    pub address: u64,
    /// Instruction pointer.
    pub ip: u64,
    /// Stack pointer.
    pub sp: u64,
    /// Sender, for signals somebody sent.
    pub sender: u32,
    /// Whether a handler of the program runs next.
    pub handled: bool,
}

/// Whether the fault is one in our own box: its file was cut short, or a file system that cannot
/// promise space ran full. The recording ends; the program must not feel it.
pub fn is_in_box(fault_address: u64) -> bool {
    arena::existing().is_some_and(|(_, black_box)| black_box.region().holds(fault_address))
}

/// Puts ordinary memory in place of the box.
pub fn give_up_box() -> bool {
    arena::existing().is_some_and(|(_, black_box)| map::replace(black_box.region()))
}

/// Writes it down, unless writing is what failed: a fault in here must end the process.
pub fn record(fault: &Fault) {
    let tid = process::tid();
    let Some((arena, black_box)) = arena::recording() else {
        return;
    };
    if arena.handled.writer.swap(tid, Relaxed) == tid {
        return;
    }
    let earlier = match place_of(arena, black_box, fault, tid) {
        Place::Nowhere => None,
        Place::Fresh => Some(None),
        Place::InsteadOf(record) => Some(Some(record)),
    };
    if let Some(earlier) = earlier {
        write(arena, black_box, fault, tid, earlier);
    }
    arena.handled.writer.store(0, Relaxed);
}

fn write(arena: &Arena, black_box: &BoxWriter, fault: &Fault, tid: u32, earlier: Option<u64>) {
    let mut name = [0_u8; 16];
    let name_len = process::thread_name(&mut name);
    let mut message = [0_u8; 508];
    let message_len = if fault.signal == libc::SIGABRT {
        c_library::abort_message(&mut message)
    } else {
        0
    };
    let library = library::of(fault.ip as usize);
    let facts = FatalFacts {
        signal: fault.signal,
        code: fault.code,
        tid,
        time: clock::monotonic(),
        address: fault.address,
        ip: fault.ip,
        sp: fault.sp,
        sender: fault.sender,
        library: library.map_or(&[], |library| library.path),
        library_offset: library.map_or(0, |found| fault.ip.wrapping_sub(found.start as u64)),
        thread: name.get(..name_len).unwrap_or(&[]),
        abort_message: message.get(..message_len).unwrap_or(&[]),
        cxx_type: &[],
        handled: fault.handled,
    };
    let record = black_box.add_fatal(&facts, earlier);
    if fault.handled {
        arena.handled.record.store(record.unwrap_or(0), Relaxed);
    }
    if let (Some(record), Some(layout)) = (record, python::layout()) {
        add_stacks(arena, black_box, layout, record, tid);
    }
}

/// The Python stacks of all threads, the dying one first.
fn add_stacks(arena: &Arena, black_box: &BoxWriter, layout: &FrameLayout, record: u64, tid: u32) {
    let own = interpreter::this_thread_state();
    let add = |state: usize, tid: u32| {
        let stack = python_stack(arena, black_box, &Checked, layout, state).unwrap_or(StackId(0));
        let mut name = [0_u8; 16];
        let length = process::name_of(tid, &mut name);
        black_box.add_fatal_thread(record, tid, name.get(..length).unwrap_or(&[]), stack);
    };
    if own != 0 {
        add(own, tid);
    }
    interpreter::each_thread_state(|state| {
        if state != own {
            let other = layout
                .native_id
                .and_then(|offset| Checked.word(state.wrapping_add(offset as usize)))
                .unwrap_or(0);
            add(state, other as u32);
        }
    });
    black_box.finish_fatal(record);
}

/// Where the record of a fault goes.
enum Place {
    /// Nothing to write: the same fault once more, or a handler that gives the signal back.
    Nowhere,
    /// A record of its own.
    Fresh,
    /// Over the record of a fault that the program recovered from.
    InsteadOf(u64),
}

fn place_of(arena: &Arena, black_box: &BoxWriter, fault: &Fault, tid: u32) -> Place {
    let handled = &arena.handled;
    let mark = tid ^ ((fault.signal as u32) << 24);
    let same_thread = handled.mark.swap(mark, Relaxed) == mark;
    let record = handled.record.load(Relaxed);
    if record != 0 && same_thread && fault.sender == process::pid() {
        black_box.confirm_fatal(record);
        return Place::Nowhere;
    }
    let same_place = same_thread && handled.ip.swap(fault.ip, Relaxed) == fault.ip;
    let repeats = if same_place {
        handled.repeats.fetch_add(1, Relaxed)
    } else {
        handled.repeats.store(0, Relaxed);
        0
    };
    match record {
        _ if fault.handled && repeats > ENOUGH_REPEATS => Place::Nowhere,
        0 => Place::Fresh,
        record => Place::InsteadOf(record),
    }
}
