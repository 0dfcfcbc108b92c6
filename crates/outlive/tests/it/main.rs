//! The command line as a person uses it: real processes, real signals, a real terminal.

#![expect(clippy::unwrap_used, reason = "a panic is how a test reports failure")]

mod browser;
mod cells;
mod check;
mod check_configuration;
mod check_fixes;
mod check_formats;
mod check_terminal;
mod check_watch;
mod context;
mod endings;
mod evidence;
mod gallery;
mod grid;
mod grid_serve;
mod grid_stops;
mod guard;
mod guest;
mod project;
mod pruning;
mod signals;
mod tree;
mod unrecorded;
mod why;
