//! Signals by name, end statuses in words, and which of them a process brings on itself.

use crate::facts::EndStatus;

/// Hang up.
pub const HUP: i32 = 1;
/// Interrupt.
pub const INT: i32 = 2;
/// Illegal instruction.
pub const ILL: i32 = 4;
/// Abort.
pub const ABRT: i32 = 6;
/// Bus error.
pub const BUS: i32 = 7;
/// Arithmetic error.
pub const FPE: i32 = 8;
/// Kill.
pub const KILL: i32 = 9;
/// Segmentation fault.
pub const SEGV: i32 = 11;
/// Terminate.
pub const TERM: i32 = 15;
/// Soft limit of processor time.
pub const XCPU: i32 = 24;
/// Limit of file size.
pub const XFSZ: i32 = 25;
/// Bad system call.
pub const SYS: i32 = 31;

const NAMES: [&str; 31] = [
    "SIGHUP",
    "SIGINT",
    "SIGQUIT",
    "SIGILL",
    "SIGTRAP",
    "SIGABRT",
    "SIGBUS",
    "SIGFPE",
    "SIGKILL",
    "SIGUSR1",
    "SIGSEGV",
    "SIGUSR2",
    "SIGPIPE",
    "SIGALRM",
    "SIGTERM",
    "SIGSTKFLT",
    "SIGCHLD",
    "SIGCONT",
    "SIGSTOP",
    "SIGTSTP",
    "SIGTTIN",
    "SIGTTOU",
    "SIGURG",
    "SIGXCPU",
    "SIGXFSZ",
    "SIGVTALRM",
    "SIGPROF",
    "SIGWINCH",
    "SIGIO",
    "SIGPWR",
    "SIGSYS",
];

/// `SIGKILL` for 9; `signal 40` where there is no name.
pub fn name(signal: i32) -> String {
    usize::try_from(signal)
        .ok()
        .and_then(|number| number.checked_sub(1))
        .and_then(|index| NAMES.get(index))
        .map_or_else(|| format!("signal {signal}"), |&name| name.to_owned())
}

/// `killed by SIGKILL (signal 9)`, `exited with code 1`.
pub fn describe(status: EndStatus) -> String {
    match status {
        EndStatus::Exited(code) => format!("exited with code {code}"),
        EndStatus::Signaled(signal) => {
            format!("killed by {} (signal {signal})", name(signal))
        }
    }
}

/// Whether nobody asks for such an end: faults, aborts, limits and SIGKILL, but not the polite
/// signals that one process sends another to make it go.
pub fn is_violent(status: EndStatus) -> bool {
    matches!(
        status,
        EndStatus::Signaled(ILL | 5 | ABRT | BUS | FPE | KILL | SEGV | XCPU | XFSZ | SYS)
    )
}

/// The end status inside a `waitpid` word, `None` for a stop.
pub fn from_wait_word(word: i32) -> Option<EndStatus> {
    match word & 0x7F {
        0 => Some(EndStatus::Exited((word >> 8) & 0xFF)),
        0x7F => None,
        signal => Some(EndStatus::Signaled(signal)),
    }
}

#[cfg(test)]
mod tests {
    use super::{describe, from_wait_word, name};
    use crate::facts::EndStatus;

    #[test]
    fn wait_words_tell_exits_from_kills() {
        assert_eq!(from_wait_word(137 << 8), Some(EndStatus::Exited(137)));
        assert_eq!(from_wait_word(9), Some(EndStatus::Signaled(9)));
        assert_eq!(from_wait_word(0x8B), Some(EndStatus::Signaled(11)));
        assert_eq!(from_wait_word(0x137F), None);
    }

    #[test]
    fn names_follow_the_numbers_of_linux() {
        assert_eq!(name(15), "SIGTERM");
        assert_eq!(name(31), "SIGSYS");
        assert_eq!(name(40), "signal 40");
        assert_eq!(describe(EndStatus::Exited(137)), "exited with code 137");
    }
}
