//! The loop around a line that grew: its own, or that of one of its callers, and the statement in
//! it that keeps what was made.

use super::inquiry::Inquiry;
use crate::place::{Line, is_ipython_file};

/// Callers that are asked, from the innermost on.
const CALLERS: usize = 8;
/// Library files that call a program once: they start it, or a thread or a worker of it.
const STARTERS: [&str; 5] = [
    "<frozen ",
    "/threading.py",
    "/multiprocessing/",
    "/runpy.py",
    "/concurrent/",
];

/// What is known of the loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Turning {
    /// This line keeps what every turn makes.
    Kept(Line),
    /// There is a loop, and nothing was seen to keep anything.
    Dropped(Line),
    /// There is none, as far as the source is known.
    Once,
    /// The source is not known, or a library calls it, perhaps again and again.
    Unknown,
}

/// Asks the user's lines from the innermost on.
pub(crate) fn turning(inquiry: &Inquiry<'_>, frames: &[Line]) -> Turning {
    let mut known = false;
    let mut dropped = None;
    let mut outliving = None;
    for line in frames.iter().filter(|line| line.is_users()).take(CALLERS) {
        let Some(program) = inquiry.program(line) else {
            continue;
        };
        let Some(around) = program.around(line) else {
            continue;
        };
        if let Some(keeper) = around.keeper {
            return Turning::Kept(program.line_at(keeper.range.start()));
        }
        if !known {
            // What the innermost function hands over to somebody.
            outliving = around.outliving.map(|it| program.line_at(it.range.start()));
        }
        known = true;
        if around.in_loop.is_some() && dropped.is_none() {
            dropped = Some(line.clone());
        }
    }
    let is_repeated = dropped.is_some() || is_called_by_library(frames);
    match (outliving, dropped) {
        (Some(line), _) if is_repeated => Turning::Kept(line),
        (_, Some(line)) => Turning::Dropped(line),
        (_, None) if known && !is_repeated => Turning::Once,
        (_, None) => Turning::Unknown,
    }
}

/// Whether a library runs the user's innermost function, as trainers, servers and loaders do.
fn is_called_by_library(frames: &[Line]) -> bool {
    let mut above = frames.iter().skip_while(|line| !line.is_users());
    // What runs the cells of a notebook runs each once.
    let by_notebook = frames.iter().any(|line| is_ipython_file(&line.file));
    let last = frames.iter().rposition(Line::is_users).unwrap_or(0);
    let between = frames.iter().take(last).skip_while(|line| !line.is_users());
    let is_library = |line: &Line| {
        let file = &line.file;
        !line.is_users() && !STARTERS.iter().any(|starter| file.contains(starter))
    };
    if by_notebook {
        return between.into_iter().any(is_library);
    }
    above.any(is_library)
}
