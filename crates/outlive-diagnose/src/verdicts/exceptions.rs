//! Python exceptions that nobody caught.

use crate::case::Case;
use crate::signal;
use crate::traceback;
use crate::verdict::{Confidence, Verdict, VerdictId};
use crate::words::{Word, headline, shorten};

/// A process that fails within this time never came as far as its own work.
const START: u64 = 60_000_000_000;

/// A module that was built for another NumPy.
pub(super) fn numpy_abi(case: &Case<'_>) -> Option<Verdict> {
    let marks = [
        "A module that was compiled using NumPy 1.x",
        "_ARRAY_API not found",
        "numpy.dtype size changed",
        "numpy.core.multiarray failed to import",
    ];
    let word = match case.exit_code() {
        Some(_) => case.raised(&marks).or_else(|| {
            // The import error that follows names the module, the warning before it the reason.
            case.raised(&["ImportError", "AttributeError"])
                .and_then(|_| case.says(&marks))
        }),
        None if case.died_of(signal::SEGV) => case.says(&marks),
        None => None,
    }?;
    let confidence = if case.exit_code().is_some() {
        Confidence::Proved
    } else {
        Confidence::Likely
    };
    Some(
        Verdict::new(
            VerdictId::NumpyAbiMismatch,
            confidence,
            format!(
                "{} imported a module that was built for another NumPy",
                case.who()
            ),
        )
        .because(case.status_line())
        .because(word.quote())
        .advise("Upgrade the module that the traceback names, or install `numpy<2`"),
    )
}

/// CUDA before and after a fork.
pub(super) fn fork_after_cuda(case: &Case<'_>) -> Option<Verdict> {
    let word = case.raised(&["Cannot re-initialize CUDA in forked subprocess"])?;
    Some(
        Verdict::new(
            VerdictId::ForkAfterCuda,
            Confidence::Proved,
            format!(
                "{} was forked from a process that had used CUDA already",
                case.who()
            ),
        )
        .because(case.status_line())
        .because(word.quote())
        .advise("Use the `spawn` or `forkserver` start method, or touch CUDA only in the children"),
    )
}

/// `KeyboardInterrupt`.
pub(super) fn interrupted(case: &Case<'_>) -> Option<Verdict> {
    let word = case.raised(&["KeyboardInterrupt"])?;
    Some(
        Verdict::new(
            VerdictId::Interrupted,
            Confidence::Proved,
            format!("{} was interrupted (KeyboardInterrupt)", case.who()),
        )
        .because(case.status_line())
        .because(word.quote()),
    )
}

/// It ended before its own work began.
pub(super) fn failed_at_start(case: &Case<'_>) -> Option<Verdict> {
    let code = case.exit_code()?;
    let age = case
        .victim
        .ended_at
        .unwrap_or(0)
        .saturating_sub(case.victim.seen_at);
    let early = age < START;
    let word = case
        .raised(&[
            "ModuleNotFoundError",
            "ImportError",
            "SyntaxError",
            "IndentationError",
        ])
        .or_else(|| case.raised(&["can't open file", "No module named", "cannot execute"]))
        .filter(|_| early);
    let by_shell = matches!(code, 126 | 127);
    if word.is_none() && !by_shell {
        return None;
    }
    let shadowed = case.raised(&["partially initialized module"]).is_some();
    let summary = match code {
        127 if word.is_none() => format!("{} did not find the command to run", case.who()),
        126 if word.is_none() => format!("{} could not run the command it found", case.who()),
        _ => format!("{} failed before its own work began", case.who()),
    };
    let verdict = Verdict::new(VerdictId::FailedAtStart, Confidence::Proved, summary)
        .because(case.status_line())
        .because_all(word.map(Word::quote))
        .because_all(innermost_line(case));
    Some(if shadowed {
        verdict.advise("A file of yours has the name of a module it imports: rename it")
    } else {
        verdict
            .advise("Check the environment it ran in: the interpreter, what is installed, the path")
    })
}

/// Any other exception.
pub(super) fn uncaught(case: &Case<'_>) -> Option<Verdict> {
    case.exit_code().filter(|&code| code != 0)?;
    let Some(exception) = case.main_exception() else {
        return from_standard_error(case);
    };
    let place = traceback::own_line(&exception.traceback)
        .map_or_else(String::new, |line| format!(" at {line}"));
    Some(
        Verdict::new(
            VerdictId::UncaughtException,
            Confidence::Proved,
            format!("{} ended with {}{place}", case.who(), exception.type_name),
        )
        .because(case.status_line())
        .because(format!(
            "uncaught exception: {}",
            shorten(&headline(exception))
        ))
        .because_all(innermost_line(case)),
    )
}

/// Child processes of `multiprocessing` print their traceback themselves.
fn from_standard_error(case: &Case<'_>) -> Option<Verdict> {
    case.says(&["Traceback (most recent call last)"])?;
    let looks_like_one = |word: &&Word| {
        let name = word.line.split(':').next().unwrap_or_default();
        let plain = !name.is_empty() && !name.contains(' ');
        plain && (name.ends_with("Error") || name.ends_with("Exception"))
    };
    let word = case.last_error_lines().find(looks_like_one)?;
    let name = word.line.split(':').next().unwrap_or_default();
    Some(
        Verdict::new(
            VerdictId::UncaughtException,
            Confidence::Likely,
            format!("{} ended with {name}", case.who()),
        )
        .because(case.status_line())
        .because(word.quote()),
    )
}

fn innermost_line(case: &Case<'_>) -> Option<String> {
    let line = traceback::innermost(&case.main_exception()?.traceback)?;
    Some(format!("traceback ends at {}", shorten(line)))
}
