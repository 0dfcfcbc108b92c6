//! What ended a process, with proof, and who held its memory: facts in, verdict out.
//!
//! No I/O. [`facts`] is what the supervisor wrote down.

#![forbid(unsafe_code)]

pub mod facts;
