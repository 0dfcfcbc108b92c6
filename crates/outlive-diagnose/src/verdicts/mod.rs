//! The rules: each recognises one kind of death from its evidence, or says nothing.
//!
//! A rule is a function from a [`Case`] to a verdict; a family of them is a file. They are asked in
//! order, and the first answer stands: marks that mean one thing only come before marks that could
//! mean several, and what is left over at the end is told as it is (a code, a signal), without a
//! guess.

mod aborts;
mod daemons;
mod devices;
mod ends;
mod exceptions;
mod exhausted;
mod faults;
mod guarded;
mod limits;
mod memory;
mod outside;
mod refused;

pub(crate) use ends::{finished, hang, lost, running};

use crate::case::Case;
use crate::verdict::Verdict;

/// Recognises one kind of death.
type Rule = fn(&Case<'_>) -> Option<Verdict>;

const RULES: &[Rule] = &[
    // Who killed it left a mark.
    memory::group_kill,
    memory::slurm,
    memory::cgroup,
    memory::host,
    daemons::systemd_oomd,
    daemons::earlyoom,
    daemons::ray,
    daemons::dask,
    limits::seccomp,
    limits::cpu,
    limits::file_size,
    // Somebody else sent a signal that usually means a fault.
    outside::sent_fault,
    // It died of its own doing, and said why.
    exhausted::shared_memory,
    exhausted::threads,
    exceptions::numpy_abi,
    faults::bus,
    faults::stack_overflow,
    faults::general_protection,
    faults::segmentation,
    faults::illegal_instruction,
    faults::divide,
    guarded::native,
    refused::cxx_allocation,
    aborts::openmp,
    aborts::protobuf,
    aborts::cudnn,
    aborts::heap,
    aborts::nccl,
    aborts::objc_fork,
    aborts::cuda,
    aborts::python,
    aborts::other,
    // It ended with an exception.
    guarded::growth,
    guarded::allocation,
    guarded::broken_pool,
    refused::gpu_memory,
    refused::allocation,
    exhausted::descriptors,
    exhausted::disk,
    devices::driver_mismatch,
    exceptions::fork_after_cuda,
    devices::gpu_fault,
    exceptions::interrupted,
    exceptions::failed_at_start,
    exceptions::uncaught,
    guarded::failed_after,
    // What is left is told as it is.
    outside::terminated,
    outside::hung_up,
    outside::interrupted,
    outside::killed,
    outside::other_signal,
];

/// What ended the process.
pub(crate) fn judge(case: &Case<'_>) -> Verdict {
    RULES
        .iter()
        .find_map(|rule| rule(case))
        .unwrap_or_else(|| ends::exited(case))
}
