//! Memory against its limit: how much there was, whose limit it is, how much was used.

use outlive_record::kind::Origin;
use outlive_record::read::Recording;
use outlive_record::timeline::{Sample, UNKNOWN};

use crate::facts::{CgroupFacts, ProcessFacts, RunFacts};
use crate::kernel_log::OomKill;
use crate::size::percent;

/// What a process used, and what it could have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// The tightest limit, bytes.
    pub limit: Option<u64>,
    /// Whose it is.
    pub limit_source: String,
    /// Highest resident size of the process.
    pub peak: u64,
    /// Its last resident size.
    pub at_end: u64,
    /// Highest use under the limit that was seen: all processes the limit counts.
    pub used_peak: Option<u64>,
    /// The last use under the limit that was seen.
    pub used_at_end: Option<u64>,
    /// Highest memory of all processes of the run together, if it was seen.
    pub tree_peak: Option<u64>,
    /// Lowest memory of the machine that was left.
    pub available_lowest: Option<u64>,
    /// Memory of the machine.
    pub machine: u64,
    /// Whether the process was forked and so shares memory that others acquired.
    pub forked: bool,
    /// Recorded bytes that were live at the end.
    pub tracked_at_end: Option<u64>,
    /// Highest value of them.
    pub tracked_peak: Option<u64>,
}

impl Memory {
    /// Collects the figures of one process; `kill` is the kernel's own word on its last size.
    pub fn of(
        run: &RunFacts,
        process: &ProcessFacts,
        recording: Option<&Recording<'_>>,
        samples: &[Sample],
        kill: Option<&OomKill>,
    ) -> Self {
        let tightest = tightest_cgroup(&run.cgroups);
        let (limit, limit_source) = tightest_limit(run, process, tightest);
        let known = |value: u64| (value != UNKNOWN).then_some(value);
        let last = samples.last();
        let resident_in_log = kill.and_then(|kill| kill.resident);
        let resident_peak = samples
            .iter()
            .map(|sample| sample.resident)
            .max()
            .unwrap_or(0);
        let at_end = resident_in_log
            .or_else(|| last.map(|sample| sample.resident))
            .unwrap_or(0)
            .max(if last.is_none() {
                process.last_resident
            } else {
                0
            });
        let used = samples
            .iter()
            .filter_map(|sample| known(sample.cgroup_use))
            .max();
        let lowest = (run.machine.available_lowest > 0).then_some(run.machine.available_lowest);
        let totals = recording.map(Recording::totals);
        Self {
            limit,
            limit_source,
            peak: process.peak_resident.max(resident_peak).max(at_end),
            at_end,
            used_peak: used.or_else(|| tightest.map(|cgroup| cgroup.usage.after)),
            used_at_end: last.and_then(|sample| known(sample.cgroup_use)),
            tree_peak: (run.peak_memory > 0).then_some(run.peak_memory),
            available_lowest: lowest,
            machine: run.machine.total,
            forked: recording.is_some_and(|it| it.identity().origin == Some(Origin::Fork)),
            tracked_at_end: totals.map(|totals| totals.live_bytes.max(0) as u64),
            tracked_peak: totals.map(|totals| totals.peak_bytes.max(0) as u64),
        }
    }

    /// Resident bytes that no recorded allocation explains, when they are worth a word.
    pub fn unexplained(&self) -> Option<u64> {
        let below = self.at_end.checked_sub(self.tracked_at_end?)?;
        (below > 256 << 20 && percent(below, self.at_end) >= 25).then_some(below)
    }

    /// How full the limit was when last seen, in per cent.
    pub fn fullness(&self) -> Option<u64> {
        let used = self.used_at_end.or(self.used_peak)?.max(self.at_end);
        Some(percent(used, self.limit.filter(|&limit| limit > 0)?))
    }

    /// How little of the machine's memory was left at the worst moment, in per cent.
    pub fn machine_left(&self) -> Option<u64> {
        (self.machine > 0)
            .then(|| percent(self.available_lowest.unwrap_or(self.machine), self.machine))
    }

    /// Whether memory was nearly gone when last seen.
    pub fn is_short(&self) -> bool {
        self.fullness().is_some_and(|full| full >= 90)
            || self.machine_left().is_some_and(|left| left <= 5)
    }
}

fn tightest_cgroup(cgroups: &[CgroupFacts]) -> Option<&CgroupFacts> {
    cgroups
        .iter()
        .filter(|cgroup| cgroup.limit.is_some())
        .min_by_key(|cgroup| cgroup.limit)
}

fn tightest_limit(
    run: &RunFacts,
    process: &ProcessFacts,
    cgroup: Option<&CgroupFacts>,
) -> (Option<u64>, String) {
    let machine = (run.machine.total > 0).then(|| (run.machine.total, "machine".to_owned()));
    let cgroup = cgroup.and_then(|cgroup| Some((cgroup.limit?, describe(cgroup))));
    let address_space = process
        .limits
        .address_space
        .0
        .map(|limit| (limit, "RLIMIT_AS".to_owned()));
    let data = process
        .limits
        .data
        .0
        .map(|limit| (limit, "RLIMIT_DATA".to_owned()));
    [cgroup, machine, address_space, data]
        .into_iter()
        .flatten()
        .min_by_key(|(limit, _)| *limit)
        .map_or((None, "unknown".to_owned()), |(limit, source)| {
            (Some(limit), source)
        })
}

/// `cgroup v2 /job`.
pub(crate) fn describe(cgroup: &CgroupFacts) -> String {
    let path = &cgroup.path;
    // Container runtimes nest long names; the last one says which it is.
    let shown = match path.rsplit_once('/') {
        Some((_, last)) if path.chars().count() > 24 => {
            let last: String = last.chars().take(20).collect();
            format!("…/{last}")
        }
        _ => path.clone(),
    };
    format!("cgroup v{} {shown}", cgroup.version)
}

#[cfg(test)]
mod tests {
    use super::Memory;
    use crate::facts::{CgroupFacts, MachineFacts, ProcessFacts, RunFacts};

    #[test]
    fn the_tightest_limit_counts() {
        let cgroup = |path: &str, limit| CgroupFacts {
            path: path.to_owned(),
            version: 2,
            limit,
            ..CgroupFacts::default()
        };
        let run = RunFacts {
            cgroups: vec![
                cgroup("/a/b", None),
                cgroup("/a", Some(50)),
                cgroup("/", Some(80)),
            ],
            machine: MachineFacts {
                total: 60,
                ..MachineFacts::default()
            },
            ..RunFacts::default()
        };
        let mut process = ProcessFacts::default();
        let memory = Memory::of(&run, &process, None, &[], None);
        assert_eq!(
            (memory.limit, memory.limit_source.as_str()),
            (Some(50), "cgroup v2 /a")
        );
        process.limits.address_space.0 = Some(40);
        let memory = Memory::of(&run, &process, None, &[], None);
        assert_eq!(memory.limit_source, "RLIMIT_AS");
    }
}
