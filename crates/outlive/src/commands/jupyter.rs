//! `outlive setup jupyter` and `outlive doctor jupyter`. What they look at are Python packages and
//! their settings, which Python itself knows best: the work is in the package, `outlive.jupyter`.

use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::cli::{DoctorArguments, Format, SetupArguments};
use crate::exit::Ending;

/// Sets up the environment this program was installed into.
pub fn setup(arguments: &SetupArguments) -> Result<Ending> {
    let flags = [(arguments.undo, "--undo"), (arguments.dry_run, "--dry-run")];
    let given = flags.iter().filter(|(is_given, _)| *is_given);
    become_python("setup", given.map(|(_, flag)| *flag))
}

/// Checks it.
pub fn doctor(arguments: &DoctorArguments) -> Result<Ending> {
    let format = match arguments.format {
        Format::Text => "text",
        Format::Json => "json",
    };
    become_python("doctor", ["--format", format])
}

fn become_python<'a>(task: &str, flags: impl IntoIterator<Item = &'a str>) -> Result<Ending> {
    let python = python();
    let mut question = Command::new(&python);
    question.args(["-c", "import outlive.jupyter"]);
    question.stdout(Stdio::null()).stderr(Stdio::null());
    let answer = question
        .status()
        .with_context(|| format!("Cannot run `{}`", python.display()))?;
    if !answer.success() {
        bail!(
            "The Python package `outlive` is not installed for `{}`\n\
             hint: install the wheel there, or activate the environment that has it",
            python.display()
        );
    }
    let mut command = Command::new(&python);
    command.args(["-m", "outlive.jupyter", task]).args(flags);
    Err(command.exec()).with_context(|| format!("Cannot run `{}`", python.display()))
}

/// The interpreter of the environment: beside this program, or the first on the PATH.
fn python() -> PathBuf {
    let program = std::env::args_os().next().map(PathBuf::from);
    // As it was called: a link in an environment belongs there, and not where it leads to.
    let called = program.filter(|program| program.components().count() > 1);
    let own = std::env::current_exe().ok();
    let folders = [called, own].into_iter().flatten();
    let beside = folders.filter_map(|program| Some(program.parent()?.to_owned()));
    let candidates = beside.flat_map(|folder| ["python3", "python"].map(|name| folder.join(name)));
    let found = candidates.into_iter().find(|path| path.is_file());
    found.unwrap_or_else(|| PathBuf::from("python3"))
}
