//! Puts our functions in front of the C library's in a process that runs already.
//!
//! An object calls a function of another through a binding, a word that the loader has filled with
//! the function's address. Under `LD_PRELOAD` the loader fills in ours. Here it has filled in the
//! real one, and we replace it: one aligned store, while other threads call through the binding and
//! get the one or the other.
//!
//! Three things make it safe:
//!
//! - a binding is changed only where it holds the very function that ours calls, or nothing yet. A
//!   library that is bound to another allocator keeps it, or blocks of one would be freed by the
//!   other;
//! - an object that another thread is just loading is left alone: until the loader has closed its
//!   constant pages, it still writes into them itself. Whoever loads it comes by afterwards;
//! - pages that were constant are constant again when we leave.

pub mod object;
pub mod opening;
pub mod pages;

use core::ffi::CStr;
use core::ops::ControlFlow;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};

use super::loaded::{self, Loaded};
use super::{c_library, clock, library, process};
use crate::spin::SpinLock;
use crate::{arena, guard};
use object::Outcome;

/// What is replaced; the same functions that `exports` has, and the loader's.
const NAMES: [&CStr; 39] = [
    c"malloc",
    c"free",
    c"calloc",
    c"realloc",
    c"reallocarray",
    c"posix_memalign",
    c"aligned_alloc",
    c"memalign",
    c"valloc",
    c"pvalloc",
    c"malloc_usable_size",
    c"free_sized",
    c"free_aligned_sized",
    c"mmap",
    c"mmap64",
    c"munmap",
    c"mremap",
    c"sbrk",
    c"pthread_create",
    c"pthread_setname_np",
    c"waitpid",
    c"wait",
    c"wait3",
    c"wait4",
    c"waitid",
    c"sigaction",
    c"signal",
    c"write",
    c"writev",
    c"fwrite",
    c"fputs",
    c"fputc",
    c"putc",
    c"vfprintf",
    c"fprintf",
    c"__fprintf_chk",
    c"__vfprintf_chk",
    c"dlopen",
    c"dlsym",
];
/// So many of them, from the first on, are the allocator.
const ALLOCATOR: usize = 13;

/// A function by the addresses it has.
#[derive(Debug)]
pub struct Function {
    ours: AtomicUsize,
    real: AtomicUsize,
    /// The program's own stub for it, which leads to the program's binding; 0 where there is none.
    stub: AtomicUsize,
}

static FUNCTIONS: [Function; NAMES.len()] = [const {
    Function {
        ours: AtomicUsize::new(0),
        real: AtomicUsize::new(0),
        stub: AtomicUsize::new(0),
    }
}; NAMES.len()];

/// Whether this library came into a process that ran already.
static IS_LATE: AtomicBool = AtomicBool::new(false);
/// Everything was seen to once.
static HAS_BEGUN: AtomicBool = AtomicBool::new(false);
static LOCK: SpinLock = SpinLock::new();
/// Somebody came by while another thread was at work.
static IS_TO_REPEAT: AtomicBool = AtomicBool::new(false);
/// The loader's counts when everything was last seen to.
static SEEN: AtomicU64 = AtomicU64::new(0);
/// Objects that were seen to, by their address; 0 where there is room.
static KNOWN: [AtomicUsize; 4096] = [const { AtomicUsize::new(0) }; 4096];
static TAKEN_AWAY: AtomicU64 = AtomicU64::new(0);

/// What an address that the loader gives for a function really leads to; 0 when that is not known.
///
/// A program that is not position independent has a stub of its own for each function whose address
/// it takes. That is where the function is, for everybody else too; and the stub calls through the
/// program's binding, which is to be ours.
pub fn behind(shown: usize, name: &CStr) -> usize {
    if shown == 0 {
        return 0;
    }
    let mut found = shown;
    loaded::each(|program| {
        // The program comes first.
        if program.holds(shown, |_| true) {
            let held = object::held(program, name).unwrap_or(0);
            let is_bound = !program.holds(held, |_| true);
            found = if is_bound { held } else { 0 };
        }
        ControlFlow::Break(())
    });
    if loaded::is_own(found) { 0 } else { found }
}

/// Replaces the functions in every object. Called in the constructor, when all else is ready.
pub fn begin() {
    let Some(own) = library::of(begin as *const () as usize) else {
        return note(
            b"",
            b"Not guarded: the loader does not say where this library is",
        );
    };
    for (function, name) in FUNCTIONS.iter().zip(NAMES) {
        let shown = c_library::symbol(name) as usize;
        let real = c_library::next_symbol(name) as usize;
        let ours = own.function(name).map_or(0, |range| range.start);
        function.real.store(real, Relaxed);
        function
            .stub
            .store(if shown == real { 0 } else { shown }, Relaxed);
        function.ours.store(ours, Release);
    }
    // Not exported: the loader must not find them.
    let loaders = [
        (c"dlopen", opening::dlopen as *const () as usize),
        (c"dlsym", opening::dlsym as *const () as usize),
    ];
    for (name, ours) in loaders {
        if let Some(function) = function(name) {
            function.ours.store(ours, Release);
        }
    }
    c_library::forget_look_up_errors();
    guard::join();
    IS_LATE.store(true, Release);
    patch();
    HAS_BEGUN.store(true, Release);
}

fn function(name: &CStr) -> Option<&'static Function> {
    let place = NAMES.iter().position(|one| *one == name)?;
    FUNCTIONS.get(place)
}

/// Whether the interpreter's own requests come to us: the one thing without which nothing is
/// guarded. A profiler that replaces bindings too may have been faster, or have come later.
pub fn is_in_front() -> bool {
    interpreters_malloc().is_some_and(|(held, function)| held == function.ours.load(Relaxed))
}

/// What the interpreter's binding of `malloc` holds.
fn interpreters_malloc() -> Option<(usize, &'static Function)> {
    let function = function(c"malloc")?;
    let inside = c_library::symbol(c"PyGILState_GetThisThreadState") as usize;
    let mut held = None;
    loaded::each(|object| {
        if !object.holds(inside, |_| true) {
            return ControlFlow::Continue(());
        }
        held = object::held(object, c"malloc");
        ControlFlow::Break(())
    });
    Some((held?, function))
}

/// Sees to objects that were loaded since the last time.
pub fn patch() {
    if !IS_LATE.load(Acquire) {
        return;
    }
    IS_TO_REPEAT.store(true, Release);
    while IS_TO_REPEAT.load(Acquire) {
        // Who holds it sees the flag before it lets go, or we do.
        let Some(_held) = LOCK.lock(process::tid()) else {
            return;
        };
        while IS_TO_REPEAT.swap(false, AcqRel) {
            patch_new();
        }
    }
}

fn patch_new() {
    let taken_back = |(held, function): (usize, &Function)| held == function.real.load(Relaxed);
    if HAS_BEGUN.load(Relaxed) && interpreters_malloc().is_some_and(taken_back) {
        // Somebody has put everything back as it was before, as a profiler does when it ends.
        SEEN.store(0, Relaxed);
        forget_all();
    }
    let mut is_complete = true;
    let mut changes = None;
    loaded::each(|object| {
        let (added, taken) = object.changes;
        if changes.is_none() {
            changes = Some(added);
            if SEEN.load(Relaxed) == added && TAKEN_AWAY.load(Relaxed) == taken {
                return ControlFlow::Break(());
            }
            if TAKEN_AWAY.swap(taken, Relaxed) != taken {
                // What comes next may lie where something else lay.
                forget_all();
            }
        }
        is_complete &= see_to(object);
        ControlFlow::Continue(())
    });
    if let Some(added) = changes.filter(|_| is_complete) {
        SEEN.store(added, Relaxed);
    }
}

/// Sees to one object; whether that is done for good.
fn see_to(object: &Loaded<'_>) -> bool {
    let Some(dynamic) = object.segment(libc::PT_DYNAMIC) else {
        return true;
    };
    let mark = object.range(dynamic).start;
    if is_known(mark) || loaded::is_own(mark) || is_the_loader(object.path) {
        return true;
    }
    match object::patch(object, &FUNCTIONS, &NAMES) {
        Outcome::Busy | Outcome::Done { is_settled: false } => return false,
        Outcome::Done { is_settled: true } => remember(mark),
        Outcome::Bound => {
            remember(mark);
            note(
                object.path,
                b" is bound to an allocator of its own: it is not guarded",
            );
        }
        Outcome::Closed => {
            remember(mark);
            note(
                object.path,
                b" cannot be patched, its pages stay closed: it is not guarded",
            );
        }
    }
    true
}

/// The loader itself, which calls through pointers of its own, and the kernel's page of code.
fn is_the_loader(path: &[u8]) -> bool {
    let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or(path);
    name.starts_with(b"ld-linux") || name.starts_with(b"linux-vdso")
}

fn places(mark: usize) -> impl Iterator<Item = &'static AtomicUsize> {
    let first = (mark >> 4).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 52;
    (0..64_usize).filter_map(move |step| KNOWN.get(first.wrapping_add(step) & (KNOWN.len() - 1)))
}

fn is_known(mark: usize) -> bool {
    places(mark).any(|place| place.load(Relaxed) == mark)
}

fn forget_all() {
    for place in &KNOWN {
        place.store(0, Relaxed);
    }
}

/// A table without room costs time, since the object is looked at again, and nothing else.
fn remember(mark: usize) {
    if let Some(place) = places(mark).find(|place| place.load(Relaxed) == 0) {
        place.store(mark, Relaxed);
    }
}

/// Writes down what `outlive doctor` is to name.
fn note(path: &[u8], what: &[u8]) {
    let Some((_, black_box)) = arena::existing() else {
        return;
    };
    let mut text = [0_u8; 236];
    let start = path.len().saturating_sub(150);
    let path = path.get(start..).unwrap_or(path);
    let mut bytes = path.iter().chain(what);
    let mut length = 0_usize;
    for (place, &byte) in text.iter_mut().zip(&mut bytes) {
        *place = byte;
        length = length.wrapping_add(1);
    }
    black_box.add_note(clock::monotonic(), text.get(..length).unwrap_or(&[]));
}
