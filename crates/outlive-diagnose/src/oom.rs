//! Whether the kernel's out-of-memory killer ended *this* process, and for whose limit.
//!
//! A counter that moved says that somebody was killed, not who. So the log's victims are matched
//! to processes of the tree first; the counters decide only where the log is silent.

use crate::facts::{CgroupFacts, Change, EndStatus, ProcessFacts, RunFacts};
use crate::kernel_log::{KernelLog, OomKill, Scope};
use crate::memory::{Memory, describe};
use crate::signal;
use crate::size::{Size, Span, percent};
use crate::tree::Tree;
use crate::verdict::Confidence;

/// The kernel's clock and the supervisor's drift apart by less than this.
const CLOCKS_AGREE: u64 = 10_000_000_000;

/// A kill by the kernel for want of memory.
#[derive(Clone, Debug)]
pub(crate) struct KernelKill<'a> {
    pub(crate) scope: Scope,
    pub(crate) confidence: Confidence,
    /// The cgroup whose limit was reached, if it can be seen.
    pub(crate) cgroup: Option<&'a CgroupFacts>,
    pub(crate) evidence: Vec<String>,
}

/// What the counter of the tree's own cgroup says.
enum Counter {
    /// Rose by this much.
    Moved(u64),
    Still,
    Unknown,
}

/// The line of the kernel log about the end of `victim`, if there is one.
pub(crate) fn kill_of<'a>(
    run: &RunFacts,
    log: &'a KernelLog,
    tree: &Tree,
    victim: &ProcessFacts,
) -> Option<&'a OomKill> {
    log.kills
        .iter()
        .find(|kill| owner(run, log, tree, kill).is_some_and(|it| it.id == victim.id))
}

/// Whether, and how surely, the kernel killed `victim` for memory.
pub(crate) fn kernel_kill<'a>(
    run: &'a RunFacts,
    log: &KernelLog,
    tree: &Tree,
    victim: &ProcessFacts,
    memory: &Memory,
) -> Option<KernelKill<'a>> {
    if victim.status != Some(EndStatus::Signaled(signal::KILL)) {
        return None;
    }
    let kill = kill_of(run, log, tree, victim);
    let counter = counter(run);
    let confidence = confidence(run, log, tree, memory, kill, &counter)?;
    let (scope, cgroup) = scope(run, memory, kill);
    let mut evidence = Vec::new();
    if let Some(kill) = kill {
        let line = kill.line.split(", UID:").next().unwrap_or_default();
        evidence.push(format!("kernel log: {}", crate::words::shorten(line)));
    }
    evidence.extend(counter_lines(run));
    Some(KernelKill {
        scope,
        confidence,
        cgroup,
        evidence,
    })
}

/// `oom_kill 0 -> 1` of the cgroup chain and of the machine, as far as known.
pub(crate) fn counter_lines(run: &RunFacts) -> Vec<String> {
    let mut lines = Vec::new();
    for cgroup in run
        .cgroups
        .iter()
        .filter(|cgroup| cgroup.own || cgroup.limit.is_some())
    {
        let counters = [
            ("oom_kill", cgroup.oom_kill),
            ("oom", cgroup.oom),
            (
                if cgroup.version == 1 {
                    "failcnt"
                } else {
                    "max"
                },
                cgroup.max,
            ),
            ("oom_group_kill", cgroup.oom_group_kill),
        ];
        let moved: Vec<String> = counters
            .into_iter()
            .filter_map(|(name, change)| {
                let change = change?;
                let shown = name == "oom_kill" || change.rise() > 0;
                shown.then(|| format!("{name} {} -> {}", change.before, change.after))
            })
            .collect();
        if !moved.is_empty() {
            lines.push(format!("{}: {}", describe(cgroup), moved.join(", ")));
        }
    }
    if let Some(change) = run.vmstat_oom_kill {
        lines.push(format!(
            "/proc/vmstat: oom_kill {} -> {}",
            change.before, change.after
        ));
    }
    lines
}

/// Whether every counter that can be read stood still.
pub(crate) fn counters_still(run: &RunFacts) -> bool {
    let cgroups = run
        .cgroups
        .iter()
        .filter(|cgroup| cgroup.own)
        .filter_map(|it| it.oom_kill);
    let mut known = cgroups.chain(run.vmstat_oom_kill).peekable();
    known.peek().is_some() && known.all(|change| change.rise() == 0)
}

fn counter(run: &RunFacts) -> Counter {
    let Some(own) = run.cgroups.iter().find(|cgroup| cgroup.own) else {
        return Counter::Unknown;
    };
    let Some(change) = own.oom_kill else {
        return Counter::Unknown;
    };
    // `memory.events` counts the cgroups below too; a kill down there is not ours.
    let local = own.oom_kill_local.map_or(change.rise(), Change::rise);
    match change.rise().min(local) {
        0 => Counter::Still,
        rise => Counter::Moved(rise),
    }
}

fn confidence(
    run: &RunFacts,
    log: &KernelLog,
    tree: &Tree,
    memory: &Memory,
    kill: Option<&OomKill>,
    counter: &Counter,
) -> Option<Confidence> {
    if kill.is_some() {
        return Some(Confidence::Proved);
    }
    let moved = run.vmstat_oom_kill.map(|change| change.rise() > 0);
    match counter {
        Counter::Moved(rise) => {
            if log.kills.len() as u64 >= *rise {
                // As many victims are named as were counted, and this process is none of them.
                return None;
            }
            let killed = tree.killed() as u64;
            // Somebody else in the same cgroup may have been the one that was killed.
            let largest = memory.resident_peak.max(memory.tracked_peak.unwrap_or(0));
            let small = memory
                .limit
                .is_some_and(|limit| percent(largest, limit) < 10);
            let roomy = memory.fullness().is_some_and(|full| full < 50);
            let sure = (*rise >= killed || memory.is_short()) && !(small && roomy);
            Some(if sure {
                Confidence::Proved
            } else {
                Confidence::Likely
            })
        }
        Counter::Still => None,
        Counter::Unknown if !memory.is_short() => None,
        Counter::Unknown => match moved {
            Some(true) => Some(Confidence::Likely),
            Some(false) => None,
            None => Some(Confidence::Unproved),
        },
    }
}

fn scope<'a>(
    run: &'a RunFacts,
    memory: &Memory,
    kill: Option<&OomKill>,
) -> (Scope, Option<&'a CgroupFacts>) {
    let named = kill.and_then(|kill| kill.limited_cgroup.as_deref());
    let limited = |cgroup: &&CgroupFacts| cgroup.limit.is_some();
    let reached = run
        .cgroups
        .iter()
        .filter(limited)
        .find(|cgroup| named.is_some_and(|path| path == cgroup.path))
        .or_else(|| {
            run.cgroups.iter().filter(limited).find(|cgroup| {
                // `oom` counts at the cgroup whose limit was hit; version 1 has only `failcnt`.
                cgroup
                    .oom
                    .or(cgroup.max)
                    .is_some_and(|change| change.rise() > 0)
            })
        });
    if let Some(scope) = kill.and_then(|kill| kill.scope) {
        let cgroup = if scope == Scope::Cgroup {
            reached
        } else {
            None
        };
        return (scope, cgroup);
    }
    let machine_short = memory.machine_left().is_some_and(|left| left <= 10);
    match reached {
        Some(cgroup) if cgroup.oom.is_some() || !machine_short => (Scope::Cgroup, Some(cgroup)),
        _ if machine_short => (Scope::Host, None),
        // The machine had room, so it was a limit above what can be seen from here.
        _ => (Scope::Cgroup, None),
    }
}

/// Which killed process of the tree a line of the log is about.
fn owner<'t>(
    run: &RunFacts,
    log: &KernelLog,
    tree: &'t Tree,
    kill: &OomKill,
) -> Option<&'t ProcessFacts> {
    let killed =
        |process: &&ProcessFacts| process.status == Some(EndStatus::Signaled(signal::KILL));
    let same = |process: &ProcessFacts, kill: &OomKill| {
        process.id.pid == kill.pid
            && (process.name == kill.name || is_near(process, kill).unwrap_or(false))
    };
    if let Some(process) = tree
        .processes
        .iter()
        .filter(killed)
        .find(|it| same(it, kill))
    {
        return Some(process);
    }
    // Where one line carries an id of the tree, all ids are the supervisor's own, and this line is
    // about a stranger.
    let comparable = log
        .kills
        .iter()
        .any(|kill| tree.processes.iter().any(|process| same(process, kill)));
    // And where nobody was killed in our cgroup, a line that only has the right name is about a
    // stranger too: another container's `python`.
    if comparable || matches!(counter(run), Counter::Still) {
        return None;
    }
    tree.processes
        .iter()
        .filter(killed)
        .filter(|process| process.name == kill.name && is_plausible(process, kill))
        .min_by_key(|process| {
            let apart = kill.resident.unwrap_or(0).abs_diff(process.peak_resident);
            (apart, time_apart(process, kill).unwrap_or(u64::MAX))
        })
}

/// In a container only name, time and size are left; the last size seen may lag behind the kernel's.
fn is_plausible(process: &ProcessFacts, kill: &OomKill) -> bool {
    is_near(process, kill).unwrap_or_else(|| {
        kill.resident
            .is_none_or(|resident| resident >= process.peak_resident / 2)
    })
}

fn is_near(process: &ProcessFacts, kill: &OomKill) -> Option<bool> {
    time_apart(process, kill).map(|apart| apart <= CLOCKS_AGREE)
}

fn time_apart(process: &ProcessFacts, kill: &OomKill) -> Option<u64> {
    Some(process.ended_at?.abs_diff(kill.time?))
}

/// How full memory was, as a line of evidence.
pub(crate) fn fullness_line(memory: &Memory) -> Option<String> {
    let limit = memory.limit?;
    let when = match memory.seen_before_end {
        Some(span) => format!("last sample, {} before the end", Span(span)),
        None => "last seen".to_owned(),
    };
    (memory.at_end > 0)
        .then(|| format!("{when}: {} of {} in use", Size(memory.at_end), Size(limit)))
}
