//! The language server: findings in an editor, as they are typed.
//!
//! `server` is the loop: it reads messages, starts checks and takes their results, and never
//! checks anything itself, so that it always answers. `session` knows what is open and who waits
//! for what; `checker` has the threads that check; the rest turns findings into what the protocol
//! has for them. Standard output belongs to the protocol alone.

mod actions;
mod capabilities;
mod checked;
mod checker;
mod client;
mod diagnostics;
mod documents;
mod edits;
mod hover;
mod news;
mod notebook;
mod options;
mod parent;
mod position;
mod publications;
mod questions;
mod server;
mod session;
mod text;
mod wire;

pub(crate) use server::serve;
