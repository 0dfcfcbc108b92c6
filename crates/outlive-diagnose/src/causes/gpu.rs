//! Memory of a GPU, by the words of the exception.

use outlive_record::kind::ExceptionKind;

use super::errors::raised_at;
use super::inquiry::Inquiry;
use crate::cause::{Cause, CauseId, Sureness};
use crate::verdict::VerdictId;
use crate::words::shorten;

/// More was asked for than the GPU has.
pub(super) fn exceeds_everything(inquiry: &Inquiry<'_>) -> Option<Cause> {
    let message = message(inquiry)?;
    let asked = size_after(message, "Tried to allocate ")?;
    let capacity = size_after(message, "total capacity of ")?;
    (asked > capacity).then(|| told(inquiry, CauseId::OversizedTensor, Sureness::High, message))
}

/// Memory that is reserved, enough for the request, and not to be had in one piece.
pub(super) fn fragmented(inquiry: &Inquiry<'_>) -> Option<Cause> {
    let message = message(inquiry)?;
    let asked = size_after(message, "Tried to allocate ")?;
    let (before, _) = message.split_once(" is reserved by PyTorch but unallocated")?;
    let (_, unused) = before.rsplit_once("and ")?;
    let unused = size_after(unused, "")?;
    (unused >= asked).then(|| told(inquiry, CauseId::FragmentedCache, Sureness::Medium, message))
}

fn told(inquiry: &Inquiry<'_>, id: CauseId, sureness: Sureness, message: &str) -> Cause {
    let words = shorten(message);
    let cause = Cause::new(id, sureness).at(raised_at(inquiry));
    cause.because(format!("uncaught exception: {words}"))
}

fn message<'a>(inquiry: &Inquiry<'a>) -> Option<&'a str> {
    if inquiry.known.verdict.id != VerdictId::GpuOutOfMemory {
        return None;
    }
    let mut exceptions = inquiry.known.exceptions.iter().rev();
    let main = exceptions.find(|it| it.kind == Some(ExceptionKind::Main))?;
    Some(&main.message)
}

/// `20.00 GiB` after the first of these words, in KiB.
fn size_after(text: &str, words: &str) -> Option<u64> {
    let (_, rest) = text.split_once(words)?;
    let mut parts = rest.split_whitespace();
    let number: f64 = parts.next()?.parse().ok()?;
    let unit = match parts.next()?.trim_end_matches(['.', ',']) {
        "KiB" => 1.0,
        "MiB" => 1024.0,
        "GiB" => 1024.0 * 1024.0,
        _ => return None,
    };
    Some((number * unit) as u64)
}
