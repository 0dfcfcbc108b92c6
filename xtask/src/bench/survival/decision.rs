//! `--decision`: what the guard adds to a large request that fits, in nanoseconds.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use super::super::report::{GOALS_HEAD, goal_row, machine};
use super::super::results::Results;
use super::super::stage::Stage;
use super::super::statistics::{Estimate, median_of};
use super::group::Group;
use super::guardian::{Guardian, inside};
use super::native;
use super::options::Options;
use super::outing::{End, watch};

const LIMIT: u64 = 1 << 30;
const ROUNDS: usize = 20;
const PATIENCE: Duration = Duration::from_mins(1);
/// Nanoseconds that a decision may take at the median.
const MOST_NANOSECONDS: f64 = 2000.0;

/// A kind of request.
#[derive(Clone, Copy, Debug)]
struct Request {
    name: &'static str,
    bytes: u64,
    /// How often a run asks.
    count: u64,
    /// What the program holds already.
    held: u64,
}

/// The C library serves the smaller ones from its heap, the large one by a mapping each time.
const REQUESTS: [Request; 3] = [
    Request {
        name: "8 MiB, from the heap",
        bytes: 8 << 20,
        count: 100_000,
        held: 0,
    },
    Request {
        name: "8 MiB, from the heap, 900 of 1024 MiB held",
        bytes: 8 << 20,
        count: 100_000,
        held: 900 << 20,
    },
    Request {
        name: "64 MiB, a mapping each",
        bytes: 64 << 20,
        count: 20_000,
        held: 0,
    },
];

/// What a request is made under.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Under {
    Nothing,
    Recorder,
    Guard,
}

/// What `benches/survival/ask.py` prints: nanoseconds of one `malloc` and its `free`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Times {
    median: f64,
    p90: f64,
    p99: f64,
}

/// One run.
#[derive(Clone, Copy, Debug, Serialize)]
struct Asked {
    request: &'static str,
    under: Under,
    round: usize,
    #[serde(flatten)]
    times: Times,
}

/// Asks in turn without Outlive, recorded and guarded, and prints one table.
pub(super) fn main(options: &Options, stage: &Stage) -> Result<()> {
    let library = native::library(stage)?;
    let rounds = options.rounds(Guardian::Outlive, ROUNDS);
    let mut all = Vec::new();
    for request in REQUESTS {
        println!("==> {}", request.name);
        for round in 0..rounds {
            for under in [Under::Nothing, Under::Recorder, Under::Guard] {
                let times = ask(stage, under, &library, request)?;
                println!("    {under:?} {:>3}  {:8.0} ns", round + 1, times.median);
                all.push(Asked {
                    request: request.name,
                    under,
                    round,
                    times,
                });
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
        "survival-decision.json",
        &(serde_json::to_string_pretty(&all)? + "\n"),
    )?;
    results.write("survival-decision.md", &page)
}

fn ask(stage: &Stage, under: Under, library: &Path, request: Request) -> Result<Times> {
    let folder = stage.fresh_folder()?;
    let group = Group::with_limit(LIMIT)?;
    let flags: &[&str] = match under {
        Under::Nothing => &[],
        Under::Recorder => &["run", "--quiet", "--no-guard", "--"],
        Under::Guard => &["run", "--quiet", "--"],
    };
    let mut command: Vec<OsString> = Vec::new();
    if under != Under::Nothing {
        command.push(stage.outlive.clone().into_os_string());
    }
    command.extend(flags.iter().map(OsString::from));
    let script: &Path = &stage.benches.join("survival/ask.py");
    command.extend([stage.python.as_os_str(), script.as_os_str()].map(OsString::from));
    command.push(library.into());
    let numbers = [request.bytes, request.count, request.held];
    command.extend(numbers.map(|number| number.to_string().into()));
    let outing = watch(&group, &inside(&group, &command), &folder, &[], PATIENCE)?;
    ensure!(
        outing.end == End::Exit(0),
        "`ask.py` ended with {}\n{}",
        outing.end.words(),
        outing.complaint
    );
    serde_json::from_str(&outing.output).context("Cannot read what `ask.py` printed")
}

fn page(results: &Results, all: &[Asked]) -> String {
    let mut page = format!(
        "# The cost of a decision\n\n{}, {}.\n\nOne `malloc` and its `free`, untouched, in a memory \
         cgroup of 1 GiB: medians of a run, and what the guard adds to the recorder in the same \
         round.\n\n{GOALS_HEAD}",
        results.date,
        machine(&results.machine)
    );
    for Request { name, .. } in REQUESTS {
        page += &goal_row(name, MOST_NANOSECONDS, " ns", added(all, name));
    }
    page += "\n| request | under | median | 90 % | 99 % |\n|---|---|---|---|---|\n";
    for Request { name, .. } in REQUESTS {
        for under in [Under::Nothing, Under::Recorder, Under::Guard] {
            let middle = |figure: fn(&Times) -> f64| {
                let runs = all
                    .iter()
                    .filter(|run| (run.request, run.under) == (name, under));
                let values: Vec<f64> = runs.map(|run| figure(&run.times)).collect();
                median_of(&values).unwrap_or(f64::NAN)
            };
            let _ = writeln!(
                page,
                "| {name} | {} | {:.0} ns | {:.0} ns | {:.0} ns |",
                match under {
                    Under::Nothing => "nothing",
                    Under::Recorder => "`outlive run --no-guard`",
                    Under::Guard => "`outlive run`",
                },
                middle(|times| times.median),
                middle(|times| times.p90),
                middle(|times| times.p99)
            );
        }
    }
    page
}

/// Nanoseconds that the guard adds, each run against the recorder's of its own round.
fn added(all: &[Asked], name: &str) -> Option<Estimate> {
    let of = |under| {
        all.iter()
            .filter(move |run| (run.request, run.under) == (name, under))
    };
    let differences: Vec<f64> = of(Under::Guard)
        .filter_map(|guarded| {
            let recorded = of(Under::Recorder).find(|run| run.round == guarded.round)?;
            Some(guarded.times.median - recorded.times.median)
        })
        .collect();
    Estimate::of(&differences)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guarded_run_is_compared_with_the_recorded_one_of_its_round() {
        let run = |under, round, median| Asked {
            request: "large",
            under,
            round,
            times: Times {
                median,
                p90: median,
                p99: median,
            },
        };
        let all = [
            run(Under::Recorder, 0, 100.0),
            run(Under::Guard, 0, 150.0),
            run(Under::Recorder, 1, 300.0),
            run(Under::Guard, 1, 350.0),
        ];
        let median = added(&all, "large").unwrap().median;
        assert!((median - 50.0).abs() < 1e-9, "{median}");
    }
}
