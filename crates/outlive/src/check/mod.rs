//! The check on files: which are looked at, with which settings, and what becomes of the findings.
//!
//! `outlive-check` knows text only; everything that touches a disk is here. [`walk`] finds files,
//! [`Resolver`] knows what is wanted of each ([`Scope`]), [`check_files`] checks them on all
//! cores. The command and the language server share it.

mod all_files;
mod configuration;
mod difference;
mod excerpt;
mod exclusion;
mod found;
mod gap;
pub mod nearest;
mod one_file;
mod paths;
mod read;
mod replace;
pub(crate) mod report;
mod resolver;
mod scope;
mod walk;

pub use all_files::{Outcome, check_files, threads};
pub use configuration::ConfigurationError;
pub use excerpt::{Excerpt, ExcerptLine};
pub use found::{Change, Found, Noted, Replacement, Span};
pub use gap::{Gap, GapKind};
pub use one_file::{Checked, Deed, check_bytes, check_file};
pub use paths::Base;
pub use resolver::{Overrides, Resolver};
pub use scope::Scope;
pub use walk::{Target, Walk, WalkOptions, walk};
