//! `outlive run`: a program with a black box around it.

use std::ffi::OsString;
use std::io::{self, ErrorKind, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, anyhow};

use crate::cli::RunArguments;
use crate::exit::{self, Ending};
use crate::prepared::{Prepared, guard, wish};
use crate::say;
use crate::summary;
use crate::supervise::prune::{self, Quota};
use crate::supervise::{Ties, spawn, supervise, target};

/// Runs the program and ends like it.
pub fn run(arguments: &RunArguments) -> Result<Ending> {
    let words = target::resolve(&arguments.command)?;
    let (program, rest) = words.split_first().context("No command to run")?;
    let mut command = Command::new(program);
    command.args(rest);
    let wish = wish(arguments.limit, arguments.allow_sparse, arguments.no_guard)?;
    let recording = Prepared::make(arguments.box_size).inspect_err(|error| {
        if !arguments.quiet {
            let what = match wish {
                Some(_) => "Not recorded, and so not guarded",
                None => "Not recorded",
            };
            say(&format!("{what}: {error:#}"));
        }
    });
    let plan = recording.as_ref().ok().map(|recording| {
        command.envs(recording.environment());
        let mut plan = recording.plan(in_words(&words));
        guard(&mut plan, wish, arguments.quiet);
        plan
    });
    announce(arguments.starter.announce_fd, recording.as_ref().ok());
    let ties = Ties {
        with_parent: arguments.starter.with_parent,
        oom_score_adj: arguments.starter.oom_score_adj,
    };
    let outcome = supervise(&mut command, plan, ties, || {
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

fn in_words(words: &[OsString]) -> Vec<String> {
    let word = |word: &OsString| word.to_string_lossy().into_owned();
    words.iter().map(word).collect()
}

/// Tells whoever started Outlive which run this is. Closed in any case: the program must not
/// inherit the descriptor.
fn announce(descriptor: Option<i32>, recording: Option<&Prepared>) {
    let file = descriptor.and_then(spawn::take_descriptor);
    if let (Some(mut file), Some(recording)) = (file, recording) {
        // Who does not listen need not know.
        let line = format!("{}\n", recording.announcement());
        let _ = file.write_all(line.as_bytes());
    }
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
