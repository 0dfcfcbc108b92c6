//! What `check` finds in the program, where the lines that did not fit or grew, or their callers,
//! lie in what a finding is about.

use outlive_check::front::TextRange;
use outlive_check::{Applicability, Finding, Level};

use super::attempt;
use super::history;
use super::inquiry::Inquiry;
use super::libraries::Nature;
use super::pipeline;
use super::program::Program;
use super::surround::{Turning, turning};
use super::suspect::{Request, Suspect};
use crate::cause::{Cause, CauseId, Sureness};
use crate::place::Line;
use crate::size::Size;
use crate::verdict::VerdictId;

/// Growth of one part in so many of all there is, or more, is what ended it.
const DECISIVE: u64 = 8;
/// A computed size is that of the request when they differ by less than one part in so many.
const SAME: u64 = 8;

/// What has to be recorded for a finding to be a cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Proof {
    /// Memory that lines inside it hold.
    Growth,
    /// One request at its line.
    Request,
    /// A second attempt in a handler.
    Attempt,
    /// The memory of an input pipeline.
    Pipeline,
    /// The same cause, by what was recorded.
    Itself,
}

const fn proof(id: CauseId) -> Proof {
    match id {
        CauseId::OversizedGrid | CauseId::OversizedTensor | CauseId::OversizedLayer => {
            Proof::Request
        }
        CauseId::RecoveryInsideExcept => Proof::Attempt,
        CauseId::UnboundedPrefetch | CauseId::UnboundedParallelMap => Proof::Pipeline,
        CauseId::AutogradHistoryKept
        | CauseId::InferenceWithGradients
        | CauseId::IntermediateOutlivesLoop
        | CauseId::ResultsKeptInLoop
        | CauseId::SessionNotClosed
        | CauseId::UnboundedSequence
        | CauseId::VariablesCreatedInLoop => Proof::Growth,
        _ => Proof::Itself,
    }
}

/// A finding that fits, and how well.
struct Fit {
    sureness: Sureness,
    /// How close the recorded line is to the finding's own.
    closeness: Closeness,
    evidence: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Closeness {
    /// Somewhere in the same program.
    Program,
    /// In the region that the finding is about.
    Region,
    /// At the finding's own lines, or at those of its witness.
    Line,
}

/// The findings that fit, the best first.
pub(super) fn matching(inquiry: &Inquiry<'_>, recorded: &[Cause]) -> Vec<Cause> {
    let mut fitting: Vec<(Fit, CauseId, &Program, &Finding)> = Vec::new();
    for program in inquiry.programs() {
        for finding in &program.findings {
            if let Some(id) = cause_of(program, finding)
                && let Some(fit) = fit(inquiry, recorded, program, id, finding)
            {
                fitting.push((fit, id, program, finding));
            }
        }
    }
    fitting.sort_by_key(|(fit, id, _, finding)| {
        let best = (fit.sureness, specificity(*id), finding.level, fit.closeness);
        std::cmp::Reverse(best)
    });
    let mut causes: Vec<Cause> = Vec::new();
    for (fit, id, program, finding) in fitting {
        if !causes.iter().any(|cause| cause.id == id) {
            causes.push(told(inquiry, fit, id, program, finding));
        }
    }
    causes
}

/// The cause a finding leads to. That a depth is left to the machine is said of parallel calls and
/// of buffers alike.
fn cause_of(program: &Program, finding: &Finding) -> Option<CauseId> {
    let id = CauseId::named(finding.rule.cause)?;
    let is_buffer = || program.text_of(finding.range).contains("prefetch");
    if id == CauseId::UnboundedParallelMap && is_buffer() {
        return Some(CauseId::UnboundedPrefetch);
    }
    Some(id)
}

/// Where several fit the same loop, the one whose change helps most comes first.
const fn specificity(id: CauseId) -> u8 {
    match id {
        CauseId::InferenceWithGradients => 3,
        CauseId::UnboundedSequence | CauseId::SessionNotClosed => 2,
        CauseId::AutogradHistoryKept | CauseId::VariablesCreatedInLoop => 1,
        _ => 0,
    }
}

fn fit(
    inquiry: &Inquiry<'_>,
    recorded: &[Cause],
    program: &Program,
    id: CauseId,
    finding: &Finding,
) -> Option<Fit> {
    let of_gpu = inquiry.known.verdict.id == VerdictId::GpuOutOfMemory;
    match proof(id) {
        Proof::Itself => itself(recorded, id, finding),
        _ if of_gpu => raised(inquiry, program, finding),
        _ if !inquiry.is_about_memory() => None,
        Proof::Growth => growth(inquiry, program, id, finding),
        Proof::Request => request(inquiry, program, id, finding),
        Proof::Attempt => second_attempt(inquiry, program, finding),
        Proof::Pipeline => of_pipeline(inquiry, program, finding),
    }
}

/// The lines inside what the finding is about hold most, or grew when growth was stopped.
fn growth(inquiry: &Inquiry<'_>, program: &Program, id: CauseId, finding: &Finding) -> Option<Fit> {
    let one_request = inquiry.request.as_ref();
    if one_request.is_some_and(Request::exceeds_everything) {
        return None;
    }
    let growing = inquiry.growing();
    let close = |it: &Suspect| closeness(program, finding, &it.frames);
    let inside: Vec<&Suspect> = growing
        .iter()
        .copied()
        .filter(|it| close(it).is_some())
        .collect();
    let closeness = inside.iter().filter_map(|it| close(it)).max()?;
    let bytes = inside
        .iter()
        .map(|it| it.bytes)
        .fold(0, u64::saturating_add);
    let all = growing
        .iter()
        .map(|it| it.bytes)
        .fold(0, u64::saturating_add);
    let room = inquiry.room()?;
    let is_decisive = bytes >= room / DECISIVE && bytes >= all / 2;
    let is_stopped = inquiry
        .stopped
        .as_ref()
        .is_some_and(|it| close(it).is_some());
    if !is_decisive && !is_stopped {
        return None;
    }
    let largest = *inside.iter().max_by_key(|it| it.bytes)?;
    let turning = turning(inquiry, &largest.frames);
    let is_kept = matches!(turning, Turning::Kept(_));
    let of_evaluation = id == CauseId::InferenceWithGradients;
    if of_evaluation && is_kept && history::kept(inquiry, &largest.frames).is_none() {
        // What is kept has no history: gradients cost one batch, which is not what grew.
        return None;
    }
    let is_its_own = closeness == Closeness::Line || leads_to(program, finding, largest, &turning);
    let (place, bytes) = (largest.describe(), Size(bytes));
    Some(Fit {
        sureness: match (costs_much(id, finding), is_decisive && is_its_own) {
            (true, true) => Sureness::High,
            (true, false) if is_its_own => Sureness::Medium,
            _ => Sureness::Low,
        },
        closeness,
        evidence: is_decisive.then(|| format!("{bytes} were held inside, most of it by {place}")),
    })
}

/// Whether what a line made is what the finding is about: kept by the finding's own statement, or
/// of the kind that it speaks of.
fn leads_to(program: &Program, finding: &Finding, suspect: &Suspect, turning: &Turning) -> bool {
    if let Turning::Kept(keeper) = turning {
        let range = program.range_of(keeper);
        return range.is_some_and(|range| range.intersect(finding.range).is_some());
    }
    suspect.nature() == Some(Nature::Forward) && finding.rule.cause == "inference_with_gradients"
}

/// A history whose activations `backward` has freed takes kilobytes a turn: it is rarely what fills
/// the memory, even where memory grows in the same loop.
fn costs_much(id: CauseId, finding: &Finding) -> bool {
    id != CauseId::AutogradHistoryKept || finding.level == Level::Error
}

/// The request that did not fit was made at the finding's line; of a layer, its weights were.
fn request(
    inquiry: &Inquiry<'_>,
    program: &Program,
    id: CauseId,
    finding: &Finding,
) -> Option<Fit> {
    let request = inquiry.request.as_ref().filter(|it| it.is_large())?;
    let is_training = request.nature() == Some(Nature::Training) && id == CauseId::OversizedLayer;
    let at_layer = |it: &&Suspect| it.nature() == Some(Nature::Layer);
    let layer = inquiry
        .suspects
        .iter()
        .filter(|_| is_training)
        .find(at_layer);
    let frames = layer.map_or(&request.frames, |it| &it.frames);
    let closeness = closeness(program, finding, frames)?;
    if closeness < Closeness::Line {
        return None;
    }
    let computed = finding.bytes.unwrap_or(0);
    let is_same = computed.abs_diff(request.bytes) <= request.bytes / SAME;
    let is_sure = is_same || request.exceeds_everything() || is_training;
    Some(Fit {
        sureness: if is_sure {
            Sureness::High
        } else {
            Sureness::Medium
        },
        closeness,
        evidence: Some(request.evidence()),
    })
}

/// More than one request failed, and the last of them in a handler.
fn second_attempt(inquiry: &Inquiry<'_>, program: &Program, finding: &Finding) -> Option<Fit> {
    let attempt = attempt::in_handler(inquiry)?;
    let frames = attempt::frames(inquiry)?;
    Some(Fit {
        sureness: if attempt.is_repeated {
            Sureness::High
        } else {
            Sureness::Medium
        },
        closeness: closeness(program, finding, frames)?,
        evidence: None,
    })
}

/// Memory of a GPU ran out in it: what held it is not recorded.
fn raised(inquiry: &Inquiry<'_>, program: &Program, finding: &Finding) -> Option<Fit> {
    let closeness = closeness(program, finding, &inquiry.raised())?;
    Some(Fit {
        sureness: if finding.level == Level::Error {
            Sureness::Medium
        } else {
            Sureness::Low
        },
        closeness,
        evidence: Some("the GPU ran out of memory inside".to_owned()),
    })
}

/// The memory is that of a pipeline, and the finding is about one in the same program.
fn of_pipeline(inquiry: &Inquiry<'_>, program: &Program, finding: &Finding) -> Option<Fit> {
    let (line, _) = pipeline::of_pipeline(inquiry)?;
    let close = closeness(program, finding, std::slice::from_ref(&line));
    let is_sure = finding.level > Level::Info && close.is_some();
    Some(Fit {
        sureness: if is_sure {
            Sureness::High
        } else {
            Sureness::Medium
        },
        closeness: close.unwrap_or(Closeness::Program),
        evidence: None,
    })
}

/// What was recorded says the same.
fn itself(recorded: &[Cause], id: CauseId, finding: &Finding) -> Option<Fit> {
    let same = recorded.iter().find(|cause| cause.id == id)?;
    let is_sure = finding.level > Level::Info;
    Some(Fit {
        sureness: if is_sure {
            same.sureness.max(Sureness::Medium)
        } else {
            same.sureness
        },
        closeness: Closeness::Program,
        evidence: None,
    })
}

/// How close the closest of these lines comes to a finding, if one does.
fn closeness(program: &Program, finding: &Finding, frames: &[Line]) -> Option<Closeness> {
    let touches = |range: TextRange, line: TextRange| {
        let part = range.intersect(line);
        part.is_some_and(|part| !part.is_empty() || range.is_empty())
    };
    let users = frames.iter().filter(|line| line.is_users());
    let ranges = users.filter_map(|line| program.range_of(line));
    let close = ranges.filter_map(|line| {
        let witness = finding.witness.iter().any(|note| touches(note.range, line));
        if touches(finding.range, line) || witness {
            Some(Closeness::Line)
        } else {
            touches(finding.region, line).then_some(Closeness::Region)
        }
    });
    close.max()
}

fn told(
    inquiry: &Inquiry<'_>,
    fit: Fit,
    id: CauseId,
    program: &Program,
    finding: &Finding,
) -> Cause {
    let place = |range: TextRange| inquiry.marked(program.line_at(range.start()));
    let mut cause = Cause::new(id, fit.sureness).at(Some(place(finding.range)));
    cause.summary.clone_from(&finding.message);
    cause.evidence.extend(fit.evidence);
    for note in &finding.witness {
        let (place, text) = (place(note.range).describe(), &note.text);
        cause.evidence.push(format!("{place}: {text}"));
    }
    cause.rule = Some(finding.rule);
    cause.text = program.text_at(finding.range.start());
    cause.change.clone_from(&finding.help);
    if finding
        .fix
        .as_ref()
        .is_some_and(|it| it.applicability == Applicability::Safe)
    {
        cause.change.push_str(" (`outlive check --fix` does it)");
    }
    cause
}
