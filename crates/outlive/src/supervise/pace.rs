//! How often to look: quickly while memory moves, rarely while it does not, and never so often
//! that looking costs more than its share.

use super::clock::{MILLISECOND, SECOND};

const MOVES_FAST: u64 = 64 << 20;
const STANDS_STILL: u64 = 1 << 20;
/// A large program breathes: less than this part of its memory is no movement either.
const BREATH: u64 = 64;
const FAST: u64 = 20 * MILLISECOND;
const USUAL: u64 = 100 * MILLISECOND;
const SLOW: u64 = 250 * MILLISECOND;
const LONG_STILL: u64 = 5 * SECOND;
/// However costly a look is, it is not put off for longer.
const LONGEST_PAUSE: u64 = 60 * SECOND;

/// The time between two samples.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    interval: u64,
    moved_at: u64,
}

impl Pace {
    pub(super) const fn starting_at(now: u64) -> Self {
        Self {
            interval: FAST,
            moved_at: now,
        }
    }

    /// When to sample next, after memory changed by `moved` bytes to `resident` since the last.
    pub(super) const fn next(&mut self, now: u64, moved: u64, resident: u64) -> u64 {
        if moved > STANDS_STILL && moved > resident / BREATH {
            self.moved_at = now;
        }
        let most = if now - self.moved_at > LONG_STILL {
            SLOW
        } else {
            USUAL
        };
        self.interval = if moved > MOVES_FAST {
            FAST
        } else if self.interval + FAST > most {
            most
        } else {
            self.interval + FAST
        };
        now + self.interval
    }

    /// When to sample next while the headroom is short: quickly, unless nothing has moved for long.
    pub(super) const fn while_short(&self, now: u64) -> u64 {
        if now - self.moved_at > LONG_STILL {
            now + USUAL
        } else {
            now + FAST
        }
    }
}

/// Keeps a costly look within its share of the time: after one that took `t`, the next comes no
/// sooner than `t` times a factor.
#[derive(Clone, Copy, Debug)]
pub(super) struct Allowance {
    factor: u64,
    least: u64,
    last_at: u64,
    next_at: u64,
}

impl Allowance {
    /// One part in `factor` of the time, and at least `least` nanoseconds between two looks.
    pub(super) const fn new(factor: u64, least: u64) -> Self {
        Self {
            factor,
            least,
            last_at: 0,
            next_at: 0,
        }
    }

    pub(super) const fn is_due(&self, now: u64) -> bool {
        now >= self.next_at
    }

    /// Whether a look that is going to take `cost` may be taken: the first one always, later
    /// ones after as long a pause as if the last one had cost that much.
    pub(super) fn is_due_for(&self, now: u64, cost: u64) -> bool {
        let pause = cost.saturating_mul(self.factor).min(LONGEST_PAUSE);
        self.is_due(now) && (self.next_at == 0 || now - self.last_at >= pause)
    }

    /// A look took from `began` to `ended`.
    pub(super) fn spent(&mut self, began: u64, ended: u64) {
        let cost = ended - began;
        let pause = cost.saturating_mul(self.factor).min(LONGEST_PAUSE);
        let pause = pause.max(self.least);
        self.last_at = ended;
        self.next_at = ended + pause;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_quickly_while_memory_moves_and_rarely_when_it_rests() {
        let mut pace = Pace::starting_at(0);
        let mut now = 0;
        assert_eq!(pace.next(now, 100 << 20, 0), 20 * MILLISECOND);
        for _ in 0..10 {
            now = pace.next(now, 2 << 20, 0);
        }
        assert_eq!(pace.next(now, 2 << 20, 0) - now, 100 * MILLISECOND);
        now += 6 * SECOND;
        for _ in 0..10 {
            now = pace.next(now, 2 << 20, 1 << 30);
        }
        assert_eq!(pace.next(now, 0, 1 << 30) - now, 250 * MILLISECOND);
        assert_eq!(pace.next(now, 65 << 20, 1 << 40) - now, 20 * MILLISECOND);
    }

    #[test]
    fn while_headroom_is_short_it_is_looked_at_quickly() {
        let mut pace = Pace::starting_at(0);
        pace.next(SECOND, 2 << 20, 0);
        assert_eq!(pace.while_short(2 * SECOND), 2 * SECOND + FAST);
        assert_eq!(pace.while_short(9 * SECOND), 9 * SECOND + USUAL);
    }

    #[test]
    fn a_look_known_to_be_costly_waits_for_its_turn() {
        let mut allowance = Allowance::new(1000, 0);
        assert!(allowance.is_due_for(0, SECOND), "the first is taken");
        allowance.spent(0, 1);
        assert!(!allowance.is_due_for(SECOND, 20 * MILLISECOND));
        assert!(allowance.is_due_for(20 * SECOND + 1, 20 * MILLISECOND));
        assert!(
            allowance.is_due_for(LONGEST_PAUSE + 1, SECOND),
            "but none waits for ever"
        );
    }

    #[test]
    fn a_costly_look_is_followed_by_a_long_pause() {
        let mut allowance = Allowance::new(200, 2 * SECOND);
        assert!(allowance.is_due(0));
        allowance.spent(0, 50 * MILLISECOND);
        assert!(!allowance.is_due(10 * SECOND));
        assert!(allowance.is_due(50 * MILLISECOND + 10 * SECOND));
        allowance.spent(20 * SECOND, 20 * SECOND + 1);
        assert!(!allowance.is_due(21 * SECOND));
        assert!(allowance.is_due(22 * SECOND + 1));
    }
}
