//! Ends by Outlive's own doing: a request it refused, growth it stopped, and nobody was prepared.

use super::refused::{EITHER, GPU, NATIVE, REFUSED};
use crate::case::{Case, who};
use crate::interventions::{Deed, Intervention};
use crate::signal;
use crate::size::Size;
use crate::traceback;
use crate::verdict::{Confidence, Verdict, VerdictId};
use crate::words::Word;

/// How the exception that stops growth is known, whatever it was wrapped in.
const STOP: &[&str] = &["OutOfHeadroom"];

/// How pools tell that they are of no use any more.
const BROKEN_POOL: &[&str] = &[
    "BrokenProcessPool",
    "TerminatedWorkerError",
    "exited unexpectedly",
];

/// Growth was stopped.
pub(super) fn growth(case: &Case<'_>) -> Option<Verdict> {
    let word = case.raised(STOP)?;
    let stop = case.interventions.stopped.as_ref();
    if stop.is_none() && case.interventions.refused.is_some() {
        return None;
    }
    let (who, uncaught) = whose(case, stop);
    let room = stop.map_or_else(String::new, |stop| format!(": {}", stop.room()));
    let verdict = Verdict::new(
        VerdictId::GrowthStopped,
        sureness(case),
        format!("Outlive stopped the growth of {who}{room}, and {uncaught}"),
    )
    .because(case.status_line())
    .because(first_line(word))
    .because_all(raised_at(case))
    .because_all(stop.map(Intervention::evidence));
    Some(with_ways_out(case, verdict, stop))
}

/// A request was refused.
pub(super) fn allocation(case: &Case<'_>) -> Option<Verdict> {
    let refusal = case.interventions.refused.as_ref()?;
    let word = case.raised(REFUSED).or_else(|| case.raised(EITHER))?;
    if case.raised(GPU).is_some() || case.failed_after(refusal.time) {
        return None;
    }
    let (who, uncaught) = whose(case, Some(refusal));
    let summary = format!(
        "Outlive refused {who} {}{}: {}, and {uncaught}",
        Size(refusal.bytes),
        refusal.at_place(),
        refusal.room()
    );
    let mut verdict = Verdict::new(VerdictId::AllocationRefused, sureness(case), summary)
        .because(case.status_line())
        .because(first_line(word))
        .because(refusal.evidence());
    if refusal.exceeds_budget() {
        verdict = verdict.advise(if case.is_in_notebook() {
            "If it is meant to stay mostly empty: `with outlive.sparse():` around it"
        } else {
            "If it is meant to stay mostly empty: `with outlive.sparse():` around it, or `outlive \
             run --allow-sparse`"
        });
    }
    Some(with_ways_out(case, verdict, Some(refusal)))
}

/// A pool that broke right after: a worker, or the thread that reads their results, met the
/// exception where nothing catches it.
pub(super) fn broken_pool(case: &Case<'_>) -> Option<Verdict> {
    let word = case.raised(BROKEN_POOL)?;
    let raised_at = case.main_exception().map(|exception| exception.time)?;
    let both = [&case.interventions.refused, &case.interventions.stopped];
    let both = both.into_iter().flatten();
    let last = both
        .filter(|it| it.is_moments_before(raised_at))
        .max_by_key(|it| (it.process == case.victim.id, it.time))?;
    let struck = case
        .tree
        .processes
        .iter()
        .find(|it| it.id == last.process)?;
    let (id, what) = deed(last, &who(struck, case.notebook));
    let summary = format!(
        "Outlive {what}{}: {}, and right after that the pool of {} broke",
        last.at_place(),
        last.room(),
        case.who()
    );
    let verdict = Verdict::new(id, Confidence::Likely, summary)
        .because(case.status_line())
        .because(first_line(word))
        .because(last.evidence());
    Some(with_ways_out(case, verdict, Some(last)))
}

/// A process that failed right after, without an exception on record: it was caught, or there was
/// no chance to note it. A child need not say a word, since whoever ran it may have had no wish to;
/// the program itself has to have shown what it met.
pub(super) fn failed_after(case: &Case<'_>) -> Option<Verdict> {
    if case.exit_code() != Some(1) || case.main_exception().is_some() {
        return None;
    }
    let is_root = case.tree.root().is_some_and(|it| it.id == case.victim.id);
    let shown = case.last_traceback().filter(|word| {
        let mut marks = REFUSED.iter().chain(EITHER);
        marks.any(|mark| word.line.contains(mark))
    });
    if is_root && shown.is_none() {
        return None;
    }
    let last = case.just_before()?;
    let (id, what) = deed(last, &case.who());
    let summary = format!(
        "Outlive {what}{}: {}, and right after that it ended itself with exit code 1",
        last.at_place(),
        last.room()
    );
    let verdict = Verdict::new(id, Confidence::Likely, summary)
        .because(case.status_line())
        .because_all(shown.map(first_line))
        .because(last.evidence());
    Some(with_ways_out(case, verdict, Some(last)))
}

/// What Outlive did, as a verdict and in words.
fn deed(intervention: &Intervention, whom: &str) -> (VerdictId, String) {
    match intervention.deed {
        Deed::Refused => (
            VerdictId::AllocationRefused,
            format!("refused {whom} {}", Size(intervention.bytes)),
        ),
        Deed::Stopped => (
            VerdictId::GrowthStopped,
            format!("stopped the growth of {whom}"),
        ),
    }
}

/// A request was refused to code that aborts instead of raising.
pub(super) fn native(case: &Case<'_>) -> Option<Verdict> {
    let refusal = case.interventions.refused.as_ref()?;
    if !case.died_of(signal::ABRT) || case.failed_after(refusal.time) {
        return None;
    }
    let word = case.says(NATIVE)?;
    let library = refusal.library.rsplit('/').next().unwrap_or_default();
    let by = if library.is_empty() {
        String::new()
    } else {
        format!(" ({library})")
    };
    let summary = format!(
        "Native code{by} in {} aborted when Outlive refused it {}{}: {}",
        case.who(),
        Size(refusal.bytes),
        refusal.at_place(),
        refusal.room()
    );
    let verdict = Verdict::new(VerdictId::CxxAllocationRefused, Confidence::Proved, summary)
        .because(case.status_line())
        .because(word.quote())
        .because(refusal.evidence())
        .advise("This library gives up instead of raising an exception: nothing could catch it");
    Some(with_more_room(case, verdict, refusal))
}

/// Words on standard error may be old; with Outlive's own record from moments before the end they
/// are not.
fn sureness(case: &Case<'_>) -> Confidence {
    match case.just_before() {
        Some(_) => Confidence::Proved,
        None => case.sureness(),
    }
}

/// Who was refused or stopped, and who did not catch the exception. They differ where a process
/// raises again what one of its workers met.
fn whose(case: &Case<'_>, intervention: Option<&Intervention>) -> (String, String) {
    let other = intervention
        .filter(|it| it.process != case.victim.id)
        .and_then(|it| case.tree.processes.iter().find(|one| one.id == it.process));
    match other {
        Some(other) => (
            who(other, case.notebook),
            format!("{} did not catch its exception", case.who()),
        ),
        None => (case.who(), "nothing caught the exception".to_owned()),
    }
}

/// The facts that Outlive adds to an exception stand in the evidence themselves.
fn first_line(word: &Word) -> String {
    Word {
        speaker: word.speaker,
        line: word.line.lines().next().unwrap_or_default().to_owned(),
    }
    .quote()
}

/// Where the exception reached the program.
fn raised_at(case: &Case<'_>) -> Option<String> {
    let line = traceback::own_line(case.main_exception()?, case.cells)?;
    Some(format!("it was raised at {line}"))
}

fn with_ways_out(
    case: &Case<'_>,
    verdict: Verdict,
    intervention: Option<&Intervention>,
) -> Verdict {
    let raised = case.main_exception().map(|it| it.type_name.as_str());
    let name = raised.and_then(|name| name.rsplit('.').next());
    // Frameworks have exceptions of their own; all others are this one.
    let name = name.filter(|name| !name.contains("MemoryError") && *name != "OutOfHeadroom");
    let name = name.unwrap_or("MemoryError");
    let verdict = verdict.advise(format!(
        "Caught, the program goes on: `except {name}` around it, or `outlive.retry` with less at \
         a time"
    ));
    match intervention {
        Some(intervention) => with_more_room(case, verdict, intervention),
        None => verdict,
    }
}

fn with_more_room(case: &Case<'_>, verdict: Verdict, intervention: &Intervention) -> Verdict {
    let advice = match intervention.source.as_str() {
        "" => return verdict,
        "--limit" | "outlive.guard" if case.is_in_notebook() => {
            "Or let it use more: a higher limit in `%%outlive limit=…` or `outlive.guard`"
                .to_owned()
        }
        "MemAvailable" if case.is_in_notebook() => {
            "Or shut down notebook kernels that are not needed: they keep their memory until then"
                .to_owned()
        }
        "--limit" => "Or let it use more: raise `--limit`".to_owned(),
        "MemAvailable" => {
            "Or free memory of the machine: what other programs take is not there for this one"
                .to_owned()
        }
        "outlive.guard" => "Or give the `outlive.guard` block a higher limit".to_owned(),
        source => format!("Or let it use more: raise the limit of {source}"),
    };
    verdict.advise(advice.replace("the limit of RLIMIT", "RLIMIT"))
}
