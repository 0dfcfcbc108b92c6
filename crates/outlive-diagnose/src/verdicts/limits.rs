//! Limits other than memory that end a process: a sandbox, processor time, file size.

use crate::case::Case;
use crate::signal;
use crate::size::{Size, Span};
use crate::verdict::{Confidence, Verdict, VerdictId};
use crate::words::shorten;

const SECOND: u64 = 1_000_000_000;

/// A filter refused a system call.
pub(super) fn seccomp(case: &Case<'_>) -> Option<Verdict> {
    let by_signal = case.died_of(signal::SYS);
    if !by_signal && !case.died_of(signal::KILL) {
        return None;
    }
    let refused = case
        .log
        .refused
        .iter()
        .find(|refused| refused.pid == case.victim.id.pid || refused.name == case.victim.name);
    if !by_signal && refused.is_none() {
        return None;
    }
    let call = match refused.and_then(|refused| refused.syscall) {
        Some(number) => format!("system call {number}"),
        None => "a system call".to_owned(),
    };
    Some(
        Verdict::new(
            VerdictId::Seccomp,
            if refused.is_some() {
                Confidence::Proved
            } else {
                Confidence::Likely
            },
            format!("A seccomp filter refused {call} and ended {}", case.who()),
        )
        .because(case.status_line())
        .because(format!("/proc/PID/status: Seccomp {}", case.victim.seccomp))
        .because_all(refused.map(|refused| format!("kernel log: {}", shorten(&refused.line))))
        .advise("Allow this system call in the sandbox's profile (`ausyscall NUMBER` names it)"),
    )
}

/// The limit of processor time.
pub(super) fn cpu(case: &Case<'_>) -> Option<Verdict> {
    let (_, hard) = case.victim.limits.cpu;
    let used = case.victim.cpu_time;
    // The last look is up to a sample old, and several threads use several seconds a second.
    let reached = |limit: u64| {
        let slack = 2 * SECOND + limit.saturating_mul(SECOND) / 20;
        used.saturating_add(slack) >= limit.saturating_mul(SECOND)
    };
    // The kernel raises the soft limit by a second with each SIGXCPU: its figure is not the user's.
    let (limit, confidence) = if case.died_of(signal::XCPU) {
        (None, Confidence::Proved)
    } else if case.died_of(signal::KILL) && hard.is_some_and(reached) {
        (hard, Confidence::Likely)
    } else {
        return None;
    };
    let seconds = limit.map_or_else(String::new, |limit| format!(" of {limit} s"));
    Some(
        Verdict::new(
            VerdictId::CpuLimit,
            confidence,
            format!(
                "{} reached its limit{seconds} of processor time (RLIMIT_CPU)",
                case.who()
            ),
        )
        .because(case.status_line())
        .because(format!("processor time at the last look: {}", Span(used)))
        .advise("Raise the limit (`ulimit -t`, or the batch system's own), or split the work"),
    )
}

/// The limit of file size.
pub(super) fn file_size(case: &Case<'_>) -> Option<Verdict> {
    let raised = case.raised(&["[Errno 27]"]);
    if !case.died_of(signal::XFSZ) && raised.is_none() {
        return None;
    }
    let limit = case.victim.limits.file_size.0;
    Some(
        Verdict::new(
            VerdictId::FileSizeLimit,
            Confidence::Proved,
            format!(
                "{} wrote a file up to the limit of file size (RLIMIT_FSIZE)",
                case.who()
            ),
        )
        .because(case.status_line())
        .because_all(raised.map(crate::words::Word::quote))
        .because_all(limit.map(|limit| format!("RLIMIT_FSIZE: {}", Size(limit))))
        .advise("Raise it (`ulimit -f`), or write several smaller files"),
    )
}
