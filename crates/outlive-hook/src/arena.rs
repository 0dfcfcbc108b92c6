//! The hook's private state: one mapping, zeroed in every forked child by the kernel itself.
//!
//! A child must not write into its parent's box, nor believe its parent's tables. Since the arena
//! is wiped on `fork` (`MADV_WIPEONFORK`), the child finds no box there and makes its own at its
//! first recorded event; locks that other threads held at the fork are free again; nothing needs
//! to be repaired. Where the kernel cannot wipe, the `atfork` handler does.

use core::ffi::CStr;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};

use outlive_record::kind::Origin;
use outlive_record::write::{BoxWriter, Identity};

use crate::config;
use crate::guard::GuardState;
use crate::index::Index;
use crate::live::LiveTable;
use crate::mappings::MappingTable;
use crate::python;
use crate::sampling::{EXACT_FROM, SAMPLE_MEAN};
use crate::spin::SpinLock;
use crate::sys::map::Buffer;
use crate::sys::once::SetOnce;
use crate::sys::process::Cursor;
use crate::sys::{clock, file, interpreter, map, process};

/// What a box keeps of a path, and of a command line.
const MAX_PLACE: usize = 4092;
const MAX_WORDS: usize = 8188;
/// How many creators of threads are remembered.
const CREATORS: usize = 2048;

/// The state. Made of atomics only, valid when zeroed.
#[derive(Debug)]
#[repr(C)]
pub struct Arena {
    /// Not zero once this process has tried to make its box; changes with every process.
    pub generation: AtomicU64,
    black_box: SetOnce<BoxWriter>,
    /// Guards everything that is interned.
    pub intern_lock: SpinLock,
    /// Guards the mappings.
    pub mapping_lock: SpinLock,
    /// How often the thresholds were doubled because the table of live blocks filled up.
    pub coarseness: AtomicU32,
    /// Not zero once the box has no room for another stack.
    pub stacks_full: AtomicU32,
    /// Not zero once the box has no room for another code object or its names.
    pub codes_full: AtomicU32,
    /// Faults that went to a handler of the program.
    pub handled: HandledFault,
    /// Live blocks.
    pub live: LiveTable,
    /// Stacks by hash.
    pub stacks: Index<{ 1 << 17 }>,
    /// Code objects by address and fingerprint.
    pub codes: Index<{ 1 << 16 }>,
    /// Strings by content.
    pub strings: Index<{ 1 << 14 }>,
    /// Mapped ranges.
    pub mappings: MappingTable,
    creators: [Creator; CREATORS],
    /// What the guard keeps.
    pub guard: GuardState,
}

/// The last fault that the program's own handler got to see, and may have recovered from.
#[derive(Debug)]
#[repr(C)]
pub struct HandledFault {
    /// Its record in the box, or 0.
    pub record: AtomicU64,
    /// Where it happened.
    pub ip: AtomicU64,
    /// How often in a row it happened there.
    pub repeats: AtomicU32,
    /// Its thread and signal.
    pub mark: AtomicU32,
    /// The thread that is writing one down.
    pub writer: AtomicU32,
}

#[derive(Debug)]
#[repr(C)]
struct Creator {
    thread: AtomicU64,
    stack: AtomicU32,
}

static ARENA: SetOnce<&'static Arena> = SetOnce::new();
static WIPED_BY_KERNEL: AtomicBool = AtomicBool::new(false);
/// The process that made the last box; in a forked child, its parent.
static LAST_PID: AtomicU32 = AtomicU32::new(0);

/// Maps the arena; `false` when there is no memory for it. Called in the constructor.
pub fn prepare() -> bool {
    let Some((arena, wiped)) = map::private::<Arena>() else {
        return false;
    };
    WIPED_BY_KERNEL.store(wiped, Relaxed);
    ARENA.set(arena);
    true
}

/// Runs in a forked child, where the kernel did not wipe the arena.
pub fn after_fork_in_child() {
    if let Some(arena) = ARENA.get().filter(|_| !WIPED_BY_KERNEL.load(Relaxed)) {
        map::wipe(*arena);
    }
}

/// The arena and the box of this process, made at the first call.
#[inline]
pub fn recording() -> Option<(&'static Arena, &'static BoxWriter)> {
    let arena = *ARENA.get()?;
    match arena.black_box.get() {
        Some(black_box) => Some((arena, black_box)),
        None => open_box(arena).map(|black_box| (arena, black_box)),
    }
}

/// The box, only if it exists: for places that must not make one.
pub fn existing() -> Option<(&'static Arena, &'static BoxWriter)> {
    let arena = *ARENA.get()?;
    arena.black_box.get().map(|black_box| (arena, black_box))
}

impl Arena {
    /// From this size on requests are recorded one by one.
    #[inline]
    pub fn exact_from(&self) -> u64 {
        (EXACT_FROM as u64) << self.coarseness.load(Relaxed)
    }

    /// Mean bytes between samples.
    #[inline]
    pub fn sample_mean(&self) -> u64 {
        SAMPLE_MEAN << self.coarseness.load(Relaxed)
    }

    /// Remembers which stack created a thread.
    pub fn set_creator(&self, thread: u64, stack: u32) {
        if let Some(creator) = self.creators.get(creator_slot(thread)) {
            creator.stack.store(stack, Relaxed);
            creator.thread.store(thread, Release);
        }
    }

    /// The stack that created a thread, or 0. The note is taken: the next thread may get the same
    /// handle, and must not find the creator of this one.
    pub fn take_creator(&self, thread: u64) -> u32 {
        let Some(creator) = self.creators.get(creator_slot(thread)) else {
            return 0;
        };
        if creator.thread.load(Acquire) != thread {
            return 0;
        }
        let stack = creator.stack.load(Relaxed);
        let taken = creator.thread.compare_exchange(thread, 0, Relaxed, Relaxed);
        taken.map_or(0, |_| stack)
    }
}

const fn creator_slot(thread: u64) -> usize {
    (thread.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 53) as usize & (CREATORS - 1)
}

/// Makes the box; the first thread to come tries, once per process.
#[cold]
fn open_box(arena: &'static Arena) -> Option<&'static BoxWriter> {
    let generation = clock::monotonic() | 1;
    arena
        .generation
        .compare_exchange(0, generation, Acquire, Relaxed)
        .ok()?;
    // Threads may have small stacks, and this one did not ask for a box.
    let black_box = map::with_buffers(|buffers| make_box(arena, buffers))??;
    arena.black_box.set(black_box);
    arena.black_box.get()
}

fn make_box(arena: &Arena, buffers: &mut [Buffer; 6]) -> Option<BoxWriter> {
    let [path, name, before, exe, argv, cwd] = buffers;
    let pid = process::pid();
    let start_ticks = process::start_ticks();
    let path = write_path(path, pid, start_ticks, b".new\0")?;
    let region = file::make_box(path, config::box_size())?;
    let parent = LAST_PID.swap(pid, Relaxed);
    let origin = if parent == 0 {
        Origin::Exec
    } else {
        Origin::Fork
    };
    let identity = Identity {
        pid,
        ppid: process::ppid(),
        start_ticks,
        monotonic: clock::monotonic(),
        realtime: clock::realtime(),
        origin: origin as u32,
        forked_from: parent,
        exact_from: arena.exact_from(),
        sample_mean: arena.sample_mean(),
        exe: filled(exe, MAX_PLACE, |buffer| {
            file::read_link(c"/proc/self/exe", buffer)
        }),
        argv: filled(argv, MAX_WORDS, |buffer| {
            file::read(c"/proc/self/cmdline", buffer)
        }),
        cwd: filled(cwd, MAX_PLACE, |buffer| {
            file::read_link(c"/proc/self/cwd", buffer)
        }),
    };
    let black_box = BoxWriter::create(region, &identity);
    black_box.set_python(interpreter::version_hex(), python::attribution());
    let name = write_path(name, pid, start_ticks, b".box\0")?;
    let before = write_path(before, pid, start_ticks, b".before-exec\0")?;
    file::publish_box(path, name, before);
    Some(black_box)
}

/// What was read into a buffer, of which so many bytes may be used.
fn filled(buffer: &mut Buffer, most: usize, read: impl FnOnce(&mut [u8]) -> usize) -> &[u8] {
    let length = buffer.get_mut(..most).map_or(0, read);
    buffer.get(..length).unwrap_or(&[])
}

/// `<directory>/<pid>-<start time><ending>`; the ending brings its NUL.
fn write_path<'a>(
    buffer: &'a mut Buffer,
    pid: u32,
    start_ticks: u64,
    ending: &[u8],
) -> Option<&'a CStr> {
    let mut cursor = Cursor {
        bytes: buffer,
        at: 0,
    };
    cursor.push(config::directory());
    cursor.push(b"/");
    cursor.push_number(u64::from(pid));
    cursor.push(b"-");
    cursor.push_number(start_ticks);
    cursor.push(ending);
    CStr::from_bytes_until_nul(buffer).ok()
}
