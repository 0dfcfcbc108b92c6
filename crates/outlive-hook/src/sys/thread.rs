//! The words each thread has: initial-exec thread-local storage, laid out by hand.
//!
//! Rust's own thread-locals in a shared library go through `__tls_get_addr`, which may allocate.
//! These 64 bytes lie in the static block that the loader sets up before any code runs; their
//! address is two instructions away and they start out as zero.

#![expect(unsafe_code, reason = "defines thread-local storage in assembly")]

use core::sync::atomic::AtomicI64;
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicU32, AtomicU64};

use crate::memo::Memo;

/// What the hook keeps for a thread. Atomics only because signal handlers may interrupt.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Thread {
    /// Bytes until the next sample; zero in a new thread, so that its first call comes by.
    pub countdown: AtomicI64,
    /// While this thread is inside the hook: where on the stack it entered.
    busy: AtomicU64,
    /// State of its random numbers; 0 until the first distance to a sample is drawn.
    pub random: AtomicU64,
    /// The generation (see `arena`) in which the figures below were taken.
    pub generation: AtomicU64,
    /// Stack that created it, plus one.
    pub creator: AtomicU32,
    /// Not zero once it has a stack for signals.
    pub signal_stack: AtomicU32,
    /// Return address of the `mmap` in progress.
    pub map_caller: AtomicU64,
    /// Its id; 0 before the first look.
    pub tid: AtomicU32,
    /// What the guard keeps: its place among those that grow, and the marks below.
    guard: AtomicU32,
    /// Its last event without Python frames.
    pub native: Memo,
}

const _: () = assert!(size_of::<Thread>() == 64);

core::arch::global_asm!(
    ".pushsection .tbss.outlive_thread,\"awT\",@nobits",
    ".balign 64",
    ".globl outlive_thread",
    ".hidden outlive_thread",
    ".type outlive_thread,@object",
    ".size outlive_thread,64",
    "outlive_thread:",
    ".zero 64",
    ".popsection",
);

/// The calling thread's words.
#[cfg(target_arch = "x86_64")]
#[inline]
pub fn current() -> &'static Thread {
    let address: *const Thread;
    // SAFETY: reads the thread pointer and a constant of the loader; `pure` holds because neither
    // changes while a function runs on one thread.
    unsafe {
        core::arch::asm!(
            "mov {0}, qword ptr fs:[0]",
            "add {0}, qword ptr [rip + outlive_thread@GOTTPOFF]",
            out(reg) address,
            options(pure, nomem, nostack),
        );
    }
    // SAFETY: the block exists as long as the thread, and the reference is not kept beyond a call.
    unsafe { &*address }
}

/// The calling thread's words.
#[cfg(target_arch = "aarch64")]
#[inline]
pub fn current() -> &'static Thread {
    let address: *const Thread;
    // SAFETY: as on x86-64, with `tpidr_el0` as the thread pointer.
    unsafe {
        core::arch::asm!(
            "adrp {1}, :gottprel:outlive_thread",
            "ldr {1}, [{1}, :gottprel_lo12:outlive_thread]",
            "mrs {0}, tpidr_el0",
            "add {0}, {0}, {1}",
            out(reg) address,
            out(reg) _,
            options(pure, nomem, nostack),
        );
    }
    // SAFETY: as on x86-64.
    unsafe { &*address }
}

/// In the guard's word: the place.
const GROWER: u32 = 0xFFFF;
/// What it asks for is meant to stay untouched.
const SPARSE: u32 = 1 << 16;
/// It handles a shortage itself.
const HANDLING: u32 = 1 << 17;
/// It was seen with Python's state.
const PYTHON: u32 = 1 << 18;

/// Its next small object is refused.
const DENIED: u32 = 1 << 19;
/// How many of its next mappings are not refused: a small number.
const ATTEMPTS: u32 = 3 << ATTEMPTS_FROM;
const ATTEMPTS_FROM: u32 = 20;
/// When that was last said: a few bits of a clock, a quarter of a millisecond each.
const TICK: u32 = 0x3FF << TICK_FROM;
const TICK_FROM: u32 = 22;

fn tick() -> u32 {
    ((super::clock::monotonic() >> 18) as u32) << TICK_FROM
}

impl Thread {
    /// Refuses the next request that comes by, and sees to it that it does.
    pub fn deny_next(&self) {
        self.mark(DENIED, true);
        self.countdown.store(0, Relaxed);
    }

    /// Whether this request is to be refused; asked once.
    pub fn take_denial(&self) -> bool {
        let is_denied = self.guard.load(Relaxed) & DENIED != 0;
        if is_denied {
            self.mark(DENIED, false);
        }
        is_denied
    }

    /// Its place among those that grow, plus one; 0 for none.
    #[inline]
    pub fn grower(&self) -> u32 {
        self.guard.load(Relaxed) & GROWER
    }

    /// Sets it; the thread has yet to be seen with Python's state there.
    pub fn set_grower(&self, place: u32) {
        let marks = self.guard.load(Relaxed) & !(GROWER | PYTHON);
        self.guard.store(marks | place & GROWER, Relaxed);
    }

    /// Whether its large requests are let through, since most of them will not be touched.
    pub fn is_sparse(&self) -> bool {
        self.guard.load(Relaxed) & SPARSE != 0
    }

    /// Sets it.
    pub fn set_sparse(&self, on: bool) {
        self.mark(SPARSE, on);
    }

    /// Whether it handles a shortage, and must not be refused anything.
    pub fn is_handling(&self) -> bool {
        self.guard.load(Relaxed) & HANDLING != 0
    }

    /// Sets it.
    pub fn set_handling(&self, on: bool) {
        self.mark(HANDLING, on);
    }

    /// Whether it was seen with Python's state.
    #[inline]
    pub fn is_python(&self) -> bool {
        self.guard.load(Relaxed) & PYTHON != 0
    }

    /// It was.
    pub fn set_python(&self) {
        self.mark(PYTHON, true);
    }

    /// How many of its next mappings are not refused.
    pub fn attempts(&self) -> u32 {
        (self.guard.load(Relaxed) & ATTEMPTS) >> ATTEMPTS_FROM
    }

    /// Sets it; at most 3.
    pub fn set_attempts(&self, count: u32) {
        let others = self.guard.load(Relaxed) & !(ATTEMPTS | TICK);
        let count = (count << ATTEMPTS_FROM) & ATTEMPTS;
        self.guard.store(others | count | tick(), Relaxed);
    }

    /// Whether it was set within the last quarter or half of a millisecond.
    pub fn is_soon_after_attempt(&self) -> bool {
        let then = self.guard.load(Relaxed) & TICK;
        let passed = tick().wrapping_sub(then) & TICK;
        passed <= 1 << TICK_FROM
    }

    fn mark(&self, mark: u32, on: bool) {
        let word = self.guard.load(Relaxed);
        self.guard
            .store(if on { word | mark } else { word & !mark }, Relaxed);
    }
}

/// Proof that this thread entered the hook and was not in it before: whatever records asks for it.
#[derive(Debug)]
pub struct Entered {
    /// The thread.
    pub thread: &'static Thread,
    errno: i32,
}

impl Entered {
    /// Enters, unless this thread is inside already (a signal handler that interrupted the hook,
    /// or the hook's own calls). Remembers `errno`.
    ///
    /// A handler may leave the hook for good with `longjmp`. Then the stack is shorter than where
    /// the hook was entered, which shows that nobody is inside any more.
    #[inline]
    pub fn try_enter() -> Option<Self> {
        let thread = current();
        let marker = 0_u8;
        let here = core::hint::black_box(&raw const marker) as u64;
        let entered_at = thread.busy.load(Relaxed);
        if entered_at != 0 && here <= entered_at {
            return None;
        }
        thread.busy.store(here, Relaxed);
        core::sync::atomic::compiler_fence(core::sync::atomic::Ordering::SeqCst);
        Some(Self {
            thread,
            errno: super::c_library::errno(),
        })
    }
}

impl Drop for Entered {
    #[inline]
    fn drop(&mut self) {
        super::c_library::set_errno(self.errno);
        core::sync::atomic::compiler_fence(core::sync::atomic::Ordering::SeqCst);
        self.thread.busy.store(0, Relaxed);
    }
}

/// The calling thread's id, from its words where they are known.
pub fn thread_id() -> u32 {
    match current().tid.load(Relaxed) {
        0 => super::process::tid(),
        known => known,
    }
}
