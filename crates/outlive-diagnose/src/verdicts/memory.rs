//! The kernel's out-of-memory killer: for a cgroup's limit, for the machine, for a whole group.

use crate::case::Case;
use crate::facts::CgroupFacts;
use crate::kernel_log::Scope;
use crate::memory::describe;
use crate::oom::{KernelKill, fullness_line};
use crate::size::{Size, percent};
use crate::verdict::{Confidence, Verdict, VerdictId};

/// Other processes of the machine are named from this share of its memory on, in per cent.
const OTHERS_WORTH_NAMING: u64 = 5;

/// Every process of the cgroup was killed for the memory of one.
pub(super) fn group_kill(case: &Case<'_>) -> Option<Verdict> {
    let kill = case.kernel_kill.as_ref()?;
    let counted = |cgroup: &&CgroupFacts| {
        cgroup
            .oom_group_kill
            .is_some_and(|change| change.rise() > 0)
            || (cgroup.oom_group && cgroup.oom_kill.is_some_and(|change| change.rise() > 0))
    };
    let cgroup = case.run.cgroups.iter().find(counted);
    let line = case.log.group_kills.first();
    if cgroup.is_none() && line.is_none() {
        return None;
    }
    let place = cgroup.map_or_else(|| "its cgroup".to_owned(), describe);
    let verdict = Verdict::new(
        VerdictId::OutOfMemoryGroupKill,
        kill.confidence,
        format!(
            "Out of memory: the kernel killed every process of {place}, as its memory.oom.group \
             asks{}",
            limit_clause(kill.cgroup.or(cgroup))
        ),
    );
    Some(
        with_evidence(verdict, case, kill)
            .because_all(line.map(|line| format!("kernel log: {line}")))
            .advise("Use less memory at the lines above, or raise the limit of the container")
            .advise_all(stop_the_cell(case))
            .advise("On Kubernetes 1.32 or later `singleProcessOOMKill: true` spares the others"),
    )
}

/// The limit that was reached is the one Slurm gave the job.
pub(super) fn slurm(case: &Case<'_>) -> Option<Verdict> {
    let job = case
        .run
        .environment
        .iter()
        .find(|(name, _)| name == "SLURM_JOB_ID");
    let told = case.tree_says(&["oom_kill event in StepId", "oom-kill event(s) in StepId"]);
    let kill = case
        .kernel_kill
        .as_ref()
        .filter(|kill| kill.scope == Scope::Cgroup);
    let in_job = kill
        .and_then(|kill| kill.cgroup)
        .is_some_and(|it| it.path.contains("slurm"));
    let confidence = match (kill, told) {
        (Some(kill), _) if job.is_some() && (in_job || told.is_some()) => kill.confidence,
        // The line can appear although the step went well, so alone it is no proof.
        (None, Some(_)) if case.died_of(crate::signal::KILL) => Confidence::Likely,
        _ => return None,
    };
    let number = job.map_or_else(String::new, |(_, id)| format!(" {id}"));
    let verdict = Verdict::new(
        VerdictId::SlurmOutOfMemory,
        confidence,
        format!(
            "Out of memory: the kernel killed {} at the memory limit of Slurm job{number}{}",
            case.who(),
            limit_clause(kill.and_then(|kill| kill.cgroup))
        ),
    );
    let verdict = match kill {
        Some(kill) => with_evidence(verdict, case, kill),
        None => verdict.because(case.status_line()),
    };
    Some(
        verdict
            .because_all(told.map(crate::words::Word::quote))
            .advise("Use less memory at the lines above, or ask for more with `--mem`"),
    )
}

/// The limit of a memory cgroup: a container, a systemd unit, a batch job.
pub(super) fn cgroup(case: &Case<'_>) -> Option<Verdict> {
    let kill = case
        .kernel_kill
        .as_ref()
        .filter(|kill| kill.scope == Scope::Cgroup)?;
    let place = match kill.cgroup {
        Some(cgroup) => {
            let limit = Size(cgroup.limit.unwrap_or(0));
            format!("at the {limit} limit of {}", describe(cgroup))
        }
        None => "at the limit of a cgroup above the ones visible here".to_owned(),
    };
    let verdict = Verdict::new(
        VerdictId::OutOfMemoryCgroup,
        kill.confidence,
        format!(
            "Out of memory: {} the kernel killed {} {place}",
            hedge(kill),
            case.who()
        )
        .replace("  ", " "),
    );
    Some(
        with_evidence(verdict, case, kill)
            .advise("Use less memory at the lines above: smaller batches, fewer workers, chunks")
            .advise_all(stop_the_cell(case))
            .advise("Or raise this limit: the machine's own memory is not the bound"),
    )
}

/// The machine itself ran out.
pub(super) fn host(case: &Case<'_>) -> Option<Verdict> {
    let kill = case
        .kernel_kill
        .as_ref()
        .filter(|kill| kill.scope == Scope::Host)?;
    let machine = &case.run.machine;
    let verdict = Verdict::new(
        VerdictId::OutOfMemoryHost,
        kill.confidence,
        format!(
            "Out of memory: {} the kernel killed {} because the machine's {} were used up",
            hedge(kill),
            case.who(),
            Size(machine.total)
        )
        .replace("  ", " "),
    );
    let others = machine
        .largest_others
        .iter()
        .filter(|(_, _, bytes)| percent(*bytes, machine.total) >= OTHERS_WORTH_NAMING)
        .take(3)
        .map(|(pid, name, bytes)| {
            format!("not of this run: {name} (pid {pid}) held {}", Size(*bytes))
        });
    let culprit = machine
        .largest_others
        .first()
        .filter(|(_, _, bytes)| *bytes > case.memory.resident_peak)
        .map(|(pid, name, bytes)| {
            format!(
                "{name} (pid {pid}) held more ({}) than this program: see to it first",
                Size(*bytes)
            )
        });
    let mut verdict = with_evidence(verdict, case, kill)
        .because(format!(
            "machine: {} available at the lowest, of {}",
            Size(machine.available_lowest),
            Size(machine.total)
        ))
        .because_all(others);
    verdict.advice.extend(culprit);
    Some(
        verdict
            .advise("Use less memory at the lines above: smaller batches, fewer workers, chunks")
            .advise_all(stop_the_cell(case))
            .advise(if case.is_in_notebook() {
                "Or shut down other notebook kernels: they keep their memory until then"
            } else {
                "Or run fewer programs beside it, or on a larger machine"
            }),
    )
}

/// What took memory too fast for the guard at this limit is told in time at a lower one.
fn stop_the_cell(case: &Case<'_>) -> Option<String> {
    let is_guarded = case.is_in_notebook() && case.run.budget.is_some();
    is_guarded.then(|| {
        "Or start the cell with `%%outlive limit=75%`: it then fails with an explanation, and the \
         variables stay"
            .to_owned()
    })
}

fn hedge(kill: &KernelKill<'_>) -> &'static str {
    match kill.confidence {
        Confidence::Proved => "",
        Confidence::Likely => "it is likely that",
        Confidence::Unproved => "it may be that",
    }
}

fn with_evidence(verdict: Verdict, case: &Case<'_>, kill: &KernelKill<'_>) -> Verdict {
    verdict
        .because(case.status_line())
        .because_all(kill.evidence.iter().cloned())
        .because_all(fullness_line(&case.memory).filter(|_| kill.confidence != Confidence::Proved))
}

fn limit_clause(cgroup: Option<&CgroupFacts>) -> String {
    match cgroup.and_then(|cgroup| cgroup.limit) {
        Some(limit) => format!(" ({})", Size(limit)),
        None => String::new(),
    }
}
