//! Signals sent to the supervisor, passed on to the program exactly once.
//!
//! A signal that was ignored at the start (`nohup`) is left ignored: the program ignores it too.
//!
//! SIGTSTP, SIGTTIN and SIGTTOU keep their default action: job control sends them to the whole
//! group, and the kernel then stops and continues supervisor and program alike.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::process::Command;

use rustix::process::{Signal, pidfd_send_signal};
use signal_hook::iterator::backend::SignalDelivery;
use signal_hook::iterator::exfiltrator::SignalOnly;

use super::clock::{self, MILLISECOND};
use super::kept_file::text_of;
use super::process::status_word;
use super::spawn;
use super::witness::Witness;

/// What is passed on.
const PASSED_ON: [Signal; 7] = [
    Signal::INT,
    Signal::TERM,
    Signal::HUP,
    Signal::QUIT,
    Signal::USR1,
    Signal::USR2,
    Signal::CONT,
];
/// A sender that goes through the processes of a job one by one is through within this time.
const PATIENCE: u64 = 20 * MILLISECOND;
/// How often the witness is asked meanwhile.
const QUESTION_EVERY: u64 = 2 * MILLISECOND;

/// Receives signals and decides who still has to get them.
#[derive(Debug)]
pub(super) struct Relay {
    delivery: SignalDelivery<UnixStream, SignalOnly>,
    witness: Option<Witness>,
    undecided: Vec<Undecided>,
    caught: Vec<i32>,
    ignored: u64,
    /// The signal that ended a witness before it could block it.
    witness_died_of: Option<i32>,
}

/// A signal of which it is not yet known whether the program got it too.
#[derive(Clone, Copy, Debug)]
struct Undecided {
    signal: Signal,
    received_at: u64,
    /// It came while the program was being started, and may have been lost in that moment.
    is_for_program: bool,
}

/// A signal whose case is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Decision {
    pub(super) signal: i32,
    pub(super) received_at: u64,
    pub(super) passed_on: bool,
}

impl Relay {
    /// Installs the handlers; from here on the supervisor no longer dies of these signals.
    pub(super) fn install(witness: Option<Witness>) -> io::Result<Self> {
        let (read, write) = UnixStream::pair()?;
        let ignored = ignored_signals();
        let caught: Vec<i32> = PASSED_ON
            .iter()
            .map(|signal| signal.as_raw())
            .filter(|signal| ignored >> (signal - 1) & 1 == 0)
            .chain([Signal::CHILD.as_raw()])
            .collect();
        let delivery = SignalDelivery::with_pipe(read, write, SignalOnly, &caught)?;
        Ok(Self {
            delivery,
            witness,
            undecided: Vec::new(),
            caught,
            ignored,
            witness_died_of: None,
        })
    }

    /// Starts the program, with the dispositions this process was started with.
    pub(super) fn start(&mut self, command: &mut Command) -> io::Result<u32> {
        let program = spawn::program(command, self.caught.clone(), self.ignored)?.id();
        self.receive(clock::monotonic());
        for case in &mut self.undecided {
            case.is_for_program = true;
        }
        Ok(program)
    }

    /// The witness's process id.
    pub(super) fn witness(&self) -> Option<u32> {
        self.witness.as_ref().map(Witness::pid)
    }

    /// The witness ended and was waited for: a signal to everybody came before it was ready.
    pub(super) fn witness_ended(&mut self, signal: Option<i32>) {
        if let Some(witness) = self.witness.take() {
            witness.forget();
        }
        self.witness_died_of = signal;
        self.witness = Witness::start().ok();
    }

    /// Becomes readable when a signal came.
    pub(super) fn as_fd(&self) -> BorrowedFd<'_> {
        self.delivery.get_read().as_fd()
    }

    /// When the next question to the witness is due.
    pub(super) fn due_at(&self, now: u64) -> Option<u64> {
        (!self.undecided.is_empty()).then_some(now + QUESTION_EVERY)
    }

    /// Takes what came since the last call. True when a child has ended.
    pub(super) fn receive(&mut self, now: u64) -> bool {
        let mut has_child_ended = false;
        for number in self.delivery.pending() {
            has_child_ended |= number == Signal::CHILD.as_raw();
            let known = self
                .undecided
                .iter()
                .any(|other| other.signal.as_raw() == number);
            if let Some(signal) = PASSED_ON.into_iter().find(|one| one.as_raw() == number)
                && !known
            {
                self.undecided.push(Undecided {
                    signal,
                    received_at: now,
                    is_for_program: false,
                });
            }
        }
        has_child_ended
    }

    /// Passes on what the program did not get by itself; gives back every case that is closed.
    pub(super) fn decide(&mut self, now: u64, program: BorrowedFd<'_>) -> Vec<Decision> {
        let mut decisions = Vec::new();
        let witness = &mut self.witness;
        let died_of = self.witness_died_of.take();
        self.undecided.retain(|case| {
            let number = case.signal.as_raw();
            let seen = died_of == Some(number)
                || witness.as_mut().is_some_and(|witness| witness.saw(number));
            if !seen && !case.is_for_program && now < case.received_at + PATIENCE {
                return true;
            }
            // Without a witness, what a terminal sends is taken for sent to everybody.
            let everybody =
                seen || witness.is_none() && matches!(case.signal, Signal::INT | Signal::QUIT);
            let is_to_pass = case.is_for_program || !everybody;
            let passed_on = is_to_pass && pidfd_send_signal(program, case.signal).is_ok();
            decisions.push(Decision {
                signal: number,
                received_at: case.received_at,
                passed_on,
            });
            false
        });
        decisions
    }
}

/// Signals that this process was told to ignore, one bit each.
fn ignored_signals() -> u64 {
    let status = text_of("/proc/self/status").unwrap_or_default();
    status_word(&status, "SigIgn:")
        .and_then(|mask| u64::from_str_radix(mask, 16).ok())
        .unwrap_or(0)
}
