//! `outlive watch`: a black box and a guard for a program that runs already.
//!
//! The program itself starts it, and loads the hook when it has read from standard output which run
//! it belongs to. It goes on in a process that is not the program's child: a child would be seen by
//! `os.wait` and stay as a zombie.

use std::io::{self, Write};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use crate::cli::WatchArguments;
use crate::exit::Ending;
use crate::prepared::{Prepared, guard, wish};
use crate::supervise::prune::{self, Quota};
use crate::supervise::{beside, spawn};

/// Watches until the program ends.
pub fn run(arguments: &WatchArguments) -> Result<Ending> {
    if !arguments.stay {
        return go_on_elsewhere();
    }
    let wish = wish(arguments.limit, arguments.allow_sparse, arguments.no_guard)?;
    let recording = Prepared::make(arguments.box_size)?;
    let mut plan = recording.plan(beside::command_of(arguments.pid));
    guard(&mut plan, wish, true);
    beside::watch(arguments.pid, plan, || {
        tell(&recording);
        prune::prune(&recording.store, Quota::from_env());
    })
    .inspect_err(|_| {
        let _ = std::fs::remove_dir_all(&recording.run.directory);
    })
    .with_context(|| format!("Cannot watch process {}", arguments.pid))?;
    Ok(Ending::Code(0))
}

/// Says which run it is, and lets go of the pipes, which belong to the program.
fn tell(recording: &Prepared) {
    let line = format!("{}\n", recording.announcement());
    let _ = io::stdout().write_all(line.as_bytes());
    if let Ok(null) = std::fs::OpenOptions::new().write(true).open("/dev/null") {
        let _ = rustix::stdio::dup2_stdout(&null);
        let _ = rustix::stdio::dup2_stderr(&null);
    }
}

fn go_on_elsewhere() -> Result<Ending> {
    let mut command = Command::new("/proc/self/exe");
    command.args(std::env::args_os().skip(1)).arg("--stay");
    command.stdin(Stdio::null());
    spawn::with_no_signal_blocked(&mut command);
    command
        .spawn()
        .context("Cannot start the watching process")?;
    Ok(Ending::Code(0))
}
