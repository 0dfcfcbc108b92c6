//! How `outlive` itself ends.

use std::process::ExitCode;

use outlive_diagnose::facts::EndStatus;

use crate::supervise::spawn;

/// The program failed, or something was found.
pub const FAILED: u8 = 1;
/// Outlive itself could not do its work.
pub const OWN_FAULT: u8 = 2;
/// The command was found and cannot be executed, as shells say it.
pub const NOT_EXECUTABLE: u8 = 126;
/// The command was not found, as shells say it.
pub const NOT_FOUND: u8 = 127;

/// The end of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// With an exit code.
    Code(u8),
    /// By a signal, the one that ended the program.
    Signal(i32),
}

impl Ending {
    /// The same end as the program's.
    pub const fn mirroring(status: EndStatus) -> Self {
        match status {
            EndStatus::Exited(code) => Self::Code(code as u8),
            EndStatus::Signaled(signal) => Self::Signal(signal),
        }
    }

    /// Ends by the signal, here and now, or gives the code for `main` to return.
    pub fn into_exit_code(self) -> ExitCode {
        match self {
            Self::Code(code) => ExitCode::from(code),
            Self::Signal(signal) => {
                spawn::die_of(signal);
                // Still here: a signal that cannot kill. Shells show such an end like this.
                ExitCode::from(128_u8.wrapping_add(signal as u8))
            }
        }
    }
}
