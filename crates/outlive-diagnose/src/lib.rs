//! What ended a process, with proof, and who held its memory: facts in, verdict out.
//!
//! No I/O. [`facts`] is what the supervisor wrote down; black boxes and source lines come in behind
//! two small traits; [`diagnose`] gives a [`Diagnosis`]. The order of reasoning is the same for
//! every run: who died first ([`tree`]), what is known about it ([`case`]), which rule recognises
//! it ([`verdicts`]), what it was not ([`ruled_out`]), and who held the memory ([`holders`]).

#![forbid(unsafe_code)]

pub mod case;
pub mod cause;
mod causes;
pub mod cells;
mod deadly;
mod diagnosis;
pub mod facts;
pub mod growth;
pub mod guarded;
pub mod holders;
mod holdings;
pub mod interventions;
pub mod kernel_log;
pub mod memory;
pub mod notebook;
mod oom;
pub mod place;
pub mod places;
mod process_view;
mod remarks;
pub mod reserved;
pub mod ruled_out;
mod seen;
pub mod signal;
pub mod size;
pub mod thread_exceptions;
mod thread_stacks;
pub mod traceback;
pub mod tree;
mod untouched;
pub mod verdict;
pub mod verdicts;
pub mod words;

pub use cause::{Cause, CauseId, Sureness};
pub use diagnosis::{
    BlackBoxes, Diagnosis, Input, SourceFile, SourceText, diagnose, diagnose_process,
};
pub use process_view::{ProcessView, Role};
pub use thread_stacks::ThreadStack;
pub use tree::Liveness;
pub use verdict::{Confidence, Verdict, VerdictId};
