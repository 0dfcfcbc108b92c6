//! The processes of a run as they are shown: what is known of each, and what part it had.

use crate::facts::{EndStatus, ProcessFacts};
use crate::tree::{Subject, Tree};

/// What part a process had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The death to explain.
    First,
    /// Ended badly after the first.
    Secondary,
    /// Ended badly before it, and the run went on.
    Earlier,
    /// Ended with code 0.
    Fine,
    /// No end is known.
    Unknown,
}

impl Role {
    /// Its word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::Secondary => "secondary",
            Self::Earlier => "earlier",
            Self::Fine => "fine",
            Self::Unknown => "unknown",
        }
    }
}

/// One process, as it is shown.
#[derive(Clone, Debug)]
pub struct ProcessView {
    /// What is known of it.
    pub facts: ProcessFacts,
    /// What part it had.
    pub role: Role,
}

/// Every process with its part.
pub(crate) fn views(tree: &Tree, subject: Subject) -> Vec<ProcessView> {
    let first = match subject {
        Subject::Death(index) | Subject::Hang(index) => Some(index),
        Subject::Finished | Subject::Running | Subject::Lost => None,
    };
    let first_end = first.and_then(|index| tree.processes.get(index)?.ended_at);
    let role = |index: usize, process: &ProcessFacts| match process.status {
        _ if Some(index) == first => Role::First,
        Some(EndStatus::Exited(0)) => Role::Fine,
        Some(_) if process.ended_at < first_end || first.is_none() => Role::Earlier,
        Some(_) => Role::Secondary,
        None => Role::Unknown,
    };
    tree.processes
        .iter()
        .enumerate()
        .map(|(index, process)| ProcessView {
            facts: process.clone(),
            role: role(index, process),
        })
        .collect()
}

/// The process whose death is explained.
pub(crate) fn first_death(tree: &Tree, subject: Subject) -> Option<ProcessView> {
    views(tree, subject)
        .into_iter()
        .find(|view| view.role == Role::First)
}
