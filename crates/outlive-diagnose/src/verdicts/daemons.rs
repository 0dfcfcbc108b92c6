//! Killers in user space that act before the kernel does. They leave no trace in the kernel's
//! counters, only their own words.

use crate::case::Case;
use crate::signal;
use crate::verdict::{Confidence, Verdict, VerdictId};
use crate::words::shorten;

/// systemd-oomd marks the cgroup it kills.
pub(super) fn systemd_oomd(case: &Case<'_>) -> Option<Verdict> {
    if !case.died_of(signal::KILL) {
        return None;
    }
    let mark = case.run.cgroups.iter().find_map(|cgroup| {
        let (name, value) = cgroup.oomd_marks.iter().find(|(_, value)| value != "0")?;
        Some(format!(
            "{}: {name} = {value}",
            crate::memory::describe(cgroup)
        ))
    });
    let line = case.journal_says(&[
        "systemd-oomd killed",
        "systemd-oomd: Killed",
        "systemd-oomd[",
    ]);
    let line = line.filter(|line| line.contains("illed") || line.contains("for killing"));
    let confidence = match (&mark, line) {
        (Some(_), _) => Confidence::Proved,
        (None, Some(_)) => Confidence::Likely,
        (None, None) => return None,
    };
    Some(
        Verdict::new(
            VerdictId::KilledBySystemdOomd,
            confidence,
            format!(
                "systemd-oomd killed the whole unit with {} for memory pressure",
                case.who()
            ),
        )
        .because(case.status_line())
        .because_all(mark)
        .because_all(line.map(|line| format!("journal: {}", shorten(line))))
        .advise("Run it in a scope of its own: `systemd-run --user --scope`")
        .advise("Set `ManagedOOMPreference=avoid` on that scope, and use less memory"),
    )
}

/// earlyoom and nohang send SIGTERM first, SIGKILL later, and log both.
pub(super) fn earlyoom(case: &Case<'_>) -> Option<Verdict> {
    if !case.died_of(signal::KILL) && !case.died_of(signal::TERM) {
        return None;
    }
    let line = case.journal_says(&["sending SIGTERM to process", "sending SIGKILL to process"])?;
    let named = line.contains(&format!("process {} ", case.victim.id.pid));
    let called = !case.victim.name.is_empty() && line.contains(&case.victim.name);
    if !named && !called {
        return None;
    }
    let confidence = if named {
        Confidence::Proved
    } else {
        Confidence::Likely
    };
    Some(
        Verdict::new(
            VerdictId::KilledByEarlyoom,
            confidence,
            format!(
                "earlyoom ended {} because the machine's memory ran low",
                case.who()
            ),
        )
        .because(case.status_line())
        .because(format!("journal: {}", shorten(line)))
        .advise("Use less memory at the lines above, or run fewer programs beside it")
        .advise("earlyoom spares processes that match its `--avoid`"),
    )
}

/// Ray's monitor kills workers and says so where the task was called.
pub(super) fn ray(case: &Case<'_>) -> Option<Verdict> {
    let word = case.tree_says(&[
        "killed due to the node running low on memory",
        "ray.exceptions.OutOfMemoryError",
    ])?;
    Some(
        Verdict::new(
            VerdictId::KilledByRay,
            confidence_of_word(case),
            format!(
                "Ray's memory monitor ended a worker; {} went down with it",
                case.who()
            ),
        )
        .because(case.status_line())
        .because(word.quote())
        .advise("Give tasks more `memory=` or fewer CPUs, so that fewer run at once")
        .advise("The threshold is `RAY_memory_usage_threshold` (0.95 unless set)"),
    )
}

/// Dask's nanny restarts workers that use more than their share.
pub(super) fn dask(case: &Case<'_>) -> Option<Verdict> {
    let word = case.tree_says(&["memory budget. Restarting"])?;
    Some(
        Verdict::new(
            VerdictId::KilledByDask,
            confidence_of_word(case),
            format!(
                "Dask's nanny ended the worker {} at its memory budget",
                case.who()
            ),
        )
        .because(case.status_line())
        .because(word.quote())
        .advise("Use smaller partitions, or fewer threads a worker")
        .advise("Raise `memory_limit`, or `distributed.worker.memory.terminate`"),
    )
}

/// The words alone could be old; with a status that fits they are as good as proof.
fn confidence_of_word(case: &Case<'_>) -> Confidence {
    let fits = case.died_of(signal::KILL) || case.died_of(signal::TERM);
    let raised = case
        .main_exception()
        .is_some_and(|it| it.message.contains("low on memory"));
    if fits || raised {
        Confidence::Proved
    } else {
        Confidence::Likely
    }
}
