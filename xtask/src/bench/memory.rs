//! `cargo xtask bench memory`: what recording adds to a process, in resident memory beyond the
//! box's own pages and in start-up time.

use std::process::Command;

use anyhow::{Context, Result};
use serde::Deserialize;

use super::figures::{Figure, estimate};
use super::measurement::{Look, Run, measure};
use super::options::Options;
use super::report::{GOALS_HEAD, goal_row, machine};
use super::results::Results;
use super::stage::Stage;
use super::statistics::Estimate;
use super::tool::{Scale, Tool};
use super::workload::{Goal, Workload};
use crate::step;

/// Programs whose memory is looked at, from nothing to every table in use.
const SUBJECTS: [&str; 6] = [
    "start_up",
    "object_churn",
    "live_blocks",
    "full_box",
    "torch_training",
    "tf_data",
];
/// MiB that a process may have more, beside the pages of its box.
const MOST_MEBIBYTES: f64 = 10.0;
/// Memory hardly varies from run to run.
const MEMORY_ROUNDS: usize = 6;

/// What `benches/resident.py` prints, in bytes.
#[derive(Clone, Copy, Debug, Deserialize)]
struct Resident {
    anonymous: u64,
    shared: u64,
    library: u64,
    #[serde(rename = "box")]
    black_box: u64,
}

impl Resident {
    /// Everything but the box, in MiB.
    fn mebibytes(self) -> f64 {
        mebibytes(self.anonymous + self.shared + self.library)
    }
}

fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

/// Measures both and prints one table.
pub(crate) fn main(options: &Options) -> Result<()> {
    let options = Options {
        tools: vec![Tool::Bare, Tool::Outlive],
        ..options.clone()
    };
    let stage = Stage::prepare(&options)?;
    let mut page = format!("## Memory and start-up\n\n{GOALS_HEAD}");
    for subject in SUBJECTS {
        println!("==> {subject}");
        let added = added_memory(&stage, subject, options.rounds.min(MEMORY_ROUNDS))?;
        let name = format!("`{subject}`, resident memory added beyond the box");
        page += &goal_row(&name, MOST_MEBIBYTES, " MiB", added);
    }
    for name in ["start_up", "true"] {
        println!("==> {name}");
        let added = added_time(&options, &stage, name)?;
        let Goal::AddedMilliseconds(most) = Workload::named(name)?.goal else {
            continue;
        };
        page += &goal_row(&format!("`{name}`, wall time added"), most, " ms", added);
    }
    let results = Results::new(&stage)?;
    page = format!(
        "# Memory\n\n{}, {}.\n\n{page}",
        results.date,
        machine(&results.machine)
    );
    println!("\n{page}");
    if options.scale == Scale::Full {
        results.write("memory.md", &page)
    } else {
        Ok(())
    }
}

fn added_memory(stage: &Stage, subject: &str, rounds: usize) -> Result<Option<Estimate>> {
    let mut added = Vec::new();
    for _ in 0..rounds {
        let bare = resident(stage, subject, Tool::Bare)?.mebibytes();
        let recorded = resident(stage, subject, Tool::Outlive)?;
        println!(
            "    {bare:8.2} MiB bare {:8.2} MiB recorded {:8.2} MiB of the box",
            recorded.mebibytes(),
            mebibytes(recorded.black_box)
        );
        added.push(recorded.mebibytes() - bare);
    }
    Ok(Estimate::of(&added))
}

fn resident(stage: &Stage, subject: &str, tool: Tool) -> Result<Resident> {
    let folder = stage.fresh_folder()?;
    let mut words = tool.prefix(stage, &folder);
    words.push(stage.python.clone().into_os_string());
    words.push(stage.benches.join("resident.py").into_os_string());
    words.push(subject.into());
    words.push("--small".into());
    let (program, rest) = words.split_first().context("Nothing to run")?;
    let mut command = Command::new(program);
    command.args(rest).current_dir(&folder);
    stage.dress(&mut command);
    let printed = step::output(&mut command)?;
    let last = printed.lines().last().unwrap_or_default();
    serde_json::from_str(last)
        .with_context(|| format!("Cannot read what `resident.py` printed: {printed}"))
}

fn added_time(options: &Options, stage: &Stage, name: &str) -> Result<Option<Estimate>> {
    let workload = Workload::named(name)?;
    let mut runs = Vec::new();
    for round in 0..options.rounds {
        for tool in [Tool::Bare, Tool::Outlive] {
            let cost = measure(stage, &workload, tool, Scale::Full, Look::Clock)?;
            runs.push(Run {
                workload: name.to_owned(),
                tool,
                round,
                cost,
            });
        }
    }
    Ok(estimate(
        &runs,
        name,
        Tool::Outlive,
        Figure::AddedWallMilliseconds,
    ))
}
