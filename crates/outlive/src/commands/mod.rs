//! One file a subcommand.

pub mod jupyter;
pub mod list;
pub mod run;
pub mod watch;
pub mod why;
