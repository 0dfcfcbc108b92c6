//! The tools a workload runs under, and the command line of each.

use std::ffi::OsString;
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::stage::Stage;
use super::workload::{Program, Workload};

/// What is wrapped around the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Tool {
    /// Nothing.
    Bare,
    /// `outlive run --quiet`.
    Outlive,
    /// `memray run`.
    Memray,
    /// `fil-profile run`.
    Fil,
    /// `scalene run --memory`.
    Scalene,
}

/// Our words between the tool and the program.
const OUTLIVE_RUN: [&str; 3] = ["run", "--quiet", "--"];

/// How much work a script does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scale {
    /// About ten seconds.
    Full,
    /// A fraction of a second, for instruction counters and for trying the harness.
    Small,
    /// Everything but the loop.
    None,
}

impl Scale {
    /// The flag that asks a script for it.
    const fn flag(self) -> Option<&'static str> {
        match self {
            Self::Full => None,
            Self::Small => Some("--small"),
            Self::None => Some("--none"),
        }
    }
}

impl Tool {
    /// All of them; the order of the first round.
    pub(crate) const ALL: [Self; 5] = [
        Self::Bare,
        Self::Outlive,
        Self::Memray,
        Self::Fil,
        Self::Scalene,
    ];

    /// The name on the command line and in the results.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Bare => "bare",
            Self::Outlive => "outlive",
            Self::Memray => "memray",
            Self::Fil => "fil",
            Self::Scalene => "scalene",
        }
    }

    /// The tool of this name.
    pub(crate) fn named(name: &str) -> Result<Self> {
        let known = Self::ALL.map(Self::name).join(", ");
        Self::ALL
            .into_iter()
            .find(|tool| tool.name() == name)
            .with_context(|| format!("Unknown tool `{name}`\nhint: there are {known}"))
    }

    /// Whether it is somebody else's.
    pub(crate) const fn is_peer(self) -> bool {
        matches!(self, Self::Memray | Self::Fil | Self::Scalene)
    }

    /// How many words of its command are the tool's own supervising process; a counter that is to
    /// see the program alone stands behind them.
    pub(crate) const fn own_words(self) -> usize {
        match self {
            Self::Outlive => OUTLIVE_RUN.len() + 1,
            Self::Bare | Self::Memray | Self::Fil | Self::Scalene => 0,
        }
    }

    /// Whether it can run this program at all.
    pub(crate) fn can_run(self, workload: &Workload) -> bool {
        workload.program == Program::Script || !self.is_peer()
    }

    /// The words that run `workload` under it; what the tool writes goes below `output`.
    pub(crate) fn command(
        self,
        stage: &Stage,
        workload: &Workload,
        scale: Scale,
        output: &Path,
    ) -> Vec<OsString> {
        let program = program(stage, workload, scale);
        if workload.program == Program::True {
            return [self.prefix(stage, output), program].concat();
        }
        match self {
            Self::Bare | Self::Outlive => [self.prefix(stage, output), program].concat(),
            // The peers bring the interpreter themselves. Scalene wants the program's own
            // arguments behind a dash of its own.
            Self::Scalene if program.len() > 2 => {
                let (script, flags) = program.split_at(2);
                [
                    self.prefix(stage, output),
                    script[1..].to_vec(),
                    words(&["---"]),
                    flags.to_vec(),
                ]
                .concat()
            }
            Self::Memray | Self::Fil | Self::Scalene => {
                [self.prefix(stage, output), program[1..].to_vec()].concat()
            }
        }
    }

    /// What stands in front of the program.
    pub(crate) fn prefix(self, stage: &Stage, output: &Path) -> Vec<OsString> {
        let python = stage.python.clone().into_os_string();
        match self {
            Self::Bare => Vec::new(),
            Self::Outlive => {
                let mut command = vec![stage.outlive.clone().into_os_string()];
                command.extend(words(&OUTLIVE_RUN));
                command
            }
            Self::Memray => {
                let mut command = vec![python];
                command.extend(words(&["-m", "memray", "run", "--quiet", "--output"]));
                command.push(output.join("memray.bin").into_os_string());
                command
            }
            Self::Fil => {
                let mut command = vec![python];
                command.extend(words(&["-m", "filprofiler", "--no-browser", "-o"]));
                command.push(output.join("fil").into_os_string());
                command.push("run".into());
                command
            }
            // Without `--memory` it starts PyTorch's profiler, a different and dearer thing.
            Self::Scalene => {
                let mut command = vec![python];
                command.extend(words(&["-m", "scalene", "run", "--memory", "--outfile"]));
                command.push(output.join("scalene.json").into_os_string());
                command
            }
        }
    }
}

fn program(stage: &Stage, workload: &Workload, scale: Scale) -> Vec<OsString> {
    match workload.program {
        Program::True => words(&["true"]),
        Program::Script => {
            let script = stage
                .benches
                .join("workloads")
                .join(workload.name)
                .with_extension("py");
            let mut command = vec![
                stage.python.clone().into_os_string(),
                script.into_os_string(),
            ];
            command.extend(scale.flag().map(OsString::from));
            command
        }
    }
}

fn words(words: &[&str]) -> Vec<OsString> {
    words.iter().map(OsString::from).collect()
}
