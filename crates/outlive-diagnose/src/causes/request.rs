//! One request that did not fit.

use super::inquiry::Inquiry;
use super::libraries::{Nature, of_calls};
use super::surround::{Turning, turning};
use super::suspect::{Request, Suspect};
use crate::cause::{Cause, CauseId, Sureness};
use crate::size::Size;

/// Two sizes are the same when they differ by less than one part in so many.
const SAME: u64 = 100;

/// More was asked for than there is: nothing could have made room for it.
pub(super) fn exceeds_everything(inquiry: &Inquiry<'_>) -> Option<Cause> {
    let request = inquiry.request.as_ref()?;
    if !request.exceeds_everything() {
        return None;
    }
    let (id, sureness) = match nature(inquiry, request) {
        // Where only the name of the call says so, it may be any arrays that are put together.
        Some(Nature::Grid) if request.nature().is_none() => {
            (CauseId::OversizedGrid, Sureness::Medium)
        }
        Some(Nature::Grid) => (CauseId::OversizedGrid, Sureness::High),
        Some(Nature::Layer) => (CauseId::OversizedLayer, Sureness::High),
        Some(Nature::Recurrent) => (CauseId::UnboundedSequence, Sureness::Medium),
        Some(Nature::Pipeline) => (CauseId::UnboundedParallelMap, Sureness::Low),
        _ => (CauseId::OversizedTensor, Sureness::High),
    };
    Some(told(id, sureness, request))
}

/// A good part of all there is was asked for at once.
pub(super) fn large(inquiry: &Inquiry<'_>) -> Option<Cause> {
    let request = inquiry.request.as_ref()?;
    if request.exceeds_everything() || !request.is_large() {
        return None;
    }
    let here = inquiry
        .suspects
        .iter()
        .find(|it| it.line.is_at(&request.line));
    if here.is_some_and(Suspect::is_many) {
        // Many of the kind are held: it is the growth that did not fit.
        return None;
    }
    let nature = nature(inquiry, request);
    if nature == Some(Nature::Pipeline) {
        return None;
    }
    if let Some(cause) = trained_layer(inquiry, request, nature) {
        return Some(cause);
    }
    let id = match nature {
        Some(Nature::Grid) => CauseId::OversizedGrid,
        Some(Nature::Layer) => CauseId::OversizedLayer,
        Some(Nature::Recurrent) => CauseId::UnboundedSequence,
        _ => match of_same_size(inquiry, request, here) {
            Some(cause) => return Some(cause),
            None => CauseId::OversizedTensor,
        },
    };
    Some(told(id, Sureness::Medium, request))
}

fn told(id: CauseId, sureness: Sureness, request: &Request) -> Cause {
    Cause::new(id, sureness)
        .at(Some(request.line.clone()))
        .because(request.evidence())
}

fn nature(inquiry: &Inquiry<'_>, request: &Request) -> Option<Nature> {
    let by_frames = request.nature();
    by_frames.or_else(|| of_calls(&inquiry.around(&request.line)?.calls))
}

/// The gradient or the averages of a layer that was made elsewhere: it is the layer that is large.
fn trained_layer(
    inquiry: &Inquiry<'_>,
    request: &Request,
    nature: Option<Nature>,
) -> Option<Cause> {
    if nature != Some(Nature::Training) {
        return None;
    }
    let layer = inquiry.suspects.iter().find(|it| {
        it.nature() == Some(Nature::Layer) && is_same(it.largest_request, request.bytes)
    })?;
    let cause = Cause::new(CauseId::OversizedLayer, Sureness::Medium)
        .at(Some(layer.line.clone()))
        .because(request.evidence());
    let (place, bytes) = (layer.describe(), Size(layer.largest_request));
    Some(cause.because(format!(
        "the weights that {place} made take {bytes}, just as much"
    )))
}

/// The line holds one of the same size already, in a loop.
fn of_same_size(inquiry: &Inquiry<'_>, request: &Request, here: Option<&Suspect>) -> Option<Cause> {
    let here = here?;
    let others = if request.is_refused {
        here.bytes
    } else {
        here.bytes.saturating_sub(request.bytes)
    };
    // Something that grows by being made anew has another size each time.
    let pieces = (others + request.bytes / 2) / request.bytes.max(1);
    if pieces == 0 || !is_same(others, pieces.saturating_mul(request.bytes)) {
        return None;
    }
    let (id, line) = match turning(inquiry, &request.frames) {
        Turning::Kept(line) => (CauseId::ResultsKeptInLoop, line),
        Turning::Dropped(_) if pieces == 1 => {
            (CauseId::IntermediateOutlivesLoop, request.line.clone())
        }
        _ => return None,
    };
    let cause = Cause::new(id, Sureness::Medium)
        .at(Some(line))
        .because(request.evidence());
    let held = Size(others);
    Some(cause.because(format!(
        "the same line still held {held}, made in turns before"
    )))
}

const fn is_same(one: u64, other: u64) -> bool {
    let most = if one > other { one } else { other };
    one.abs_diff(other) <= most / SAME
}
