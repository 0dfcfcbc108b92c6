//! The functions behind ours: found once, called through a pointer.
//!
//! The first `malloc` of a process comes from the loader, before any constructor. Until the real
//! functions are known their pointers lead to stand-ins that look them up; what the look-up itself
//! asks for is served from a small buffer (`early.rs`) that `free` recognises.

#![expect(unsafe_code, reason = "calls functions by address")]

use core::ffi::{CStr, c_int, c_void};
use core::mem::transmute;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8};

use super::c_library::{forget_look_up_errors, next_symbol};
use super::early;

macro_rules! real_functions {
    ($($(#[$meta:meta])* $name:ident: fn($($argument:ident: $type:ty),*) -> $result:ty
        = $symbol:literal, before $stand_in:path;)+) => {
        $(
            $(#[$meta])*
            ///
            /// # Safety
            ///
            /// The contract of the C function of this name.
            #[inline]
            pub unsafe fn $name($($argument: $type),*) -> $result {
                let address = pointers::$name.load(Relaxed);
                // SAFETY: the pointer is either the stand-in or what the loader has under this
                // name; both have this signature.
                let function = unsafe {
                    transmute::<*mut c_void, unsafe extern "C" fn($($type),*) -> $result>(address)
                };
                // SAFETY: the caller keeps the contract.
                unsafe { function($($argument),*) }
            }
        )+

        #[expect(non_upper_case_globals, reason = "named for the functions they lead to")]
        mod pointers {
            use super::{AtomicPtr, c_void, early};
            $(pub(super) static $name: AtomicPtr<c_void> =
                AtomicPtr::new($stand_in as *const () as *mut c_void);)+
        }

        fn look_up() {
            $(
                let found = next_symbol($symbol);
                if !found.is_null() {
                    pointers::$name.store(found, Release);
                }
            )+
        }
    };
}

real_functions! {
    /// `malloc`
    malloc: fn(size: usize) -> *mut c_void = c"malloc", before early::malloc;
    /// `free`
    free: fn(pointer: *mut c_void) -> () = c"free", before early::free;
    /// `calloc`
    calloc: fn(count: usize, size: usize) -> *mut c_void = c"calloc", before early::calloc;
    /// `realloc`
    realloc: fn(pointer: *mut c_void, size: usize) -> *mut c_void = c"realloc", before early::realloc;
    /// `posix_memalign`
    posix_memalign: fn(out: *mut *mut c_void, alignment: usize, size: usize) -> c_int
        = c"posix_memalign", before early::posix_memalign;
    /// `aligned_alloc`
    aligned_alloc: fn(alignment: usize, size: usize) -> *mut c_void
        = c"aligned_alloc", before early::memalign;
    /// `memalign`
    memalign: fn(alignment: usize, size: usize) -> *mut c_void = c"memalign", before early::memalign;
    /// `valloc`
    valloc: fn(size: usize) -> *mut c_void = c"valloc", before early::valloc;
    /// `pvalloc`
    pvalloc: fn(size: usize) -> *mut c_void = c"pvalloc", before early::valloc;
    /// `malloc_usable_size`
    malloc_usable_size: fn(pointer: *mut c_void) -> usize
        = c"malloc_usable_size", before early::malloc_usable_size;
}

const UNKNOWN: u8 = 0;
const LOOKING: u8 = 1;
const KNOWN: u8 = 2;
static STATE: AtomicU8 = AtomicU8::new(UNKNOWN);

/// Looks the functions up, unless that is done or under way. Returns whether they are known.
pub fn resolve() -> bool {
    if STATE
        .compare_exchange(UNKNOWN, LOOKING, Acquire, Acquire)
        .is_ok()
    {
        look_up();
        STATE.store(KNOWN, Release);
        forget_look_up_errors();
    }
    STATE.load(Acquire) == KNOWN
}

/// A function that is not on a hot path. All are looked up in the constructor: a look-up takes the
/// loader's lock, and who calls one of these may be waited for by a thread that holds it.
#[derive(Debug)]
pub struct Rare {
    name: &'static CStr,
    address: AtomicPtr<c_void>,
    missing: AtomicBool,
}

impl Rare {
    const fn new(name: &'static CStr) -> Self {
        Self {
            name,
            address: AtomicPtr::new(core::ptr::null_mut()),
            missing: AtomicBool::new(false),
        }
    }

    /// The address, or null when there is no such function. Looked up here only for a call that
    /// comes before the constructor.
    #[inline]
    pub fn address(&self) -> *mut c_void {
        let known = self.address.load(Relaxed);
        if !known.is_null() || self.missing.load(Relaxed) {
            return known;
        }
        let found = next_symbol(self.name);
        self.missing.store(found.is_null(), Relaxed);
        self.address.store(found, Relaxed);
        found
    }
}

macro_rules! rare_functions {
    ($($name:ident = $symbol:literal;)+) => {
        /// Functions that are called seldom, by the names they have in C.
        pub mod rare {
            use super::Rare;
            $(
                #[doc = concat!("`", stringify!($name), "`")]
                pub static $name: Rare = Rare::new($symbol);
            )+
        }

        /// Looks all of them up. Called in the constructor.
        pub fn resolve_rare() {
            $(rare::$name.address();)+
        }
    };
}

rare_functions! {
    DLOPEN = c"dlopen";
    DLSYM = c"dlsym";
    FPUTC = c"fputc";
    FPUTS = c"fputs";
    FWRITE = c"fwrite";
    PTHREAD_CREATE = c"pthread_create";
    PTHREAD_SETNAME = c"pthread_setname_np";
    PUTC = c"putc";
    SBRK = c"sbrk";
    SIGACTION = c"sigaction";
    SIGNAL = c"signal";
    VFPRINTF = c"vfprintf";
    VFPRINTF_CHECKED = c"__vfprintf_chk";
    VSNPRINTF = c"vsnprintf";
    WAIT4 = c"wait4";
    WAITID = c"waitid";
    WRITE = c"write";
    WRITEV = c"writev";
}

/// Whether the pointer came from the early buffer, and must never reach the real `free`.
#[inline]
pub fn is_early(pointer: *const c_void) -> bool {
    early::holds(pointer as usize)
}

/// The size of an early block.
pub fn early_size(pointer: *const c_void) -> usize {
    early::size_of(pointer as usize)
}
