//! Every scenario under every tool at every limit, round after round. What was measured is kept
//! after every round, so that a session can be broken off and gone on with.

use std::ffi::OsString;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::super::results::Results;
use super::super::stage::Stage;
use super::group::Group;
use super::guardian::Guardian;
use super::options::{Options, size_words};
use super::outing::{Outing, watch};
use super::run::Run;
use super::scenario::Scenario;
use super::{named, page};

/// Rounds under Outlive, unless asked otherwise.
const ROUNDS: usize = 20;
const FILE: &str = "survival.json";

/// All runs of a session.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Kept {
    versions: std::collections::BTreeMap<String, String>,
    runs: Vec<Run>,
}

/// Runs what is missing and prints one table.
pub(super) fn main(options: &Options, stage: &Stage) -> Result<()> {
    for guardian in &options.guardians {
        guardian.ensure_here()?;
    }
    let results = Results::of_day(stage, options.date.as_deref())?;
    let mut kept = Kept::earlier(&results, options)?;
    for scenario in Scenario::wanted(options)? {
        if let Some(module) = scenario.lacking(&stage.python) {
            println!("==> {}: left out, `{module}` is missing", scenario.name);
            continue;
        }
        for limit in scenario.limits(options) {
            println!("==> {} in {}", scenario.name, size_words(limit));
            for guardian in &options.guardians {
                for round in 0..options.rounds(*guardian, ROUNDS) {
                    if !kept.has(&scenario, *guardian, limit, round) {
                        kept.runs
                            .push(one(stage, &scenario, *guardian, limit, round)?);
                        kept.save(&results, options)?;
                    }
                }
            }
        }
    }
    println!("\n{}", page::survival(&results, &kept.runs));
    Ok(())
}

impl Kept {
    /// What was measured earlier with the same versions, without what is to be measured again.
    fn earlier(results: &Results, options: &Options) -> Result<Self> {
        let mut kept = match results.read(FILE) {
            Some(text) if !options.quick => serde_json::from_str(&text)
                .with_context(|| format!("Cannot read the earlier `{FILE}`"))?,
            _ => Self::default(),
        };
        if kept.versions != results.versions {
            kept = Self::default();
            kept.versions.clone_from(&results.versions);
        }
        if options.again {
            kept.runs.retain(|run| {
                !(options.wants(&run.scenario)
                    && options.guardians.contains(&run.tool)
                    && options.limits.contains(&run.limit))
            });
        }
        Ok(kept)
    }

    fn has(&self, scenario: &Scenario, tool: Guardian, limit: u64, round: usize) -> bool {
        self.runs.iter().any(|run| {
            run.scenario == scenario.name
                && (run.tool, run.limit, run.round) == (tool, limit, round)
        })
    }

    fn save(&self, results: &Results, options: &Options) -> Result<()> {
        if options.quick {
            return Ok(());
        }
        results.write(FILE, &(serde_json::to_string_pretty(self)? + "\n"))?;
        results.write("survival.md", &page::survival(results, &self.runs))
    }
}

/// One run; in the first round the tool is also asked for the line.
fn one(
    stage: &Stage,
    scenario: &Scenario,
    guardian: Guardian,
    limit: u64,
    round: usize,
) -> Result<Run> {
    let outing = play(stage, scenario, guardian, limit, "1")?;
    let mut run = Run::of(&scenario.name, guardian, limit, round, &outing);
    if round == 0 {
        if guardian == Guardian::Outlive {
            // Only an error that nobody catches ends the program and has to be explained.
            play(stage, scenario, guardian, limit, "0")?;
        }
        run.answer = named::answer(guardian, stage, scenario, stage.folder())?;
    }
    println!("{}", page::line(&run));
    if guardian == Guardian::Outlive {
        complain(&run, &outing);
    }
    Ok(run)
}

fn play(
    stage: &Stage,
    scenario: &Scenario,
    guardian: Guardian,
    limit: u64,
    catch: &str,
) -> Result<Outing> {
    let folder = stage.fresh_folder()?;
    let group = Group::with_limit(limit)?;
    let script: [OsString; 1] = [scenario.path.clone().into_os_string()];
    let words = guardian.command(stage, &group, &script, &folder);
    let variables = [
        ("SCENARIO_LIMIT", limit.to_string()),
        ("SCENARIO_CATCH", catch.to_owned()),
    ];
    watch(&group, &words, &folder, &variables, scenario.patience())
}

/// What somebody needs who has to find out why it did not go as it should.
fn complain(run: &Run, outing: &Outing) {
    if !run.survived {
        println!("{}", outing.last_complaint());
    }
    if let Some(answer) = run.answer.as_ref().filter(|answer| !answer.right) {
        let verdict = answer.verdict.as_deref().unwrap_or_default();
        println!("        {verdict}, lines named: {:?}", answer.lines);
    }
}
