//! `cargo xtask bench notebook`: what the set-up of Jupyter adds to a kernel, and how soon its
//! answers are there. Each script in `benches/notebook` measures one thing and prints it as JSON.

use std::collections::BTreeMap;

use anyhow::{Context, Result};

use super::options::Options;
use super::report::{GOALS_HEAD, goal_row, machine};
use super::results::Results;
use super::stage::Stage;
use super::statistics::Estimate;
use super::tool::{Scale, Tool};
use crate::step;
use crate::test;

/// What a script prints: values by name.
type Values = BTreeMap<String, Vec<f64>>;

/// A figure with its goal: the script, the name of the values, how they are told, and the most they
/// may be in the unit they are told in.
struct Figure {
    script: &'static str,
    values: &'static str,
    told: &'static str,
    factor: f64,
    unit: &'static str,
    most: f64,
}

const fn figure(
    (script, values): (&'static str, &'static str),
    told: &'static str,
    (factor, unit): (f64, &'static str),
    most: f64,
) -> Figure {
    Figure {
        script,
        values,
        told,
        factor,
        unit,
        most,
    }
}

const MILLISECONDS: (f64, &str) = (1e3, " ms");
const MEBIBYTES: (f64, &str) = (1.0 / 1_048_576.0, " MiB");
const PERCENT: (f64, &str) = (100.0, " %");

const FIGURES: [Figure; 8] = [
    figure(
        ("kernel_start", "added seconds"),
        "kernel start, time added",
        MILLISECONDS,
        150.0,
    ),
    figure(
        ("kernel_start", "added bytes"),
        "kernel, proportional memory added",
        MEBIBYTES,
        20.0,
    ),
    figure(
        ("verdict", "seconds"),
        "verdict on the event stream after a kill",
        MILLISECONDS,
        1000.0,
    ),
    figure(
        ("refused_cell", "numpy"),
        "refused cell returns, NumPy",
        MILLISECONDS,
        200.0,
    ),
    figure(
        ("refused_cell", "numpy, 10,000 variables"),
        "the same with 10,000 variables",
        MILLISECONDS,
        200.0,
    ),
    figure(
        ("refused_cell", "torch make_grid"),
        "the same, `make_grid`",
        MILLISECONDS,
        200.0,
    ),
    figure(
        ("status", "server"),
        "status bar: server, at one request a second",
        PERCENT,
        0.5,
    ),
    figure(
        ("page", "added"),
        "status bar: page, figures that change each second",
        PERCENT,
        0.5,
    ),
];
/// Enough for an interval; a round takes seconds.
const ROUNDS: usize = 20;

/// Measures, and prints one table.
pub(crate) fn main(options: &Options) -> Result<()> {
    let python = match &options.python {
        Some(python) => python.clone(),
        None => test::frameworks()?.python_path(),
    };
    let stage = Stage::prepare(&Options {
        tools: vec![Tool::Bare],
        python: Some(python),
        ..options.clone()
    })?;
    let rounds = match options.scale {
        Scale::Full => options.rounds.min(ROUNDS),
        Scale::Small | Scale::None => 3,
    };
    let mut measured: BTreeMap<&str, Values> = BTreeMap::new();
    for script in ["kernel_start", "verdict", "refused_cell", "status", "page"] {
        println!("==> {script}");
        measured.insert(script, values(&stage, script, rounds)?);
    }
    let results = Results::new(&stage)?;
    let page = format!(
        "# Notebook\n\n{}, {}.\n\n{GOALS_HEAD}{}",
        results.date,
        machine(&results.machine),
        rows(&measured)
    );
    println!("\n{page}");
    if options.scale == Scale::Full {
        results.write("notebook.json", &serde_json::to_string_pretty(&measured)?)?;
        results.write("notebook.md", &page)?;
    }
    Ok(())
}

fn values(stage: &Stage, script: &str, rounds: usize) -> Result<Values> {
    let mut command = stage.script(&format!("notebook/{script}.py"));
    command.args(["--rounds", &rounds.to_string()]);
    let printed = step::output(&mut command)?;
    let last = printed.lines().last().unwrap_or_default();
    serde_json::from_str(last)
        .with_context(|| format!("Cannot read what `{script}.py` printed: {printed}"))
}

fn rows(measured: &BTreeMap<&str, Values>) -> String {
    let row = |figure: &Figure| {
        let values = measured.get(figure.script)?.get(figure.values)?;
        let told: Vec<f64> = values.iter().map(|value| value * figure.factor).collect();
        let estimate = Estimate::of(&told);
        Some(goal_row(figure.told, figure.most, figure.unit, estimate))
    };
    FIGURES.iter().filter_map(row).collect()
}
