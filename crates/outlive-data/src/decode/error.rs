//! Why a file is not shown.

use super::format::Format;

/// One line for the list of broken files.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// No bytes at all.
    #[error("Empty file")]
    NoBytes,
    /// Neither a picture nor one of a format that is known by name.
    #[error("Not a picture (starts with {start})")]
    NotAPicture {
        /// The first bytes, printable.
        start: String,
    },
    /// A format that is not decoded here.
    #[error("{name} is not supported")]
    Unsupported {
        /// The format.
        name: &'static str,
    },
    /// The file ends too early.
    #[error("{format} is cut off")]
    CutOff {
        /// The format.
        format: Format,
    },
    /// The decoder does not accept it.
    #[error("Broken {format}: {reason}")]
    Broken {
        /// The format.
        format: Format,
        /// In the decoder's words.
        reason: String,
    },
    /// A picture without pixels.
    #[error("{format} without pixels")]
    Empty {
        /// The format.
        format: Format,
    },
    /// Decoding would take more memory than there is.
    #[error(
        "Needs {} to decode, the budget is {}",
        mebibytes(*needed),
        mebibytes(*budget)
    )]
    OverBudget {
        /// Bytes it takes, the file included.
        needed: u64,
        /// Bytes there are.
        budget: u64,
    },
    /// The file could not be read.
    #[error("{reason}")]
    Unreadable {
        /// What the system said.
        reason: String,
    },
    /// The decoder gave up in a way it should not.
    #[error("The decoder failed on it: {reason}")]
    Failed {
        /// What it said.
        reason: String,
    },
}

impl DecodeError {
    pub(super) fn broken(format: Format, reason: impl std::fmt::Display) -> Self {
        // Messages of libraries may end in a full stop or hold line breaks.
        let reason = reason.to_string();
        let reason = reason.split_whitespace().collect::<Vec<_>>().join(" ");
        Self::Broken {
            format,
            reason: reason
                .trim_start_matches("format error: ")
                .trim_end_matches('.')
                .to_owned(),
        }
    }
}

/// Sizes as people read them; a tenth where it matters.
fn mebibytes(bytes: u64) -> String {
    let mebibytes = bytes as f64 / 1_048_576.0;
    if mebibytes < 10.0 {
        format!("{mebibytes:.1} MiB")
    } else {
        format!("{mebibytes:.0} MiB")
    }
}
