//! What it was not: the explanations people try first, each looked for, with what was found.
//!
//! A line stands here only if the evidence could be read. What could not be read is told too, so
//! that silence is never taken for a negative.

use crate::case::Case;
use crate::facts::{EndStatus, RunFacts};
use crate::oom::counters_still;
use crate::signal;
use crate::size::{Size, Span};
use crate::verdict::{Verdict, VerdictId};

/// Adds what was looked for and not found, and what could not be looked at.
pub(crate) fn complete(mut verdict: Verdict, case: &Case<'_>) -> Verdict {
    let checks: [fn(&Case<'_>, VerdictId) -> Option<String>; 8] = [
        out_of_memory,
        fault,
        exception,
        shared_memory,
        daemons,
        cpu_limit,
        sandbox,
        gpu,
    ];
    verdict.ruled_out = checks
        .iter()
        .filter_map(|check| check(case, verdict.id))
        .collect();
    verdict.not_checked = not_checked(case);
    verdict
}

fn out_of_memory(case: &Case<'_>, id: VerdictId) -> Option<String> {
    if id.is_kernel_kill() {
        return None;
    }
    if counters_still(case.run) {
        // Where the counters are the proof, they need not be told twice.
        let values = match id {
            VerdictId::KilledFromOutside => String::new(),
            _ => format!(" ({})", oom_kill_values(case.run)),
        };
        return Some(format!("out of memory: no kill was counted{values}"));
    }
    let killed = case.status == EndStatus::Signaled(signal::KILL);
    if !killed {
        return Some(format!(
            "out of memory: the kernel kills with SIGKILL, this one was {}",
            signal::describe(case.status)
        ));
    }
    let others = case.log.kills.first()?;
    Some(format!(
        "out of memory: the kernel killed {} (pid {}), not {}",
        others.name,
        others.pid,
        case.who()
    ))
}

/// `oom_kill stayed 0 in the cgroup, 14 on the machine`.
fn oom_kill_values(run: &RunFacts) -> String {
    let own = run
        .cgroups
        .iter()
        .find(|cgroup| cgroup.own)
        .and_then(|cgroup| cgroup.oom_kill);
    let values = [
        ("in the cgroup", own),
        ("on the machine", run.vmstat_oom_kill),
    ];
    let known: Vec<String> = values
        .into_iter()
        .filter_map(|(whose, change)| Some(format!("{} {whose}", change?.after)))
        .collect();
    format!("oom_kill stayed {}", known.join(", "))
}

fn fault(case: &Case<'_>, _: VerdictId) -> Option<String> {
    let faults = [
        signal::SEGV,
        signal::BUS,
        signal::ILL,
        signal::FPE,
        signal::ABRT,
    ];
    if faults.iter().any(|&fault| case.died_of(fault)) || case.fatal.is_some() {
        return None;
    }
    Some(match case.recording {
        Some(_) => "fault or abort: none recorded".to_owned(),
        None => "fault or abort: not the wait status".to_owned(),
    })
}

fn exception(case: &Case<'_>, id: VerdictId) -> Option<String> {
    let raised = matches!(
        id,
        VerdictId::UncaughtException
            | VerdictId::FailedAtStart
            | VerdictId::AllocationRefused
            | VerdictId::GrowthStopped
    );
    if raised || case.recording.is_none() || case.main_exception().is_some() {
        return None;
    }
    // An exit with an exception that only standard error shows is not ruled out.
    ended_by_signal(case)?;
    Some("Python exception: none recorded".to_owned())
}

fn shared_memory(case: &Case<'_>, id: VerdictId) -> Option<String> {
    ended_by_signal(case)?;
    let space = case
        .run
        .shared_memory
        .as_ref()
        .filter(|space| space.total > 0)?;
    let lowest = space.free_lowest.min(space.free);
    let room = lowest >= space.total / 20;
    (id != VerdictId::SharedMemoryFull && room)
        .then(|| format!("/dev/shm: {} of {} free", Size(lowest), Size(space.total)))
}

fn daemons(case: &Case<'_>, id: VerdictId) -> Option<String> {
    let sent = case.died_of(signal::KILL) || case.died_of(signal::TERM);
    let daemon = matches!(
        id,
        VerdictId::KilledBySystemdOomd | VerdictId::KilledByEarlyoom
    );
    (sent && !daemon && case.run.journal.readable)
        .then(|| "systemd-oomd, earlyoom: not in the journal".to_owned())
}

fn cpu_limit(case: &Case<'_>, id: VerdictId) -> Option<String> {
    if !case.died_of(signal::KILL) || id == VerdictId::CpuLimit {
        return None;
    }
    Some(match case.victim.limits.cpu.1 {
        Some(limit) => {
            format!(
                "CPU limit: {} used of {limit} s",
                Span(case.victim.cpu_time)
            )
        }
        None => "CPU limit: none".to_owned(),
    })
}

fn sandbox(case: &Case<'_>, id: VerdictId) -> Option<String> {
    if !case.died_of(signal::KILL) || id == VerdictId::Seccomp {
        return None;
    }
    match case.victim.seccomp {
        0 => Some("seccomp: no filter".to_owned()),
        _ if case.log.readable => Some("seccomp: no refused call logged".to_owned()),
        _ => None,
    }
}

fn gpu(case: &Case<'_>, id: VerdictId) -> Option<String> {
    ended_by_signal(case)?;
    let gpu = matches!(
        id,
        VerdictId::GpuFault | VerdictId::CudaAbort | VerdictId::GpuOutOfMemory
    );
    (!gpu && case.log.readable && case.log.xids.is_empty()).then(|| "GPU: no Xid logged".to_owned())
}

/// A program that exits has had its say; these lines are for those that could not.
const fn ended_by_signal(case: &Case<'_>) -> Option<()> {
    match case.status {
        EndStatus::Signaled(_) => Some(()),
        EndStatus::Exited(_) => None,
    }
}

fn not_checked(case: &Case<'_>) -> Vec<String> {
    let mut lines = Vec::new();
    let reason = |reason: &str| {
        if reason.is_empty() {
            "not readable".to_owned()
        } else {
            reason.to_owned()
        }
    };
    if !case.run.kernel_log.readable {
        lines.push(format!(
            "kernel log: {}",
            reason(&case.run.kernel_log.reason)
        ));
    }
    if !case.run.journal.readable && case.died_of(signal::KILL) {
        lines.push(format!("journal: {}", reason(&case.run.journal.reason)));
    }
    if case.recording.is_none() {
        lines.push(format!("black box: {} has none", case.who()));
    }
    lines
}
