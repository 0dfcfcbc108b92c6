//! A run whose supervisor was killed with it: what can still be read afterwards.
//!
//! The kernel log keeps its lines for a while, counters go on counting, a cgroup may still be
//! there. It is looked at once and written down, so that the answer stays the same when the log
//! has gone on.

use std::path::Path;

use outlive_diagnose::facts::{
    CgroupFacts, Change, EndStatus, LogFacts, ProcessFacts, RunFacts, StatusSource,
};
use outlive_diagnose::kernel_log::{KernelLog, OomKill};

use super::cgroup::inode_of;
use super::cgroup_files::{CgroupVersion, Counters};
use super::clock::SECOND;
use super::facts_file::FactsFile;
use super::{kernel_log, machine};
use crate::store::StoredRun;

const SIGKILL: i32 = 9;
/// The kernel's log has a clock of its own, which drifts.
const CLOCKS_AGREE: u64 = 10 * SECOND;

/// Adds what can still be read, unless that was done before.
pub(crate) fn look(run: &StoredRun, facts: &mut RunFacts) {
    if facts.looked_late {
        return;
    }
    // After a new start of the machine every counter and every time means something else.
    let is_same_boot = facts.machine.boot_id == machine::boot_id();
    if is_same_boot && !facts.machine.boot_id.is_empty() {
        if let (Some(change), Some(now)) = (&mut facts.vmstat_oom_kill, machine::oom_kills()) {
            change.after = now.max(change.after);
        }
        facts.cgroups.iter_mut().for_each(read_again);
        let mut log = LogFacts::default();
        kernel_log::KernelLog::open_from_start(&mut log).drain(&mut log);
        take_log(facts, log);
    }
    facts.looked_late = true;
    // Without a place to write, the next look sees what is left then.
    let _ = FactsFile::in_directory(&run.directory).write(facts);
}

/// Counters of the cgroup, if it is still the same one.
fn read_again(facts: &mut CgroupFacts) {
    let folder = Path::new(&facts.folder);
    if facts.inode == 0 || inode_of(folder) != facts.inode {
        return;
    }
    let version = match facts.version {
        1 => CgroupVersion::One,
        _ => CgroupVersion::Two,
    };
    let now = Counters::read(folder, None, version);
    let update = |change: &mut Option<Change>, now: Option<u64>| {
        if let (Some(change), Some(now)) = (change, now) {
            change.after = now.max(change.after);
        }
    };
    update(&mut facts.oom_kill, now.oom_kill);
    update(&mut facts.oom_kill_local, now.oom_kill_local);
    update(&mut facts.oom, now.oom);
    update(&mut facts.max, now.max);
    update(&mut facts.oom_group_kill, now.oom_group_kill);
    facts.peak = facts.peak.max(now.peak);
}

/// Keeps the lines since the start of the run, and the ends of its processes that they tell.
fn take_log(facts: &mut RunFacts, log: LogFacts) {
    if !log.readable {
        return;
    }
    let since = facts.started_monotonic.saturating_sub(CLOCKS_AGREE);
    let lines: Vec<String> = log
        .lines
        .into_iter()
        .filter(|line| kernel_log::time_of(line).is_some_and(|time| time >= since))
        .collect();
    for line in lines {
        if !facts.kernel_log.lines.contains(&line) {
            facts.kernel_log.lines.push(line);
        }
    }
    facts.kernel_log.readable = true;
    let parsed = KernelLog::parse(&facts.kernel_log, &LogFacts::default());
    for kill in &parsed.kills {
        if let Some(process) = facts.processes.iter_mut().find(|it| is_victim(it, kill)) {
            process.status = Some(EndStatus::Signaled(SIGKILL));
            process.status_source = StatusSource::KernelLog;
            process.ended_at = process.ended_at.or(kill.time);
        }
    }
}

/// Process ids come back: name and time must fit too.
fn is_victim(process: &ProcessFacts, kill: &OomKill) -> bool {
    let is_after = kill
        .time
        .is_none_or(|time| time.saturating_add(CLOCKS_AGREE) >= process.seen_at);
    process.status.is_none() && process.id.pid == kill.pid && process.name == kill.name && is_after
}

#[cfg(test)]
mod tests {
    use super::*;
    use outlive_diagnose::facts::ProcessId;

    fn facts() -> RunFacts {
        RunFacts {
            started_monotonic: 100 * SECOND,
            processes: vec![ProcessFacts {
                id: ProcessId {
                    pid: 4711,
                    start_ticks: 9,
                },
                name: "python".to_owned(),
                seen_at: 100 * SECOND,
                ..ProcessFacts::default()
            }],
            ..RunFacts::default()
        }
    }

    fn log(lines: &[&str]) -> LogFacts {
        LogFacts {
            readable: true,
            lines: lines.iter().map(|&line| line.to_owned()).collect(),
            ..LogFacts::default()
        }
    }

    #[test]
    fn a_line_of_the_log_tells_the_end_nobody_saw() {
        let mut facts = facts();
        let killed = "Killed process 4711 (python) total-vm:9kB, anon-rss:5kB, file-rss:0kB";
        let old = format!("[   50.000000] Out of memory: {killed}");
        take_log(&mut facts, log(&[&old]));
        assert_eq!(facts.processes[0].status, None, "a namesake of long ago");
        let new = format!("[  123.000000] Memory cgroup out of memory: {killed}");
        take_log(&mut facts, log(&[&old, &new]));
        let process = &facts.processes[0];
        assert_eq!(process.status, Some(EndStatus::Signaled(9)));
        assert_eq!(process.status_source, StatusSource::KernelLog);
        assert_eq!(process.ended_at, Some(123 * SECOND));
        assert_eq!(facts.kernel_log.lines, [new]);
    }

    #[test]
    fn a_cgroup_that_is_still_there_is_read_again_and_a_namesake_is_not() {
        let folder = tempfile::tempdir().unwrap();
        fs_err::write(
            folder.path().join("memory.events"),
            "oom_kill 3\noom_group_kill 1\n",
        )
        .unwrap();
        let mut facts = CgroupFacts {
            version: 2,
            folder: folder.path().display().to_string(),
            inode: inode_of(folder.path()) + 1,
            oom_kill: Some(Change::default()),
            oom_group_kill: Some(Change::default()),
            ..CgroupFacts::default()
        };
        read_again(&mut facts);
        assert_eq!(facts.oom_kill.unwrap().after, 0);
        facts.inode -= 1;
        read_again(&mut facts);
        assert_eq!(facts.oom_kill.unwrap().after, 3);
        assert_eq!(facts.oom_group_kill.unwrap().after, 1);
    }
}
