//! One file a subcommand.

pub mod list;
pub mod run;
pub mod why;
