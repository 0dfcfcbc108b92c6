//! Memory against its limit: how much there was, whose limit it is, how much was used.

use outlive_record::kind::Origin;
use outlive_record::read::Recording;
use outlive_record::timeline::{Sample, UNKNOWN};

use crate::facts::{CgroupFacts, EndStatus, ProcessFacts, RunFacts};
use crate::holders::Moment;
use crate::kernel_log::{OomKill, Scope};
use crate::signal;
use crate::size::percent;

/// A sample this close before a kill may show memory that the kernel has begun to take back; the
/// highest of them is what there was.
const TAKEN_BACK: u64 = 300_000_000;

/// What a process used, and what it could have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// The tightest limit, bytes.
    pub limit: Option<u64>,
    /// Whose it is.
    pub limit_source: String,
    /// Highest use under that limit. Of a cgroup: all its processes; else the process alone.
    pub peak: u64,
    /// The last use under that limit that was seen before the end.
    pub at_end: u64,
    /// Highest resident size of the process; unlike a cgroup's use it counts pages of files.
    pub resident_peak: u64,
    /// Its last resident size.
    pub resident_at_end: u64,
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
    /// How long before the end the last sample was taken, nanoseconds.
    pub seen_before_end: Option<u64>,
    /// Resident bytes as the kernel told them when it killed the process.
    pub resident_at_kill: Option<u64>,
    /// Highest memory of the process that was seen in swap.
    pub swapped: u64,
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
        let totals = recording.map(Recording::totals);
        let lowest = (run.machine.available_lowest > 0).then_some(run.machine.available_lowest);
        let mut memory = Self {
            limit,
            limit_source,
            tree_peak: (run.peak_memory > 0).then_some(run.peak_memory),
            available_lowest: lowest,
            machine: run.machine.total,
            forked: recording.is_some_and(|it| it.identity().origin == Some(Origin::Fork)),
            tracked_at_end: totals.map(|totals| totals.live_bytes.max(0) as u64),
            tracked_peak: totals.map(|totals| totals.peak_bytes.max(0) as u64),
            seen_before_end: samples
                .last()
                .and_then(|sample| Some(process.ended_at?.saturating_sub(sample.time))),
            resident_at_kill: kill.and_then(|kill| kill.resident),
            swapped: highest_swap(samples),
            ..Self::default()
        };
        memory.see_resident(process, samples, kill);
        memory.peak = memory.resident_peak;
        memory.at_end = memory.resident_at_end;
        if let Some(cgroup) = tightest.filter(|cgroup| cgroup.limit == limit) {
            memory.see_cgroup(cgroup, process, samples, kill);
        }
        if memory.limit_source == "--limit" {
            // It is the tree's.
            memory.peak = memory.peak.max(run.peak_memory);
        }
        // Whatever is known is better than nothing.
        if memory.at_end == 0 {
            memory.at_end = memory
                .tracked_at_end
                .unwrap_or(0)
                .min(limit.unwrap_or(u64::MAX));
        }
        memory.peak = memory.peak.max(memory.at_end);
        memory
    }

    fn see_resident(&mut self, process: &ProcessFacts, samples: &[Sample], kill: Option<&OomKill>) {
        let sampled = samples.iter().map(|sample| sample.resident).max();
        let last = samples.last().map(|sample| sample.resident);
        self.resident_at_end = kill
            .and_then(|kill| kill.resident)
            .or(last)
            .unwrap_or(process.last_resident);
        self.resident_peak = process
            .peak_resident
            .max(sampled.unwrap_or(0))
            .max(self.resident_at_end);
    }

    /// Under a cgroup's limit only the cgroup's own figures count: a process's resident size has
    /// pages of files in it that belong to others.
    fn see_cgroup(
        &mut self,
        cgroup: &CgroupFacts,
        process: &ProcessFacts,
        samples: &[Sample],
        kill: Option<&OomKill>,
    ) {
        let limit = cgroup.limit.unwrap_or(u64::MAX);
        let was_killed = process.status == Some(EndStatus::Signaled(signal::KILL));
        let counted = cgroup.oom_kill.is_some_and(|change| change.rise() > 0);
        let use_of = |sample: &Sample| (sample.cgroup_use != UNKNOWN).then_some(sample.cgroup_use);
        let sampled = samples.iter().filter_map(use_of).max();
        let sampled = sampled.max(process.peak_use);
        // The kernel's own counter sees the cache too, which comes and goes; but where it killed,
        // there was nothing left to take back.
        let reached = kill.filter(|kill| {
            let path = kill.limited_cgroup.as_deref();
            kill.scope == Some(Scope::Cgroup)
                && path.is_none_or(|path| path.ends_with(&cgroup.path))
        });
        let by_kernel = reached
            .and(cgroup.limit)
            .or(cgroup.peak.filter(|_| was_killed && counted));
        let last_time = samples.last().map_or(0, |sample| sample.time);
        let from = if was_killed {
            last_time.saturating_sub(TAKEN_BACK)
        } else {
            last_time
        };
        let late = samples.iter().filter(|sample| sample.time >= from);
        let last = late.filter_map(use_of).max().or(process.last_use);
        self.peak = by_kernel
            .or(sampled)
            .unwrap_or(self.resident_peak)
            .min(limit);
        self.at_end = last
            .or(by_kernel)
            .unwrap_or(self.resident_at_end)
            .min(limit);
    }

    /// Resident bytes that no recorded allocation explains, when they are worth a word.
    pub fn unexplained(&self, moment: Moment) -> Option<u64> {
        let (resident, tracked) = match moment {
            Moment::End => (self.resident_at_end, self.tracked_at_end),
            Moment::Peak => (self.resident_peak, self.tracked_peak),
        };
        let below = resident.checked_sub(tracked?)?;
        (below > 256 << 20 && percent(below, resident) >= 25).then_some(below)
    }

    /// All that the process can have had at once, resident and in swap. Looks at a process that
    /// lived for moments show far less than it `recorded`, and so prove nothing.
    pub(crate) fn most(&self, moment: Moment, recorded: u64) -> Option<u64> {
        let seen = self.resident_peak.max(self.peak);
        let resident = match moment {
            Moment::End => self.resident_at_kill.unwrap_or(seen),
            Moment::Peak => seen,
        };
        let most = resident.saturating_add(self.swapped);
        (most > recorded / 2).then_some(most)
    }

    /// How full the limit was when last seen, in per cent.
    pub fn fullness(&self) -> Option<u64> {
        Some(percent(self.at_end, self.limit.filter(|&limit| limit > 0)?))
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

fn highest_swap(samples: &[Sample]) -> u64 {
    let seen = samples.iter().map(|sample| sample.swapped);
    seen.filter(|&bytes| bytes != UNKNOWN).max().unwrap_or(0)
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
    let asked = run.budget.as_ref().and_then(|budget| budget.limit);
    let asked = asked.map(|limit| (limit, "--limit".to_owned()));
    [cgroup, machine, asked, address_space, data]
        .into_iter()
        .flatten()
        .min_by_key(|(limit, _)| *limit)
        .map_or((None, "unknown".to_owned()), |(limit, source)| {
            (Some(limit), source)
        })
}

/// `cgroup v2 /job`.
pub(crate) fn describe(cgroup: &CgroupFacts) -> String {
    format!("cgroup v{} {}", cgroup.version, cgroup.path)
}

#[cfg(test)]
mod tests {
    use super::Memory;
    use crate::facts::{CgroupFacts, Change, EndStatus, MachineFacts, ProcessFacts, RunFacts};
    use outlive_record::timeline::{Sample, UNKNOWN};

    const SECOND: u64 = 1_000_000_000;

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

    const GIB: u64 = 1 << 30;

    fn sample(time: u64, resident: u64, cgroup_use: u64) -> Sample {
        Sample {
            time,
            resident,
            cgroup_use,
            proportional: UNKNOWN,
            cgroup_limit: GIB,
            available: UNKNOWN,
            swapped: UNKNOWN,
        }
    }

    #[test]
    fn under_a_cgroup_the_cgroups_own_figures_count_as_seen_before_the_end() {
        let mut run = RunFacts {
            cgroups: vec![CgroupFacts {
                version: 1,
                limit: Some(GIB),
                peak: Some(GIB),
                // Read after the kill.
                usage: Change {
                    before: 0,
                    after: 27 << 20,
                },
                oom_kill: Some(Change {
                    before: 0,
                    after: 1,
                }),
                ..CgroupFacts::default()
            }],
            ..RunFacts::default()
        };
        let process = ProcessFacts {
            status: Some(EndStatus::Signaled(9)),
            peak_resident: GIB + GIB / 2,
            ..ProcessFacts::default()
        };
        let samples = [
            sample(1, GIB / 2, GIB / 4),
            sample(SECOND, GIB + GIB / 3, GIB - (8 << 20)),
            sample(SECOND + 20_000_000, GIB / 3, GIB / 5),
        ];
        let memory = Memory::of(&run, &process, None, &samples, None);
        assert_eq!((memory.peak, memory.at_end), (GIB, GIB - (8 << 20)));
        assert_eq!(memory.resident_peak, GIB + GIB / 2);
        assert_eq!(memory.fullness(), Some(99));
        run.cgroups[0].oom_kill = Some(Change::default());
        let memory = Memory::of(&run, &process, None, &samples, None);
        assert_eq!(memory.peak, GIB - (8 << 20), "cache alone makes no peak");
        let unseen = ProcessFacts {
            last_use: Some(GIB / 8),
            peak_use: Some(GIB / 8),
            ..process
        };
        let memory = Memory::of(&run, &unseen, None, &[], None);
        assert_eq!((memory.peak, memory.at_end), (GIB / 8, GIB / 8));
    }
}
