//! What a project says about the check: `.outlive.toml`, `outlive.toml`, or `[tool.outlive]` in
//! `pyproject.toml`. A key that is not known is an error, not a silence.

use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use thiserror::Error;
use toml::{Table, Value};

use super::nearest;
use super::read::reason;
use crate::limit::{self, Limit};

/// The names in a folder, in the order of precedence.
const FILES: [&str; 3] = [".outlive.toml", "outlive.toml", PYPROJECT];
const PYPROJECT: &str = "pyproject.toml";
/// Every key there is.
const KEYS: [&str; 7] = [
    "select",
    "extend-select",
    "ignore",
    "info",
    "budget",
    "exclude",
    "per-file-ignores",
];

/// Why a configuration, or what the command line adds to it, cannot be used.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ConfigurationError {
    /// The file is there and cannot be read.
    #[error("Cannot read `{}`: {message}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        message: String,
    },
    /// The file is not TOML, or a value is not what its key needs.
    #[error("Cannot use `{}`: {message}", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        message: String,
    },
    /// The file has a key that Outlive does not know.
    #[error("Unknown key `{key}` in `{}`\n{hint}", path.display())]
    UnknownKey {
        /// The file.
        path: PathBuf,
        /// The key.
        key: String,
        /// What may have been meant.
        hint: String,
    },
    /// A rule that does not exist.
    #[error("Unknown rule `{rule}` in {place}\n{hint}")]
    UnknownRule {
        /// As it was written.
        rule: String,
        /// The file or the option.
        place: String,
        /// What may have been meant.
        hint: String,
    },
    /// A pattern that cannot be matched.
    #[error("Cannot use the pattern `{pattern}` in {place}: {message}")]
    Pattern {
        /// As it was written.
        pattern: String,
        /// The file or the option.
        place: String,
        /// What is wrong.
        message: String,
    },
}

/// A configuration file, read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Configuration {
    pub(super) path: PathBuf,
    pub(super) select: Vec<String>,
    pub(super) extend_select: Vec<String>,
    pub(super) ignore: Vec<String>,
    pub(super) info: bool,
    pub(super) budget: Option<Limit>,
    pub(super) exclude: Vec<String>,
    /// Patterns and the rules that are ignored where they match, in the order of the file.
    pub(super) per_file_ignores: Vec<(String, Vec<String>)>,
}

impl Configuration {
    /// The configuration of a folder itself, if it has one.
    pub(super) fn of_folder(folder: &Path) -> Result<Option<Self>, ConfigurationError> {
        for name in FILES {
            let path = folder.join(name);
            let text = match std::fs::read_to_string(&path) {
                Ok(text) => text,
                Err(_) if !path.is_file() => continue,
                Err(error) => {
                    let message = reason(&error);
                    return Err(ConfigurationError::Unreadable { path, message });
                }
            };
            if name != PYPROJECT {
                return Self::parse(path, parse_table(&text)).map(Some);
            }
            // Many projects have this file, and few speak of us in it.
            if text.contains("outlive")
                && let Some(table) = outlive_table(parse_table(&text)).transpose()
            {
                return Self::parse(path, table).map(Some);
            }
        }
        Ok(None)
    }

    fn parse(path: PathBuf, table: Result<Table, String>) -> Result<Self, ConfigurationError> {
        let table = match table {
            Ok(table) => table,
            Err(message) => return Err(ConfigurationError::Invalid { path, message }),
        };
        let mut read = Self {
            path,
            ..Self::default()
        };
        for (key, value) in table {
            read.set(&key, value)?;
        }
        Ok(read)
    }

    fn set(&mut self, key: &str, value: Value) -> Result<(), ConfigurationError> {
        match key {
            "select" => self.select = self.rules(key, value)?,
            "extend-select" => self.extend_select = self.rules(key, value)?,
            "ignore" => self.ignore = self.rules(key, value)?,
            "info" => self.info = self.value(key, value)?,
            "budget" => {
                let text: String = self.value(key, value)?;
                let limit = limit::parse(&text).map_err(|message| self.invalid(key, &message))?;
                self.budget = Some(limit);
            }
            "exclude" => self.exclude = self.value(key, value)?,
            "per-file-ignores" => {
                let table: Table = self.value(key, value)?;
                for (pattern, rules) in table {
                    let rules = self.rules(key, rules)?;
                    self.per_file_ignores.push((pattern, rules));
                }
            }
            _ => return Err(self.unknown(key)),
        }
        Ok(())
    }

    fn unknown(&self, key: &str) -> ConfigurationError {
        let known = format!("the keys are `{}`", KEYS.join("`, `"));
        ConfigurationError::UnknownKey {
            path: self.path.clone(),
            key: key.to_owned(),
            hint: nearest::hint(&nearest::nearest(key, KEYS.into_iter()), &known),
        }
    }

    fn value<T: DeserializeOwned>(&self, key: &str, value: Value) -> Result<T, ConfigurationError> {
        let read: Result<T, _> = value.try_into();
        read.map_err(|error| self.invalid(key, error.message()))
    }

    fn rules(&self, key: &str, value: Value) -> Result<Vec<String>, ConfigurationError> {
        let rules: Vec<String> = self.value(key, value)?;
        if key == "select" && rules.is_empty() {
            return Err(self.invalid(key, "empty; leave it out to have all rules"));
        }
        require_rules(&rules, &format!("`{}`", self.path.display()))?;
        Ok(rules)
    }

    fn invalid(&self, key: &str, message: &str) -> ConfigurationError {
        ConfigurationError::Invalid {
            path: self.path.clone(),
            message: format!("`{key}`: {message}"),
        }
    }
}

/// Fails at the first selector that no rule answers to.
pub(super) fn require_rules(rules: &[String], place: &str) -> Result<(), ConfigurationError> {
    let selection = outlive_check::Selection {
        select: rules.to_vec(),
        ..outlive_check::Selection::default()
    };
    let Some(unknown) = selection.unknown().next() else {
        return Ok(());
    };
    Err(ConfigurationError::UnknownRule {
        rule: unknown.to_owned(),
        place: place.to_owned(),
        hint: nearest::hint(
            &nearest::nearest_rules(unknown),
            "`outlive explain` lists the rules",
        ),
    })
}

fn parse_table(text: &str) -> Result<Table, String> {
    text.parse().map_err(|error: toml::de::Error| {
        let offset = error.span().map_or(0, |span| span.start);
        let before = text.get(..offset).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        format!("line {line}: {}", error.message())
    })
}

/// `[tool.outlive]`, if there is one.
fn outlive_table(whole: Result<Table, String>) -> Result<Option<Table>, String> {
    let mut whole = whole?;
    let Some(Value::Table(mut tools)) = whole.remove("tool") else {
        return Ok(None);
    };
    match tools.remove("outlive") {
        None => Ok(None),
        Some(Value::Table(table)) => Ok(Some(table)),
        Some(_) => Err("`tool.outlive` is not a table".to_owned()),
    }
}
