//! Sums over a process.

use outlive_record::read;
use pyo3::prelude::*;

/// Sums over a process.
#[pyclass(frozen, get_all, skip_from_py_object, module = "outlive")]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Totals {
    /// Bytes live at the end.
    live_bytes: i64,
    /// Highest value of it.
    peak_bytes: i64,
    /// `CLOCK_MONOTONIC` nanoseconds of that.
    peak_time: u64,
    /// Bytes ever acquired.
    total_bytes: u64,
    /// Recorded acquisitions.
    total_count: u64,
    /// Blocks live at the end.
    live_count: i64,
    /// Events that are counted on the stack "other" because a table was full or busy.
    lost_events: u64,
    /// Bytes whose release could not be seen.
    lost_bytes: u64,
}

impl From<read::Totals> for Totals {
    fn from(totals: read::Totals) -> Self {
        Self {
            live_bytes: totals.live_bytes,
            peak_bytes: totals.peak_bytes,
            peak_time: totals.peak_time,
            total_bytes: totals.total_bytes,
            total_count: totals.total_count,
            live_count: totals.live_count,
            lost_events: totals.lost.stacks.saturating_add(totals.lost.contended),
            lost_bytes: totals.lost.block_bytes,
        }
    }
}

#[pymethods]
impl Totals {
    fn __repr__(&self) -> String {
        format!(
            "<outlive.Totals live={} peak={}>",
            self.live_bytes, self.peak_bytes
        )
    }
}
