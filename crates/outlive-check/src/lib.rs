//! The patterns that kill Python kernels, found in source text: text in, findings out.
//!
//! No I/O. [`Source`] is a script or a notebook; [`check`] gives a [`Report`]. The steps are the
//! same for every file: [`front`] parses it, through syntax errors and cell by cell; [`model`] runs
//! over it once in the order it would be executed, and knows of each value where it comes from;
//! each of [`rules`] reads what the model wrote down. What the model does not know is
//! unknown, and no rule speaks of that: broken or strange Python gives fewer
//! findings, not wrong ones.

#![forbid(unsafe_code)]

mod finding;
mod fix;
pub mod front;
pub mod model;
mod quoted;
mod report;
mod rule;
pub mod rules;
mod settings;
mod source;
mod suppression;
mod surroundings;

pub use finding::{Applicability, Edit, Finding, Fix, Level, Note};
pub use fix::{Fixed, combined_edits, fix};
pub use report::{Problem, ProblemKind, Report, check, findings_despite_comments};
pub use rule::{Rule, rule_named};
pub use settings::{Container, Selection, Settings};
pub use source::{Cell, EditorPosition, Position, Source, SourceError, SourceKind};
pub use suppression::silencing_edits;
pub use surroundings::{Keeping, Loop, Surroundings, surroundings};

/// The stack that a thread needs in order to check a file. What would take more is not checked.
pub const STACK_SIZE: usize = 16 << 20;
