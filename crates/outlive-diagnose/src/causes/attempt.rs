//! A second attempt while the first exception is being handled: it still holds what failed.

use super::inquiry::Inquiry;
use crate::cause::{Cause, CauseId, Sureness};
use crate::place::Line;

/// What is known of it.
pub(super) struct Attempt {
    /// The line in the handler that led to it.
    line: Line,
    /// Whether another request was refused before, or growth was stopped.
    pub(super) is_repeated: bool,
}

/// The calls that led to what failed last.
pub(super) fn frames<'i>(inquiry: &'i Inquiry<'_>) -> Option<&'i [Line]> {
    let request = inquiry.request.as_ref().map(|it| &it.frames);
    let stopped = inquiry.stopped.as_ref().map(|it| &it.frames);
    request.or(stopped).map(Vec::as_slice)
}

/// Whether what failed last was done in an `except` clause.
pub(super) fn in_handler(inquiry: &Inquiry<'_>) -> Option<Attempt> {
    let frames = frames(inquiry)?;
    let mut users = frames.iter().filter(|line| line.is_users());
    let line = users.find(|line| inquiry.around(line).is_some_and(|it| it.in_handler))?;
    let budget = inquiry.known.input.run.budget.as_ref();
    let failures = budget.map_or(0, |it| it.refusals.saturating_add(it.stops));
    let attempts = inquiry.known.decisive.map_or(1, |it| it.attempts);
    Some(Attempt {
        line: line.clone(),
        is_repeated: failures > attempts,
    })
}

/// Memory was refused, and refused again in the handler.
pub(super) fn recovery(inquiry: &Inquiry<'_>) -> Option<Cause> {
    let attempt = in_handler(inquiry).filter(|it| it.is_repeated)?;
    let place = attempt.line.describe();
    let cause = Cause::new(CauseId::RecoveryInsideExcept, Sureness::Medium).at(Some(attempt.line));
    Some(cause.because(format!(
        "memory was refused before, and again at {place}, in an `except` clause"
    )))
}
