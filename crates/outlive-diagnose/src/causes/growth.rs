//! Growth in many pieces: something keeps them.

use super::history;
use super::inquiry::Inquiry;
use super::libraries::{Nature, of_calls};
use super::surround::{Turning, turning};
use super::suspect::{Request, Suspect};
use crate::cause::{Cause, CauseId, Sureness};
use crate::place::Line;
use crate::size::Size;

/// A line that holds one part in so many of all there is, or more, is worth blaming.
const WORTH_BLAMING: u64 = 8;

/// A line that grew.
pub(super) fn kept(inquiry: &Inquiry<'_>) -> Option<Cause> {
    if !inquiry.is_about_memory() || was_one_request(inquiry) {
        return None;
    }
    let growing = inquiry.growing();
    let suspect = *growing.first()?;
    let room = inquiry.room()?;
    let is_stopped = inquiry.stopped.is_some();
    if suspect.bytes < room / WORTH_BLAMING && !is_stopped {
        return None;
    }
    let suspect = match &inquiry.stopped {
        Some(stopped) if suspect.bytes < room / WORTH_BLAMING => stopped,
        _ => suspect,
    };
    Some(blamed(inquiry, suspect))
}

/// Whether one request explains it, and not what was kept before.
fn was_one_request(inquiry: &Inquiry<'_>) -> bool {
    let Some(request) = &inquiry.request else {
        return false;
    };
    let mut here = inquiry.suspects.iter();
    let grows_here = here.any(|it| it.line.is_at(&request.line) && it.is_many());
    request.exceeds_everything() || (request.is_large() && !grows_here)
}

fn blamed(inquiry: &Inquiry<'_>, suspect: &Suspect) -> Cause {
    let around = inquiry.around(&suspect.line);
    let calls = around.as_ref().map(|it| it.calls.as_slice());
    let nature = suspect
        .nature()
        .or_else(|| of_calls(calls.unwrap_or_default()));
    let sure = |id, line, sureness| {
        Cause::new(id, sureness)
            .at(Some(line))
            .because(evidence(inquiry, suspect))
    };
    let of = |id, line| sure(id, line, Sureness::Medium);
    let perhaps = |id, line| sure(id, line, Sureness::Low);
    let own = suspect.line.clone();
    let carries_state = around.as_ref().is_some_and(|it| it.carries_state);
    if around.is_some_and(|it| it.calls_foreign_code) {
        return of(CauseId::NativeLeak, own)
            .because("the line calls a C library directly: what it returns is no Python object");
    }
    match (nature, turning(inquiry, &suspect.frames)) {
        (Some(Nature::Recurrent), Turning::Once) => of(CauseId::UnboundedSequence, own),
        (Some(Nature::Recurrent), _) if carries_state => of(CauseId::UnboundedSequence, own),
        (Some(Nature::Variable), Turning::Kept(_) | Turning::Dropped(_)) => {
            of(CauseId::VariablesCreatedInLoop, own)
        }
        (Some(Nature::Session), Turning::Kept(line) | Turning::Dropped(line)) => {
            of(CauseId::SessionNotClosed, line)
        }
        (Some(Nature::Layer), _) if builds_models(inquiry, suspect) => {
            of(CauseId::VariablesCreatedInLoop, own)
        }
        (Some(Nature::Layer), _) => of(CauseId::OversizedLayer, own),
        (Some(Nature::Grid), Turning::Once | Turning::Unknown) => of(CauseId::OversizedGrid, own),
        (Some(Nature::Forward | Nature::Recurrent), Turning::Kept(line)) => {
            let kept = history::kept(inquiry, &suspect.frames);
            of(kept.unwrap_or(CauseId::ResultsKeptInLoop), line)
        }
        (_, Turning::Kept(line)) => of(CauseId::ResultsKeptInLoop, line),
        (_, Turning::Once) => of(CauseId::OversizedTensor, own),
        // Nothing is kept: what one turn needs does not fit.
        (Some(Nature::Forward | Nature::Training | Nature::Recurrent), Turning::Dropped(_)) => {
            perhaps(CauseId::OversizedTensor, own)
        }
        // Something keeps what the turns make; the source does not show what.
        (_, Turning::Dropped(line)) => perhaps(CauseId::ResultsKeptInLoop, line),
        (_, Turning::Unknown) => perhaps(CauseId::ResultsKeptInLoop, own),
    }
}

/// Whether a loop builds models, one after the other. One model is built of many layers, in a
/// comprehension or in the loop of its own `__init__`.
fn builds_models(inquiry: &Inquiry<'_>, suspect: &Suspect) -> bool {
    let users = suspect.frames.iter().filter(|line| line.is_users());
    let is_own =
        |line: &&Line| line.function.ends_with("__init__") || line.function == "<listcomp>";
    users.skip_while(is_own).any(|line| {
        let turning = inquiry.around(line).and_then(|it| it.in_loop);
        turning.is_some_and(|it| !it.is_comprehension)
    })
}

/// Gradients or averages do not fit beside the layers they belong to, in many small pieces.
pub(super) fn trained(inquiry: &Inquiry<'_>) -> Option<Cause> {
    if !inquiry.is_about_memory() || was_one_request(inquiry) {
        return None;
    }
    let is_layer = |it: &&Suspect| it.nature() == Some(Nature::Layer);
    let layers = inquiry.suspects.iter().find(is_layer)?;
    let is_large = layers.bytes >= inquiry.room()? / WORTH_BLAMING;
    let request = inquiry.request.as_ref().and_then(Request::nature);
    let stopped = inquiry.stopped.as_ref().and_then(Suspect::nature);
    if !is_large || request.or(stopped) != Some(Nature::Training) {
        return None;
    }
    let (place, bytes) = (layers.describe(), Size(layers.bytes));
    let cause = Cause::new(CauseId::OversizedLayer, Sureness::Medium)
        .at(Some(layers.line.clone()))
        .because(format!("the weights that {place} made take {bytes}"));
    Some(cause.because("memory ran out when gradients or the optimizer's state were made"))
}

fn evidence(inquiry: &Inquiry<'_>, suspect: &Suspect) -> String {
    let place = suspect.describe();
    if suspect.bytes == 0 {
        return format!("memory grew at {place} until the end");
    }
    let bytes = Size(suspect.bytes);
    let room = inquiry
        .room()
        .map_or_else(String::new, |room| format!(" of {}", Size(room)));
    if suspect.is_many() {
        let most = Size(suspect.largest_request);
        return format!("{place} held {bytes}{room}, in pieces of at most {most}");
    }
    format!("{place} held {bytes}{room}")
}

/// Memory grew, and no line of Python holds it.
pub(super) fn leaked(inquiry: &Inquiry<'_>) -> Option<Cause> {
    if !inquiry.is_about_memory() || inquiry.memory().forked {
        return None;
    }
    let moment = inquiry.known.holdings.moment;
    let room = inquiry.room()?;
    // Pages of files are resident too, and no limit counts them.
    let holders = inquiry.known.holdings.holders.iter();
    let recorded = holders
        .map(|it| it.bytes(moment))
        .fold(0, u64::saturating_add);
    let counted = inquiry.memory().peak.saturating_sub(recorded);
    let unexplained = inquiry.memory().unexplained(moment)?.min(counted);
    let largest = inquiry.growing().first().map_or(0, |it| it.bytes);
    if unexplained < room / 2
        || unexplained < largest
        || inquiry.request.as_ref().is_some_and(Request::is_large)
    {
        return None;
    }
    let latest = inquiry.latest.as_ref();
    let frames = latest.map(|it| it.frames.as_slice()).unwrap_or_default();
    let (id, line) = match turning(inquiry, frames) {
        // A library's own allocator holds what a line of Python keeps.
        Turning::Kept(line) => (CauseId::ResultsKeptInLoop, Some(line)),
        _ => (CauseId::NativeLeak, latest.map(|it| it.line.clone())),
    };
    let unexplained = Size(unexplained);
    let mut cause = Cause::new(id, Sureness::Low).at(line).because(format!(
        "{unexplained} resident have no line of Python that acquired them"
    ));
    if let Some(latest) = latest {
        cause = cause.because(format!("Python was last seen at {}", latest.describe()));
    }
    Some(cause)
}
