//! `cargo xtask bench why`: how long the explanation takes, on a full box and on ordinary ones.

use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};

use super::options::Options;
use super::report::machine;
use super::results::Results;
use super::stage::Stage;
use super::statistics::median_of;
use super::tool::{Scale, Tool};

/// Programs that are killed and explained; the first one leaves no room in its box.
const SUBJECTS: [&str; 5] = [
    "full_box",
    "live_blocks",
    "object_churn",
    "torch_training",
    "data_loader",
];
/// Seconds that an explanation may take, on any box.
const MOST_SECONDS: f64 = 0.5;
/// Explanations timed of each death.
const REPEATS: usize = 20;

/// Kills, explains, and prints one table.
pub(crate) fn main(options: &Options) -> Result<()> {
    let options = Options {
        tools: vec![Tool::Bare, Tool::Outlive],
        ..options.clone()
    };
    let stage = Stage::prepare(&options)?;
    let results = Results::new(&stage)?;
    let mut page = format!(
        "# Why\n\n{}, {}.\n\n",
        results.date,
        machine(&results.machine)
    );
    page += "| black box of | form | goal | median | slowest | |\n|---|---|---|---|---|---|\n";
    for subject in SUBJECTS {
        println!("==> {subject}");
        record(&stage, subject)?;
        for form in ["text", "json"] {
            let seconds = explain(&stage, form)?;
            page += &row(subject, form, &seconds);
        }
    }
    println!("\n{page}");
    if options.scale == Scale::Full {
        results.write("why.md", &page)
    } else {
        Ok(())
    }
}

/// Leaves the run of a killed program in an otherwise empty store.
fn record(stage: &Stage, subject: &str) -> Result<()> {
    let folder = stage.fresh_folder()?;
    let mut command = Command::new(&stage.outlive);
    command
        .args(["run", "--quiet", "--"])
        .arg(&stage.python)
        .arg(stage.benches.join("killed.py"))
        .args([subject, "--small"])
        .current_dir(&folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    stage.dress(&mut command);
    let status = command.status().context("Cannot start `outlive run`")?;
    if status.success() {
        bail!("`{subject}` was to be killed and ended well");
    }
    Ok(())
}

fn explain(stage: &Stage, form: &str) -> Result<Vec<f64>> {
    let mut seconds = Vec::new();
    for _ in 0..REPEATS {
        let mut command = Command::new(&stage.outlive);
        command
            .args(["why", "last", "--format", form])
            .stdin(Stdio::null());
        stage.dress(&mut command);
        let started = Instant::now();
        let output = command.output().context("Cannot start `outlive why`")?;
        seconds.push(started.elapsed().as_secs_f64());
        // 1 is how it says that the program ended badly, as it did.
        if !matches!(output.status.code(), Some(0 | 1)) {
            bail!(
                "`outlive why` failed: {}",
                String::from_utf8_lossy(&output.stderr)
            );
        }
    }
    Ok(seconds)
}

fn row(subject: &str, form: &str, seconds: &[f64]) -> String {
    let median = median_of(seconds).unwrap_or(f64::NAN);
    let slowest = seconds.iter().copied().fold(f64::NAN, f64::max);
    let verdict = if slowest <= MOST_SECONDS {
        "met"
    } else {
        "not met"
    };
    format!(
        "| `{subject}` | {form} | ≤ {MOST_SECONDS} s | {median:.3} s | {slowest:.3} s | {verdict} |\n"
    )
}
