//! How much room is left: what every limit says in, the tightest one out. The hook measures by the
//! same rules.

use outlive_record::ledger::{Measurement, Source, reserve_of};

/// What one limit says, bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Room {
    pub(super) source: Source,
    /// Where the kernel would kill, or the user would have it end.
    pub(super) limit: u64,
    /// What may be used in all.
    pub(super) budget: u64,
    /// What of it is left; negative when more is used.
    pub(super) left: i64,
}

impl Room {
    /// Under a limit, of which a reserve is kept back.
    pub(super) const fn under(limit: u64, used: u64, source: Source) -> Self {
        let budget = limit.saturating_sub(reserve_of(limit));
        Self {
            source,
            limit,
            budget,
            left: (budget as i64).saturating_sub(used as i64),
        }
    }

    /// Under the limit of a block of the program, which asked for exactly that.
    pub(super) const fn in_block(limit: u64, used: u64) -> Self {
        Self {
            source: Source::Block,
            limit,
            budget: limit,
            left: (limit as i64).saturating_sub(used as i64),
        }
    }

    /// On the machine: `available` is what it has left for anybody, `used` the tree's own.
    pub(super) fn on_machine(total: u64, available: u64, used: u64) -> Self {
        let left = (available as i64).saturating_sub(reserve_of(total) as i64);
        Self {
            source: Source::Machine,
            limit: total,
            budget: (used as i64).saturating_add(left).max(0) as u64,
            left,
        }
    }

    /// With what can be had in swap.
    pub(super) const fn and_swap(mut self, bytes: u64) -> Self {
        self.left = self.left.saturating_add(bytes as i64);
        self
    }

    /// Less what is kept back; a block of the program gets exactly what it asked for.
    pub(super) fn without(mut self, kept: u64) -> Self {
        if self.source != Source::Block {
            self.budget = self.budget.saturating_sub(kept);
            self.left = self.left.saturating_sub(kept as i64);
        }
        self
    }

    /// A measurement of it, with `untouched` bytes that were granted and are not in use yet.
    pub(super) const fn measured(&self, untouched: u64, time: u64) -> Measurement {
        Measurement {
            headroom: self.left.saturating_sub(untouched as i64),
            budget: self.budget,
            source: self.source,
            time,
        }
    }
}

/// The one with the least left; where nothing can be read, nothing is known to be short.
pub(super) fn tightest(rooms: impl IntoIterator<Item = Room>) -> Room {
    let nothing_known = Room {
        source: Source::Unknown,
        limit: 0,
        budget: u64::MAX / 4,
        left: i64::MAX / 4,
    };
    let tightest = rooms.into_iter().min_by_key(|room| room.left);
    tightest.unwrap_or(nothing_known)
}

/// What may be granted before the next measurement: half of it, so that whoever asks comes by to
/// measure in time.
pub(super) const fn usable(measurement: &Measurement) -> i64 {
    if measurement.headroom > 0 {
        measurement.headroom / 2
    } else {
        measurement.headroom
    }
}

/// Whether the headroom is less than one part in `parts` of the budget.
pub(super) const fn is_below(measurement: &Measurement, parts: u64) -> bool {
    measurement.headroom < (measurement.budget / parts) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    #[test]
    fn what_is_kept_back_is_neither_budget_nor_left() {
        let before = Room::under(GIB, GIB / 2, Source::Limit);
        let room = before.without(GIB / 4);
        assert_eq!(room.budget, before.budget - GIB / 4);
        assert_eq!(room.left, before.left - (GIB / 4) as i64);
        let block = Room::in_block(GIB, GIB / 2);
        assert_eq!(block.without(GIB / 4), block);
    }

    #[test]
    fn the_limit_with_the_least_room_decides() {
        let room = tightest([
            Room::under(4 * GIB, GIB, Source::Cgroup(0)),
            Room::under(8 * GIB, 7 * GIB, Source::Cgroup(1)),
            Room::on_machine(64 * GIB, 20 * GIB, GIB),
        ]);
        let measured = room.measured(100, 7);
        assert_eq!(measured.source, Source::Cgroup(1));
        assert_eq!(room.limit, 8 * GIB);
        assert_eq!(measured.budget, 8 * GIB - reserve_of(8 * GIB));
        let headroom = GIB - reserve_of(8 * GIB) - 100;
        assert_eq!(
            (measured.headroom, measured.time),
            (headroom.cast_signed(), 7)
        );
    }

    #[test]
    fn on_a_machine_the_budget_is_what_others_leave() {
        let room = Room::on_machine(64 * GIB, 20 * GIB, 3 * GIB);
        assert_eq!(room.budget, 23 * GIB - reserve_of(64 * GIB));
        assert_eq!(room.left, (20 * GIB - reserve_of(64 * GIB)).cast_signed());
    }

    #[test]
    fn over_the_budget_the_headroom_is_negative_and_swap_adds_to_it() {
        let full = Room::under(GIB, 2 * GIB, Source::Limit);
        assert!(full.measured(0, 1).headroom < -(GIB.cast_signed()));
        assert!(full.and_swap(2 * GIB).measured(0, 1).headroom > 0);
        assert_eq!(
            Room::in_block(GIB, 2 * GIB).measured(0, 1).headroom,
            -(GIB.cast_signed())
        );
    }

    #[test]
    fn without_any_limit_there_is_room() {
        let measured = tightest([]).measured(0, 1);
        assert_eq!(measured.source, Source::Unknown);
        assert!(usable(&measured) > (1 << 59));
        assert!(!is_below(&measured, 32));
    }

    #[test]
    fn half_of_what_is_left_is_usable() {
        let measured = |headroom| Measurement {
            headroom,
            budget: 800,
            ..Measurement::default()
        };
        assert_eq!(usable(&measured(400)), 200);
        assert_eq!(usable(&measured(-5)), -5);
        assert!(is_below(&measured(24), 32));
        assert!(!is_below(&measured(25), 32));
    }
}
