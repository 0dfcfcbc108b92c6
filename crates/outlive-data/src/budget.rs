//! Bytes that several threads may use together. Whoever needs some takes them first, and waits in
//! line until there are enough: first come, first served, so that a large request is not starved
//! by small ones. A request that could never be met is refused at once, instead of waited for.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// A number of bytes to share.
#[derive(Debug)]
pub struct Budget {
    total: u64,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    used: u64,
    peak: u64,
    /// The number the next newcomer draws, and the number that is served now.
    next_ticket: u64,
    served: u64,
}

/// Bytes that were taken; dropping it gives them back.
#[derive(Debug)]
pub struct Grant {
    budget: Arc<Budget>,
    bytes: u64,
}

/// More was asked for than the whole budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Needs {needed} bytes, the budget is {total}")]
pub struct OverBudget {
    /// What was asked for.
    pub needed: u64,
    /// All there is.
    pub total: u64,
}

impl Budget {
    /// A budget of `total` bytes.
    pub fn new(total: u64) -> Arc<Self> {
        Arc::new(Self {
            total,
            state: Mutex::default(),
            changed: Condvar::new(),
        })
    }

    /// All there is.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The most that was taken at one time.
    pub fn peak(&self) -> u64 {
        self.lock().peak
    }

    /// Waits for its turn and for `bytes` to be free, and takes them.
    pub fn take(self: &Arc<Self>, bytes: u64) -> Result<Grant, OverBudget> {
        if bytes > self.total {
            return Err(OverBudget {
                needed: bytes,
                total: self.total,
            });
        }
        let mut state = self.lock();
        let ticket = state.next_ticket;
        state.next_ticket += 1;
        while state.served != ticket || state.used + bytes > self.total {
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        state.served += 1;
        state.used += bytes;
        state.peak = state.peak.max(state.used);
        drop(state);
        // The next in line may fit too.
        self.changed.notify_all();
        Ok(Grant {
            budget: Arc::clone(self),
            bytes,
        })
    }

    /// A thread that panicked leaves the counts as they were between two statements that cannot
    /// panic, so they are whole.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Grant {
    /// How many bytes it stands for.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Drop for Grant {
    fn drop(&mut self) {
        self.budget.lock().used -= self.bytes;
        self.budget.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::sync::mpsc;
    use std::thread;

    use super::*;

    #[test]
    fn what_could_never_fit_is_refused_at_once() {
        let budget = Budget::new(100);
        let _all = budget.take(100).unwrap();
        let refused = budget.take(101).unwrap_err();
        assert_eq!((refused.needed, refused.total), (101, 100));
    }

    #[test]
    fn a_large_request_is_served_before_the_small_ones_behind_it() {
        let budget = Budget::new(100);
        let held = budget.take(60).unwrap();
        let (done, order) = mpsc::channel();
        let spawn = |bytes: u64| {
            let (budget, done) = (Arc::clone(&budget), done.clone());
            thread::spawn(move || {
                let grant = budget.take(bytes).unwrap();
                done.send(bytes).unwrap();
                drop(grant);
            })
        };
        let large = spawn(90);
        while budget.lock().next_ticket < 2 {
            thread::yield_now();
        }
        let small = spawn(20);
        while budget.lock().next_ticket < 3 {
            thread::yield_now();
        }
        drop(held);
        assert_eq!([order.recv().unwrap(), order.recv().unwrap()], [90, 20]);
        large.join().unwrap();
        small.join().unwrap();
    }

    #[test]
    fn many_threads_never_use_more_than_there_is() {
        let budget = Budget::new(1000);
        let inside = AtomicU64::new(0);
        thread::scope(|scope| {
            for seed in 0..8_u64 {
                let (budget, inside) = (&budget, &inside);
                scope.spawn(move || {
                    for round in 0..500 {
                        let bytes = (seed * 131 + round * 17) % 700 + 1;
                        let grant = budget.take(bytes).unwrap();
                        let now = inside.fetch_add(bytes, Ordering::SeqCst) + bytes;
                        assert!(now <= 1000, "{now}");
                        inside.fetch_sub(bytes, Ordering::SeqCst);
                        drop(grant);
                    }
                });
            }
        });
        assert!(budget.peak() <= 1000 && budget.lock().used == 0);
    }
}
