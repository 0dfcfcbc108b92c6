//! Which of the fatal signals that a box recorded is the one that ended the process.

use outlive_record::read::{FatalSignal, Recording};

use crate::facts::EndStatus;

/// The last one that nobody could recover from. A signal that the program handles itself may be
/// part of its work (virtual machines probe memory that way): it counts only where the process is
/// known to have died of it.
pub(crate) fn deadly(recording: &Recording<'_>, status: Option<EndStatus>) -> Option<FatalSignal> {
    recording
        .fatal_signals()
        .into_iter()
        .rfind(|record| !record.handled || status == Some(EndStatus::Signaled(record.signal)))
}
