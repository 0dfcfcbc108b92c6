//! `outlive run`: a program with a black box around it.

use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, anyhow, bail};

use crate::cli::RunArguments;
use crate::env;
use crate::exit::{self, Ending};
use crate::say;
use crate::store::{Store, StoredRun};
use crate::summary;
use crate::supervise::guard::{Guard, Wish};
use crate::supervise::prune::{self, Quota};
use crate::supervise::{Plan, hook_library, supervise, target};

/// Runs the program and ends like it.
pub fn run(arguments: &RunArguments) -> Result<Ending> {
    let words = target::resolve(&arguments.command)?;
    let (program, rest) = words.split_first().context("No command to run")?;
    let mut command = Command::new(program);
    command.args(rest);
    let wish = wish(arguments)?;
    let recording = prepare(arguments.box_size).inspect_err(|error| {
        if !arguments.quiet {
            let what = match wish {
                Some(_) => "Not recorded, and so not guarded",
                None => "Not recorded",
            };
            say(&format!("{what}: {error:#}"));
        }
    });
    let plan = recording.as_ref().ok().map(|recording| {
        let mut plan = recording.plan(&mut command, &words);
        guard(&mut plan, wish, arguments.quiet);
        plan
    });
    let outcome = supervise(&mut command, plan, || {
        if let Ok(recording) = &recording {
            prune::prune(&recording.store, Quota::from_env());
        }
    });
    match outcome {
        Ok(outcome) => {
            if let (Ok(recording), Some(facts), false) =
                (&recording, &outcome.facts, arguments.quiet)
            {
                summary::print(&recording.run, facts, outcome.status);
            }
            Ok(Ending::mirroring(outcome.status))
        }
        Err(error) => {
            if let Ok(recording) = &recording {
                let _ = std::fs::remove_dir_all(&recording.run.directory);
            }
            cannot_start(program, &error)
        }
    }
}

/// What the guard is to keep to; `None` for no guard.
fn wish(arguments: &RunArguments) -> Result<Option<Wish>> {
    let wish = Wish {
        limit: arguments.limit,
        allow_sparse: arguments.allow_sparse,
    };
    match wish.objection() {
        Some(objection) => bail!(objection),
        None => Ok((!arguments.no_guard).then_some(wish)),
    }
}

/// Makes the guard. A program that cannot be guarded runs all the same.
fn guard(plan: &mut Plan<'_>, wish: Option<Wish>, quiet: bool) {
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

/// A place to record to, and the means.
#[derive(Debug)]
struct Prepared {
    store: Store,
    run: StoredRun,
    hook: PathBuf,
    box_size: u64,
}

impl Prepared {
    fn plan(&self, command: &mut Command, words: &[OsString]) -> Plan<'_> {
        command
            .env(env::PRELOAD, env::preload_with(self.hook.as_os_str()))
            .env(env::RUN_DIR, &self.run.directory)
            .env(env::BOX_SIZE, self.box_size.to_string());
        let command = words
            .iter()
            .map(|word| word.to_string_lossy().into_owned())
            .collect();
        Plan {
            run: &self.run,
            command,
            remarks: Vec::new(),
            guard: None,
        }
    }
}

fn prepare(box_size: u64) -> Result<Prepared> {
    let hook = hook_library::find().ok_or_else(|| {
        anyhow!(
            "`liboutlive_hook.so` not found; set `{}` to its path",
            env::HOOK_LIBRARY
        )
    })?;
    if hook
        .as_os_str()
        .as_bytes()
        .iter()
        .any(|byte| b": \t\n".contains(byte))
    {
        let path = hook.display();
        bail!("`{path}` cannot be preloaded: its path has a space or a colon");
    }
    let store = Store::from_env()?;
    let run = store.create()?;
    if let Err(error) = require_space(&run.directory, box_size) {
        let _ = std::fs::remove_dir(&run.directory);
        return Err(error);
    }
    Ok(Prepared {
        store,
        run,
        hook,
        box_size,
    })
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

/// One line and the code a shell would end with.
fn cannot_start(program: &OsString, error: &io::Error) -> Result<Ending> {
    let name = program.to_string_lossy();
    let code = match error.kind() {
        ErrorKind::NotFound | ErrorKind::PermissionDenied if Path::new(program).is_dir() => {
            say(&format!("Cannot execute `{name}`: is a directory"));
            exit::NOT_EXECUTABLE
        }
        ErrorKind::NotFound
            if !program.as_bytes().contains(&b'/') || !Path::new(program).exists() =>
        {
            say(&format!("Command not found: `{name}`"));
            exit::NOT_FOUND
        }
        ErrorKind::NotFound => {
            say(&format!(
                "Cannot execute `{name}`: its interpreter was not found"
            ));
            exit::NOT_EXECUTABLE
        }
        ErrorKind::PermissionDenied => {
            say(&format!("Cannot execute `{name}`: permission denied"));
            exit::NOT_EXECUTABLE
        }
        _ if error.raw_os_error() == Some(8) => {
            say(&format!("Cannot execute `{name}`: not a program"));
            exit::NOT_EXECUTABLE
        }
        _ => return Err(anyhow!("Cannot start `{name}`: {error}")),
    };
    Ok(Ending::Code(code))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limit::Limit;

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
