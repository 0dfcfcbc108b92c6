//! `outlive check`: the patterns that kill kernels, found in source code before it runs.

mod output;
mod watch;

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use outlive_check::Applicability;

use crate::check::{
    Base, Deed, Outcome, Overrides, Resolver, Target, Walk, WalkOptions, check_bytes, check_files,
    threads, walk,
};
use crate::cli::{CheckArguments, FixArguments};
use crate::exit::{Ending, FAILED, OWN_FAULT};
use crate::printer::{check_summary, finish_output};
use crate::say;
use crate::supervise::memory::Memory;

/// Checks what is asked for, and prints it.
pub fn run(arguments: &CheckArguments) -> Result<Ending> {
    let session = Session::new(arguments)?;
    if arguments.watch {
        return watch::run(&session);
    }
    let outcome = if is_standard_input(&arguments.paths) {
        session.check_standard_input()?
    } else {
        session.check_paths()?
    };
    tell_gaps(&outcome, arguments);
    finish_output(output::print(&outcome, arguments))?;
    Ok(ending(&outcome, arguments))
}

/// What the whole command shares.
#[derive(Debug)]
struct Session<'a> {
    arguments: &'a CheckArguments,
    base: Base,
    resolver: Resolver,
}

impl<'a> Session<'a> {
    fn new(arguments: &'a CheckArguments) -> Result<Self> {
        let base = Base::current().context("Cannot tell the current folder")?;
        let is_several = arguments.paths.len() > 1 || arguments.watch;
        if is_several && arguments.paths.iter().any(|path| path == Path::new("-")) {
            bail!("Standard input (`-`) is checked alone, and once");
        }
        let overrides = Overrides::of_arguments(&arguments.rules, &arguments.files, base.folder());
        let resolver = Resolver::new(overrides, Memory::of_machine())?;
        Ok(Self {
            arguments,
            base,
            resolver,
        })
    }

    fn walk(&self) -> Result<Walk> {
        let files = &self.arguments.files;
        let options = WalkOptions {
            respect_gitignore: !files.no_respect_gitignore,
            force_exclude: files.force_exclude,
            threads: threads(),
        };
        let paths = &self.arguments.paths;
        Ok(walk(paths, &self.base, &self.resolver, options)?)
    }

    fn check_paths(&self) -> Result<Outcome> {
        let found = self.walk()?;
        if found.targets.is_empty() && found.gaps.is_empty() {
            self.tell_that_nothing_is_there();
        }
        let mut outcome = Outcome {
            gaps: found.gaps,
            ..Outcome::default()
        };
        let deed = deed(self.arguments.fixes);
        for checked in check_files(&found.targets, &self.resolver, deed)? {
            outcome.add(checked);
        }
        Ok(outcome)
    }

    fn tell_that_nothing_is_there(&self) {
        if self.arguments.output.remarks.quiet {
            return;
        }
        if self.arguments.files.no_respect_gitignore {
            say("No Python files found");
        } else {
            say(
                "No Python files found\nhint: `--no-respect-gitignore` looks into what git ignores",
            );
        }
    }

    /// With `--fix`, what the fixes make of it goes to standard output.
    fn check_standard_input(&self) -> Result<Outcome> {
        let mut bytes = Vec::new();
        let read = io::stdin().lock().read_to_end(&mut bytes);
        read.context("Cannot read standard input")?;
        let name = self.arguments.files.stdin_filename.clone();
        let target = Target::named(name.unwrap_or_else(|| PathBuf::from("-")), &self.base);
        let scope = self.resolver.of_file(&target.absolute)?;
        let deed = deed(self.arguments.fixes);
        let unchanged = matches!(deed, Deed::Fix(_)).then(|| bytes.clone());
        let is_excluded =
            self.arguments.files.force_exclude && scope.excludes_file(&target.absolute);
        let mut outcome = Outcome::default();
        let mut fixed = None;
        if !is_excluded {
            let (checked, bytes) = check_bytes(&target, bytes, &scope, deed);
            outcome.add(checked);
            fixed = bytes;
        }
        if let Some(text) = fixed.or(unchanged) {
            finish_output(io::stdout().lock().write_all(&text))?;
        }
        Ok(outcome)
    }
}

fn is_standard_input(paths: &[PathBuf]) -> bool {
    matches!(paths, [path] if path == Path::new("-"))
}

fn deed(arguments: FixArguments) -> Deed {
    let least = if arguments.unsafe_fixes {
        Applicability::Unsafe
    } else {
        Applicability::Safe
    };
    if arguments.diff {
        Deed::Compare(least)
    } else if arguments.fix {
        Deed::Fix(least)
    } else {
        Deed::Report
    }
}

/// Says what was not checked. What was asked for and failed is told to those as well who want to
/// hear nothing.
fn tell_gaps(outcome: &Outcome, arguments: &CheckArguments) {
    let remarks = arguments.output.remarks;
    for line in check_summary::gap_lines(&outcome.gaps, remarks) {
        say(&line);
    }
}

fn ending(outcome: &Outcome, arguments: &CheckArguments) -> Ending {
    let is_found = !outcome.findings.is_empty() || !outcome.differences.is_empty();
    if outcome.has_failed() {
        Ending::Code(OWN_FAULT)
    } else if is_found && !arguments.output.exit_zero {
        Ending::Code(FAILED)
    } else {
        Ending::Code(0)
    }
}
