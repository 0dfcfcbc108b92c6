//! An exception that nothing caught.

use outlive_record::kind::ExceptionKind;
use outlive_record::read;
use pyo3::prelude::*;

/// An exception that nothing caught.
#[pyclass(frozen, get_all, skip_from_py_object, module = "outlive")]
#[derive(Clone, Debug)]
pub(crate) struct UncaughtException {
    /// Where it was seen: `main`, `thread`, `unraisable` or `unknown`.
    kind: &'static str,
    /// `CLOCK_MONOTONIC` nanoseconds.
    time: u64,
    /// Thread id.
    tid: u32,
    /// Name of the thread.
    thread: String,
    /// Its type.
    type_name: String,
    /// Its message.
    message: String,
    /// One line a frame, innermost last.
    traceback: Vec<String>,
}

impl From<read::ExceptionRecord> for UncaughtException {
    fn from(record: read::ExceptionRecord) -> Self {
        Self {
            kind: word(record.kind),
            time: record.time,
            tid: record.tid,
            thread: record.thread,
            type_name: record.type_name,
            message: record.message,
            traceback: record.traceback.lines().map(str::to_owned).collect(),
        }
    }
}

#[pymethods]
impl UncaughtException {
    fn __repr__(&self) -> String {
        format!(
            "<outlive.UncaughtException {}: {}>",
            self.type_name, self.message
        )
    }
}

const fn word(kind: Option<ExceptionKind>) -> &'static str {
    match kind {
        Some(ExceptionKind::Main) => "main",
        Some(ExceptionKind::Thread) => "thread",
        Some(ExceptionKind::Unraisable) => "unraisable",
        None => "unknown",
    }
}
