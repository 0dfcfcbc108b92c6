//! Time of whole runs: on torchvision beside the peers, and on a large corpus.

use std::ffi::OsString;
use std::path::Path;

use anyhow::Result;

use super::super::stage::Stage;
use super::cost::Cost;
use super::options::Options;
use super::packages::{Packages, files};
use super::record::{Record, Run};

/// The subject that everybody checks.
pub(super) const TORCHVISION: &str = "torchvision";
/// The subject that only Outlive checks.
pub(super) const CORPUS: &str = "corpus";
/// Our name in the record.
pub(super) const OUTLIVE: &str = "outlive";
/// The others, as their programs are called.
pub(super) const PEERS: [&str; 2] = ["torch-preflight", "torchfix"];

/// Rounds on torchvision: everybody in the first ones, each time in another order; then Outlive
/// alone.
pub(super) fn beside_peers(
    options: &Options,
    stage: &Stage,
    packages: &Packages,
    record: &mut Record,
) -> Result<()> {
    let mut folder = packages.folder(TORCHVISION).join("torchvision");
    if options.quick {
        folder.push("ops");
    }
    record
        .files
        .insert(TORCHVISION.to_owned(), files(&folder)?.len());
    warm(stage, &folder)?;
    for round in 1..=options.rounds.max(options.peer_rounds) {
        let mut tools = vec![OUTLIVE];
        if round <= options.peer_rounds {
            tools.extend(PEERS);
            let turn = round % tools.len();
            tools.rotate_left(turn);
        }
        for tool in tools {
            add(stage, record, (TORCHVISION, tool, round), &folder)?;
        }
    }
    Ok(())
}

/// Rounds of Outlive on the large corpus.
pub(super) fn corpus(
    options: &Options,
    stage: &Stage,
    packages: &Packages,
    record: &mut Record,
) -> Result<()> {
    let folder = options.corpus.as_deref().unwrap_or(&packages.root);
    record.files.insert(CORPUS.to_owned(), files(folder)?.len());
    warm(stage, folder)?;
    for round in 1..=options.rounds {
        add(stage, record, (CORPUS, OUTLIVE, round), folder)?;
    }
    Ok(())
}

/// Reads everything once, so that no round waits for the disk.
fn warm(stage: &Stage, folder: &Path) -> Result<()> {
    Cost::of(stage, &command(stage, OUTLIVE, folder), None).map(drop)
}

fn add(
    stage: &Stage,
    record: &mut Record,
    (subject, tool, round): (&str, &str, usize),
    folder: &Path,
) -> Result<()> {
    let cost = Cost::of(stage, &command(stage, tool, folder), None)?;
    println!("    {tool}, round {round}: {:.3} s", cost.wall_seconds);
    record.runs.push(Run {
        subject: subject.to_owned(),
        tool: tool.to_owned(),
        round,
        cost,
    });
    Ok(())
}

/// The words that check a folder; every tool with the rules it has on by itself.
fn command(stage: &Stage, tool: &str, folder: &Path) -> Vec<OsString> {
    let program = if tool == OUTLIVE {
        stage.outlive.clone()
    } else {
        stage.python.with_file_name(tool)
    };
    let mut words = vec![program.into_os_string()];
    if tool != "torchfix" {
        words.push("check".into());
    }
    words.push(folder.into());
    words
}
