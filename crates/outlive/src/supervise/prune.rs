//! Old runs go when there are too many, or when they take too much of the disk: first those that
//! ended well. A run whose supervisor is alive never goes.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use outlive_diagnose::facts::EndStatus;

use super::process;
use crate::env;
use crate::store::{Store, StoredRun};

const KEEP_RUNS: u64 = 50;
const KEEP_BYTES: u64 = 4 << 30;
/// So many runs that ended badly stay as long as there is room, while others come and go.
const KEEP_BAD_ENDS: usize = 20;
/// Interrupted from the keyboard: nobody will ask why.
const SIGINT: i32 = 2;
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

/// Removes what exceeds the quota, oldest first; the newest bad ends go last. The run that has
/// just begun counts, and stays.
pub fn prune(store: &Store, quota: Quota) {
    let Ok(runs) = store.runs() else { return };
    let sizes: Vec<u64> = runs.iter().map(|run| disk_bytes(&run.directory)).collect();
    if runs.len() as u64 <= quota.runs && sizes.iter().sum::<u64>() <= quota.bytes {
        return;
    }
    let mut ranked = Vec::with_capacity(runs.len());
    let mut bad_ends = 0;
    for (run, size) in runs.iter().zip(sizes) {
        let mut worth = worth(run);
        if worth == Worth::BadEnd {
            bad_ends += 1;
            if bad_ends > KEEP_BAD_ENDS {
                worth = Worth::Other;
            }
        }
        ranked.push((worth, run, size));
    }
    // Stable: within a worth the newest stay in front.
    ranked.sort_by_key(|(worth, ..)| *worth);
    let (mut number, mut bytes) = (0, 0);
    for (worth, run, size) in ranked {
        if (number < quota.runs && bytes + size <= quota.bytes) || worth == Worth::InUse {
            number += 1;
            bytes += size;
        } else {
            // Another supervisor may be removing the same one.
            let _ = std::fs::remove_dir_all(&run.directory);
        }
    }
}

/// What speaks for keeping a run, most first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Worth {
    InUse,
    BadEnd,
    Other,
}

fn worth(run: &StoredRun) -> Worth {
    let Ok(facts) = run.facts() else {
        return if is_young(run) {
            Worth::InUse
        } else {
            Worth::Other
        };
    };
    if process::is_alive(facts.supervisor) {
        return Worth::InUse;
    }
    let root = facts.processes.iter().find(|it| it.id == facts.root);
    match root.and_then(|root| root.status) {
        Some(EndStatus::Exited(0) | EndStatus::Signaled(SIGINT)) => Worth::Other,
        _ => Worth::BadEnd,
    }
}

/// What a folder really takes: black boxes have holes.
fn disk_bytes(directory: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(directory) else {
        return 0;
    };
    let size = |entry: std::fs::DirEntry| match entry.metadata() {
        Ok(meta) if meta.is_dir() => disk_bytes(&entry.path()),
        Ok(meta) => meta.blocks() * 512,
        Err(_) => 0,
    };
    entries.filter_map(Result::ok).map(size).sum()
}

fn is_young(run: &StoredRun) -> bool {
    run.directory
        .metadata()
        .and_then(|meta| meta.modified())
        .is_ok_and(|time| time.elapsed().is_ok_and(|age| age < YOUNG))
}
