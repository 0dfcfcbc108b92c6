//! Stacks and their frames.

use outlive_record::kind::{StackKind, stack_flag};
use outlive_record::read;
use pyo3::prelude::*;

/// A stack and what it holds.
#[pyclass(frozen, get_all, skip_from_py_object, module = "outlive")]
#[derive(Clone, Debug)]
pub(crate) struct Stack {
    /// What it describes: `python`, `native`, `startup`, `other` or `unknown`.
    kind: &'static str,
    /// Frames, innermost first.
    frames: Vec<Frame>,
    /// Name of the thread, for stacks without Python frames.
    thread: String,
    /// Library that asked for the memory.
    library: String,
    /// Bytes live at the end.
    live_bytes: i64,
    /// How many of them are estimates.
    estimated_bytes: i64,
    /// Blocks live at the end.
    live_count: i64,
    /// Highest value of `live_bytes`.
    peak_bytes: i64,
    /// Bytes it held when the process was at its peak.
    at_peak_bytes: i64,
    /// Bytes ever acquired.
    total_bytes: u64,
    /// Largest single request.
    largest: u64,
    /// Whether every byte was counted; otherwise the figures are estimates.
    exact: bool,
}

/// One frame of a stack.
#[pyclass(frozen, get_all, skip_from_py_object, module = "outlive")]
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    /// File, as the interpreter names it.
    file: String,
    /// Line, when it is known.
    line: Option<u32>,
    /// Qualified name of the function.
    function: String,
}

impl Stack {
    /// Copies a stack out of its recording.
    pub(crate) fn new(recording: &read::Recording<'_>, stack: &read::Stack) -> Self {
        Self {
            kind: word(stack.kind),
            frames: recording.frames(stack).map(Frame::from).collect(),
            thread: recording.thread_name(stack).into_owned(),
            library: recording.library(stack).into_owned(),
            live_bytes: stack.live_bytes,
            estimated_bytes: stack.estimated_bytes,
            live_count: stack.live_count,
            peak_bytes: stack.peak_bytes,
            at_peak_bytes: stack.at_peak_bytes,
            total_bytes: stack.total_bytes,
            largest: stack.largest,
            exact: stack.flags & (stack_flag::SAMPLED | stack_flag::ARENA) == 0,
        }
    }
}

#[pymethods]
impl Stack {
    fn __repr__(&self) -> String {
        let place = self
            .frames
            .first()
            .map_or_else(|| self.kind.to_owned(), Frame::place);
        format!("<outlive.Stack {place} live={}>", self.live_bytes)
    }
}

#[pymethods]
impl Frame {
    fn __repr__(&self) -> String {
        format!("<outlive.Frame {}>", self.place())
    }
}

impl Frame {
    fn place(&self) -> String {
        let line = self.line.map_or("?".to_owned(), |line| line.to_string());
        format!("{}:{line} in {}", self.file, self.function)
    }
}

impl From<read::Frame<'_>> for Frame {
    fn from(frame: read::Frame<'_>) -> Self {
        Self {
            file: frame.file.into_owned(),
            line: frame.line,
            function: frame.function.into_owned(),
        }
    }
}

const fn word(kind: Option<StackKind>) -> &'static str {
    match kind {
        Some(StackKind::Python) => "python",
        Some(StackKind::Native) => "native",
        Some(StackKind::StartUp) => "startup",
        Some(StackKind::Other) => "other",
        None => "unknown",
    }
}
