//! The command line as a person uses it: real processes, real signals, a real terminal.

#![expect(clippy::unwrap_used, reason = "a panic is how a test reports failure")]

mod cells;
mod context;
mod endings;
mod evidence;
mod guard;
mod guest;
mod pruning;
mod signals;
mod tree;
mod unrecorded;
mod why;
