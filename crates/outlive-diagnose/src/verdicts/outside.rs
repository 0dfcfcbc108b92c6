//! Signals that somebody sent.

use outlive_record::read::FatalSignal;

use crate::case::Case;
use crate::facts::EndStatus;
use crate::oom::{counter_lines, fullness_line};
use crate::signal;
use crate::verdict::{Confidence, Verdict, VerdictId};

/// A fault's signal that another process sent: no fault at all.
pub(super) fn sent_fault(case: &Case<'_>) -> Option<Verdict> {
    let fatal = case.fatal.as_ref()?;
    // Codes of 0 and below are a process's doing, above are the kernel's.
    let sent = |fatal: &FatalSignal| fatal.code <= 0 && fatal.sender != 0;
    if !case.died_of(fatal.signal) || !sent(fatal) || fatal.sender == case.victim.id.pid {
        return None;
    }
    Some(
        Verdict::new(
            VerdictId::KilledFromOutside,
            Confidence::Proved,
            format!(
                "Process {} sent {} to {}",
                fatal.sender,
                signal::name(fatal.signal),
                case.who()
            ),
        )
        .because(case.status_line())
        .because(format!(
            "black box: si_code {}, sender {}",
            fatal.code, fatal.sender
        ))
        .advise("Look at what that process does: it is not a fault of this program"),
    )
}

/// SIGKILL without any trace of the kernel's doing.
pub(super) fn killed(case: &Case<'_>) -> Option<Verdict> {
    if !case.died_of(signal::KILL) {
        return None;
    }
    let checked = crate::oom::counters_still(case.run);
    let short = case.memory.is_short();
    let sandboxed = case.victim.seccomp == 2 && !case.log.readable;
    let confidence = if checked && !short && !sandboxed {
        Confidence::Likely
    } else {
        Confidence::Unproved
    };
    let by = match confidence {
        Confidence::Unproved => "by",
        Confidence::Likely | Confidence::Proved => "from outside by",
    };
    let summary = format!(
        "{} was killed {by} SIGKILL; nothing shows who sent it",
        case.who()
    );
    let mut verdict = Verdict::new(VerdictId::KilledFromOutside, confidence, summary)
        .because(case.status_line())
        .because_all(counter_lines(case.run));
    if short {
        verdict = verdict
            .because_all(fullness_line(&case.memory))
            .because("memory was nearly gone, but no counter says that the kernel killed for it")
            .advise(
                "An orchestrator or a daemon that watches memory may have done it: see its log",
            );
    }
    if sandboxed {
        verdict = verdict.because(
            "a seccomp filter was active, which can kill too; the kernel log would say so",
        );
    }
    Some(verdict.advise(if case.is_in_notebook() {
        "Who may send it: a person, Jupyter at a restart or a shutdown that took too long, a \
         culler of idle kernels, a time limit, `docker stop`, the cell itself"
    } else {
        "Who may send it: a person, a time limit, a probe, `docker stop`, the program itself"
    }))
}

/// SIGTERM.
pub(super) fn terminated(case: &Case<'_>) -> Option<Verdict> {
    if !case.died_of(signal::TERM) && case.exit_code() != Some(128 + signal::TERM) {
        return None;
    }
    let has = |sent: &[(i32, u64)]| sent.iter().any(|(number, _)| *number == signal::TERM);
    let from = if has(&case.run.forwarded_signals) {
        ", which Outlive received and passed on"
    } else if has(&case.run.group_signals) {
        ", which was sent to the whole process group"
    } else {
        ""
    };
    let verdict = Verdict::new(
        VerdictId::Terminated,
        Confidence::Proved,
        format!("{} was asked to end by SIGTERM{from}", case.who()),
    )
    .because(case.status_line());
    if case.is_in_notebook() {
        return Some(verdict.advise(
            "Jupyter sends it to a kernel that is shut down or culled; a scheduler or a container \
             that ends does too",
        ));
    }
    Some(
        verdict
            .advise(
                "Preemption, eviction, a time limit or a failed peer send it: see the scheduler",
            )
            .advise("Write a checkpoint in a SIGTERM handler, so that no work is lost"),
    )
}

/// SIGHUP.
pub(super) fn hung_up(case: &Case<'_>) -> Option<Verdict> {
    let told = case.says(&["Received 1 death signal", "got signal: 1"]);
    let by_exit = case.exit_code() == Some(128 + signal::HUP);
    if !case.died_of(signal::HUP) && !by_exit && told.is_none() {
        return None;
    }
    Some(
        Verdict::new(
            VerdictId::HungUp,
            if case.died_of(signal::HUP) {
                Confidence::Proved
            } else {
                Confidence::Likely
            },
            format!(
                "{} got SIGHUP: its terminal or connection was closed",
                case.who()
            ),
        )
        .because(case.status_line())
        .because_all(told.map(crate::words::Word::quote))
        .advise(if case.is_in_notebook() {
            "Start Jupyter under `tmux`, `nohup` or `setsid`, or as a service"
        } else {
            "Start it under `tmux`, `nohup` or `setsid`, or as a batch job"
        }),
    )
}

/// SIGINT.
pub(super) fn interrupted(case: &Case<'_>) -> Option<Verdict> {
    if !case.died_of(signal::INT) && case.exit_code() != Some(128 + signal::INT) {
        return None;
    }
    Some(
        Verdict::new(
            VerdictId::Interrupted,
            Confidence::Proved,
            format!(
                "{} was interrupted (SIGINT, as Ctrl-C sends it)",
                case.who()
            ),
        )
        .because(case.status_line()),
    )
}

/// A signal without a row of its own.
pub(super) fn other_signal(case: &Case<'_>) -> Option<Verdict> {
    let EndStatus::Signaled(number) = case.status else {
        return None;
    };
    Some(
        Verdict::new(
            VerdictId::KilledBySignal,
            Confidence::Proved,
            format!("{} was ended by {}", case.who(), signal::name(number)),
        )
        .because(case.status_line()),
    )
}
