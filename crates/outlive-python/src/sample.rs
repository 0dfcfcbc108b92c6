//! One point of the time line.

use outlive_record::timeline::{self, UNKNOWN};
use pyo3::prelude::*;

/// What a process used at one instant, in bytes; `None` where it is not known.
#[pyclass(frozen, get_all, skip_from_py_object, module = "outlive")]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    /// `CLOCK_MONOTONIC` nanoseconds.
    time: u64,
    /// Resident.
    resident: Option<u64>,
    /// Proportional set size.
    proportional: Option<u64>,
    /// Use of the tightest memory cgroup, without reclaimable cache.
    cgroup_use: Option<u64>,
    /// Its limit.
    cgroup_limit: Option<u64>,
    /// `MemAvailable` of the machine.
    available: Option<u64>,
    /// Swapped out.
    swapped: Option<u64>,
}

impl From<timeline::Sample> for Sample {
    fn from(sample: timeline::Sample) -> Self {
        let known = |value: u64| (value != UNKNOWN).then_some(value);
        Self {
            time: sample.time,
            resident: known(sample.resident),
            proportional: known(sample.proportional),
            cgroup_use: known(sample.cgroup_use),
            cgroup_limit: known(sample.cgroup_limit),
            available: known(sample.available),
            swapped: known(sample.swapped),
        }
    }
}

#[pymethods]
impl Sample {
    fn __repr__(&self) -> String {
        format!(
            "<outlive.Sample time={} resident={:?}>",
            self.time, self.resident
        )
    }
}
