//! Allocations that were refused: the answer was no, and nobody was prepared for it.

use outlive_record::kind::EventKind;
use outlive_record::read::Recording;

use crate::case::Case;
use crate::oom::fullness_line;
use crate::signal;
use crate::size::Size;
use crate::verdict::{Confidence, Verdict, VerdictId};

pub(super) const REFUSED: &[&str] = &[
    "MemoryError",
    "Unable to allocate",
    "[Errno 12]",
    "can't allocate memory",
    "Cannot allocate memory",
    "std::bad_alloc",
    "by allocator cpu",
    "ResourceExhaustedError",
    "OutOfHeadroom",
];

/// What native code says that has no exceptions to raise.
pub(super) const NATIVE: &[&str] = &["bad_alloc", "memory allocation of "];

/// A GPU's memory, and nothing else.
pub(super) const GPU: &[&str] = &[
    "CUDA out of memory",
    "HIP out of memory",
    "CUDA error: out of memory",
    "CUDA_ERROR_OUT_OF_MEMORY",
    "cudaErrorMemoryAllocation",
    "MPS backend out of memory",
    "XPU out of memory",
    "by allocator GPU",
    "device:GPU",
];

/// A GPU's memory as a rule; the same words are used of the host's.
pub(super) const EITHER: &[&str] = &["RESOURCE_EXHAUSTED"];

/// Memory of the host, in words that are otherwise a GPU's.
const HOST: &[&str] = &["by allocator cpu", "device:CPU"];

/// The GPU's memory.
pub(super) fn gpu_memory(case: &Case<'_>) -> Option<Verdict> {
    let word = case.raised(GPU).or_else(|| case.raised(EITHER))?;
    if HOST.iter().any(|mark| word.line.contains(mark)) {
        return None;
    }
    Some(
        Verdict::new(
            VerdictId::GpuOutOfMemory,
            case.sureness(),
            format!("The GPU's memory ran out in {}, and nothing caught the exception", case.who()),
        )
        .because(case.status_line())
        .because(word.quote())
        .advise("Use a smaller batch, a smaller dtype, or activation checkpointing")
        .advise("If much is reserved but not allocated: `PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True`"),
    )
}

/// Memory of the host. Where to ask for less is told with the holders, which know the line.
pub(super) fn allocation(case: &Case<'_>) -> Option<Verdict> {
    let word = case.raised(REFUSED)?;
    let limits = limits(case);
    let raise =
        (!limits.is_empty()).then(|| "Or raise the limit that the evidence names".to_owned());
    let mut verdict = Verdict::new(
        VerdictId::AllocationRefused,
        case.sureness(),
        format!(
            "{} was refused memory, and nothing caught the exception",
            case.who()
        ),
    )
    .because(case.status_line())
    .because(word.quote())
    .because_all(failed_request(case))
    .because_all(limits);
    verdict.advice.extend(raise);
    Some(verdict)
}

/// Memory of the host, in code that aborts instead of raising.
pub(super) fn cxx_allocation(case: &Case<'_>) -> Option<Verdict> {
    if !case.died_of(signal::ABRT) {
        return None;
    }
    let word = case.says(NATIVE)?;
    let limits = limits(case);
    let advice = if limits.is_empty() {
        "Use less memory at the lines above"
    } else {
        "Use less memory at the lines above, or raise the limit that the evidence names"
    };
    Some(
        Verdict::new(
            VerdictId::CxxAllocationRefused,
            Confidence::Proved,
            format!(
                "Native code in {} was refused memory and aborted",
                case.who()
            ),
        )
        .because(case.status_line())
        .because(word.quote())
        .because_all(failed_request(case))
        .because_all(limits)
        .because_all(fullness_line(&case.memory))
        .advise(advice),
    )
}

/// The last request that got no memory.
fn failed_request(case: &Case<'_>) -> Option<String> {
    let events = case.recording.map(Recording::events)?;
    let event = events
        .iter()
        .rev()
        .find(|event| matches!(event.kind, Some(EventKind::Failed | EventKind::Refused)))?;
    let by = if event.kind == Some(EventKind::Refused) {
        "Outlive"
    } else {
        "the system"
    };
    Some(format!(
        "black box: {} refused a request for {}",
        by,
        Size(event.bytes)
    ))
}

fn limits(case: &Case<'_>) -> Vec<String> {
    let limits = &case.victim.limits;
    [
        ("RLIMIT_AS", limits.address_space.0),
        ("RLIMIT_DATA", limits.data.0),
    ]
    .into_iter()
    .filter_map(|(name, limit)| Some(format!("{name}: {}", Size(limit?))))
    .collect()
}
