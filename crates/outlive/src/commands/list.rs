//! `outlive list`: the runs that are kept, newest first.

use std::io;

use anyhow::Result;
use outlive_diagnose::Liveness;
use outlive_diagnose::facts::{EndStatus, RunFacts};

use super::why::liveness;
use crate::cli::{Format, ListArguments};
use crate::exit::Ending;
use crate::json;
use crate::peak;
use crate::printer::{Style, finish_output, runs};
use crate::store::{Store, StoredRun};
use crate::supervise::clock;

/// One run in the list.
#[derive(Clone, Debug)]
pub struct Listed {
    /// Its name.
    pub id: String,
    /// The command, as started.
    pub command: Vec<String>,
    /// `CLOCK_REALTIME` nanoseconds at the start.
    pub started_at: u64,
    /// The same at the end.
    pub ended_at: Option<u64>,
    /// Whether it is over.
    pub liveness: Liveness,
    /// How the process that was started ended.
    pub status: Option<EndStatus>,
    /// Highest memory of the whole tree.
    pub peak: u64,
    /// Number of processes.
    pub processes: usize,
}

/// Prints the list.
pub fn run(arguments: &ListArguments) -> Result<Ending> {
    let listed: Vec<Listed> = Store::from_env()?
        .runs()?
        .iter()
        .filter_map(describe)
        .collect();
    let mut out = io::stdout().lock();
    let written = match arguments.format {
        Format::Text => runs::print(
            &listed,
            clock::realtime(),
            &mut out,
            Style::for_stream(&io::stdout()),
        ),
        Format::Json => json::write_list(&listed, &mut out),
    };
    finish_output(written)?;
    Ok(Ending::Code(0))
}

/// A folder without facts is a run that has just been made, or not one of ours.
fn describe(run: &StoredRun) -> Option<Listed> {
    let facts: RunFacts = run.facts().ok()?;
    let root = facts
        .processes
        .iter()
        .find(|process| process.id == facts.root);
    Some(Listed {
        id: run.id.clone(),
        liveness: liveness(&facts),
        status: root.and_then(|process| process.status),
        peak: peak::of_tree(&facts),
        processes: facts.processes.len(),
        command: facts.command,
        started_at: facts.started_at,
        ended_at: facts.ended_at,
    })
}
