//! `outlive why`: what ended a run, with proof, and which lines held memory.

pub(crate) mod notebook_files;

use std::io::{self, Write};
use std::thread;

use anyhow::{Context, Result, anyhow};
use outlive_check::STACK_SIZE;
use outlive_diagnose::cells::Cells;
use outlive_diagnose::facts::{ProcessFacts, ProcessId, RunFacts};
use outlive_diagnose::notebook::Notebook;
use outlive_diagnose::signal;
use outlive_diagnose::{
    BlackBoxes, Diagnosis, Input, Liveness, Role, VerdictId, diagnose, diagnose_process,
};

use crate::boxes::Shelf;
use crate::cli::{Format, WhyArguments};
use crate::exit::Ending;
use crate::json;
use crate::peak;
use crate::printer::{Style, explanation, finish_output};
use crate::sources::Sources;
use crate::store::{FACTS_FILE, StoredRun};
use crate::supervise::{clock, is_alive, late};
use crate::wanted;

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
    /// The same when somebody asked; `None` for the run's own last words.
    pub explained_at: Option<u64>,
    /// `CLOCK_MONOTONIC` nanoseconds at the start.
    pub started_monotonic: u64,
    /// Highest memory of the whole tree.
    pub tree_peak: u64,
    /// The notebook it belongs to.
    pub notebook: Option<Notebook>,
    /// Cells that ran in it.
    pub cells: Cells,
    /// What ended it.
    pub diagnosis: Diagnosis,
}

/// Explains the run the arguments name.
pub fn run(arguments: &WhyArguments) -> Result<Ending> {
    let wanted = wanted::find(&arguments.run)?;
    let mut explanation = explain_process(&wanted.run, wanted.process)?;
    explanation.explained_at = Some(clock::realtime());
    let mut out = io::stdout().lock();
    let format = if arguments.json {
        Format::Json
    } else {
        arguments.format
    };
    let written = match format {
        Format::Text => print_text(&explanation, &mut out, Style::for_stream(&io::stdout())),
        Format::Json => json::write_why(&explanation, &mut out),
    };
    finish_output(written)?;
    Ok(Ending::Code(0))
}

/// Reads a run and finds out what ended it.
pub fn explain(run: &StoredRun) -> Result<Explanation> {
    explain_process(run, None)
}

/// Reads a run and finds out what ended it, or this process of it. In a thread of its own: the
/// program is checked, which takes more stack than there may be.
pub(crate) fn explain_process(run: &StoredRun, process: Option<ProcessId>) -> Result<Explanation> {
    thread::scope(|scope| {
        thread::Builder::new()
            .stack_size(STACK_SIZE)
            .spawn_scoped(scope, || read_and_explain(run, process))
            .context("Cannot start a thread")?
            .join()
            .map_err(|_| anyhow!("The diagnosis failed"))?
    })
}

fn read_and_explain(run: &StoredRun, process: Option<ProcessId>) -> Result<Explanation> {
    let shelf = Shelf::new(run.boxes()?);
    let is_lone = !run.directory.join(FACTS_FILE).exists() && shelf.processes().next().is_some();
    let mut facts = if is_lone {
        RunFacts::default()
    } else {
        run.facts()?
    };
    adopt_unseen(&mut facts, &shelf);
    if is_lone {
        know_from_boxes(&mut facts, process, &shelf);
    } else if liveness(&facts) == Liveness::SupervisorLost {
        late::look(run, &mut facts);
    }
    let notebook = notebook_files::notebook(&run.directory);
    let cells = notebook_files::cells(&run.directory);
    let sources = Sources::of(&run.directory, facts.started_at);
    let input = Input {
        run: &facts,
        boxes: &shelf,
        sources: &sources,
        notebook: notebook.as_ref(),
        cells: &cells,
        liveness: liveness(&facts),
    };
    let mut diagnosis = match process {
        Some(process) => diagnose_process(&input, process),
        None => diagnose(&input),
    };
    if is_lone {
        say_what_is_missing(&mut diagnosis);
    }
    point_to_death(&mut diagnosis, facts.root);
    diagnosis.remarks.extend(sources.remarks());
    diagnosis.remarks.extend(shelf.into_remarks());
    Ok(Explanation {
        id: run.id.clone(),
        // A supervisor that was killed too saw less than the box and the kernel.
        tree_peak: peak::of_tree(&facts)
            .max(diagnosis.memory.resident_peak)
            .max(diagnosis.memory.resident_at_kill.unwrap_or(0)),
        command: facts.command,
        directory: facts.cwd,
        started_at: facts.started_at,
        ended_at: facts.ended_at,
        explained_at: None,
        started_monotonic: facts.started_monotonic,
        notebook,
        cells,
        diagnosis,
    })
}

/// Boxes that came without `run.json` still say who they belong to.
fn know_from_boxes(facts: &mut RunFacts, process: Option<ProcessId>, shelf: &Shelf) {
    let first = facts.processes.iter().min_by_key(|it| it.seen_at);
    let Some(root) = process.or(first.map(|first| first.id)) else {
        return;
    };
    facts.root = root;
    if let Some(recording) = shelf.open(root) {
        let identity = recording.identity();
        facts.command = identity.argv;
        facts.cwd = identity.cwd.into_owned();
        facts.started_at = identity.realtime;
        facts.started_monotonic = identity.monotonic;
    }
}

fn say_what_is_missing(diagnosis: &mut Diagnosis) {
    let verdict = &mut diagnosis.verdict;
    if verdict.id == VerdictId::SupervisorLost {
        "How it ended is not known: there is a black box, and no `run.json` beside it"
            .clone_into(&mut verdict.summary);
        verdict.evidence = vec!["the black box records no fatal signal".to_owned()];
        verdict.advice = vec!["Give the whole folder of the run, if it is still there".to_owned()];
    }
}

/// The run ended well, and one of its processes did not.
fn point_to_death(diagnosis: &mut Diagnosis, root: ProcessId) {
    if diagnosis.verdict.id != VerdictId::Finished {
        return;
    }
    let died = diagnosis.processes.iter().filter(|view| {
        let is_violent = view.facts.status.is_some_and(signal::is_violent);
        view.role == Role::Earlier && (is_violent || view.facts.black_box.is_some())
    });
    if let Some(first) = died.min_by_key(|view| view.facts.ended_at)
        && let Some(status) = first.facts.status
        && first.facts.id != root
    {
        let (pid, name) = (first.facts.id.pid, &first.facts.name);
        let how = signal::describe(status);
        let advice = format!("outlive why {pid}: its child {name} {how}");
        diagnosis.verdict.advice.push(advice);
    }
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
