//! The GPU and its driver.

use crate::case::Case;
use crate::kernel_log::Xid;
use crate::verdict::{Confidence, Verdict, VerdictId};
use crate::words::{Word, shorten};

/// Driver and libraries of different versions.
pub(super) fn driver_mismatch(case: &Case<'_>) -> Option<Verdict> {
    let word = case.raised(&["Driver/library version mismatch"])?;
    let logged = case.log.driver_mismatches.first();
    Some(
        Verdict::new(
            VerdictId::DriverMismatch,
            case.sureness(),
            "The NVIDIA driver in the kernel and its libraries have different versions",
        )
        .because(case.status_line())
        .because(word.quote())
        .because_all(logged.map(|line| format!("kernel log: {}", shorten(line))))
        .advise("Reboot, or reload the driver's modules: an upgrade replaced the libraries only")
        .advise("Hold the driver's package, so that unattended upgrades leave it alone"),
    )
}

/// A fault of the GPU.
pub(super) fn gpu_fault(case: &Case<'_>) -> Option<Verdict> {
    let word = case.raised(&[
        "CUDA error:",
        "Unable to determine the device handle",
        "GPU is lost",
        "device-side assert",
        "CUDNN_STATUS_EXECUTION_FAILED",
        "uncorrectable ECC error",
    ])?;
    let xid = case.log.xids.first();
    let (confidence, what) = match xid {
        Some(_) => (case.sureness(), "The GPU reported a fault"),
        None => (
            Confidence::Likely,
            "CUDA reported an error of the GPU or of a kernel on it",
        ),
    };
    let verdict = Verdict::new(
        VerdictId::GpuFault,
        confidence,
        format!("{what}, and {} ended", case.who()),
    )
    .because(case.status_line())
    .because(word.quote())
    .because_all(xid.map(|xid| format!("kernel log: {}", shorten(&xid.line))));
    Some(advise(verdict, xid, word))
}

fn advise(verdict: Verdict, xid: Option<&Xid>, word: &Word) -> Verdict {
    let number = xid.map(|xid| xid.number);
    match number {
        Some(None | Some(79)) => {
            verdict.advise("The GPU was lost: reset or reboot, then check power, cable and slot")
        }
        Some(Some(48 | 63 | 64 | 94 | 95)) => verdict.advise(
            "Memory of the GPU is damaged: restart the program, reset the GPU, watch ECC counts",
        ),
        Some(Some(74)) => verdict.advise("NVLink failed: reset the GPUs, then check the bridge"),
        Some(Some(13 | 31 | 43)) => verdict
            .advise("Usually the program's own doing: run once with `CUDA_LAUNCH_BLOCKING=1`"),
        Some(Some(number)) => {
            verdict.advise(format!("See what NVIDIA's catalogue asks for Xid {number}"))
        }
        None if word.line.contains("device-side assert") => verdict.advise(
            "An index was out of range on the GPU (labels, embeddings): run it on the CPU once",
        ),
        None => {
            verdict.advise("Run once with `CUDA_LAUNCH_BLOCKING=1`: the error then names the call")
        }
    }
}
