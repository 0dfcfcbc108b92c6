//! Forks of this process, and the ends of children it waited for.

use core::sync::atomic::Ordering::Relaxed;

use outlive_record::kind::ChildKind;

use crate::arena;
use crate::attribution::stack_of_caller;
use crate::recorder;
use crate::sys::clock;
use crate::sys::thread::Entered;

/// The parent's side of a `fork`.
pub fn forked(entered: &Entered) {
    let Some((arena, black_box)) = arena::existing() else {
        return;
    };
    recorder::know_thread(arena, entered.thread);
    let stack = stack_of_caller(arena, black_box, entered.thread, 0);
    black_box.add_child(ChildKind::Forked, clock::monotonic(), 0, 0, stack);
}

/// A child was waited for and has ended.
pub fn reaped(_entered: &Entered, pid: i32, status: i32) {
    let ended = libc::WIFEXITED(status) || libc::WIFSIGNALED(status);
    let Some((_, black_box)) = arena::existing().filter(|_| ended && pid > 0) else {
        return;
    };
    let stack = outlive_record::write::StackId(0);
    black_box.add_child(
        ChildKind::Reaped,
        clock::monotonic(),
        pid as u32,
        status,
        stack,
    );
}

/// The stack that a thread to be started now is owed to, or 0.
pub fn creator_of_next(entered: &Entered) -> u32 {
    let Some((arena, black_box)) = arena::existing() else {
        return 0;
    };
    recorder::know_thread(arena, entered.thread);
    let stack = stack_of_caller(arena, black_box, entered.thread, 0);
    // A thread started by a thread without frames was, in the end, started by the same line.
    match entered.thread.creator.load(Relaxed) {
        0 => stack.0,
        inherited if crate::sys::interpreter::this_thread_state() == 0 => inherited,
        _ => stack.0,
    }
}

/// A thread was started: remembers on whose behalf.
pub fn thread_created(handle: u64, creator: u32) {
    if let Some((arena, _)) = arena::existing() {
        arena.set_creator(handle, creator);
    }
}
