//! The files that the rules are about: everything a person wrote, nothing that was built.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// Folders that hold what was built, downloaded or measured.
const SKIPPED: [&str; 8] = [
    "target",
    "dist",
    "wheel-data",
    "_lib",
    "__pycache__",
    "results",
    "recordings",
    "hostile",
];
/// Hidden folders that are part of the repository.
const KEPT: [&str; 4] = [".cargo", ".ci", ".config", ".github"];

/// One text file.
#[derive(Clone, Debug)]
pub(crate) struct File {
    /// Path below the root, with `/`.
    pub(crate) path: String,
    /// Its content.
    pub(crate) text: String,
}

impl File {
    /// Whether its name ends so (`.rs`).
    pub(crate) fn has_suffix(&self, suffix: &str) -> bool {
        self.path.ends_with(suffix)
    }

    /// Whether the whole file is there for tests.
    pub(crate) fn is_test(&self) -> bool {
        self.path.starts_with("tests/")
            || self.path.contains("/tests/")
            || self.path.ends_with("/tests.rs")
            || self.path.starts_with("benches/")
    }

    /// Lines, numbered from 1.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text
            .lines()
            .enumerate()
            .map(|(index, line)| (index + 1, line))
    }
}

/// All text files, sorted by path.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tree {
    /// The files.
    pub(crate) files: Vec<File>,
}

impl Tree {
    /// Reads everything below `root`.
    pub(crate) fn read(root: &Path) -> Result<Self> {
        let mut tree = Self::default();
        tree.add_folder(root, "")?;
        tree.files.sort_by(|left, right| left.path.cmp(&right.path));
        Ok(tree)
    }

    /// A tree made of these (path, text) pairs.
    #[cfg(test)]
    pub(crate) fn of(files: &[(&str, &str)]) -> Self {
        let file = |&(path, text): &(&str, &str)| File {
            path: path.to_owned(),
            text: text.to_owned(),
        };
        Self {
            files: files.iter().map(file).collect(),
        }
    }

    /// The file at this path.
    pub(crate) fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }

    /// Whether a file or folder of this path exists.
    pub(crate) fn has(&self, path: &str) -> bool {
        let folder = format!("{}/", path.trim_end_matches('/'));
        self.files
            .iter()
            .any(|file| file.path == path || file.path.starts_with(&folder))
    }

    fn add_folder(&mut self, folder: &Path, prefix: &str) -> Result<()> {
        let entries =
            fs::read_dir(folder).with_context(|| format!("Cannot list `{}`", folder.display()))?;
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = format!("{prefix}{name}");
            let kind = entry.file_type()?;
            if kind.is_dir() {
                if is_ours(&name) {
                    self.add_folder(&entry.path(), &format!("{path}/"))?;
                }
            } else if kind.is_file()
                // What is not text is not ours to read.
                && let Ok(text) = fs::read_to_string(entry.path())
            {
                self.files.push(File { path, text });
            }
        }
        Ok(())
    }
}

fn is_ours(name: &str) -> bool {
    !SKIPPED.contains(&name) && (!name.starts_with('.') || KEPT.contains(&name))
}
