//! Ctrl-C: the first one ends the work so that what is done can be opened, the second one ends at
//! once.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// The end by Ctrl-C, as shells say it.
pub(crate) const INTERRUPTED: u8 = 130;

/// Set by a signal.
#[derive(Clone, Debug)]
pub(crate) struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Listens from here on.
    pub(crate) fn on_signals() -> io::Result<Self> {
        let wanted = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            // The order counts: the second signal must find what the first one left.
            flag::register_conditional_shutdown(signal, INTERRUPTED.into(), Arc::clone(&wanted))?;
            flag::register(signal, Arc::clone(&wanted))?;
        }
        Ok(Self(wanted))
    }

    pub(crate) fn is_wanted(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0)
    }
}
