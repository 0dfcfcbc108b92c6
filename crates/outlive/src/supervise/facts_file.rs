//! `run.json`: replaced in one step, so that it is whole whenever anybody, or anything, looks.

use std::io;
use std::path::{Path, PathBuf};

use outlive_diagnose::facts::RunFacts;

use crate::store::FACTS_FILE;

/// The file and its draft.
#[derive(Debug)]
pub(super) struct FactsFile {
    path: PathBuf,
    draft: PathBuf,
}

impl FactsFile {
    pub(super) fn in_directory(directory: &Path) -> Self {
        Self {
            path: directory.join(FACTS_FILE),
            draft: directory.join(".run.json.new"),
        }
    }

    /// Replaces the file. It survives the death of any process; not flushed to the disk, since a
    /// machine that loses power has lost the program too.
    pub(super) fn write(&self, facts: &RunFacts) -> io::Result<()> {
        fs_err::write(&self.draft, serde_json::to_vec(facts)?)?;
        fs_err::rename(&self.draft, &self.path)
    }
}
