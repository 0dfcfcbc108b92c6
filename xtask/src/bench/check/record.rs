//! Everything that was measured and counted, as it is kept.

use std::collections::BTreeMap;

use anyhow::Result;
use serde::Serialize;

use super::super::results::{Machine, Results};
use super::super::stage::Stage;
use super::cost::Cost;

/// A session.
#[derive(Debug, Serialize)]
pub(super) struct Record {
    /// Day of the session.
    pub(super) date: String,
    /// The machine.
    pub(super) machine: Machine,
    /// Versions of the peers and of what is checked.
    pub(super) versions: BTreeMap<String, String>,
    /// Files read in each subject.
    pub(super) files: BTreeMap<String, usize>,
    /// Every run.
    pub(super) runs: Vec<Run>,
    /// Times of single files.
    pub(super) editor: Vec<Edited>,
    /// What was found in each package.
    pub(super) packages: Vec<Findings>,
    #[serde(skip)]
    results: Results,
}

/// A run and where it stood in the order of runs.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Run {
    /// What was checked.
    pub(super) subject: String,
    /// By which tool.
    pub(super) tool: String,
    /// The round: runs of one round are compared with each other only.
    pub(super) round: usize,
    /// What it cost.
    #[serde(flatten)]
    pub(super) cost: Cost,
}

/// How long an editor waits for the findings of one file.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Edited {
    /// The file, below the folder of packages.
    pub(super) file: String,
    /// The program that checks it.
    pub(super) by: String,
    /// Wall time of every round.
    pub(super) seconds: Vec<f64>,
}

/// What was found in a package, and what `--fix` did to it.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Findings {
    /// Name of the package.
    pub(super) package: String,
    /// Files read.
    pub(super) files: usize,
    /// Whether it is known to be sound, so that an error or a change is a mistake of ours.
    pub(super) is_sound: bool,
    /// How many of each level and rule.
    pub(super) levels: BTreeMap<String, BTreeMap<String, usize>>,
    /// Files that `--fix` changed.
    pub(super) changed: Vec<String>,
}

impl Record {
    /// An empty session, today.
    pub(super) fn new(stage: &Stage) -> Result<Self> {
        let results = Results::new(stage)?;
        Ok(Self {
            date: results.date.clone(),
            machine: results.machine.clone(),
            versions: results.versions.clone(),
            files: BTreeMap::new(),
            runs: Vec::new(),
            editor: Vec::new(),
            packages: Vec::new(),
            results,
        })
    }

    /// The costs of a tool on a subject, in the order of rounds.
    pub(super) fn costs(&self, subject: &str, tool: &str) -> Vec<&Cost> {
        let runs = self.runs.iter();
        runs.filter(|run| run.subject == subject && run.tool == tool)
            .map(|run| &run.cost)
            .collect()
    }

    /// What must not be: errors in sound packages, and changes to them.
    pub(super) fn mistakes(&self) -> Vec<String> {
        let sound = self.packages.iter().filter(|package| package.is_sound);
        sound.flat_map(Findings::mistakes).collect()
    }

    /// Writes `check.json` and `check.md`.
    pub(super) fn save(&self, page: &str) -> Result<()> {
        let json = serde_json::to_string_pretty(self)? + "\n";
        self.results.write("check.json", &json)?;
        self.results.write("check.md", page)
    }
}

impl Findings {
    /// How many of a level.
    pub(super) fn count(&self, level: &str) -> usize {
        self.levels
            .get(level)
            .map_or(0, |rules| rules.values().sum())
    }

    fn mistakes(&self) -> Vec<String> {
        let mut mistakes = Vec::new();
        let errors = self.levels.get("error").into_iter().flatten();
        for (rule, count) in errors {
            mistakes.push(format!("{count} × error `{rule}` in {}", self.package));
        }
        for file in &self.changed {
            mistakes.push(format!("`--fix` changes `{file}` in {}", self.package));
        }
        mistakes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_in_a_sound_package_is_no_mistake_but_an_error_and_a_change_are() {
        let count = |rule: &str| BTreeMap::from([(rule.to_owned(), 2)]);
        let levels = BTreeMap::from([
            ("error".to_owned(), count("oversized_tensor")),
            ("warning".to_owned(), count("figure_never_closed")),
        ]);
        let findings = Findings {
            package: "torch".to_owned(),
            files: 3,
            is_sound: true,
            levels,
            changed: vec!["torch/hub.py".to_owned()],
        };
        assert_eq!(
            findings.mistakes(),
            [
                "2 × error `oversized_tensor` in torch",
                "`--fix` changes `torch/hub.py` in torch"
            ]
        );
        assert_eq!((findings.count("warning"), findings.count("info")), (2, 0));
    }
}
