//! Where a run is recorded to and how it is guarded: made before a program starts, or before a hook
//! is put into one that runs.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};

use crate::env;
use crate::limit::Limit;
use crate::say;
use crate::store::{Store, StoredRun};
use crate::supervise::guard::{Guard, Wish};
use crate::supervise::{Plan, hook_library};

/// A place to record to, and the means.
#[derive(Debug)]
pub(crate) struct Prepared {
    /// All runs.
    pub(crate) store: Store,
    /// This one.
    pub(crate) run: StoredRun,
    hook: PathBuf,
    box_size: u64,
}

impl Prepared {
    /// Makes the run's folder.
    pub(crate) fn make(box_size: u64) -> Result<Self> {
        let hook = preloadable_hook()?;
        let store = Store::from_env()?;
        let run = store.create()?;
        if let Err(error) = require_space(&run.directory, box_size) {
            let _ = std::fs::remove_dir(&run.directory);
            return Err(error);
        }
        Ok(Self {
            store,
            run,
            hook,
            box_size,
        })
    }

    /// What the hook is told, in the recorded program and all that it starts.
    pub(crate) fn environment(&self) -> [(&'static str, OsString); 3] {
        [
            (env::PRELOAD, env::preload_with(self.hook.as_os_str())),
            (env::RUN_DIR, self.run.directory.clone().into_os_string()),
            (env::BOX_SIZE, self.box_size.to_string().into()),
        ]
    }

    /// What is to be recorded.
    pub(crate) fn plan(&self, command: Vec<String>) -> Plan<'_> {
        Plan {
            run: &self.run,
            command,
            remarks: Vec::new(),
            guard: None,
        }
    }

    /// One line for programs: which run this is, and what a hook that is put in later needs.
    pub(crate) fn announcement(&self) -> serde_json::Value {
        let environment = self.environment();
        let environment: serde_json::Map<String, serde_json::Value> = environment
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value.to_string_lossy().into()))
            .collect();
        serde_json::json!({
            "run": self.run.id,
            "directory": self.run.directory.to_string_lossy(),
            "hook": self.hook.to_string_lossy(),
            "pid": std::process::id(),
            "environment": environment,
        })
    }
}

/// The hook, at a path that the loader accepts.
fn preloadable_hook() -> Result<PathBuf> {
    let hook = hook_library::find().ok_or_else(|| {
        anyhow!(
            "`liboutlive_hook.so` not found; set `{}` to its path",
            env::HOOK_LIBRARY
        )
    })?;
    let bytes = hook.as_os_str().as_bytes();
    if bytes.iter().any(|byte| b": \t\n".contains(byte)) {
        let path = hook.display();
        bail!("`{path}` cannot be preloaded: its path has a space or a colon");
    }
    Ok(hook)
}

/// What the guard is to keep to; `None` for no guard.
pub(crate) fn wish(limit: Limit, allow_sparse: bool, no_guard: bool) -> Result<Option<Wish>> {
    let wish = Wish {
        limit,
        allow_sparse,
    };
    match wish.objection() {
        Some(objection) => bail!(objection),
        None => Ok((!no_guard).then_some(wish)),
    }
}

/// Makes the guard. A program that cannot be guarded runs all the same.
pub(crate) fn guard(plan: &mut Plan<'_>, wish: Option<Wish>, quiet: bool) {
    match wish.map(|wish| Guard::make(&plan.run.directory, wish)) {
        None => {}
        Some(Ok(guard)) => plan.guard = Some(guard),
        Some(Err(error)) => {
            let remark = format!("Not guarded: cannot make the ledger: {error}");
            if !quiet {
                say(&remark);
            }
            plan.remarks.push(remark);
        }
    }
}

/// A box that runs out of disk later would end the program with a bus error.
fn require_space(directory: &Path, box_size: u64) -> Result<()> {
    let space = rustix::fs::statvfs(directory)
        .with_context(|| format!("Cannot see the free space of `{}`", directory.display()))?;
    let free = space.f_bavail * space.f_frsize;
    if free < box_size {
        let place = directory.parent().unwrap_or(directory).display();
        bail!(
            "Disk full: {} MiB free in `{place}`, a black box takes {} MiB",
            free >> 20,
            box_size >> 20
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_without_room_for_a_box_is_said_in_one_line() {
        let folder = tempfile::tempdir().unwrap();
        assert!(require_space(folder.path(), 4096).is_ok());
        let message = require_space(folder.path(), u64::MAX)
            .unwrap_err()
            .to_string();
        assert!(message.starts_with("Disk full: "), "{message}");
        assert_eq!(message.lines().count(), 1);
    }

    #[test]
    fn a_program_that_cannot_be_guarded_is_recorded_all_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let run = StoredRun {
            id: String::new(),
            directory: folder.path().join("gone"),
        };
        let mut plan = Plan {
            run: &run,
            command: Vec::new(),
            remarks: Vec::new(),
            guard: None,
        };
        let wish = Wish {
            limit: Limit::Auto,
            allow_sparse: false,
        };
        guard(&mut plan, Some(wish), true);
        assert!(plan.guard.is_none());
        let remark = "Not guarded: cannot make the ledger: ";
        assert!(plan.remarks[0].starts_with(remark), "{:?}", plan.remarks);
    }
}
