//! `--growth`: gigabytes a second by pieces of 64 KiB from four threads, stopped before the kill.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::time::Duration;

use anyhow::Result;
use serde::{Deserialize, Serialize};

use super::super::report::machine;
use super::super::results::Results;
use super::super::stage::Stage;
use super::super::statistics::median_of;
use super::group::Group;
use super::guardian::Guardian;
use super::native;
use super::options::Options;
use super::outing::{Outing, watch};
use super::run::Run;

const LIMIT: u64 = 1 << 30;
const ROUNDS: usize = 50;
const PATIENCE: Duration = Duration::from_mins(1);

/// What `benches/survival/grow.py` prints.
#[derive(Debug, Deserialize)]
struct Speed {
    bytes: u64,
    seconds: f64,
}

/// One run, and how fast it grew.
#[derive(Debug, Serialize)]
struct Growth {
    #[serde(flatten)]
    run: Run,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes_a_second: Option<f64>,
}

/// Grows bare once, then under Outlive, and prints one table.
pub(super) fn main(options: &Options, stage: &Stage) -> Result<()> {
    let library = native::library(stage)?.into_os_string();
    let kinds = [
        ("native", vec!["native".into(), library]),
        ("objects", vec!["objects".into()]),
    ];
    let mut all = Vec::new();
    for (name, words) in kinds.iter().filter(|(name, _)| options.wants(name)) {
        println!("==> {name}");
        for guardian in [Guardian::Bare, Guardian::Outlive] {
            for round in 0..options.rounds(guardian, ROUNDS) {
                let outing = grow(stage, guardian, words)?;
                let run = Run::of(name, guardian, LIMIT, round, &outing);
                let growth = Growth {
                    run,
                    bytes_a_second: speed(&outing),
                };
                println!("{}", line(&growth));
                if guardian == Guardian::Outlive && !growth.run.survived {
                    println!("{}", outing.last_complaint());
                }
                all.push(growth);
            }
        }
    }
    let results = Results::of_day(stage, options.date.as_deref())?;
    let page = page(&results, &all);
    println!("\n{page}");
    if options.quick {
        return Ok(());
    }
    results.write(
        "survival-growth.json",
        &(serde_json::to_string_pretty(&all)? + "\n"),
    )?;
    results.write("survival-growth.md", &page)
}

fn grow(stage: &Stage, guardian: Guardian, words: &[OsString]) -> Result<Outing> {
    let folder = stage.fresh_folder()?;
    let group = Group::with_limit(LIMIT)?;
    let script = stage.benches.join("survival/grow.py").into_os_string();
    let script = [vec![script], words.to_vec()].concat();
    let words = guardian.command(stage, &group, &script, &folder);
    watch(&group, &words, &folder, &[], PATIENCE)
}

fn speed(outing: &Outing) -> Option<f64> {
    let mut lines = outing.output.lines();
    let speed: Speed = lines.find_map(|line| serde_json::from_str(line).ok())?;
    Some(speed.bytes as f64 / speed.seconds)
}

fn line(growth: &Growth) -> String {
    let run = &growth.run;
    format!(
        "    {:8} {:>3}  {}  {:.1} s  {} GB/s  over {:.2} %",
        run.tool.name(),
        run.round + 1,
        if run.survived { "survived" } else { &run.end },
        run.seconds,
        growth
            .bytes_a_second
            .map_or_else(|| "–".to_owned(), |speed| format!("{:.2}", speed / 1e9)),
        run.overshoot().unwrap_or(0.0)
    )
}

fn page(results: &Results, all: &[Growth]) -> String {
    let mut page = format!(
        "# Fast growth\n\n{}, {}.\n\nPieces of 64 KiB from four threads in a memory cgroup of 1 \
         GiB, as fast as they can be had. *Survived*: every thread was stopped by an exception, the \
         pieces were let go, the program ended well. *Speed*: of all four, until the first \
         exception.\n\n| pieces | tool | survived | killed by the kernel | speed, median | highest \
         peak over the budget |\n|---|---|---|---|---|---|\n",
        results.date,
        machine(&results.machine)
    );
    for name in ["native", "objects"] {
        for guardian in [Guardian::Bare, Guardian::Outlive] {
            let its: Vec<&Growth> = all
                .iter()
                .filter(|growth| growth.run.scenario == name && growth.run.tool == guardian)
                .collect();
            if its.is_empty() {
                continue;
            }
            let speeds: Vec<f64> = its
                .iter()
                .filter_map(|growth| growth.bytes_a_second)
                .collect();
            let over = its.iter().filter_map(|growth| growth.run.overshoot());
            let _ = writeln!(
                page,
                "| {name} | {} | {} of {} | {} | {} | {:.2} % |",
                guardian.name(),
                its.iter().filter(|growth| growth.run.survived).count(),
                its.len(),
                its.iter().filter(|growth| growth.run.kills > 0).count(),
                median_of(&speeds).map_or_else(
                    || "–".to_owned(),
                    |speed| format!("{:.2} GB/s", speed / 1e9)
                ),
                over.fold(0.0, f64::max)
            );
        }
    }
    page
}
