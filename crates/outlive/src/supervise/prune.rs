//! Old runs go when there are too many, or when they take too much of the disk. A run whose
//! supervisor is alive never goes.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use super::process;
use crate::env;
use crate::store::{Store, StoredRun};

const KEEP_RUNS: u64 = 50;
const KEEP_BYTES: u64 = 4 << 30;
/// A folder without facts may belong to a run that is just starting.
const YOUNG: Duration = Duration::from_mins(1);

/// What is kept.
#[derive(Clone, Copy, Debug)]
pub struct Quota {
    runs: u64,
    bytes: u64,
}

impl Quota {
    /// From the environment, or the defaults.
    pub fn from_env() -> Self {
        Self {
            runs: env::number(env::KEEP_RUNS).unwrap_or(KEEP_RUNS),
            bytes: env::number(env::KEEP_BYTES).unwrap_or(KEEP_BYTES),
        }
    }
}

/// Removes what exceeds the quota, oldest first. The run that has just begun counts, and stays.
pub fn prune(store: &Store, quota: Quota) {
    let Ok(runs) = store.runs() else { return };
    let (mut number, mut bytes) = (0, 0);
    for run in runs {
        let size = disk_bytes(&run.directory);
        if (number < quota.runs && bytes + size <= quota.bytes) || is_in_use(&run) {
            number += 1;
            bytes += size;
        } else {
            // Another supervisor may be removing the same one.
            let _ = std::fs::remove_dir_all(&run.directory);
        }
    }
}

/// What a folder really takes: black boxes have holes.
fn disk_bytes(directory: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(directory) else {
        return 0;
    };
    entries
        .filter_map(|entry| entry.ok()?.metadata().ok())
        .map(|meta| meta.blocks() * 512)
        .sum()
}

fn is_in_use(run: &StoredRun) -> bool {
    match run.facts() {
        Ok(facts) => process::is_alive(facts.supervisor),
        Err(_) => run
            .directory
            .metadata()
            .and_then(|meta| meta.modified())
            .is_ok_and(|time| time.elapsed().is_ok_and(|age| age < YOUNG)),
    }
}
