//! The ledger follows what the files of a cgroup say.

use std::path::Path;

use outlive_diagnose::facts::{Change, MachineFacts};
use outlive_record::ledger::{Measurement, Source, reserve_of};

use super::{Gauge, Guard, Wish};
use crate::limit::Limit;
use crate::supervise::cgroup_files::CgroupVersion;
use crate::supervise::cgroup_mounts::Level;
use crate::supervise::clock::{self, MILLISECOND, SECOND};

const GIB: u64 = 1 << 30;

/// A guard over one cgroup whose files lie in a folder.
struct Stage {
    folder: tempfile::TempDir,
    guard: Guard,
    machine: MachineFacts,
    now: u64,
}

impl Stage {
    fn new(limit: Limit) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs_err::write(folder.path().join("memory.stat"), "").unwrap();
        set(folder.path(), "memory.max", 4 * GIB);
        set(folder.path(), "memory.current", GIB);
        let wish = Wish {
            limit,
            allow_sparse: false,
        };
        let mut guard = Guard::make(folder.path(), wish).unwrap();
        let level = Level::at(folder.path(), CgroupVersion::Two, "/job");
        guard.gauges = vec![Gauge::open(&level).unwrap()];
        let machine = MachineFacts {
            total: 64 * GIB,
            available: Change {
                before: 60 * GIB,
                after: 60 * GIB,
            },
            ..MachineFacts::default()
        };
        Self {
            folder,
            guard,
            machine,
            now: clock::monotonic(),
        }
    }

    fn says(&self, file: &str, bytes: u64) {
        set(self.folder.path(), file, bytes);
    }

    /// After a moment, the ledger.
    fn look(&mut self, later: u64) -> Measurement {
        self.now += later;
        let before = self.guard.before();
        self.guard.tend(before, &[], &self.machine, self.now);
        self.guard.ledger.measured()
    }
}

fn set(folder: &Path, file: &str, bytes: u64) {
    fs_err::write(folder.join(file), format!("{bytes}\n")).unwrap();
}

fn budget(limit: u64) -> u64 {
    limit - reserve_of(limit)
}

#[test]
fn a_limit_that_is_lowered_or_raised_holds_at_the_next_look() {
    let mut stage = Stage::new(Limit::Auto);
    let first = stage.look(0);
    assert_eq!(
        (first.source, first.budget),
        (Source::Cgroup(0), budget(4 * GIB))
    );
    stage.says("memory.max", 2 * GIB);
    let lowered = stage.look(MILLISECOND);
    assert_eq!(lowered.budget, budget(2 * GIB));
    assert_eq!(lowered.headroom, (budget(2 * GIB) - GIB) as i64);
    assert!(!stage.guard.ledger.reserve(GIB));
    stage.says("memory.max", 8 * GIB);
    assert_eq!(stage.look(MILLISECOND).budget, budget(8 * GIB));
    let facts = stage.guard.facts();
    assert_eq!(facts.at_start, budget(4 * GIB));
    assert_eq!(facts.at_end, budget(8 * GIB));
    assert_eq!(facts.source, "memory cgroup /job");
    assert_eq!(facts.headroom_lowest, lowered.headroom);
}

#[test]
fn a_share_follows_the_limit_it_is_a_share_of() {
    let mut stage = Stage::new(Limit::Percent(50));
    stage.look(0);
    assert_eq!(stage.guard.ledger.limit(), Some(2 * GIB));
    stage.says("memory.max", 3 * GIB);
    stage.look(MILLISECOND);
    assert_eq!(stage.guard.ledger.limit(), Some(3 * GIB / 2));
    fs_err::write(stage.folder.path().join("memory.max"), "max\n").unwrap();
    stage.look(MILLISECOND);
    assert_eq!(stage.guard.ledger.limit(), Some(32 * GIB));
}

#[test]
fn a_measurement_stands_until_it_is_wrong_or_old() {
    let mut stage = Stage::new(Limit::Auto);
    let first = stage.look(0);
    stage.says("memory.current", GIB + (1 << 20));
    assert_eq!(
        stage.look(MILLISECOND),
        first,
        "a trifle is not worth a store"
    );
    stage.says("memory.current", 3 * GIB);
    let wrong = stage.look(MILLISECOND);
    assert_eq!(wrong.headroom, (budget(4 * GIB) - 3 * GIB) as i64);
    stage.says("memory.current", GIB);
    assert_eq!(stage.look(MILLISECOND), wrong, "more room is no hurry");
    assert_eq!(stage.look(2 * SECOND).headroom, first.headroom);
}

#[test]
fn memory_that_others_take_from_the_machine_is_not_there() {
    let mut stage = Stage::new(Limit::Auto);
    stage.look(0);
    stage.machine.available.after = GIB;
    let measured = stage.look(MILLISECOND);
    assert_eq!(measured.source, Source::Machine);
    assert_eq!(measured.headroom, (GIB - reserve_of(64 * GIB)) as i64);
    stage.machine.swap_free = 4 * GIB;
    assert_eq!(stage.look(2 * SECOND).source, Source::Machine);
    assert!(stage.look(2 * SECOND).headroom > 4 * GIB as i64);
}

#[test]
fn what_was_granted_and_not_touched_is_not_there_for_others() {
    let mut stage = Stage::new(Limit::Auto);
    let first = stage.look(0);
    let own = std::process::id();
    let slot = stage.guard.ledger.claim(own, 0).unwrap();
    let slot = stage.guard.ledger.slot(slot);
    let untouched = slot.untouched();
    untouched.store(GIB as i64, std::sync::atomic::Ordering::SeqCst);
    let measured = stage.look(2 * SECOND);
    assert_eq!(measured.headroom, first.headroom - GIB as i64);
}

#[test]
fn a_folder_that_is_not_there_gets_no_ledger() {
    let folder = tempfile::tempdir().unwrap();
    let wish = Wish {
        limit: Limit::Auto,
        allow_sparse: false,
    };
    assert!(Guard::make(&folder.path().join("gone"), wish).is_err());
}
