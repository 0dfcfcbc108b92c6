//! What one run of a linter cost, measured from outside by `benches/measure.py`.

use std::ffi::OsString;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use super::super::stage::Stage;
use crate::step;

/// What a run cost, its child processes included.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Cost {
    /// Wall time.
    pub(super) wall_seconds: f64,
    /// Processor time outside the kernel.
    user_seconds: f64,
    /// Processor time inside the kernel.
    system_seconds: f64,
    /// Highest resident memory of any one of its processes.
    pub(super) peak_resident_bytes: u64,
    #[serde(skip_serializing, default)]
    exit: i32,
    #[serde(skip_serializing, default)]
    complaint: String,
}

impl Cost {
    /// Processor time, inside and outside the kernel.
    pub(super) fn cpu_seconds(&self) -> f64 {
        self.user_seconds + self.system_seconds
    }

    /// Runs a command once, with the file on its standard input where one is named.
    pub(super) fn of(stage: &Stage, words: &[OsString], input: Option<&Path>) -> Result<Self> {
        let mut command = stage.script("measure.py");
        // What steadies the long benchmarks of memory is not what a linter runs in.
        command
            .env_remove("MALLOC_TRIM_THRESHOLD_")
            .env_remove("MALLOC_MMAP_THRESHOLD_");
        if let Some(input) = input {
            command.arg("--stdin").arg(input);
        }
        let printed = step::output(command.arg("--").args(words))?;
        let cost: Self = serde_json::from_str(&printed)
            .with_context(|| format!("Cannot read what `measure.py` printed: {printed}"))?;
        // 1 is findings; and a Python program that broke off.
        ensure!(
            matches!(cost.exit, 0 | 1) && !cost.complaint.contains("Traceback"),
            "`{}` ended with {}\n{}",
            words.join(&OsString::from(" ")).display(),
            cost.exit,
            cost.complaint
        );
        Ok(cost)
    }
}
