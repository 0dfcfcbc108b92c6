//! The library that Outlive puts into a process.
//!
//! It stands in front of `malloc` and its family, `mmap`, `fork`, `pthread_create`, `wait`, fatal
//! signals and standard error, and writes what it sees into the black box (`outlive-record`). It is
//! a guest in somebody else's program, so it is built from absences:
//!
//! - no `std`, no `alloc`: there is no allocator to call, not even by accident; all state lies in a
//!   private arena mapped by raw system calls ([`arena`]);
//! - no panic: the library does not link if the optimiser leaves one (`panic.rs`);
//! - no lock on the path of an unrecorded call; the locks of rare paths spin for a bounded time and
//!   then count the event as "other";
//! - no Python headers, no reference counts, no GIL: frames are read as memory ([`python`]);
//! - no word on standard output or error.
//!
//! An unrecorded `malloc` costs one subtraction and two comparisons, an unrecorded `free` one byte
//! load ([`filter`]). Requests of 128 KiB and more are recorded one by one, smaller ones by unbiased
//! sampling of bytes ([`sampling`]).
//!
//! Reading order: `sys/exports/` (what is interposed) → [`recorder`] (what happens then) →
//! [`attribution`] (who asked) → [`live`], [`mappings`] (what is held).

#![cfg_attr(not(test), no_std)]

pub mod arena;
pub mod attribution;
pub mod children;
pub mod config;
pub mod fatal;
pub mod filter;
pub mod guard;
pub mod hash;
pub mod index;
pub mod last_words;
pub mod live;
pub mod mappings;
pub mod memo;
#[cfg(feature = "preload")]
mod panic;
pub mod python;
pub mod recorder;
pub mod sampling;
pub mod spin;
pub mod sys;
