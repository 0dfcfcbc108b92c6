//! Counts how often what was shown became better. The page asks for its tiles again whenever the
//! number grows, so it grows at a pace, and not with every cell.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Time between two generations.
const PACE: Duration = Duration::from_secs(2);

/// The number.
#[derive(Debug)]
pub(super) struct Generation(Mutex<State>);

#[derive(Debug)]
struct State {
    number: u64,
    is_outdated: bool,
    since: Instant,
}

impl Generation {
    pub(super) fn new(now: Instant) -> Self {
        Self(Mutex::new(State {
            number: 0,
            is_outdated: false,
            since: now,
        }))
    }

    /// Something became better.
    pub(super) fn improve(&self) {
        self.lock().is_outdated = true;
    }

    /// The number as of now.
    pub(super) fn number(&self, now: Instant) -> u64 {
        let mut state = self.lock();
        if state.is_outdated && now.duration_since(state.since) >= PACE {
            state.number += 1;
            state.is_outdated = false;
            state.since = now;
        }
        state.number
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_grows_when_something_changed_and_at_a_pace() {
        let start = Instant::now();
        let generation = Generation::new(start);
        assert_eq!(generation.number(start + PACE * 5), 0);
        generation.improve();
        assert_eq!(generation.number(start + PACE / 2), 0);
        assert_eq!(generation.number(start + PACE), 1);
        assert_eq!(generation.number(start + PACE * 9), 1);
        (0..3).for_each(|_| generation.improve());
        assert_eq!(generation.number(start + PACE + PACE / 2), 1);
        assert_eq!(generation.number(start + PACE * 2), 2);
    }
}
