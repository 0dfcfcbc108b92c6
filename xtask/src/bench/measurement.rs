//! One run of one workload under one tool, measured from outside by `benches/measure.py`.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

use super::stage::Stage;
use super::tool::{Scale, Tool};
use super::workload::Workload;
use crate::step;

/// A run and where it stood in the order of runs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Run {
    /// Name of the workload.
    pub(crate) workload: String,
    /// What was wrapped around it.
    pub(crate) tool: Tool,
    /// The round: runs of one round are compared with each other only.
    pub(crate) round: usize,
    /// What it cost.
    #[serde(flatten)]
    pub(crate) cost: Cost,
}

/// What a run cost. Times are of the whole tree, from start to end.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Cost {
    /// Wall time.
    pub(crate) wall_seconds: f64,
    /// Processor time outside the kernel.
    pub(crate) user_seconds: f64,
    /// Processor time inside the kernel.
    pub(crate) system_seconds: f64,
    /// Wall time of the loop alone, as the workload says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) body_seconds: Option<f64>,
    /// Processor time of the loop alone, as the workload says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) body_cpu_seconds: Option<f64>,
    /// Highest anonymous memory of the tree; only in runs that were watched instead of timed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) peak_anonymous_bytes: Option<u64>,
    /// Space on disk of what the tool wrote.
    #[serde(default)]
    pub(crate) output_bytes: u64,
    /// Length of each black box.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) box_bytes: Vec<u64>,
    #[serde(skip_serializing)]
    #[serde(default)]
    exit: i32,
    #[serde(skip_serializing)]
    #[serde(default)]
    complaint: String,
}

/// When the loop of a workload ran, in seconds of the monotonic clock.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct LoopTimes {
    /// Its beginning.
    #[serde(rename = "body_from")]
    pub(crate) from: f64,
    /// Its end.
    #[serde(rename = "body_to")]
    pub(crate) to: f64,
}

impl LoopTimes {
    /// What a workload printed about its own loop; others may have printed after it.
    pub(crate) fn printed(output: &str) -> Option<Self> {
        let mut lines = output.lines().rev();
        lines.find_map(|line| serde_json::from_str(line).ok())
    }
}

impl Cost {
    /// Processor time, inside and outside the kernel.
    pub(crate) fn cpu_seconds(&self) -> f64 {
        self.user_seconds + self.system_seconds
    }
}

/// What to look at. Looking at memory disturbs the clock, so it is one or the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// At the clock.
    Clock,
    /// At the memory.
    Memory,
}

/// Runs `workload` once under `tool`.
pub(crate) fn measure(
    stage: &Stage,
    workload: &Workload,
    tool: Tool,
    scale: Scale,
    look: Look,
) -> Result<Cost> {
    let folder = stage.fresh_folder()?;
    let mut command = stage.script("measure.py");
    if look == Look::Memory {
        command.arg("--memory");
    }
    command.arg("--cwd").arg(&folder).arg("--");
    command.args(tool.command(stage, workload, scale, &folder));
    let printed = step::output(&mut command)?;
    let mut cost: Cost = serde_json::from_str(&printed)
        .with_context(|| format!("Cannot read what `measure.py` printed: {printed}"))?;
    if cost.exit != 0 {
        bail!(
            "`{}` under {} ended with {}\n{}",
            workload.name,
            tool.name(),
            cost.exit,
            cost.complaint
        );
    }
    if workload.has_loop && cost.body_seconds.is_none() {
        bail!(
            "`{}` under {} did not print the time of its loop",
            workload.name,
            tool.name()
        );
    }
    visit(&folder, &mut cost)?;
    Ok(cost)
}

/// Adds up what lies in `folder`.
fn visit(folder: &Path, cost: &mut Cost) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        if metadata.is_dir() {
            visit(&entry.path(), cost)?;
            continue;
        }
        cost.output_bytes += metadata.blocks() * 512;
        if entry
            .path()
            .extension()
            .is_some_and(|extension| extension == "box")
        {
            cost.box_bytes.push(metadata.len());
        }
    }
    Ok(())
}
