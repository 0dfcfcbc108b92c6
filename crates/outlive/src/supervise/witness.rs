//! The witness: a second process in the supervisor's process group that tells a signal sent to
//! the supervisor alone from one sent to everybody.
//!
//! A signal that only the supervisor got must be passed on to the program; one that went to the
//! whole group, or to every process of the job, has already reached it. The kernel does not say
//! which it was. So the witness sits beside the supervisor with every signal blocked: a signal
//! sent to everybody stays pending there, and the supervisor reads that in `/proc/PID/status`,
//! without the witness having to run at all.

use std::io::{self, Read, Write};
use std::process::{ChildStdin, Command, ExitCode, Stdio};

use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};

use super::kept_file::KeptFile;
use super::process::status_word;
use super::spawn;
use crate::env;

/// The hidden argument that makes `outlive` a witness.
pub const ARGUMENT: &str = "__witness";

/// The supervisor's side.
#[derive(Debug)]
pub(super) struct Witness {
    pid: u32,
    is_waited_for: bool,
    orders: ChildStdin,
    status: KeptFile,
}

impl Witness {
    /// Starts a witness. It holds none of the program's files open.
    pub(super) fn start() -> io::Result<Self> {
        let mut command = Command::new("/proc/self/exe");
        command
            .arg(ARGUMENT)
            .env_remove(env::PRELOAD)
            .env_remove(env::RUN_DIR)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut child = spawn::blocked(&mut command)?;
        let pid = child.id();
        let orders = child.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let status = KeptFile::open(format!("/proc/{pid}/status"))?;
        Ok(Self {
            pid,
            is_waited_for: false,
            orders,
            status,
        })
    }

    /// Its process id, which is not one of the program's.
    pub(super) const fn pid(&self) -> u32 {
        self.pid
    }

    /// Whether this signal was sent to the witness too. One that is seen is forgotten.
    pub(super) fn saw(&mut self, signal: i32) -> bool {
        let seen = self.is_pending(signal).unwrap_or(false);
        if seen {
            let _ = self.orders.write_all(&[signal as u8]);
        }
        seen
    }

    /// It has ended and was waited for: its process id may belong to somebody else by now.
    pub(super) fn forget(mut self) {
        self.is_waited_for = true;
    }

    fn is_pending(&mut self, signal: i32) -> Option<bool> {
        let text = self.status.read_text()?;
        let pending = u64::from_str_radix(status_word(text, "ShdPnd:")?, 16).ok()?;
        Some(pending >> (signal - 1) & 1 == 1)
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        if let Some(pid) = Pid::from_raw(self.pid as i32).filter(|_| !self.is_waited_for) {
            let _ = kill_process(pid, Signal::KILL);
            let _ = waitpid(Some(pid), WaitOptions::empty());
        }
    }
}

/// The witness's side: forgets the signals it is told to forget, and ends when the supervisor
/// does, since then the other end of its standard input closes.
pub fn main() -> ExitCode {
    let mut input = io::stdin().lock();
    let mut order = [0];
    while matches!(input.read(&mut order), Ok(1)) {
        spawn::discard_pending(i32::from(order[0]));
    }
    ExitCode::SUCCESS
}
