//! What the guard did in a run beside what ended it, told in a line: requests that were refused
//! and caught, and a kill that came all the same.

use outlive_record::read::Deed;

use crate::facts::{BudgetFacts, RunFacts};
use crate::interventions::Intervention;
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
    run: &RunFacts,
    verdict: VerdictId,
    decisive: Option<&Intervention>,
) -> Vec<String> {
    let Some(budget) = &run.budget else {
        return Vec::new();
    };
    let mut lines = Vec::new();
    lines.extend(caught(budget, decisive));
    if verdict.is_kernel_kill() {
        lines.push(escaped(budget));
    }
    lines
}

/// What the program dealt with.
fn caught(budget: &BudgetFacts, decisive: Option<&Intervention>) -> Option<String> {
    let ended_by = |deed| {
        let decisive = decisive.filter(|it| it.deed == deed);
        decisive.map_or(0, |it| it.attempts)
    };
    let refusals = budget.refusals.saturating_sub(ended_by(Deed::Refused));
    let stops = budget.stops.saturating_sub(ended_by(Deed::Stopped));
    let what = told(refusals, stops)?;
    Some(match decisive {
        Some(_) => format!("Besides, Outlive {what} in this run"),
        None => format!("Outlive {what}, and the program went on"),
    })
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
