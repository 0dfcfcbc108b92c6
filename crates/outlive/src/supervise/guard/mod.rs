//! The supervisor's part of the guard: makes the ledger before the program starts and keeps it
//! true while it runs. Refusals and stops themselves happen in the processes, in the hook.

mod gauge;
mod ledger_file;
mod measure;
mod room;
mod slots;

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use outlive_diagnose::facts::{BudgetFacts, MachineFacts};
use outlive_record::ledger::{self, FILE_NAME, Ledger, MAX_FOLDER};

use super::cgroup::Chain;
use super::cgroup_mounts::Level;
use super::clock::SECOND;
use super::machine::Machine;
use super::watched::Watched;
use crate::limit::Limit;
use gauge::{Care, Gauge};
use room::{is_below, usable};
use slots::LastLooks;

/// Headroom below one part in so many of the budget is short: looks come quickly.
const SHORT: u64 = 8;
/// Below one part in so many, the watchdogs of all processes are woken.
const ALARM: u64 = 32;
/// What was published stands while it is not wrong by more than one part in so many.
const TOLERANCE: u64 = 256;
/// But not for longer than this.
const LONGEST: u64 = SECOND;

/// What the user asked for.
#[derive(Clone, Copy, Debug)]
pub struct Wish {
    /// `--limit`.
    pub limit: Limit,
    /// `--allow-sparse`.
    pub allow_sparse: bool,
}

impl Wish {
    /// Why the limit makes no sense on this machine, if it does not.
    pub fn objection(&self) -> Option<String> {
        let Limit::Percent(_) = self.limit else {
            return None;
        };
        let total = Machine::open().first_look().total;
        let levels = Chain::of_self().levels("self");
        let limits: Vec<Option<u64>> = levels.iter().map(Level::limit).collect();
        self.limit.objection(measure::smallest(&limits, total))
    }
}

/// The ledger of a run, and what is read to keep it.
#[derive(Debug)]
pub struct Guard {
    ledger: Ledger,
    path: PathBuf,
    wish: Wish,
    levels: Vec<Level>,
    gauges: Vec<Gauge>,
    limits: Vec<Option<u64>>,
    last_looks: LastLooks,
    /// When the supervisor last published a measurement of its own.
    published_at: u64,
    facts: BudgetFacts,
}

/// The ledger as it was before anything else was read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Before {
    granted: i64,
    untouched: u64,
}

impl Guard {
    /// Makes the ledger in a run's folder.
    pub fn make(directory: &Path, wish: Wish) -> io::Result<Self> {
        let path = directory.join(FILE_NAME);
        let ledger = ledger_file::make(&path, None, wish.allow_sparse).inspect_err(|_| {
            // Half a ledger would be taken for one.
            let _ = std::fs::remove_file(&path);
        })?;
        Ok(Self {
            ledger,
            path,
            wish,
            levels: Vec::new(),
            gauges: Vec::new(),
            limits: Vec::new(),
            last_looks: LastLooks::default(),
            published_at: 0,
            facts: BudgetFacts {
                asked: wish.limit.to_string(),
                allow_sparse: wish.allow_sparse,
                headroom_lowest: i64::MAX,
                ..BudgetFacts::default()
            },
        })
    }

    /// Writes the cgroups of a process down, where they are others than before.
    pub(super) fn follow(&mut self, chain: &Chain, process: &str) {
        let mut levels = chain.levels(process);
        levels.retain(|level| level.folder.as_os_str().len() <= MAX_FOLDER);
        levels.truncate(ledger::CHAIN as usize);
        if levels == self.levels {
            return;
        }
        let opened = levels
            .iter()
            .filter_map(|level| Some((Gauge::open(level)?, ledger_level(level))));
        let (gauges, chain): (Vec<Gauge>, Vec<ledger::Level<'_>>) = opened.unzip();
        self.ledger.set_chain(chain);
        self.gauges = gauges;
        self.levels = levels;
        self.ledger.distrust();
    }

    /// Whether it matters how much processes share: a limit that counts the tree's own use,
    /// process by process, would be near if they shared nothing.
    pub(super) fn asks_for_shares(&self) -> bool {
        let counts_use = self.ledger.limit().is_some() || self.block_limit().is_some();
        let mut unshared = self.ledger.measured();
        let shared = self.ledger.shared() as i64;
        unshared.headroom = unshared.headroom.saturating_sub(shared);
        counts_use && is_below(&unshared, SHORT)
    }

    /// To be called before what [`Self::tend`] is handed is read: whatever is granted or touched
    /// in between then counts twice rather than not at all.
    pub(super) fn before(&self) -> Before {
        Before {
            granted: self.ledger.granted(),
            untouched: self.ledger.untouched(),
        }
    }

    /// Keeps the ledger true. Gives whether headroom is short.
    pub(super) fn tend(
        &mut self,
        before: Before,
        alive: &[Watched],
        machine: &MachineFacts,
        now: u64,
    ) -> bool {
        slots::vacate_ended(&self.ledger, alive);
        let untouched = self.last_looks.untouched(&self.ledger, alive);
        slots::correct(&self.ledger, alive, now);
        let (foreign, shared) = slots::outside(&self.ledger, alive);
        self.ledger.set_outside(foreign, shared);
        let last = self.ledger.measured();
        let published_before = self.published_at;
        let care = if is_below(&last, SHORT) {
            Care::Close
        } else {
            Care::Usual
        };
        let limits_changed = self.read_limits(machine);
        let room = self.room(care, machine);
        let measured = room.measured(before.untouched, now);
        let is_old = now.saturating_sub(last.time) > LONGEST;
        let tolerance = (measured.budget / TOLERANCE) as i64;
        let is_wrong = usable(&measured) < self.ledger.left().saturating_sub(tolerance);
        if limits_changed || is_old || is_wrong {
            self.ledger
                .publish(before.granted, usable(&measured), &measured);
            self.published_at = now;
        }
        // What is published errs on the safe side; what is told and acted on here does not.
        let likely = room.measured(untouched.min(before.untouched), now);
        if is_below(&likely, ALARM) {
            slots::ring(&self.ledger);
        }
        let is_hooks = last.time > 0 && last.time != published_before;
        self.note(&likely, room.limit, is_hooks.then_some(last.headroom));
        is_below(&likely, SHORT)
    }

    /// What is known of the budget by now.
    pub(super) fn facts(&mut self) -> BudgetFacts {
        (self.facts.refusals, self.facts.stops) = self.ledger.interventions();
        self.facts.clone()
    }

    /// The run is over: the ledger goes, the facts stay.
    pub(super) fn finish(mut self) -> BudgetFacts {
        // A folder that cannot be written to keeps it; it is of no use to anybody.
        let _ = std::fs::remove_file(&self.path);
        self.facts()
    }
}

fn ledger_level(level: &Level) -> ledger::Level<'_> {
    ledger::Level {
        version: level.version.number(),
        folder: level.folder.as_os_str().as_bytes(),
    }
}

#[cfg(test)]
mod tests;
