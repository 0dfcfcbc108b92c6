//! From a death to its causes, the best first.
//!
//! Two kinds of evidence meet. The rules below choose among the catalogue by what was recorded
//! alone: one giant request, growth at one line, growth in a worker, no Python holder. `findings`
//! looks the same lines and their callers up in what `check` says of the program. Where both agree
//! the cause is sure; what was recorded alone is sure only where it can mean nothing else.

mod attempt;
mod errors;
mod findings;
mod gpu;
mod growth;
mod history;
mod inquiry;
mod libraries;
mod pipeline;
mod program;
mod request;
mod surround;
mod suspect;
mod tree;

use crate::cause::{Cause, CauseId, Sureness};
use crate::places::Places;
use crate::verdict::VerdictId;

pub(crate) use inquiry::{Known, lacks_memory};

use inquiry::Inquiry;

/// Recognises one cause by what was recorded.
type Rule = fn(&Inquiry<'_>) -> Option<Cause>;

/// More are not told.
const MOST: usize = 4;

/// Asked in order; of equally sure causes the one that comes first here is told first.
const RULES: &[Rule] = &[
    errors::shared_memory,
    errors::driver,
    gpu::exceeds_everything,
    request::exceeds_everything,
    attempt::recovery,
    tree::contended,
    request::large,
    tree::worker,
    tree::parted_pages,
    pipeline::buffers,
    growth::trained,
    growth::kept,
    growth::leaked,
    gpu::fragmented,
    errors::corrupt_record,
    errors::uneven_padding,
    errors::in_thread,
];

/// Why it ran out of memory, or failed in a way that the catalogue knows.
pub(crate) fn causes(known: Known<'_>, places: &mut Places<'_>) -> Vec<Cause> {
    if matches!(
        known.verdict.id,
        VerdictId::Running | VerdictId::SupervisorLost
    ) {
        return Vec::new();
    }
    let inquiry = Inquiry::new(known, places);
    let recorded: Vec<Cause> = RULES.iter().filter_map(|rule| rule(&inquiry)).collect();
    let found = findings::matching(&inquiry, &recorded);
    let mut causes = together(found, recorded);
    causes.sort_by_key(|cause| std::cmp::Reverse(cause.sureness));
    // A weak guess beside something better is noise.
    let best = causes.first().map_or(Sureness::Low, |cause| cause.sureness);
    causes.retain(|cause| cause.sureness >= best.min(Sureness::Medium));
    causes.truncate(MOST);
    for cause in &mut causes {
        complete(&inquiry, cause);
    }
    causes
}

/// Findings come first among equals: they name the line to change. One that tells the same as what
/// was recorded takes its evidence over.
fn together(found: Vec<Cause>, recorded: Vec<Cause>) -> Vec<Cause> {
    let mut causes = found;
    for mut cause in recorded {
        if let Some(history) = of_evaluation(&causes, &cause) {
            // The same loop, and what to change in it at once.
            cause.sureness = history;
            causes.insert(0, cause);
            continue;
        }
        match causes.iter_mut().find(|it| it.id == cause.id) {
            Some(same) => {
                same.sureness = same.sureness.max(cause.sureness);
                let finding = std::mem::replace(&mut same.evidence, cause.evidence);
                same.evidence.extend(finding);
                same.evidence.dedup();
            }
            None => causes.push(cause),
        }
    }
    causes
}

/// How sure it is that an evaluation is to blame for a history that the source shows to be kept.
fn of_evaluation(found: &[Cause], cause: &Cause) -> Option<Sureness> {
    let is_evaluation = cause.id == CauseId::InferenceWithGradients;
    let mut history = found.iter().filter(|_| is_evaluation);
    let history = history.find(|it| it.id == CauseId::AutogradHistoryKept)?;
    let is_known = found.iter().any(|it| it.id == cause.id);
    (!is_known).then_some(history.sureness)
}

/// Adds the text of the line, and what makes it less sure.
fn complete(inquiry: &Inquiry<'_>, cause: &mut Cause) {
    let Some(line) = &mut cause.line else {
        return;
    };
    *line = inquiry.marked(line.clone());
    let Some(program) = inquiry.program(line) else {
        return;
    };
    if cause.text.is_none() {
        let range = program.range_of(line);
        cause.text = range.and_then(|range| program.text_at(range.start()));
    }
    if program.is_later && cause.rule.is_some() {
        cause.sureness = cause.sureness.min(Sureness::Medium);
    }
}
