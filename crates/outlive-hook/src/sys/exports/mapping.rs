//! `mmap` and its kin. The real call is the bare system call.
//!
//! Recorded are ranges of 64 KiB and more that will be memory: private anonymous ones that can be
//! written, and shared memory. Not recorded: address space without access (as CUDA and the C
//! library reserve it), files, thread stacks, and what the allocator in use maps for itself, since
//! its blocks are counted already.

#![expect(unsafe_code, reason = "C functions that map memory for the program")]

use crate::kernel;
use core::ffi::{c_int, c_void};
use core::sync::atomic::AtomicUsize;
use core::sync::atomic::Ordering::Relaxed;

use crate::guard::{self, Answer, Purpose};
use crate::recorder::{self, MappingKind};
use crate::sys::real::rare;
use crate::sys::thread::{self, Entered};
use crate::sys::{c_library, library};

/// Smaller ranges are not recorded.
const SMALLEST: usize = 64 << 10;
/// Magic number of tmpfs, where shared memory lives.
const TMPFS: i64 = 0x0102_1994;

/// The library that the allocator in use is.
static ALLOCATOR: Span = Span::new();
/// The library or program that the interpreter is.
pub(super) static INTERPRETER: Span = Span::new();

/// The addresses of a library.
#[derive(Debug)]
pub(super) struct Span {
    start: AtomicUsize,
    end: AtomicUsize,
}

impl Span {
    const fn new() -> Self {
        Self {
            start: AtomicUsize::new(0),
            end: AtomicUsize::new(0),
        }
    }

    /// Sets it to the library that a function is in.
    fn set(&self, function: usize) {
        if let Some(library) = library::of(function) {
            self.start.store(library.start, Relaxed);
            self.end.store(library.end, Relaxed);
        }
    }

    pub(super) fn holds(&self, address: usize) -> bool {
        (self.start.load(Relaxed)..self.end.load(Relaxed)).contains(&address)
    }
}

/// Finds out which libraries the allocator in use and the interpreter are. Called in the
/// constructor.
pub(super) fn prepare() {
    ALLOCATOR.set(c_library::next_symbol(c"malloc") as usize);
    INTERPRETER.set(c_library::symbol(c"PyObject_Malloc") as usize);
    rare::SBRK.address();
    c_library::forget_look_up_errors();
}

/// Defines the front of `mmap`: six arguments fill the registers, so the return address goes into
/// the thread's words (offset 40, checked below).
macro_rules! map_front {
    ($name:ident) => {
        /// # Safety
        ///
        /// The contract of the C function of this name.
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            address: *mut c_void,
            length: usize,
            protection: c_int,
            flags: c_int,
            fd: c_int,
            offset: i64,
        ) -> *mut c_void {
            #[cfg(target_arch = "x86_64")]
            core::arch::naked_asm!(
                "mov rax, qword ptr fs:[0]",
                "add rax, qword ptr [rip + outlive_thread@GOTTPOFF]",
                "mov r11, qword ptr [rsp]",
                "mov qword ptr [rax + 40], r11",
                "jmp {entry}",
                entry = sym map_entry,
            );
            #[cfg(target_arch = "aarch64")]
            core::arch::naked_asm!(
                "adrp x9, :gottprel:outlive_thread",
                "ldr x9, [x9, :gottprel_lo12:outlive_thread]",
                "mrs x10, tpidr_el0",
                "add x9, x9, x10",
                "str x30, [x9, #40]",
                "b {entry}",
                entry = sym map_entry,
            );
        }
    };
}

const _: () = assert!(core::mem::offset_of!(thread::Thread, map_caller) == 40);

map_front!(mmap);
map_front!(mmap64);

unsafe extern "C" fn map_entry(
    address: *mut c_void,
    length: usize,
    protection: c_int,
    flags: c_int,
    fd: c_int,
    offset: i64,
) -> *mut c_void {
    let caller = thread::current().map_caller.load(Relaxed) as usize;
    let over = flags & libc::MAP_FIXED != 0;
    if over
        && recorder::is_enabled()
        && let Some(entered) = Entered::try_enter()
    {
        recorder::unmapped(&entered, address as usize, whole_pages(length));
    }
    // First the question about stops that were told before: asking may tell one now.
    let is_refused = is_arena(length, flags, caller) && guard::refuses_arena();
    let answer = if is_refused {
        Answer::Refused
    } else {
        ask(length, protection, flags, fd, caller)
    };
    if answer.is_refused() {
        c_library::set_errno(libc::ENOMEM);
        return libc::MAP_FAILED;
    }
    // SAFETY: the caller's own call.
    let result = unsafe {
        kernel!(
            libc::SYS_mmap,
            address,
            length,
            protection,
            flags,
            fd,
            offset
        )
    };
    answer.settle(
        if result == -1 { 0 } else { result as usize },
        length,
        caller,
    );
    if length >= SMALLEST && recorder::is_enabled() {
        note_mapping(result, length, protection, flags, fd, caller);
    }
    result as *mut c_void
}

/// Asks the guard for memory that is mapped.
fn ask(length: usize, protection: c_int, flags: c_int, fd: c_int, caller: usize) -> Answer {
    if length < guard::LARGE || flags & libc::MAP_FIXED != 0 || !recorder::is_enabled() {
        guard::region::is_over();
        return Answer::Passed;
    }
    let kind = memory_kind(protection, flags, fd);
    let Some(kind) = kind.filter(|_| !ALLOCATOR.holds(caller)) else {
        return Answer::Passed;
    };
    let purpose = match kind {
        MappingKind::Unpromised => return guard::ask_region(length, caller),
        MappingKind::Shared => Purpose::Data,
        MappingKind::Private if !INTERPRETER.holds(caller) => purpose_of_library(caller),
        MappingKind::Private if is_arena(length, flags, caller) => Purpose::Arena,
        MappingKind::Private => Purpose::Data,
    };
    let fresh = if kind == MappingKind::Shared {
        length.saturating_sub(taken(fd))
    } else {
        length
    };
    if fresh < guard::LARGE {
        return Answer::Passed;
    }
    guard::ask(length, fresh, caller, purpose)
}

/// Bytes that a file in memory takes already: whoever made it was asked then.
fn taken(fd: c_int) -> usize {
    let errno = c_library::errno();
    // SAFETY: zero is a valid value of this structure of integers.
    let mut status: libc::stat64 = unsafe { core::mem::zeroed() };
    // SAFETY: a live structure; a query about the caller's descriptor.
    let asked = unsafe { libc::fstat64(fd, &raw mut status) };
    c_library::set_errno(errno);
    if asked == 0 {
        usize::try_from(status.st_blocks)
            .unwrap_or(0)
            .saturating_mul(512)
    } else {
        0
    }
}

/// Whether this is an arena of Python's small objects.
fn is_arena(length: usize, flags: c_int, caller: usize) -> bool {
    recorder::ARENA_SIZES.contains(&length)
        && flags & libc::MAP_ANONYMOUS != 0
        && INTERPRETER.holds(caller)
}

/// Python's own module for mappings may be a library; all others map pools for themselves.
fn purpose_of_library(caller: usize) -> Purpose {
    let path = library::of(caller).map_or(&[][..], |library| library.path);
    let name = path.iter().rposition(|&byte| byte == b'/').unwrap_or(0);
    match path.get(name..) {
        Some(name) if name.starts_with(b"/mmap.") => Purpose::Data,
        _ => Purpose::Pool,
    }
}

#[cold]
fn note_mapping(
    result: isize,
    length: usize,
    protection: c_int,
    flags: c_int,
    fd: c_int,
    caller: usize,
) {
    let Some(kind) = memory_kind(protection, flags, fd) else {
        return;
    };
    if ALLOCATOR.holds(caller) {
        return;
    }
    let Some(entered) = Entered::try_enter() else {
        return;
    };
    if result == -1 {
        recorder::failed(&entered, length, caller);
    } else {
        let size = whole_pages(length);
        recorder::mapped(&entered, result as usize, size, caller, kind);
    }
}

/// The kernel maps and unmaps whole pages.
const fn whole_pages(length: usize) -> usize {
    length.wrapping_add(4095) & !4095
}

/// Whether a mapping will be memory, and of which kind.
fn memory_kind(protection: c_int, flags: c_int, fd: c_int) -> Option<MappingKind> {
    let not_memory = libc::MAP_STACK | libc::MAP_GROWSDOWN;
    if protection & libc::PROT_WRITE == 0 || flags & not_memory != 0 {
        return None;
    }
    let shared = flags & libc::MAP_TYPE != libc::MAP_PRIVATE;
    match (shared, flags & libc::MAP_ANONYMOUS != 0) {
        (false, true) if flags & libc::MAP_NORESERVE != 0 => Some(MappingKind::Unpromised),
        (false, true) => Some(MappingKind::Private),
        (true, true) => Some(MappingKind::Shared),
        (true, false) if is_on_tmpfs(fd) => Some(MappingKind::Shared),
        _ => None,
    }
}

fn is_on_tmpfs(fd: c_int) -> bool {
    let errno = c_library::errno();
    let mut buffer = [0_i64; 32];
    // SAFETY: the buffer is larger than the kernel's `struct statfs`, whose first word is the type.
    let result = unsafe { kernel!(libc::SYS_fstatfs, fd, buffer.as_mut_ptr()) };
    c_library::set_errno(errno);
    result == 0 && buffer.first() == Some(&TMPFS)
}

/// # Safety
///
/// The contract of the C function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn munmap(address: *mut c_void, length: usize) -> c_int {
    if recorder::is_enabled()
        && let Some(entered) = Entered::try_enter()
    {
        recorder::unmapped(&entered, address as usize, whole_pages(length));
    }
    // SAFETY: the caller's own call.
    unsafe { kernel!(libc::SYS_munmap, address, length) as c_int }
}

/// Variadic in C, but its fifth argument arrives in the same register either way.
///
/// # Safety
///
/// The contract of the C function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mremap(
    old: *mut c_void,
    old_length: usize,
    length: usize,
    flags: c_int,
    fixed: *mut c_void,
) -> *mut c_void {
    let grown = length.saturating_sub(old_length);
    let answer = if recorder::is_enabled() {
        guard::ask(grown, grown, 0, Purpose::Data)
    } else {
        Answer::Passed
    };
    if answer.is_refused() {
        c_library::set_errno(libc::ENOMEM);
        return libc::MAP_FAILED;
    }
    let mut recorded = false;
    if let Some(entered) = Entered::try_enter().filter(|_| recorder::is_enabled()) {
        recorded = recorder::is_mapped(old as usize);
        recorder::unmapped(&entered, old as usize, whole_pages(old_length));
    }
    // SAFETY: the caller's own call.
    let result = unsafe { kernel!(libc::SYS_mremap, old, old_length, length, flags, fixed) };
    answer.settle(if result == -1 { 0 } else { result as usize }, length, 0);
    if recorded && let Some(entered) = Entered::try_enter() {
        // On failure the old range is still there.
        let (address, size) = if result == -1 {
            (old as usize, old_length)
        } else {
            (result as usize, length)
        };
        let size = whole_pages(size);
        recorder::mapped(&entered, address, size, 0, MappingKind::Private);
    }
    result as *mut c_void
}

/// # Safety
///
/// The contract of the C function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sbrk(increment: libc::intptr_t) -> *mut c_void {
    type Sbrk = unsafe extern "C" fn(libc::intptr_t) -> *mut c_void;
    let real = rare::SBRK.address();
    let is_refused = increment >= guard::LARGE as isize && guard::refuses_heap();
    if real.is_null() || is_refused {
        c_library::set_errno(libc::ENOMEM);
        return libc::MAP_FAILED;
    }
    // SAFETY: the C library's function of this name.
    let real: Sbrk = unsafe { core::mem::transmute(real) };
    // SAFETY: the caller's own call.
    unsafe { real(increment) }
}
