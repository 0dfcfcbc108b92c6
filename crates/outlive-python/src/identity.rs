//! Who a black box is about.

use outlive_record::read;
use pyo3::prelude::*;

/// Who a black box is about.
#[pyclass(frozen, get_all, skip_from_py_object, module = "outlive")]
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    /// Process id.
    pid: u32,
    /// Parent's process id.
    ppid: u32,
    /// Start time in clock ticks since boot.
    start_ticks: u64,
    /// `CLOCK_MONOTONIC` nanoseconds when the box was made.
    monotonic: u64,
    /// `CLOCK_REALTIME` nanoseconds at that instant.
    realtime: u64,
    /// Version of the interpreter.
    python: Option<(u8, u8, u8)>,
    /// Whether Python lines can be named.
    attribution: String,
    /// The pid it was forked from, or 0.
    forked_from: u32,
    /// Executable.
    exe: String,
    /// Arguments.
    argv: Vec<String>,
    /// Working directory.
    cwd: String,
}

impl From<read::Identity<'_>> for Identity {
    fn from(identity: read::Identity<'_>) -> Self {
        let attribution = identity
            .attribution
            .map(|attribution| format!("{attribution:?}"));
        Self {
            pid: identity.pid,
            ppid: identity.ppid,
            start_ticks: identity.start_ticks,
            monotonic: identity.monotonic,
            realtime: identity.realtime,
            python: identity.python,
            attribution: attribution.map_or("unknown".to_owned(), |word| word.to_lowercase()),
            forked_from: identity.forked_from,
            exe: identity.exe.into_owned(),
            argv: identity.argv,
            cwd: identity.cwd.into_owned(),
        }
    }
}

#[pymethods]
impl Identity {
    fn __repr__(&self) -> String {
        format!("<outlive.Identity pid={} argv={:?}>", self.pid, self.argv)
    }
}
