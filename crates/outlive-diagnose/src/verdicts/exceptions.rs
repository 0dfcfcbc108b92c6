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
    let confidence = match case.exit_code() {
        Some(_) => case.sureness(),
        None => Confidence::Likely,
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
            case.sureness(),
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
            case.sureness(),
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
        .or_else(|| nothing_to_run(case))
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
    let place = traceback::own_line(exception, case.cells)
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

/// What could not be recorded, or what `multiprocessing` caught and printed.
fn from_standard_error(case: &Case<'_>) -> Option<Verdict> {
    let word = case
        .last_traceback()
        .filter(|_| case.standard_error_counts())?;
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

/// What the interpreter says where it has nothing to run: no exception, and its last word.
fn nothing_to_run<'a>(case: &'a Case<'_>) -> Option<&'a Word> {
    let word = case.last_error_lines().next()?;
    let line = word.line.as_str();
    let no_module = line.contains(": No module named ") && !line.starts_with("ModuleNotFoundError");
    let no_file = line.contains("can't open file") || line.contains("cannot execute");
    let is_it = case.exit_code()? != 0 && case.main_exception().is_none();
    (is_it && (no_module || no_file)).then_some(word)
}

fn innermost_line(case: &Case<'_>) -> Option<String> {
    let line = traceback::innermost(case.main_exception()?, case.cells)?;
    Some(format!("traceback ends at {}", shorten(&line)))
}
