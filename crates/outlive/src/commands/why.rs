//! `outlive why`: what ended a run, with proof, and which lines held memory.

use std::io::{self, Write};

use anyhow::Result;
use outlive_diagnose::facts::{ProcessFacts, RunFacts};
use outlive_diagnose::{BlackBoxes, Diagnosis, Input, Liveness, diagnose};

use crate::boxes::Shelf;
use crate::cli::{Format, WhyArguments};
use crate::exit::Ending;
use crate::json;
use crate::printer::{Style, explanation, finish_output};
use crate::sources::Sources;
use crate::store::{Store, StoredRun};
use crate::supervise::{clock, is_alive, late};

/// A run and its diagnosis.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// Name of the run.
    pub id: String,
    /// The command, as started.
    pub command: Vec<String>,
    /// Where it was started.
    pub directory: String,
    /// `CLOCK_REALTIME` nanoseconds at the start.
    pub started_at: u64,
    /// The same at the end.
    pub ended_at: Option<u64>,
    /// The same when it was explained.
    pub explained_at: u64,
    /// `CLOCK_MONOTONIC` nanoseconds at the start.
    pub started_monotonic: u64,
    /// What ended it.
    pub diagnosis: Diagnosis,
}

/// Explains the run the arguments name.
pub fn run(arguments: &WhyArguments) -> Result<Ending> {
    let run = Store::from_env()?.find(&arguments.run)?;
    let explanation = explain(&run)?;
    let mut out = io::stdout().lock();
    let written = match arguments.format {
        Format::Text => print_text(&explanation, &mut out, Style::for_stream(&io::stdout())),
        Format::Json => json::write_why(&explanation, &mut out),
    };
    finish_output(written)?;
    Ok(Ending::Code(0))
}

/// Reads a run and finds out what ended it.
pub fn explain(run: &StoredRun) -> Result<Explanation> {
    let mut facts = run.facts()?;
    let shelf = Shelf::new(run.boxes()?);
    adopt_unseen(&mut facts, &shelf);
    if liveness(&facts) == Liveness::SupervisorLost {
        late::look(run, &mut facts);
    }
    let input = Input {
        run: &facts,
        boxes: &shelf,
        sources: &Sources::default(),
        liveness: liveness(&facts),
    };
    let mut diagnosis = diagnose(&input);
    diagnosis.remarks.extend(shelf.into_remarks());
    Ok(Explanation {
        id: run.id.clone(),
        command: facts.command,
        directory: facts.cwd,
        started_at: facts.started_at,
        ended_at: facts.ended_at,
        explained_at: clock::realtime(),
        started_monotonic: facts.started_monotonic,
        diagnosis,
    })
}

/// Prints it for people.
pub fn print_text(explanation: &Explanation, out: &mut dyn Write, style: Style) -> io::Result<()> {
    explanation::print(explanation, out, style)
}

/// Whether a run is over.
pub(crate) fn liveness(facts: &RunFacts) -> Liveness {
    match facts.ended_at {
        Some(_) => Liveness::Ended,
        None if is_alive(facts.supervisor) => Liveness::Running,
        None => Liveness::SupervisorLost,
    }
}

/// Processes that left a box but were never listed: the supervisor was killed before it could.
fn adopt_unseen(facts: &mut RunFacts, shelf: &Shelf) {
    for (process, name) in shelf.processes() {
        if let Some(listed) = facts.processes.iter_mut().find(|it| it.id == process) {
            listed.black_box = Some(name);
        } else if facts.ended_at.is_none()
            && let Some(recording) = shelf.open(process)
        {
            let identity = recording.identity();
            facts.processes.push(ProcessFacts {
                id: process,
                parent: identity.ppid,
                name: identity
                    .exe
                    .rsplit('/')
                    .next()
                    .unwrap_or_default()
                    .to_owned(),
                argv: identity.argv,
                seen_at: identity.monotonic,
                black_box: Some(name),
                ..ProcessFacts::default()
            });
        }
    }
}

#[cfg(test)]
mod tests;
