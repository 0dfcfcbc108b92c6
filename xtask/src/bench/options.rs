//! What the command line asks for.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::tool::{Scale, Tool};
use super::workload::{WORKLOADS, Workload};

/// All options of all benchmarks.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    /// At most this many timed rounds a workload.
    pub(crate) rounds: usize,
    /// Rounds in which the peers take part: their ratios are far from 1, so few rounds do.
    pub(crate) peer_rounds: usize,
    /// No new round of a workload is begun after this time, not counting the peers' rounds.
    pub(crate) patience: Duration,
    /// Whether instructions are counted; where valgrind has to, that takes most of the time.
    pub(crate) instructions: bool,
    /// Whether the time inside Outlive is sampled.
    pub(crate) samples: bool,
    /// The workloads to run.
    pub(crate) workloads: Vec<Workload>,
    /// The tools to run them under; bare is always there, since everything is a ratio to it.
    pub(crate) tools: Vec<Tool>,
    /// Full runs are kept as results, small ones are not.
    pub(crate) scale: Scale,
    /// An interpreter with the requirements, instead of the cached environment.
    pub(crate) python: Option<PathBuf>,
    /// A built tool, instead of building one.
    pub(crate) outlive: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            rounds: 60,
            peer_rounds: 3,
            patience: Duration::from_mins(20),
            instructions: true,
            samples: true,
            workloads: WORKLOADS.to_vec(),
            tools: Tool::ALL.to_vec(),
            scale: Scale::Full,
            python: None,
            outlive: None,
        }
    }
}

impl Options {
    /// Reads the words behind the benchmark's name.
    pub(crate) fn parse(arguments: &[String]) -> Result<Self> {
        let mut options = Self::default();
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            if word == "--quick" {
                options.scale = Scale::Small;
                options.rounds = 3;
                continue;
            }
            if word == "--no-instructions" {
                options.instructions = false;
                continue;
            }
            if word == "--no-samples" {
                options.samples = false;
                continue;
            }
            let value = words
                .next()
                .with_context(|| format!("`{word}` needs a value"))?;
            options.set(word, value)?;
        }
        Ok(options)
    }

    fn set(&mut self, option: &str, value: &str) -> Result<()> {
        match option {
            "--rounds" => self.rounds = number(option, value)?,
            "--peer-rounds" => self.peer_rounds = number(option, value)?,
            "--minutes" => self.patience = Duration::from_mins(number(option, value)? as u64),
            "--only" => {
                self.workloads = value
                    .split(',')
                    .map(Workload::named)
                    .collect::<Result<_>>()?;
            }
            "--tools" => {
                self.tools = value.split(',').map(Tool::named).collect::<Result<_>>()?;
                if !self.tools.contains(&Tool::Bare) {
                    self.tools.insert(0, Tool::Bare);
                }
            }
            "--python" => self.python = Some(PathBuf::from(value)),
            "--outlive" => self.outlive = Some(PathBuf::from(value)),
            _ => bail!("Unknown option `{option}`\nhint: `cargo xtask bench` lists the options"),
        }
        Ok(())
    }
}

fn number(option: &str, value: &str) -> Result<usize> {
    value
        .parse()
        .with_context(|| format!("`{option}` needs a number, not `{value}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options> {
        Options::parse(
            &line
                .split_whitespace()
                .map(str::to_owned)
                .collect::<Vec<_>>(),
        )
    }

    #[test]
    fn the_bare_run_is_always_there() {
        assert_eq!(
            parse("--tools memray").unwrap().tools,
            [Tool::Bare, Tool::Memray]
        );
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_known_ones() {
        let message = format!("{:#}", parse("--only churn").unwrap_err());
        assert!(message.contains("object_churn"), "{message}");
        let message = format!("{:#}", parse("--tools valgrind").unwrap_err());
        assert!(message.contains("scalene"), "{message}");
    }

    #[test]
    fn a_number_that_is_none_is_named() {
        let message = format!("{:#}", parse("--rounds many").unwrap_err());
        assert_eq!(
            message,
            "`--rounds` needs a number, not `many`: invalid digit found in string"
        );
    }
}
