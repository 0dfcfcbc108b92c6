//! What the command line asks for.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use super::super::options::Options as StageOptions;
use super::super::tool::Tool;
use super::guardian::Guardian;

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Figure {
    /// Every scenario under every tool.
    Scenarios,
    /// Growth of gigabytes a second.
    Growth,
    /// Programs that fit.
    Fits,
    /// The cost of a decision.
    Decision,
}

/// All options.
#[derive(Clone, Debug)]
pub(super) struct Options {
    /// What is measured.
    pub(super) figure: Figure,
    /// Limits of the cgroup, in bytes.
    pub(super) limits: Vec<u64>,
    /// Rounds under Outlive; `None` is the figure's own number.
    pub(super) rounds: Option<usize>,
    /// Rounds under the others, which end the same way every time.
    pub(super) peer_rounds: usize,
    /// Names of scenarios or programs; empty for all.
    pub(super) only: Vec<String>,
    /// What is wrapped around them.
    pub(super) guardians: Vec<Guardian>,
    /// Whether earlier results are dropped.
    pub(super) again: bool,
    /// Day of the results to go on with.
    pub(super) date: Option<String>,
    /// One round at the smallest limit, nothing kept.
    pub(super) quick: bool,
    python: Option<PathBuf>,
    outlive: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            figure: Figure::Scenarios,
            limits: vec![512 << 20, 1 << 30, 2 << 30, 4 << 30],
            rounds: None,
            peer_rounds: 1,
            only: Vec::new(),
            guardians: Guardian::ALL.to_vec(),
            again: false,
            date: None,
            quick: false,
            python: None,
            outlive: None,
        }
    }
}

impl Options {
    /// Reads the words behind `survival`.
    pub(super) fn parse(arguments: &[String]) -> Result<Self> {
        let mut options = Self::default();
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            match word.as_str() {
                "--growth" => options.figure = Figure::Growth,
                "--fits" => options.figure = Figure::Fits,
                "--decision" => options.figure = Figure::Decision,
                "--again" => options.again = true,
                "--quick" => options.quick = true,
                _ => {
                    let value = words
                        .next()
                        .with_context(|| format!("`{word}` needs a value"))?;
                    options.set(word, value)?;
                }
            }
        }
        Ok(options)
    }

    /// Rounds under this tool, where the figure wants `usual` under Outlive.
    pub(super) fn rounds(&self, guardian: Guardian, usual: usize) -> usize {
        match guardian {
            Guardian::Outlive => self.rounds.unwrap_or(if self.quick { 1 } else { usual }),
            _ if self.quick => 1,
            _ => self.peer_rounds,
        }
    }

    /// Whether this scenario or program is asked for.
    pub(super) fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|wanted| wanted == name)
    }

    /// What the stage has to be set with.
    pub(super) fn stage(&self) -> StageOptions {
        let tools = if self.guardians.contains(&Guardian::Outlive) {
            vec![Tool::Bare, Tool::Outlive]
        } else {
            vec![Tool::Bare]
        };
        StageOptions {
            tools,
            python: self.python.clone(),
            outlive: self.outlive.clone(),
            ..StageOptions::default()
        }
    }

    fn set(&mut self, option: &str, value: &str) -> Result<()> {
        let number = || {
            value
                .parse()
                .with_context(|| format!("`{option}` needs a number, not `{value}`"))
        };
        match option {
            "--rounds" => self.rounds = Some(number()?),
            "--peer-rounds" => self.peer_rounds = number()?,
            "--limits" => self.limits = value.split(',').map(size).collect::<Result<_>>()?,
            "--only" => self.only = value.split(',').map(str::to_owned).collect(),
            "--tools" => {
                self.guardians = value
                    .split(',')
                    .map(Guardian::named)
                    .collect::<Result<_>>()?;
            }
            "--date" => self.date = Some(value.to_owned()),
            "--python" => self.python = Some(PathBuf::from(value)),
            "--outlive" => self.outlive = Some(PathBuf::from(value)),
            _ => bail!("Unknown option `{option}`\nhint: `cargo xtask bench` lists the options"),
        }
        Ok(())
    }
}

/// Bytes of `512MiB` or `4GiB`.
pub(super) fn size(word: &str) -> Result<u64> {
    let shift = |unit: &str| match unit {
        "MiB" => Some(20),
        "GiB" => Some(30),
        _ => None,
    };
    word.split_at_checked(word.len().saturating_sub(3))
        .and_then(|(number, unit)| Some(number.parse::<u64>().ok()? << shift(unit)?))
        .with_context(|| format!("`{word}` is no size\nhint: write `512MiB` or `4GiB`"))
}

/// `512MiB` or `4GiB` of bytes.
pub(super) fn size_words(bytes: u64) -> String {
    if bytes.is_multiple_of(1 << 30) {
        format!("{}GiB", bytes >> 30)
    } else {
        format!("{}MiB", bytes >> 20)
    }
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
    fn sizes_are_read_as_they_are_written() {
        for word in ["400MiB", "512MiB", "4GiB"] {
            assert_eq!(size_words(size(word).unwrap()), word);
        }
        assert!(size("12XB").is_err());
        assert!(size("é").is_err());
    }

    #[test]
    fn the_others_end_the_same_way_every_time_and_have_fewer_rounds() {
        let options = parse("--rounds 20").unwrap();
        assert_eq!(options.rounds(Guardian::Outlive, 50), 20);
        assert_eq!(options.rounds(Guardian::Fil, 50), 1);
        assert_eq!(parse("").unwrap().rounds(Guardian::Outlive, 50), 50);
    }

    #[test]
    fn an_unknown_tool_is_answered_with_the_known_ones() {
        let message = format!("{:#}", parse("--tools valgrind").unwrap_err());
        assert!(message.contains("earlyoom"), "{message}");
    }
}
