//! The command line of Outlive: the only crate that prints, chooses exit codes and reads the
//! environment.
//!
//! `commands` holds one file a subcommand; `supervise` runs and watches a process tree for
//! `outlive run`; `store` is the folder where runs are kept.

mod boxes;
pub mod check;
pub mod cli;
pub mod commands;
pub mod env;
pub mod exit;
pub mod grid;
pub mod json;
mod kept_sources;
pub mod limit;
mod local_time;
mod lsp;
mod peak;
mod prepared;
pub mod printer;
mod sources;
pub mod store;
mod summary;
pub mod supervise;
mod uncaught;
mod wanted;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;

use crate::cli::{Arguments, Command};
use crate::printer::visible::visible;
use crate::supervise::witness;

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    // Before the parser: the witness starts beside every program, and must be cheap.
    if std::env::args_os()
        .nth(1)
        .is_some_and(|argument| argument == witness::ARGUMENT)
    {
        return witness::main();
    }
    let arguments = Arguments::parse();
    let ending = match arguments.command {
        Command::Run(run) => commands::run::run(&run),
        Command::Why(why) => commands::why::run(&why),
        Command::List(list) => commands::list::run(&list),
        Command::Check(check) => commands::check::run(&check),
        Command::Explain(explain) => commands::explain::run(&explain),
        Command::Grid(grid) => commands::grid::run(&grid),
        Command::Lsp(_) => commands::lsp::run(),
        Command::Watch(watch) => commands::watch::run(&watch),
        Command::Setup(setup) => commands::jupyter::setup(&setup),
        Command::Doctor(doctor) => commands::jupyter::doctor(&doctor),
    };
    match ending {
        Ok(ending) => ending.into_exit_code(),
        Err(error) => {
            say(&format!("{error:#}"));
            ExitCode::from(exit::OWN_FAULT)
        }
    }
}

/// Writes a line of Outlive's own to standard error, and its hint if it has one. A closed standard
/// error is not a fault: the program it concerns has its own life.
pub fn say(line: &str) {
    let lines: Vec<String> = line.split('\n').map(visible).collect();
    let _ = writeln!(io::stderr().lock(), "outlive: {}", lines.join("\n"));
}
