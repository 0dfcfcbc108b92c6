//! Time until an editor has the findings of one file of about 2,000 lines.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::super::stage::Stage;
use super::cost::Cost;
use super::options::Options;
use super::packages::{Packages, files};
use super::record::{Edited, Record};
use crate::step;

/// The way of editors that know the protocol.
pub(super) const SERVER: &str = "outlive lsp";
/// The way of all others.
pub(super) const PROCESS: &str = "outlive check -";
/// Length of the files.
const LINES: usize = 2_000;
/// How many are tried: a long class and a long script take different times.
const FILES: usize = 10;

/// Checks the files that are nearest to 2,000 lines in both ways an editor has.
pub(super) fn measure(
    options: &Options,
    stage: &Stage,
    packages: &Packages,
    record: &mut Record,
) -> Result<()> {
    let files = nearest(packages)?;
    let mut served = served(options, stage, &files)?;
    for file in files {
        let named = file.strip_prefix(&packages.root).unwrap_or(&file);
        let mut add = |by: &str, seconds| {
            record.editor.push(Edited {
                file: named.display().to_string(),
                by: by.to_owned(),
                seconds,
            });
        };
        add(SERVER, served.remove(&file).unwrap_or_default());
        add(PROCESS, by_process(options, stage, &file)?);
    }
    Ok(())
}

/// One process for every change, which reads the file from its standard input.
fn by_process(options: &Options, stage: &Stage, file: &Path) -> Result<Vec<f64>> {
    let mut words = vec![stage.outlive.clone().into_os_string()];
    words.extend(["check", "--format", "json", "-"].map(OsString::from));
    let rounds = 0..options.rounds;
    rounds
        .map(|_| Ok(Cost::of(stage, &words, Some(file))?.wall_seconds))
        .collect()
}

/// One language server, which is told of every change and then asked.
fn served(
    options: &Options,
    stage: &Stage,
    files: &[PathBuf],
) -> Result<BTreeMap<PathBuf, Vec<f64>>> {
    let mut command = stage.script("check/editor.py");
    command
        .args(["--rounds", &options.rounds.to_string()])
        .arg(&stage.outlive)
        .args(files);
    let printed = step::output(&mut command)?;
    serde_json::from_str(&printed)
        .with_context(|| format!("Cannot read what `editor.py` printed: {printed}"))
}

/// Files that use PyTorch or TensorFlow, by how little they differ from 2,000 lines.
fn nearest(packages: &Packages) -> Result<Vec<PathBuf>> {
    let mut distances = Vec::new();
    for file in files(&packages.root)? {
        let text = fs::read_to_string(&file)
            .with_context(|| format!("Cannot read `{}`", file.display()))?;
        if text.contains("import torch") || text.contains("import tensorflow") {
            distances.push((text.lines().count().abs_diff(LINES), file));
        }
    }
    distances.sort();
    let files = distances.into_iter().map(|(_, file)| file);
    Ok(files.take(FILES).collect())
}
