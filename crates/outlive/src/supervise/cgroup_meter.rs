//! Use against limit, at every sample: the cgroup of the chain with the least room.

use super::cgroup::{Cgroup, Chain};
use super::cgroup_files::CgroupVersion;
use super::clock::{self, MILLISECOND};
use super::kept_file::KeptFile;
use super::pace::Allowance;

/// `memory.stat` makes the kernel add up the counters of all processors.
const STATISTICS_FACTOR: u64 = 2000;
const STATISTICS_LEAST: u64 = 500 * MILLISECOND;

/// Bytes used and allowed in one cgroup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reading {
    /// Without page cache that can be given back.
    pub(super) usage: u64,
    pub(super) limit: Option<u64>,
}

/// The meters of a chain.
#[derive(Debug, Default)]
pub(super) struct CgroupMeter {
    meters: Vec<Meter>,
}

#[derive(Debug)]
struct Meter {
    version: CgroupVersion,
    folder: std::path::PathBuf,
    usage: KeptFile,
    statistics: KeptFile,
    limit: Option<u64>,
    reclaimable: u64,
    allowance: Allowance,
}

impl CgroupMeter {
    /// Opens the files of every cgroup with a limit, or of the innermost one if none has any.
    pub(super) fn open(chain: &Chain) -> Self {
        let limited = chain.groups.iter().filter(|group| group.is_limited());
        let mut meters: Vec<Meter> = limited.filter_map(Meter::open).collect();
        if meters.is_empty() {
            meters.extend(chain.groups.first().and_then(Meter::open));
        }
        Self { meters }
    }

    /// The tightest one now.
    pub(super) fn read(&mut self) -> Option<Reading> {
        let readings = self.meters.iter_mut().filter_map(Meter::read);
        readings.min_by_key(|reading| {
            reading
                .limit
                .map_or(u64::MAX, |limit| limit.saturating_sub(reading.usage))
        })
    }
}

impl Meter {
    fn open(group: &Cgroup) -> Option<Self> {
        Some(Self {
            version: group.version,
            folder: group.folder.clone(),
            usage: KeptFile::open(group.version.usage_file(&group.folder)).ok()?,
            statistics: KeptFile::open(group.folder.join("memory.stat")).ok()?,
            limit: None,
            reclaimable: 0,
            allowance: Allowance::new(STATISTICS_FACTOR, STATISTICS_LEAST),
        })
    }

    fn read(&mut self) -> Option<Reading> {
        let began = clock::monotonic();
        if self.allowance.is_due(began) {
            self.reclaimable = self.version.reclaimable(self.statistics.read_text()?);
            self.limit = self.version.limit(&self.folder);
            self.allowance.spent(began, clock::monotonic());
        }
        let usage = self.usage.read_number()?.saturating_sub(self.reclaimable);
        Some(Reading {
            usage,
            limit: self.limit,
        })
    }
}
