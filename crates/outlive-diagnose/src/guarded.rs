//! What the guard did in a run beside what ended it, told in a line: requests that were refused
//! and caught, and a kill that came all the same.

use outlive_record::read::Deed;

use crate::diagnosis::Input;
use crate::facts::BudgetFacts;
use crate::interventions::{Intervention, Interventions};
use crate::seen::Seen;
use crate::size::Size;
use crate::verdict::VerdictId;

/// `3 requests`, `growth twice`: how often Outlive said no in a whole run; `None` for never.
pub fn interventions(budget: &BudgetFacts) -> Option<String> {
    told(budget.refusals, budget.stops)
}

fn told(refusals: u64, stops: u64) -> Option<String> {
    let refused = match refusals {
        0 => None,
        1 => Some("refused 1 request".to_owned()),
        number => Some(format!("refused {number} requests")),
    };
    let stopped = match stops {
        0 => None,
        1 => Some("stopped growth once".to_owned()),
        number => Some(format!("stopped growth {number} times")),
    };
    let parts: Vec<String> = refused.into_iter().chain(stopped).collect();
    (!parts.is_empty()).then(|| parts.join(" and "))
}

/// The lines.
pub(crate) fn remarks(
    input: &Input<'_>,
    held: &Seen<'_>,
    verdict: VerdictId,
    decisive: Option<&Intervention>,
) -> Vec<String> {
    let Some(budget) = &input.run.budget else {
        return Vec::new();
    };
    let last = held.recording;
    let last = last.and_then(|it| Interventions::last_of(input, held.process, it));
    let mut lines = Vec::new();
    lines.extend(caught(budget, decisive, last.as_ref()));
    if verdict.is_kernel_kill() {
        lines.push(escaped(budget));
    }
    lines
}

/// What the program dealt with, and where it met the last of it.
fn caught(
    budget: &BudgetFacts,
    decisive: Option<&Intervention>,
    last: Option<&Intervention>,
) -> Option<String> {
    let ended_by = |deed| {
        let decisive = decisive.filter(|it| it.deed == deed);
        decisive.map_or(0, |it| it.attempts)
    };
    let refusals = budget.refusals.saturating_sub(ended_by(Deed::Refused));
    let stops = budget.stops.saturating_sub(ended_by(Deed::Stopped));
    let what = told(refusals, stops)?;
    if decisive.is_some() {
        return Some(format!("Besides, Outlive {what} in this run"));
    }
    let called = if refusals.saturating_add(stops) > 1 {
        "the last"
    } else {
        "it"
    };
    let last = last.map_or_else(String::new, |last| described(last, called));
    Some(format!("Outlive {what}, and the program went on{last}"))
}

/// `; the last was 2.0 GiB at cell [3] line 2: only 1.5 GiB were left of …`.
fn described(deed: &Intervention, called: &str) -> String {
    let what = match deed.deed {
        Deed::Refused => Size(deed.bytes).to_string(),
        Deed::Stopped => "growth".to_owned(),
    };
    format!("; {called} was {what}{}: {}", deed.at_place(), deed.room())
}

/// What the kernel took a process for although the guard was on.
fn escaped(budget: &BudgetFacts) -> String {
    let lowest = Size(budget.headroom_lowest.max(0) as u64);
    format!(
        "The guard was on: the lowest headroom it saw was {lowest} of a budget of {}; what was \
         taken then could be neither refused nor stopped in time",
        Size(budget.at_end)
    )
}
