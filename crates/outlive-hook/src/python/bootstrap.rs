//! The one piece of Python that runs inside the program: it notes uncaught exceptions, and lets
//! the hook check its reading of frames against a line that is known.
//!
//! It runs as a pending call, in the main thread between two bytecodes, with the GIL held as any
//! Python code has it. It changes nothing a program can see, but for `threading.excepthook`, which
//! is wrapped once a thread is started.
//!
//! It imports `atexit`, and the import system cannot be entered twice: interrupted while it takes a
//! module's lock, it would find the lock's note gone and fail with a `KeyError`, in the program's
//! own import. So the bootstrap waits until the interrupted code is not the import system's.

use core::ops::ControlFlow;
use core::sync::atomic::AtomicU8;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use super::text::{self, Text};
use super::{Memory, walk};
use crate::sys::peek::own_frames;
use crate::sys::{bootstrap as edge, guard_calls, interpreter};

/// How the files of the import system are named.
const IMPORT_SYSTEM: &[u8] = b"<frozen importlib";
/// The module that starts threads.
const THREADING: &[u8] = b"/threading.py";

const NOT_YET: u8 = 0;
const REQUESTED: u8 = 1;
const DONE: u8 = 2;

/// The bootstrap itself.
static MAIN: AtomicU8 = AtomicU8::new(NOT_YET);
/// Its part for threads.
static THREADS: AtomicU8 = AtomicU8::new(NOT_YET);

/// Whether the bootstrap still has to be asked for.
#[inline]
pub fn is_wanted() -> bool {
    MAIN.load(Relaxed) == NOT_YET
}

/// Whether it has run.
#[inline]
pub fn is_done() -> bool {
    MAIN.load(Relaxed) == DONE
}

/// Has the bootstrap run at the next safe point, once per process image.
pub fn request() {
    if super::layout().is_some()
        && MAIN
            .compare_exchange(NOT_YET, REQUESTED, AcqRel, Acquire)
            .is_ok()
        && !interpreter::call_soon(edge::install)
    {
        // Too much is pending: the next recorded event asks again.
        MAIN.store(NOT_YET, Release);
    }
}

/// A thread is being started: has its exceptions noted too.
pub fn request_for_threads() {
    // A program may start its first thread before anything of it was recorded.
    super::try_verify();
    if super::layout().is_some()
        && THREADS
            .compare_exchange(NOT_YET, REQUESTED, AcqRel, Acquire)
            .is_ok()
    {
        if guard_calls::holds_gil() && innermost_file(|file| file.ends_with(THREADING)) {
            // Called by Python's own `Thread.start`: as safe a point as any, and the new thread
            // may fail before the next one.
            edge::install_for_threads_now();
        } else if !interpreter::call_soon(edge::install_for_threads) {
            threads_done(false);
        }
    }
}

/// In a pending call: whether the bootstrap may run now. If not, the next recorded event (or the
/// next thread) asks again.
pub fn may_run_now() -> bool {
    let good = is_good_moment();
    let next = if good { DONE } else { NOT_YET };
    MAIN.store(next, Release);
    good
}

/// How the part for threads went. If not at all, the next thread asks again.
pub fn threads_done(done: bool) {
    THREADS.store(if done { DONE } else { NOT_YET }, Release);
}

/// Whether the code that was interrupted is anything but the import system.
fn is_good_moment() -> bool {
    innermost_file(|file| !file.starts_with(IMPORT_SYSTEM))
}

/// Whether the calling thread is in Python code, of a file that `is_it` knows.
fn innermost_file(is_it: impl FnOnce(&[u8]) -> bool) -> bool {
    let Some(layout) = super::layout() else {
        return false;
    };
    // An interpreter that goes down still runs pending calls, but its states are not looked at.
    let thread_state = interpreter::this_thread_state();
    if thread_state == 0 {
        return false;
    }
    let memory = own_frames();
    let mut file = Text::new();
    let walked = walk::walk(&memory, layout, thread_state, |place| {
        let name = memory.word(place.code.wrapping_add(layout.file as usize));
        text::read(&memory, layout, name.unwrap_or(0), &mut file);
        ControlFlow::Break(())
    });
    walked.is_some() && is_it(file.as_bytes())
}
