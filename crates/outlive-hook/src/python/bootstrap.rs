//! The one piece of Python that runs inside the program: it notes uncaught exceptions, and lets
//! the hook check its reading of frames against a line that is known.
//!
//! It runs as a pending call, in the main thread between two bytecodes, with the GIL held as any
//! Python code has it. It changes nothing a program can see, but for `threading.excepthook`, which
//! is wrapped once a thread is started.

use core::sync::atomic::AtomicU8;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};

use crate::sys::{bootstrap as edge, interpreter};

const NOT_YET: u8 = 0;
const REQUESTED: u8 = 1;
const THREADS_REQUESTED: u8 = 2;

static STATE: AtomicU8 = AtomicU8::new(NOT_YET);

/// Whether the bootstrap was asked for.
#[inline]
pub fn is_requested() -> bool {
    STATE.load(Relaxed) != NOT_YET
}

/// Has the bootstrap run at the next safe point, once per process image.
pub fn request() {
    if STATE
        .compare_exchange(NOT_YET, REQUESTED, AcqRel, Acquire)
        .is_ok()
        && super::layout().is_some()
    {
        interpreter::call_soon(edge::install);
    }
}

/// A thread is being started: has its exceptions noted too, once.
pub fn request_for_threads() {
    if STATE
        .compare_exchange(REQUESTED, THREADS_REQUESTED, AcqRel, Acquire)
        .is_ok()
    {
        interpreter::call_soon(edge::install_for_threads);
    }
}
