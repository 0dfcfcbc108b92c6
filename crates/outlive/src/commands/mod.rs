//! One file a subcommand.

pub mod check;
pub mod explain;
pub mod grid;
pub mod jupyter;
pub mod list;
pub mod lsp;
pub mod run;
pub mod watch;
pub mod why;
