//! Whether the process that started Outlive is still there.
//!
//! A signal at the parent's death would not do: the kernel sends it when the *thread* ends that
//! started us, and a notebook server starts kernels from threads that come and go.

use rustix::process::{Pid, Signal, getppid};

use super::clock::{MILLISECOND, SECOND};

/// How often to look.
pub(super) const LOOK_EVERY: u64 = 500 * MILLISECOND;
/// How long the program has to end by itself.
const PATIENCE: u64 = 5 * SECOND;

/// The parent there was in the beginning.
#[derive(Debug)]
pub(super) struct ParentWatch {
    parent: Option<Pid>,
    gone_at: Option<u64>,
    is_done: bool,
}

impl ParentWatch {
    /// Remembers who it is.
    pub(super) fn begin() -> Self {
        Self {
            parent: getppid(),
            gone_at: None,
            is_done: false,
        }
    }

    /// What the program is to be sent now, if anything.
    pub(super) fn look(&mut self, now: u64) -> Option<Signal> {
        self.answer(getppid() == self.parent, now)
    }

    fn answer(&mut self, is_there: bool, now: u64) -> Option<Signal> {
        match self.gone_at {
            None if is_there => None,
            None => {
                self.gone_at = Some(now);
                Some(Signal::TERM)
            }
            Some(gone_at) if !self.is_done && now.saturating_sub(gone_at) >= PATIENCE => {
                self.is_done = true;
                Some(Signal::KILL)
            }
            Some(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_orphan_is_asked_to_end_and_then_made_to() {
        let mut watch = ParentWatch::begin();
        assert_eq!(watch.answer(true, 0), None);
        assert_eq!(watch.answer(false, SECOND), Some(Signal::TERM));
        assert_eq!(watch.answer(false, 2 * SECOND), None);
        assert_eq!(watch.answer(false, 6 * SECOND), Some(Signal::KILL));
        assert_eq!(watch.answer(false, 7 * SECOND), None);
    }
}
