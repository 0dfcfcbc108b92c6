//! What the guard reads, and what it writes down about it.

use outlive_diagnose::facts::{BudgetFacts, MachineFacts};
use outlive_record::ledger::{Measurement, Source};

use super::Guard;
use super::gauge::{Care, Gauge};
use super::room::{Room, tightest};

impl Guard {
    /// Reads every limit of the chain again and with them what `80%` means; `true` where one is
    /// another than before.
    pub(super) fn read_limits(&mut self, machine: &MachineFacts) -> bool {
        let limits: Vec<Option<u64>> = self.gauges.iter_mut().map(Gauge::look_at_limit).collect();
        let whole = smallest(&limits, machine.total);
        self.ledger.set_limit(self.wish.limit.bytes(whole));
        let is_changed = limits != self.limits;
        self.limits = limits;
        is_changed
    }

    /// The limit with the least room.
    pub(super) fn room(&mut self, care: Care, machine: &MachineFacts) -> Room {
        let own = self.ledger.resident();
        let swap_free = machine.swap_free;
        let levels = (0..).zip(&mut self.gauges);
        let cgroups: Vec<Room> = levels
            .filter_map(|(number, gauge)| {
                let reading = gauge.read(care, swap_free)?;
                let source = Source::Cgroup(number);
                let room = Room::under(reading.limit, reading.usage, source);
                Some(room.and_swap(reading.swap))
            })
            .collect();
        let available = machine.available.after.saturating_add(swap_free);
        let on_machine = Room::on_machine(machine.total, available, own);
        let asked = self.ledger.limit();
        let asked = asked.map(|limit| Room::under(limit, own, Source::Limit));
        let block = self.block_limit();
        let rooms = cgroups
            .into_iter()
            .chain((machine.total > 0).then_some(on_machine))
            .chain(asked)
            .chain(block.map(|limit| Room::in_block(limit, own)));
        tightest(rooms).without(self.ledger.kept_back())
    }

    /// The tightest of the limits that blocks of the program have set.
    pub(super) fn block_limit(&self) -> Option<u64> {
        let slots = self.ledger.slots().filter(|slot| slot.pid() != 0);
        slots.filter_map(|slot| slot.block_limit()).min()
    }

    /// Takes a measurement into the facts; `seen` is the headroom that somebody else measured.
    pub(super) fn note(&mut self, measured: &Measurement, limit: u64, seen: Option<i64>) {
        let source = self.describe(measured.source);
        let (refusals, stops) = self.ledger.interventions();
        let facts = &mut self.facts;
        if facts.at_start == 0 {
            facts.at_start = measured.budget;
        }
        let lowest = seen.map_or(measured.headroom, |seen| seen.min(measured.headroom));
        *facts = BudgetFacts {
            asked: std::mem::take(&mut facts.asked),
            limit: self.ledger.limit(),
            at_end: measured.budget,
            source,
            source_limit: limit,
            headroom: measured.headroom,
            headroom_lowest: facts.headroom_lowest.min(lowest),
            refusals,
            stops,
            ..*facts
        };
    }

    /// `memory cgroup /a/b`.
    fn describe(&self, source: Source) -> String {
        match source {
            Source::Cgroup(number) => self
                .gauges
                .get(number as usize)
                .map_or("memory cgroup", |gauge| &gauge.source),
            Source::Machine => "MemAvailable",
            Source::Limit => "--limit",
            Source::Block => "outlive.guard",
            Source::AddressSpace => "RLIMIT_AS",
            Source::Data => "RLIMIT_DATA",
            Source::Unknown => "unknown",
        }
        .to_owned()
    }
}

/// The smallest limit there is, of these cgroups and the machine.
pub(super) fn smallest(limits: &[Option<u64>], total: u64) -> u64 {
    let limits = limits.iter().copied().flatten();
    limits
        .chain((total > 0).then_some(total))
        .min()
        .unwrap_or(0)
}
