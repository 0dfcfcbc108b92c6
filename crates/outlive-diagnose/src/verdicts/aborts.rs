//! Aborts: the program, or a library in it, decided to stop, and usually said why.

use crate::case::Case;
use crate::facts::EndStatus;
use crate::signal;
use crate::verdict::{Confidence, Verdict, VerdictId};
use crate::words::Word;

/// What an abort is recognised by, and what to say then.
struct Mark {
    id: VerdictId,
    marks: &'static [&'static str],
    what: &'static str,
    advice: &'static [&'static str],
}

/// Two OpenMP runtimes.
pub(super) fn openmp(case: &Case<'_>) -> Option<Verdict> {
    recognise(
        case,
        &Mark {
            id: VerdictId::OpenmpLoadedTwice,
            marks: &["OMP: Error #15"],
            what: "loaded two OpenMP runtimes, and the second one ended it",
            advice: &[
                "Install all numeric packages from one place: all from pip, or all from conda-forge",
                "`KMP_DUPLICATE_LIB_OK=TRUE` is a last resort: its own text warns of wrong results",
            ],
        },
    )
}

/// Two protobufs.
pub(super) fn protobuf(case: &Case<'_>) -> Option<Verdict> {
    recognise(
        case,
        &Mark {
            id: VerdictId::ProtobufConflict,
            marks: &[
                "[libprotobuf FATAL",
                "File already exists in database",
                "GeneratedDatabase()->Add",
            ],
            what: "loaded protobuf twice, in versions that do not go together",
            advice: &["Align the versions: one `protobuf`, and packages built against it"],
        },
    )
}

/// cuDNN or cuBLAS.
pub(super) fn cudnn(case: &Case<'_>) -> Option<Verdict> {
    let mark = Mark {
        id: VerdictId::CudnnLoadFailed,
        marks: &[
            "Could not load library libcudnn",
            "Cannot load symbol cudnn",
            "Loaded runtime CuDNN library",
            "Could not load library libcublas",
        ],
        what: "could not load the cuDNN or cuBLAS it was built for",
        advice: &[
            "Take the system's cuDNN out of `LD_LIBRARY_PATH`: the wheel brings its own",
            "Or install the version that the message names",
        ],
    };
    recognise(case, &mark).or_else(|| raised(case, &mark))
}

/// The C library's heap checks.
pub(super) fn heap(case: &Case<'_>) -> Option<Verdict> {
    recognise(
        case,
        &Mark {
            id: VerdictId::HeapCorruption,
            marks: &[
                "free(): ",
                "malloc(): ",
                "realloc(): ",
                "munmap_chunk(): ",
                "malloc_consolidate(): ",
                "corrupted size vs. prev_size",
                "corrupted double-linked list",
                "double free or corruption",
                "double free detected",
                "malloc: corrupted",
            ],
            what: "damaged its own heap: native code wrote or freed what it does not own",
            advice: &[
                "A defect in native code: upgrade the packages that were imported last",
                "`MALLOC_CHECK_=3` or AddressSanitizer finds the place",
            ],
        },
    )
}

/// A collective operation that waited too long.
pub(super) fn nccl(case: &Case<'_>) -> Option<Verdict> {
    let mark = Mark {
        id: VerdictId::NcclTimeout,
        marks: &[
            "Watchdog caught collective operation timeout",
            "taking the entire process down",
            "NCCL communicator was aborted",
        ],
        what: "gave up waiting for a peer in a collective operation",
        advice: &[
            "Look for the rank that died or stalled first: this one is a secondary victim",
            "All ranks must run the same collectives in the same order",
        ],
    };
    recognise(case, &mark).or_else(|| raised(case, &mark))
}

/// macOS's runtime, and others, after a fork.
pub(super) fn objc_fork(case: &Case<'_>) -> Option<Verdict> {
    recognise(
        case,
        &Mark {
            id: VerdictId::ForkAfterCuda,
            marks: &["may have been in progress in another thread when fork() was called"],
            what: "was forked while another thread was inside a library",
            advice: &["Use the `spawn` or `forkserver` start method"],
        },
    )
}

/// An error of CUDA in C++ code.
pub(super) fn cuda(case: &Case<'_>) -> Option<Verdict> {
    let xid = case.log.xids.first();
    let verdict = recognise(
        case,
        &Mark {
            id: VerdictId::CudaAbort,
            marks: &[
                "'c10::Error'",
                "N3c105ErrorE",
                "CUDA error:",
                "cudaError",
                "CUDA_ERROR_",
            ],
            what: "met a CUDA error in C++ code that nobody caught",
            advice: &[
                "Run once with `CUDA_LAUNCH_BLOCKING=1`: the error then names the call that made it",
                "If a peer rank died before, that death is the one to explain",
            ],
        },
    )?;
    Some(verdict.because_all(xid.map(|xid| format!("kernel log: {}", xid.line))))
}

/// The interpreter gave up.
pub(super) fn python(case: &Case<'_>) -> Option<Verdict> {
    if !case.died_of(signal::ABRT) {
        return None;
    }
    // `Fatal Python error: Aborted` is faulthandler's remark on any abort, not a reason.
    let word = case.words.iter().find(|word| {
        word.line.contains("Fatal Python error:") && !word.line.ends_with("Aborted")
    })?;
    Some(
        Verdict::new(
            VerdictId::FatalPythonError,
            Confidence::Proved,
            format!("The Python interpreter of {} gave up", case.who()),
        )
        .because(case.status_line())
        .because(word.quote())
        .advise("The message says what it met; extension modules are the usual cause"),
    )
}

/// An abort whose reason is not known.
pub(super) fn other(case: &Case<'_>) -> Option<Verdict> {
    if !case.died_of(signal::ABRT) {
        return None;
    }
    let own = case
        .fatal
        .as_ref()
        .filter(|fatal| fatal.code <= 0 && fatal.sender == case.victim.id.pid);
    let from = own.map_or("", |_| ", which it sent to itself");
    let spoken = case.words.first();
    let mut verdict = Verdict::new(
        VerdictId::Aborted,
        Confidence::Proved,
        format!("{} was ended by SIGABRT{from}", case.who()),
    )
    .because(case.status_line())
    .because_all(own.map(|fatal| {
        format!(
            "black box: si_code {}, sender itself ({})",
            fatal.code, fatal.sender
        )
    }))
    .because_all(spoken.map(Word::quote))
    .advise(match spoken {
        Some(_) => "A failed check in native code is the usual reason: search for the words above",
        None => "A failed check in native code is the usual reason, or a call of `abort`",
    });
    if case
        .fatal
        .as_ref()
        .is_some_and(|fatal| !fatal.threads.is_empty())
    {
        verdict = verdict
            .advise("`outlive why --format json` lists the threads' Python stacks under `threads`");
    }
    Some(verdict)
}

fn recognise(case: &Case<'_>, mark: &Mark) -> Option<Verdict> {
    if !case.died_of(signal::ABRT) {
        return None;
    }
    case.says(mark.marks).map(|word| verdict(case, mark, word))
}

/// The same trouble, met by code that raises instead of aborting.
fn raised(case: &Case<'_>, mark: &Mark) -> Option<Verdict> {
    matches!(case.status, EndStatus::Exited(_)).then_some(())?;
    case.raised(mark.marks)
        .map(|word| verdict(case, mark, word))
}

fn verdict(case: &Case<'_>, mark: &Mark, word: &Word) -> Verdict {
    let confidence = match case.status {
        EndStatus::Exited(_) => case.sureness(),
        EndStatus::Signaled(_) => Confidence::Proved,
    };
    let mut verdict = Verdict::new(mark.id, confidence, format!("{} {}", case.who(), mark.what))
        .because(case.status_line())
        .because(word.quote());
    verdict
        .advice
        .extend(mark.advice.iter().map(|&line| line.to_owned()));
    verdict
}
