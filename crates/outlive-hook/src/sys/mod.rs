//! The edge to the C library, the kernel and the interpreter: all `unsafe` of this crate lives in
//! this folder, one subject a file.

pub mod altstack;
pub mod bindings;
pub mod bootstrap;
pub mod c_library;
pub mod clock;
pub mod early;
#[cfg(feature = "preload")]
pub mod exports;
pub mod file;
pub mod guard_calls;
pub mod guard_methods;
pub mod interpreter;
pub mod kernel;
pub mod ledger;
pub mod library;
pub mod loaded;
pub mod map;
pub mod once;
pub mod peek;
pub mod process;
pub mod real;
pub mod residency;
pub mod signal;
pub mod stack;
#[cfg(test)]
pub mod testing;
pub mod thread;
pub mod wake;
pub mod watchdog;
