//! What a person names after `outlive why`: a run that is kept, one of its processes, or a path.

use std::path::Path;

use anyhow::{Result, bail};
use outlive_diagnose::facts::ProcessId;

use crate::boxes::process_of;
use crate::store::{BOX_EXTENSION, FACTS_FILE, Store, StoredRun};

/// A run, and the process of it that was named, if it is not the run's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) run: StoredRun,
    pub(crate) process: Option<ProcessId>,
}

/// Finds it.
pub(crate) fn find(name: &str) -> Result<Wanted> {
    let path = Path::new(name);
    let is_path = name.contains('/') || path.extension().is_some_and(|it| it == BOX_EXTENSION);
    if is_path || name == "." {
        return at(path);
    }
    let run = Store::from_env()?.find(name)?;
    let process = name.parse().ok().and_then(|pid| child(&run, pid));
    Ok(Wanted { run, process })
}

/// The newest process of this number, unless it is the one that was started.
fn child(run: &StoredRun, pid: u32) -> Option<ProcessId> {
    let facts = run.facts().ok()?;
    let processes = facts.processes.iter().rev();
    let named = processes.map(|it| it.id).find(|id| id.pid == pid)?;
    (named.pid != facts.root.pid).then_some(named)
}

fn at(path: &Path) -> Result<Wanted> {
    let shown = path.display();
    if !path.exists() {
        bail!("No such file or folder: `{shown}`");
    }
    let path = fs_err::canonicalize(path)?;
    let process = process_of(&path).filter(|_| path.is_file());
    let is_inside = process.is_some() || path.file_name().is_some_and(|name| name == FACTS_FILE);
    let folder = if is_inside { path.parent() } else { None };
    let directory = folder.unwrap_or(&path).to_owned();
    let id = directory.file_name().unwrap_or_default();
    let run = StoredRun {
        id: id.to_string_lossy().into_owned(),
        directory,
    };
    let is_run = run.directory.is_dir()
        && (run.directory.join(FACTS_FILE).exists() || !run.boxes()?.is_empty());
    if !is_run {
        bail!(
            "No run in `{shown}`\nhint: a run's folder has a `{FACTS_FILE}`, or a black box such \
             as `4711-99.{BOX_EXTENSION}`"
        );
    }
    let is_root = |process: &ProcessId| run.facts().is_ok_and(|facts| facts.root == *process);
    let process = process.filter(|process| !is_root(process));
    Ok(Wanted { run, process })
}
