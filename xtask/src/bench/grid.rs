//! `cargo xtask bench grid`: `outlive.make_grid` beside torchvision's, `outlive grid` beside
//! pyvips, PIL and `montage`, and `outlive grid --serve` on a large folder. Each script in
//! `benches/grid` measures one thing and prints it as JSON.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use anyhow::{Context, Result};

use super::options::Options;
use super::report::{GOALS_HEAD, goal_row, machine};
use super::results::Results;
use super::stage::Stage;
use super::statistics::{Estimate, Verdict};
use super::tool::Scale;
use crate::python::Environment;
use crate::workspace::{cache_directory, root};
use crate::{step, test};

/// What a script prints: values by name.
type Values = BTreeMap<String, Vec<f64>>;

/// A figure with its goal: the name of the values, how they are told, and the most they may be in
/// the unit they are told in.
struct Figure {
    values: &'static str,
    factor: f64,
    unit: &'static str,
    most: f64,
    kept_by: KeptBy,
}

/// What keeps a goal.
#[derive(Clone, Copy, PartialEq, Eq)]
enum KeptBy {
    /// The median: times vary with the machine.
    Median,
    /// Each single run: a bound of memory is one.
    EveryRun,
}

const fn ratio(values: &'static str, most: f64) -> Figure {
    Figure {
        values,
        factor: 1.0,
        unit: "",
        most,
        kept_by: KeptBy::Median,
    }
}

const fn memory(values: &'static str, most: f64) -> Figure {
    Figure {
        kept_by: KeptBy::EveryRun,
        ..ratio(values, most)
    }
}

const fn mebibytes(values: &'static str, most: f64) -> Figure {
    Figure {
        values,
        factor: 1.0 / 1_048_576.0,
        unit: " MiB",
        most,
        kept_by: KeptBy::EveryRun,
    }
}

const fn milliseconds(values: &'static str, most: f64) -> Figure {
    Figure {
        values,
        factor: 1e3,
        unit: " ms",
        most,
        kept_by: KeptBy::Median,
    }
}

/// Extra memory over the result; time and processor time over a peer's.
const FIGURES: [Figure; 42] = [
    memory("make_grid 3 channels, memory over result", 1.02),
    memory("make_grid 1 channel, memory over result", 1.02),
    memory("make_grid list, memory over result", 1.02),
    memory("make_grid normalize, memory over result", 1.02),
    memory(
        "make_grid list, 1 channel, normalize, memory over result",
        1.02,
    ),
    ratio(
        "make_grid 3 channels, time over torchvision, 1 threads",
        0.6,
    ),
    ratio(
        "make_grid list, 3 channels, time over torchvision, 1 threads",
        0.6,
    ),
    ratio(
        "make_grid normalize, 3 channels, time over torchvision, 1 threads",
        0.6,
    ),
    ratio(
        "make_grid list, normalize, 3 channels, time over torchvision, 1 threads",
        0.6,
    ),
    ratio("make_grid 1 channel, time over torchvision, 1 threads", 0.6),
    ratio(
        "make_grid list, 1 channel, time over torchvision, 1 threads",
        0.6,
    ),
    ratio(
        "make_grid normalize, 1 channel, time over torchvision, 1 threads",
        0.6,
    ),
    ratio(
        "make_grid list, normalize, 1 channel, time over torchvision, 1 threads",
        0.6,
    ),
    ratio(
        "make_grid 3 channels, time over torchvision, 2 threads",
        0.6,
    ),
    ratio(
        "make_grid list, 3 channels, time over torchvision, 2 threads",
        0.6,
    ),
    ratio(
        "make_grid normalize, 3 channels, time over torchvision, 2 threads",
        0.6,
    ),
    ratio(
        "make_grid list, normalize, 3 channels, time over torchvision, 2 threads",
        0.6,
    ),
    ratio("make_grid 1 channel, time over torchvision, 2 threads", 0.6),
    ratio(
        "make_grid list, 1 channel, time over torchvision, 2 threads",
        0.6,
    ),
    ratio(
        "make_grid normalize, 1 channel, time over torchvision, 2 threads",
        0.6,
    ),
    ratio(
        "make_grid list, normalize, 1 channel, time over torchvision, 2 threads",
        0.6,
    ),
    ratio("pyvips arrayjoin, effort 1, processor time", 0.25),
    ratio("pyvips arrayjoin, effort 6, processor time", 0.25),
    memory("pyvips arrayjoin, effort 6, peak", 1.0),
    ratio("pyvips dzsave, processor time", 0.25),
    memory("pyvips dzsave, peak", 1.0),
    ratio("PIL, processor time", 1.0),
    memory("PIL, peak", 1.0),
    ratio("ImageMagick montage, processor time", 1.0),
    memory("ImageMagick montage, peak", 1.0),
    ratio("12 megapixels of 1.7 MB, PIL resize, processor time", 0.166),
    ratio("12 megapixels of 4.9 MB, PIL resize, processor time", 0.166),
    ratio(
        "12 megapixels of 1.7 MB, PIL thumbnail, processor time",
        1.0,
    ),
    ratio(
        "12 megapixels of 4.9 MB, PIL thumbnail, processor time",
        1.0,
    ),
    mebibytes("flat of 1000, peak", 32.0),
    mebibytes("flat of 20000, peak", 32.0),
    mebibytes("flat of 200000, peak", 32.0),
    mebibytes("pyramid of 1000, peak", 32.0),
    mebibytes("pyramid of 20000, peak", 32.0),
    mebibytes("pyramid of 200000, peak", 32.0),
    milliseconds("listing of 100000 files", 500.0),
    milliseconds("first tile of 100000 files", 300.0),
];

/// Enough for an interval; a round takes a minute.
const ROUNDS: usize = 7;

/// Measures, and prints one table.
pub(crate) fn main(options: &Options) -> Result<()> {
    let frameworks = match &options.python {
        Some(python) => python.clone(),
        None => test::frameworks()?.python_path(),
    };
    let stage = Stage::prepare(&Options {
        python: Some(frameworks),
        ..options.clone()
    })?;
    let peers = Environment::with_requirements(
        &cache_directory().join("grid-peers"),
        &root().join("benches/grid/requirements.txt"),
    )?;
    let full = options.scale == Scale::Full;
    let rounds = if full { options.rounds.min(ROUNDS) } else { 2 };
    let counts = if full { "1000,20000,200000" } else { "1000" };
    let folder = cache_directory().join("grid-pictures");
    fs::create_dir_all(&folder).with_context(|| format!("Cannot make `{}`", folder.display()))?;
    let mut values = Values::new();
    let mut add = |name: &str, mut command: Command| -> Result<()> {
        println!("==> {name}");
        values.extend(printed(
            name,
            command.arg("--rounds").arg(rounds.to_string()),
        )?);
        Ok(())
    };
    add("make_grid", stage.script("grid/make_grid.py"))?;
    for script in ["sheets", "serve"] {
        let mut command = peers.python();
        stage.dress(&mut command);
        command.arg(stage.benches.join(format!("grid/{script}.py")));
        command.arg("--outlive").arg(&stage.outlive);
        command.arg("--folder").arg(&folder);
        if script == "sheets" {
            command.args(["--counts", counts]);
        }
        add(script, command)?;
    }
    let results = Results::new(&stage)?;
    let page = format!(
        "# Grid\n\n{}, {}.\n\n{GOALS_HEAD}{}",
        results.date,
        machine(&results.machine),
        rows(&values)
    );
    println!("\n{page}");
    if full {
        results.write("grid.json", &serde_json::to_string_pretty(&values)?)?;
        results.write("grid.md", &page)?;
    }
    Ok(())
}

fn printed(name: &str, command: &mut Command) -> Result<Values> {
    let printed = step::output(command)?;
    let last = printed.lines().last().unwrap_or_default();
    serde_json::from_str(last)
        .with_context(|| format!("Cannot read what `{name}.py` printed: {printed}"))
}

fn rows(measured: &Values) -> String {
    let row = |figure: &Figure| {
        let values = measured.get(figure.values).map_or(&[][..], Vec::as_slice);
        let told: Vec<f64> = values.iter().map(|value| value * figure.factor).collect();
        match Estimate::of(&told) {
            Some(estimate) if figure.kept_by == KeptBy::EveryRun => {
                every_run(figure, &told, estimate)
            }
            estimate => goal_row(figure.values, figure.most, figure.unit, estimate),
        }
    };
    FIGURES.iter().map(row).collect()
}

/// A row whose goal is kept if the highest run keeps it. It has the range of all runs.
fn every_run(figure: &Figure, told: &[f64], estimate: Estimate) -> String {
    let low = told.iter().copied().fold(f64::INFINITY, f64::min);
    let high = told.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let verdict = if high <= figure.most {
        Verdict::Met
    } else {
        Verdict::NotMet
    };
    let digits = if figure.unit.is_empty() { 3 } else { 1 };
    format!(
        "| {} | ≤ {}{} | {:.digits$} | {low:.digits$}–{high:.digits$} | {} | {} |\n",
        figure.values,
        figure.most,
        figure.unit,
        estimate.median,
        told.len(),
        verdict.words()
    )
}
