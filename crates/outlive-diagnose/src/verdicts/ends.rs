//! Ends that are no deaths, and runs without an end.

use crate::case::{Case, who};
use crate::diagnosis::Input;
use crate::facts::{Change, ProcessFacts, RunFacts};
use crate::interventions::Intervention;
use crate::memory::{Memory, describe};
use crate::oom::{counter_lines, fullness_line};
use crate::signal;
use crate::size::Span;
use crate::verdict::{Confidence, Verdict, VerdictId};
use crate::words::{Word, headline, shorten};

/// A code that the program chose itself.
pub(super) fn exited(case: &Case<'_>) -> Verdict {
    let code = case.exit_code().unwrap_or(0);
    let verdict = Verdict::new(
        VerdictId::ExitedWithCode,
        Confidence::Proved,
        format!("{} ended itself with exit code {code}", case.who()),
    )
    .because(case.status_line())
    .because_all(case.just_before().map(Intervention::evidence));
    let last = case.last_error_lines().next();
    let caught = caught(case);
    let last = last.filter(|&last| caught != Some(last));
    let verdict = verdict.because_all(last.map(Word::quote)).because_all(
        caught.map(|word| format!("standard error last showed {}", shorten(&word.line))),
    );
    let verdict = verdict.advise("The program chose it: `sys.exit`, `os._exit`, its own parser");
    if code <= 128 || code > 128 + 64 {
        return verdict;
    }
    let signal = signal::name(code - 128);
    verdict.because("it called exit itself: no signal ended it").advise(format!(
        "A shell reports {code} when {signal} ended its child: if this is one, look at the child"
    ))
}

/// A traceback that was printed, though it ended neither the program nor a thread.
fn caught<'a>(case: &'a Case<'_>) -> Option<&'a Word> {
    let word = case.last_traceback()?;
    let known = case
        .exceptions
        .iter()
        .any(|it| word.line.starts_with(&headline(it)));
    (!known).then_some(word)
}

/// Code 0.
pub(crate) fn finished(input: &Input<'_>, root: Option<&ProcessFacts>) -> Verdict {
    let (run, name) = (input.run, name(input, root));
    let of_run = run
        .ended_at
        .map(|end| Span(end.saturating_sub(run.started_at)));
    let of_child = root
        .filter(|process| process.id != run.root)
        .map(|child| Some(Span(child.ended_at?.saturating_sub(child.seen_at))));
    let length = of_child.unwrap_or(of_run);
    let after = length.map_or_else(String::new, |length| format!(" after {length}"));
    Verdict::new(
        VerdictId::Finished,
        Confidence::Proved,
        format!("{name} finished{after}"),
    )
    .because("wait status: exited with code 0")
}

/// Still going.
pub(crate) fn running(input: &Input<'_>, root: Option<&ProcessFacts>) -> Verdict {
    let name = name(input, root);
    Verdict::new(
        VerdictId::Running,
        Confidence::Proved,
        format!("{name} is still running"),
    )
    .because("the supervisor lives and has seen no end")
}

/// Still going, though a child died: `multiprocessing.Pool` waits for ever then.
pub(crate) fn hang(input: &Input<'_>, root: Option<&ProcessFacts>, of_child: &Verdict) -> Verdict {
    let name = name(input, root);
    let mut verdict = Verdict::new(
        VerdictId::Hang,
        Confidence::Likely,
        format!("{name} is still running, though a process it may wait for died"),
    )
    .because(of_child.summary.clone());
    verdict.evidence.extend(of_child.evidence.iter().cloned());
    verdict.advice.extend(of_child.advice.iter().cloned());
    verdict
        .advise("`multiprocessing.Pool` never notices a killed worker: stop the run if it is stuck")
}

fn name(input: &Input<'_>, root: Option<&ProcessFacts>) -> String {
    let known = root.map(|root| who(root, input.notebook));
    known.unwrap_or_else(|| "The program".to_owned())
}

/// No end was recorded: the supervisor went too.
pub(crate) fn lost(run: &RunFacts, memory: &Memory) -> Verdict {
    if let Some(verdict) = lost_to_memory(run, memory) {
        return verdict;
    }
    let mut verdict = Verdict::new(
        VerdictId::SupervisorLost,
        Confidence::Unproved,
        "No end was recorded: Outlive was killed, and the program with it",
    )
    .because("the supervisor is gone and wrote no end")
    .because_all(counter_lines(run));
    if memory.is_short() {
        verdict = verdict
            .because_all(fullness_line(memory))
            .because(
                "memory was nearly gone at the last sample: the container may have been killed",
            )
            .advise("See what the container's runtime says (`OOMKilled`), and the lines above");
    }
    verdict.advise(
        "Look at the scheduler's, the container's or the machine's log of that time: the machine \
         may have gone down",
    )
}

/// The counters moved, and nobody was left to see whom it struck.
fn lost_to_memory(run: &RunFacts, memory: &Memory) -> Option<Verdict> {
    let rose = |change: Option<Change>| change.is_some_and(|change| change.rise() > 0);
    let own = run.cgroups.iter().find(|cgroup| cgroup.own);
    let group = run
        .cgroups
        .iter()
        .find(|cgroup| rose(cgroup.oom_group_kill) || (cgroup.oom_group && rose(cgroup.oom_kill)));
    let in_cgroup = own.is_some_and(|cgroup| rose(cgroup.oom_kill));
    // Any process of the machine moves this one, so memory must have been short here too.
    let on_machine = rose(run.vmstat_oom_kill) && memory.is_short();
    let is_cgroup = memory.limit_source.starts_with("cgroup");
    let (id, confidence, whom) = match group {
        Some(cgroup) => (
            VerdictId::OutOfMemoryGroupKill,
            Confidence::Proved,
            format!("the kernel killed every process of {}", describe(cgroup)),
        ),
        None if in_cgroup || (on_machine && is_cgroup) => (
            VerdictId::OutOfMemoryCgroup,
            Confidence::Likely,
            format!(
                "it is likely that the kernel killed the program at the limit of {}",
                memory.limit_source
            ),
        ),
        None if on_machine => (
            VerdictId::OutOfMemoryHost,
            Confidence::Likely,
            "it is likely that the kernel killed the program: the machine's memory was used up"
                .to_owned(),
        ),
        None => return None,
    };
    Some(
        Verdict::new(
            id,
            confidence,
            format!("Out of memory: {whom}, and Outlive with it"),
        )
        .because("the supervisor is gone and wrote no end")
        .because_all(counter_lines(run))
        .because_all(fullness_line(memory).filter(|_| confidence != Confidence::Proved))
        .advise("Use less memory at the lines above, or raise this limit"),
    )
}
