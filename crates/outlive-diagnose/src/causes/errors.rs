//! Causes that an exception, a signal or the kernel's log names.

use outlive_record::kind::ExceptionKind;
use outlive_record::read::ExceptionRecord;

use super::inquiry::Inquiry;
use crate::cause::{Cause, CauseId, Sureness};
use crate::place::Line;
use crate::traceback;
use crate::verdict::{Confidence, VerdictId};
use crate::words::{headline, shorten};

/// What only a damaged record says.
const DAMAGED: [&str; 12] = [
    "UnidentifiedImageError",
    "cannot identify image file",
    "image file is truncated",
    "broken data stream when reading image file",
    "DataLossError",
    "corrupted record at",
    "truncated record at",
    "Invalid JPEG data",
    "Invalid PNG data",
    "Invalid PNG header",
    "BadZipFile",
    "Parquet magic bytes not found",
];
/// What a damaged record may say, and other mistakes too.
const PERHAPS_DAMAGED: [&str; 6] = [
    "UnicodeDecodeError",
    "JSONDecodeError",
    "UnpicklingError",
    "zlib.error",
    "EOFError",
    "Unknown image file format",
];
/// Frames of loaders.
const LOADERS: [&str; 3] = ["torch/utils/data/", "tensorflow/python/data/", "torchdata/"];

/// As sure as the verdict that says the same.
const fn as_sure(confidence: Confidence) -> Sureness {
    match confidence {
        Confidence::Proved => Sureness::High,
        Confidence::Likely => Sureness::Medium,
        Confidence::Unproved => Sureness::Low,
    }
}

/// `/dev/shm` was full.
pub(super) fn shared_memory(inquiry: &Inquiry<'_>) -> Option<Cause> {
    of_verdict(
        inquiry,
        &[VerdictId::SharedMemoryFull],
        CauseId::SharedMemoryFull,
    )
}

/// The GPU or its driver failed.
pub(super) fn driver(inquiry: &Inquiry<'_>) -> Option<Cause> {
    let verdicts = [VerdictId::GpuFault, VerdictId::DriverMismatch];
    of_verdict(inquiry, &verdicts, CauseId::DriverFault)
}

fn of_verdict(inquiry: &Inquiry<'_>, verdicts: &[VerdictId], id: CauseId) -> Option<Cause> {
    let verdict = inquiry.known.verdict;
    if !verdicts.contains(&verdict.id) {
        return None;
    }
    let mut cause = Cause::new(id, as_sure(verdict.confidence)).at(raised_at(inquiry));
    cause.evidence.clone_from(&verdict.evidence);
    Some(cause)
}

/// The user's line that an exception came from.
pub(super) fn raised_at(inquiry: &Inquiry<'_>) -> Option<Line> {
    inquiry.raised().into_iter().find(Line::is_users)
}

/// A record of a data set that cannot be read.
pub(super) fn corrupt_record(inquiry: &Inquiry<'_>) -> Option<Cause> {
    let exceptions = inquiry.known.exceptions.iter().rev();
    let told = exceptions.filter_map(|exception| Some((exception, damage(inquiry, exception)?)));
    let (exception, sureness) = told.max_by_key(|(_, sureness)| *sureness)?;
    let line = in_worker(exception).or_else(|| raised_at(inquiry));
    let cause = Cause::new(CauseId::CorruptRecord, sureness).at(line);
    let words = shorten(&headline(exception));
    Some(cause.because(format!("uncaught exception: {words}")))
}

/// The user's line in the traceback of a worker, which a loader gives along in its message.
fn in_worker(exception: &ExceptionRecord) -> Option<Line> {
    let mut lines = exception.message.lines().filter_map(|line| {
        let (file, rest) = line
            .trim()
            .strip_prefix("File \"")?
            .split_once("\", line ")?;
        let (number, function) = rest.split_once(", in ")?;
        Some(Line {
            file: file.to_owned(),
            line: Some(number.parse().ok()?),
            function: function.to_owned(),
            cell: None,
        })
    });
    lines.rfind(Line::is_users)
}

fn damage(inquiry: &Inquiry<'_>, exception: &ExceptionRecord) -> Option<Sureness> {
    let said = format!("{}: {}", exception.type_name, exception.message);
    let says = |marks: &[&str]| marks.iter().any(|mark| said.contains(mark));
    if says(&DAMAGED) {
        return Some(Sureness::High);
    }
    let lines = traceback::lines(exception, inquiry.known.input.cells);
    let in_loader = |line: &Line| LOADERS.iter().any(|loader| line.file.contains(loader));
    (says(&PERHAPS_DAMAGED) && lines.iter().any(in_loader)).then_some(Sureness::Medium)
}

/// Replicas whose results do not fit together.
pub(super) fn uneven_padding(inquiry: &Inquiry<'_>) -> Option<Cause> {
    let exceptions = inquiry.known.exceptions.iter();
    let main = exceptions
        .rev()
        .find(|it| it.kind == Some(ExceptionKind::Main))?;
    let is_gathered = main.message.contains("Gather got an input of invalid size")
        || main.traceback.contains("parallel/scatter_gather.py");
    let pads = inquiry.programs().any(|it| it.says("pad_packed_sequence"));
    if !is_gathered || !pads {
        return None;
    }
    let cause = Cause::new(CauseId::UnevenPaddingInReplicas, Sureness::Medium);
    let words = shorten(&headline(main));
    Some(
        cause
            .at(raised_at(inquiry))
            .because(format!("uncaught exception: {words}")),
    )
}

/// A thread that an exception ended, where memory has nothing to do with it.
pub(super) fn in_thread(inquiry: &Inquiry<'_>) -> Option<Cause> {
    if inquiry.is_about_memory() {
        return None;
    }
    let died = inquiry.known.threads.first()?;
    let words = died.describe();
    let cause = Cause::new(CauseId::UncaughtInThread, Sureness::Medium).at(died.line.clone());
    Some(cause.because(format!("exception in thread {words}")))
}
