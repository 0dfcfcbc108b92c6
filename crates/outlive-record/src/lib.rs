//! The black-box format: one file of fixed size per process, valid at every instant.
//!
//! The file is a header, a table of sections, and the sections themselves (`docs/format.md` is the
//! normative text). Two halves share the layout and nothing else:
//!
//! - [`mod@write`] runs inside the recorded process. It is `no_std`, never allocates, never panics and
//!   takes no lock; every record is published by one atomic store after its bytes are in place, so
//!   that a kill between any two instructions leaves a readable file.
//! - [`read`] runs in the tool. It takes bytes, any bytes, and gives back what can be read;
//!   it never panics and never holds more memory than the file.
//!
//! No threads, no clock, no environment, no files: whoever calls brings the time and the memory.

#![cfg_attr(not(any(feature = "read", test)), no_std)]

pub mod kind;
pub mod layout;
pub mod ledger;
pub mod lines;
#[cfg(feature = "read")]
pub mod read;
pub mod region;
pub mod sections;
#[cfg(feature = "read")]
pub mod timeline;
pub mod write;
