//! The process is dying of a signal: signal, place and the Python stacks of all threads go into
//! the box, before anything else may happen to it.
//!
//! Runs in a signal handler, possibly on a broken heap: memory is read through the kernel, nothing
//! is allocated, and locks are given up on quickly.

use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::Relaxed;

use outlive_record::write::{FatalFacts, StackId};

use crate::arena;
use crate::attribution::python_stack;
use crate::python::{self, Memory};
use crate::sys::peek::Checked;
use crate::sys::{c_library, clock, interpreter, library, map, process};

/// The thread that reported last; the same thread dying of the same signal reports once.
static REPORTED: AtomicU32 = AtomicU32::new(0);

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

/// Writes it down.
pub fn record(fault: &Fault) {
    let tid = process::tid();
    let mark = tid ^ ((fault.signal as u32) << 24);
    if REPORTED.swap(mark, Relaxed) == mark {
        return;
    }
    let Some((arena, black_box)) = arena::existing() else {
        return;
    };
    let mut name = [0_u8; 16];
    let name_len = process::thread_name(&mut name);
    let mut message = [0_u8; 508];
    let message_len = if fault.signal == libc::SIGABRT {
        c_library::abort_message(&mut message)
    } else {
        0
    };
    let library = library::of(fault.ip as usize);
    let record = black_box.add_fatal(&FatalFacts {
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
    });
    let (Some(record), Some(layout)) = (record, python::layout()) else {
        return;
    };
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
