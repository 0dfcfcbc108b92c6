//! What the command line asks for.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};

/// All options of `bench check`.
#[derive(Clone, Debug)]
pub(super) struct Options {
    /// A folder of scripts and notebooks, instead of the packages.
    pub(super) corpus: Option<PathBuf>,
    /// Rounds of Outlive.
    pub(super) rounds: usize,
    /// Rounds in which the peers take part.
    pub(super) peer_rounds: usize,
    /// A small part, nothing kept.
    pub(super) quick: bool,
    /// A built tool, instead of building one.
    pub(super) outlive: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            corpus: None,
            rounds: 20,
            peer_rounds: 5,
            quick: false,
            outlive: None,
        }
    }
}

impl Options {
    /// Reads the words behind `check`. What stands behind `--quick` still counts.
    pub(super) fn parse(arguments: &[String]) -> Result<Self> {
        let mut options = Self::default();
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            if word == "--quick" {
                options.quick = true;
                options.rounds = 3;
                options.peer_rounds = 1;
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
        let number = || {
            value
                .parse()
                .with_context(|| format!("`{option}` needs a number, not `{value}`"))
        };
        match option {
            "--corpus" => self.corpus = Some(PathBuf::from(value)),
            "--rounds" => self.rounds = number()?,
            "--peer-rounds" => self.peer_rounds = number()?,
            "--outlive" => self.outlive = Some(PathBuf::from(value)),
            _ => bail!("Unknown option `{option}`\nhint: `cargo xtask bench` lists the options"),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        Options::parse(&words)
    }

    #[test]
    fn the_peers_can_be_left_out_of_a_quick_run() {
        let options = parse("--quick --peer-rounds 0").unwrap();
        assert_eq!((options.rounds, options.peer_rounds), (3, 0));
    }

    #[test]
    fn an_unknown_option_is_named() {
        let message = format!("{:#}", parse("--corpse /").unwrap_err());
        assert!(message.contains("`--corpse`"), "{message}");
    }
}
