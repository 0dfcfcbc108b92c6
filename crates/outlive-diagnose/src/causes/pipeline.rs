//! Growth in the threads of an input pipeline.

use super::inquiry::Inquiry;
use super::libraries::Nature;
use super::program::Program;
use super::suspect::Suspect;
use crate::cause::{Cause, CauseId, Sureness};
use crate::place::Line;
use crate::size::Size;

/// A pipeline that holds one part in so many of all there is, or more, is worth blaming.
const WORTH_BLAMING: u64 = 4;
/// Words in a program that make a pipeline hold many elements.
const BUFFERS: [&str; 3] = [".shuffle(", ".prefetch(", ".cache("];
/// Words that make it work on several at once.
const PARALLEL: [&str; 2] = ["num_parallel_calls", "AUTOTUNE"];

/// What a pipeline of `TensorFlow` holds.
pub(super) fn buffers(inquiry: &Inquiry<'_>) -> Option<Cause> {
    if !inquiry.is_about_memory() {
        return None;
    }
    let (line, bytes) = of_pipeline(inquiry)?;
    let has = |words: &[&str]| {
        let says = |program: &Program| words.iter().any(|word| program.says(word));
        inquiry.programs().any(says)
    };
    let id = if has(&BUFFERS) {
        CauseId::UnboundedPrefetch
    } else if has(&PARALLEL) {
        CauseId::UnboundedParallelMap
    } else {
        return None;
    };
    let place = line.describe();
    let what = match bytes {
        0 => format!("the request that failed was made by the pipeline that {place} reads"),
        bytes => format!("the pipeline that {place} reads held {}", Size(bytes)),
    };
    let cause = Cause::new(id, Sureness::Medium)
        .at(Some(line))
        .because(what);
    Some(cause)
}

/// Whether memory was taken by a pipeline: where it is read, and what it held.
pub(super) fn of_pipeline(inquiry: &Inquiry<'_>) -> Option<(Line, u64)> {
    let is_of = |it: &&Suspect| it.nature() == Some(Nature::Pipeline);
    let suspect = inquiry.suspects.iter().find(is_of);
    let room = inquiry.room()?;
    if let Some(suspect) = suspect.filter(|it| it.bytes >= room / WORTH_BLAMING) {
        return Some((suspect.line.clone(), suspect.bytes));
    }
    let request = inquiry.request.as_ref();
    let request = request.filter(|it| it.nature() == Some(Nature::Pipeline))?;
    let bytes = suspect.map_or(0, |it| it.bytes);
    Some((request.line.clone(), bytes))
}
