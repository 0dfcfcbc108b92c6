//! The functions that stand in front of the C library's, one file a family, and the constructor.
//!
//! - [`memory`]: `malloc free calloc realloc reallocarray posix_memalign aligned_alloc memalign
//!   valloc pvalloc malloc_usable_size free_sized free_aligned_sized`
//! - [`mapping`]: `mmap mmap64 munmap mremap sbrk`
//! - [`processes`]: `pthread_create`, `pthread_setname_np`, the `wait` family, `fork` through `atfork`
//! - [`signals`]: `sigaction signal`
//! - [`output`]: what writes to standard error
//!
//! C++ `operator new` comes through `malloc`.

#![expect(unsafe_code, reason = "the constructor is entered by the loader")]

pub mod mapping;
pub mod memory;
pub mod output;
pub mod processes;
pub mod signals;

use super::{
    altstack, bindings, c_library, guard_calls, interpreter, ledger, library, loaded, real,
    residency, signal,
};
use crate::{arena, config, recorder};

#[used]
#[unsafe(link_section = ".init_array")]
static CONSTRUCTOR: extern "C" fn() = construct;

/// Prepares everything that may allocate or fail; on the first "no" the library stays a passage.
extern "C" fn construct() {
    real::resolve();
    real::resolve_rare();
    c_library::prepare();
    library::prepare();
    // SAFETY: the loader runs constructors before the program can start threads.
    let directory = unsafe { c_library::variable(config::RUN_DIR) };
    // SAFETY: as above.
    let size = unsafe { c_library::variable(config::BOX_SIZE) };
    if !config::set(directory, size) || !interpreter::prepare() || !arena::prepare() {
        recorder::decide(false);
        c_library::forget_look_up_errors();
        return;
    }
    guard_calls::prepare();
    residency::prepare();
    c_library::forget_look_up_errors();
    ledger::prepare();
    mapping::prepare();
    altstack::prepare();
    processes::prepare();
    recorder::decide(true);
    if arena::recording().is_some() {
        signal::install();
        if loaded::came_late() {
            bindings::begin();
        }
    }
}
