//! What is left out of a walk: patterns written as in `.gitignore`.

use std::path::Path;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::configuration::ConfigurationError;

/// Folders that hold what others wrote, or what programs left.
const USUAL: [&str; 27] = [
    "__pycache__/",
    "__pypackages__/",
    "_build/",
    ".bzr/",
    ".direnv/",
    ".eggs/",
    ".git/",
    ".git-rewrite/",
    ".hg/",
    ".ipynb_checkpoints/",
    ".mypy_cache/",
    ".nox/",
    ".pants.d/",
    ".pyenv/",
    ".pytest_cache/",
    ".pytype/",
    ".ruff_cache/",
    ".svn/",
    ".tox/",
    ".venv/",
    ".vscode/",
    "buck-out/",
    "build/",
    "dist/",
    "node_modules/",
    "site-packages/",
    "venv/",
];

/// Patterns below one folder.
#[derive(Clone, Debug)]
pub(super) struct Patterns {
    matcher: Gitignore,
}

impl Patterns {
    /// The folders that are left out unless they are named, then what the project leaves out;
    /// `!build/` brings one back.
    pub(super) fn with_usual(
        folder: &Path,
        patterns: &[String],
        place: &str,
    ) -> Result<Self, ConfigurationError> {
        let usual = USUAL.into_iter();
        Self::build(
            folder,
            usual.chain(patterns.iter().map(String::as_str)),
            place,
        )
    }

    /// Only these.
    pub(super) fn only(
        folder: &Path,
        patterns: &[String],
        place: &str,
    ) -> Result<Self, ConfigurationError> {
        Self::build(folder, patterns.iter().map(String::as_str), place)
    }

    fn build<'a>(
        folder: &Path,
        patterns: impl Iterator<Item = &'a str>,
        place: &str,
    ) -> Result<Self, ConfigurationError> {
        let mut builder = GitignoreBuilder::new(folder);
        let wrong = |pattern: &str, error: &ignore::Error| ConfigurationError::Pattern {
            pattern: pattern.to_owned(),
            place: place.to_owned(),
            message: match error {
                ignore::Error::Glob { err, .. } => err.clone(),
                other => other.to_string(),
            },
        };
        for pattern in patterns {
            let added = builder.add_line(None, pattern);
            added.map_err(|error| wrong(pattern, &error))?;
        }
        let matcher = builder.build().map_err(|error| wrong("", &error))?;
        Ok(Self { matcher })
    }

    /// What is said of this entry itself: leave out, keep, or nothing.
    pub(super) fn of_entry(&self, path: &Path, is_folder: bool) -> Option<bool> {
        answer(&self.matcher.matched(path, is_folder))
    }

    /// What is said of a file or of a folder above it.
    pub(super) fn of_file(&self, path: &Path) -> Option<bool> {
        // The matcher has no answer for other paths, and no patience.
        if !path.starts_with(self.matcher.path()) {
            return None;
        }
        answer(&self.matcher.matched_path_or_any_parents(path, false))
    }
}

fn answer<T>(matched: &Match<T>) -> Option<bool> {
    match matched {
        Match::None => None,
        Match::Ignore(_) => Some(true),
        Match::Whitelist(_) => Some(false),
    }
}
