//! `cargo xtask bench check`: how fast `outlive check` is beside its peers, on a large corpus and in
//! an editor, and that it keeps quiet about packages that are known to be sound.

mod cost;
mod editor;
mod options;
mod packages;
mod page;
mod record;
mod speed;

use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail, ensure};

use super::options::Options as StageOptions;
use super::stage::Stage;
use super::tool::Tool;
use crate::build;
use crate::python::Environment;
use crate::workspace::{cache_directory, root};
use options::Options;
use packages::Packages;
use record::Record;

/// The words behind `check`.
pub(super) const USAGE: &str = "\
Options of `check`:

  --corpus DIR          the large corpus (default: the packages of `benches/check/packages.txt`)
  --rounds N            rounds of Outlive (default: 20)
  --peer-rounds N       rounds in which the peers take part; 0 leaves them out (default: 5)
  --quick               part of torchvision, three rounds, one of the peers, nothing kept
  --outlive PATH        a built tool (default: builds one)
";

/// Measures, counts, prints the page, and fails where a sound package is called wrong or changed.
pub(super) fn main(arguments: &[String]) -> Result<()> {
    let options = Options::parse(arguments)?;
    let stage = stage(&options)?;
    let packages = Packages::prepare(&stage)?;
    let mut record = Record::new(&stage)?;
    println!("==> torchvision, beside the peers");
    speed::beside_peers(&options, &stage, &packages, &mut record)?;
    println!("==> the large corpus");
    speed::corpus(&options, &stage, &packages, &mut record)?;
    println!("==> in an editor");
    editor::measure(&options, &stage, &packages, &mut record)?;
    println!("==> findings in packages");
    packages.judge(&stage, &mut record)?;
    let page = page::page(&record);
    println!("\n{page}");
    if !options.quick {
        record.save(&page)?;
    }
    let mistakes = record.mistakes();
    if !mistakes.is_empty() {
        bail!("{}", mistakes.join("\n"));
    }
    Ok(())
}

/// The peers' environment, and the tool.
fn stage(options: &Options) -> Result<Stage> {
    let requirements = root().join("benches/check/requirements.txt");
    let environment =
        Environment::with_requirements(&cache_directory().join("check-venv"), &requirements)?;
    let mut stage = Stage::prepare(&StageOptions {
        tools: vec![Tool::Bare],
        python: Some(environment.python_path()),
        ..StageOptions::default()
    })?;
    stage.outlive = if let Some(outlive) = &options.outlive {
        outlive.clone()
    } else {
        build::build()?;
        build::products().outlive
    };
    Ok(stage)
}

/// What `outlive check` says about a folder, as JSON: all levels, and sizes against the same budget
/// on every machine. Findings are no failure.
fn answer(stage: &Stage, words: &[&str], folder: &Path) -> Result<String> {
    let mut command = Command::new(&stage.outlive);
    command
        .args(["check", "--info", "--budget", "16GiB", "--format", "json"])
        .args(words)
        .arg(folder);
    let output = command.output()?;
    ensure!(
        matches!(output.status.code(), Some(0 | 1)),
        "`outlive check` failed: {}",
        String::from_utf8_lossy(&output.stderr).trim_end()
    );
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
