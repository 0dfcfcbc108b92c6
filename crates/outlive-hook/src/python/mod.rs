//! The interpreter, read as memory: which frames the calling thread is in, without the GIL.
//!
//! Only the calling thread pushes and pops its own frames, and it is inside `malloc`, so they hold
//! still; frames hold code objects, and those hold their names and line tables. Nothing is called
//! in the interpreter but `PyGILState_GetThisThreadState`, which reads a thread-local.
//!
//! - [`mod@layout`]: where things lie, per version
//! - [`walk`]: from a thread state to places in code
//! - [`origin`]: whose code it is
//! - [`text`]: Python strings as UTF-8
//! - [`bootstrap`]: the one piece of Python that runs inside, for uncaught exceptions

pub mod bootstrap;
pub mod layout;
pub mod origin;
pub mod text;
pub mod walk;

use core::sync::atomic::AtomicU8;
use core::sync::atomic::Ordering::{Acquire, Release};

use outlive_record::kind::Attribution;

use crate::sys::interpreter;
use crate::sys::once::SetOnce;
use crate::sys::peek::Checked;
use layout::FrameLayout;

/// An address or a word of the interpreter's memory, read with more or less trust.
pub trait Memory {
    /// The word at this address.
    fn word(&self, address: usize) -> Option<usize>;

    /// The 32-bit word at this address.
    fn half(&self, address: usize) -> Option<u32>;

    /// The byte at this address.
    fn byte(&self, address: usize) -> Option<u8>;

    /// This address is read soon. A hint that may be wrong and need not be followed.
    fn expect(&self, _address: usize) {}
}

/// Whether lines can be named. Numbers of [`Attribution`]; survives `fork`, since the interpreter
/// does too.
static STATE: AtomicU8 = AtomicU8::new(Attribution::Pending as u8);
static LAYOUT: SetOnce<FrameLayout> = SetOnce::new();

/// The verified layout, once there is one.
#[inline]
pub fn layout() -> Option<&'static FrameLayout> {
    if STATE.load(Acquire) == Attribution::On as u8 {
        LAYOUT.get()
    } else {
        None
    }
}

/// Whether lines can be named, and if not, why.
pub fn attribution() -> Attribution {
    Attribution::from_number(u32::from(STATE.load(Acquire))).unwrap_or(Attribution::Mismatch)
}

/// Whether the question is decided, one way or the other.
pub fn attribution_is_settled() -> bool {
    STATE.load(Acquire) != Attribution::Pending as u8
}

/// Lines cannot be trusted: from now on only sizes are recorded.
pub fn distrust() {
    STATE.store(Attribution::Mismatch as u8, Release);
}

/// Tries to verify the layout on the calling thread's own frames; cheap, called until it is
/// settled. Returns `true` when the state changed.
pub fn try_verify() -> bool {
    if attribution() != Attribution::Pending || !interpreter::is_initialized() {
        return false;
    }
    let Some(layout) = FrameLayout::of_this_process() else {
        STATE.store(Attribution::Unsupported as u8, Release);
        return true;
    };
    let thread_state = interpreter::this_thread_state();
    if thread_state == 0 {
        return false;
    }
    match walk::plausible(&Checked, &layout, thread_state) {
        walk::Plausible::NoFrames => false,
        walk::Plausible::Yes => {
            LAYOUT.set(layout);
            STATE.store(Attribution::On as u8, Release);
            true
        }
        walk::Plausible::No => {
            STATE.store(Attribution::Mismatch as u8, Release);
            true
        }
    }
}
