//! `--fits`: programs that fit into their limit are left alone. Those that fill 95 % of the budget,
//! and those that some tools end although they fit.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde::Serialize;
use serde_json::Value;

use super::super::report::machine;
use super::super::results::Results;
use super::super::stage::Stage;
use super::group::{Group, budget};
use super::guardian::Guardian;
use super::named;
use super::options::{Options, size_words};
use super::outing::{End, Outing, watch};
use crate::workspace::{root, target_directory};

/// With four programs that fill their budget: a hundred runs.
const ROUNDS: usize = 25;
const PATIENCE: Duration = Duration::from_mins(2);
const MIB: u64 = 1 << 20;
/// Length of the file that is larger than its group.
const FILE_BYTES: u64 = 3 << 30;

/// A program of `tests/python/programs` and the limit that it fits into.
#[derive(Clone, Copy, Debug)]
struct Program {
    name: &'static str,
    limit: u64,
    argument: Argument,
    /// Requests that it expects to fail: they are no false refusals.
    expects_refusal: bool,
}

/// What a program is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Argument {
    /// Nothing.
    Nothing,
    /// The bytes to fill: 95 % of the budget.
    Bytes,
    /// A file larger than the limit.
    File,
}

const fn program(name: &'static str, limit: u64, argument: Argument) -> Program {
    Program {
        name,
        limit,
        argument,
        expects_refusal: false,
    }
}

const PROGRAMS: [Program; 9] = [
    program("fill_numpy", 1024 * MIB, Argument::Bytes),
    program("fill_numpy_at_once", 1024 * MIB, Argument::Bytes),
    program("fill_torch", 1024 * MIB, Argument::Bytes),
    program("fill_objects", 1024 * MIB, Argument::Bytes),
    program("numpy_of_fifty_mib", 400 * MIB, Argument::Nothing),
    program("resnet_steps", 2048 * MIB, Argument::Nothing),
    program("read_file_in_pieces", 2048 * MIB, Argument::File),
    program("map_file", 2048 * MIB, Argument::File),
    Program {
        expects_refusal: true,
        ..program("memory_error_caught", 256 * MIB, Argument::Nothing)
    },
];

/// One run of a program that fits.
#[derive(Debug, Serialize)]
struct Fit {
    program: &'static str,
    tool: Guardian,
    round: usize,
    /// Ended well with the output of the bare run, nothing refused or stopped.
    left_alone: bool,
    end: String,
    kills: u64,
    refusals: u64,
    stops: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    peak_bytes: Option<u64>,
    seconds: f64,
}

/// Runs every program bare, then under the tools, and prints one table.
pub(super) fn main(options: &Options, stage: &Stage) -> Result<()> {
    let mut fits = Vec::new();
    for program in PROGRAMS
        .iter()
        .filter(|program| options.wants(program.name))
    {
        println!("==> {} in {}", program.name, size_words(program.limit));
        let bare = play(stage, program, Guardian::Bare)?;
        ensure!(
            bare.end == End::Exit(0),
            "`{}` does not fit: {}\n{}",
            program.name,
            bare.end.words(),
            bare.complaint
        );
        for guardian in options
            .guardians
            .iter()
            .filter(|tool| **tool != Guardian::Bare)
        {
            guardian.ensure_here()?;
            for round in 0..options.rounds(*guardian, ROUNDS) {
                let fit = one(stage, program, *guardian, round, &bare)?;
                fits.push(fit);
            }
        }
    }
    let results = Results::of_day(stage, options.date.as_deref())?;
    let page = page(&results, &fits);
    println!("\n{page}");
    if options.quick {
        return Ok(());
    }
    results.write(
        "survival-fits.json",
        &(serde_json::to_string_pretty(&fits)? + "\n"),
    )?;
    results.write("survival-fits.md", &page)
}

fn one(
    stage: &Stage,
    program: &Program,
    guardian: Guardian,
    round: usize,
    bare: &Outing,
) -> Result<Fit> {
    let outing = play(stage, program, guardian)?;
    let told = if guardian == Guardian::Outlive {
        named::why(stage, stage.folder())?
    } else {
        Value::Null
    };
    let count = |name: &str| told["budget"][name].as_u64().unwrap_or(0);
    let (refusals, stops) = (count("refusals"), count("stops"));
    let is_untouched = program.expects_refusal || refusals + stops == 0;
    let fit = Fit {
        program: program.name,
        tool: guardian,
        round,
        left_alone: (outing.end, &outing.output, outing.kills) == (bare.end, &bare.output, 0)
            && is_untouched,
        end: outing.end.words(),
        kills: outing.kills,
        refusals,
        stops,
        peak_bytes: outing.peak_bytes,
        seconds: outing.seconds,
    };
    println!(
        "    {:8} {:>3}  {}  {refusals} refused  {stops} stopped  {:.1} s",
        guardian.name(),
        round + 1,
        if fit.left_alone {
            "left alone"
        } else {
            &fit.end
        },
        fit.seconds
    );
    if guardian == Guardian::Outlive && !fit.left_alone {
        println!("{}", outing.complaint.trim_end());
    }
    Ok(fit)
}

fn play(stage: &Stage, program: &Program, guardian: Guardian) -> Result<Outing> {
    let folder = stage.fresh_folder()?;
    let programs = root().join("tests/python/programs");
    let mut script = vec![
        programs
            .join(program.name)
            .with_extension("py")
            .into_os_string(),
    ];
    script.extend(argument(program)?);
    let group = Group::with_limit(program.limit)?;
    let words = guardian.command(stage, &group, &script, &folder);
    watch(&group, &words, &folder, &[], PATIENCE)
}

fn argument(program: &Program) -> Result<Option<OsString>> {
    Ok(match program.argument {
        Argument::Nothing => None,
        Argument::Bytes => {
            let bytes = budget(program.limit) / 100 * 95;
            Some(bytes.to_string().into())
        }
        Argument::File => {
            // A new one for every run: its pages are in nobody's cache yet, and are charged to the
            // group that reads them.
            let path = target_directory().join("survival-file");
            let _ = fs::remove_file(&path);
            File::create(&path)
                .and_then(|file| file.set_len(FILE_BYTES))
                .with_context(|| format!("Cannot make `{}`", path.display()))?;
            Some(path.into_os_string())
        }
    })
}

fn page(results: &Results, fits: &[Fit]) -> String {
    let mut page = format!(
        "# Programs that fit\n\n{}, {}.\n\n*Left alone*: ended well with the output of the bare \
         run, no process killed, and under Outlive nothing refused or stopped that the program did \
         not expect. The first four fill 95 % of the budget.\n\n| program | limit | tool | left \
         alone | how the others ended |\n|---|---|---|---|---|\n",
        results.date,
        machine(&results.machine)
    );
    for program in &PROGRAMS {
        for guardian in Guardian::ALL {
            let its: Vec<&Fit> = fits
                .iter()
                .filter(|fit| fit.program == program.name && fit.tool == guardian)
                .collect();
            if its.is_empty() {
                continue;
            }
            let mut ends: Vec<&str> = its
                .iter()
                .filter(|fit| !fit.left_alone)
                .map(|fit| if fit.kills > 0 { "killed" } else { &fit.end })
                .collect();
            ends.sort_unstable();
            ends.dedup();
            let _ = writeln!(
                page,
                "| `{}` | {} | {} | {} of {} | {} |",
                program.name,
                size_words(program.limit),
                guardian.name(),
                its.iter().filter(|fit| fit.left_alone).count(),
                its.len(),
                ends.join(", ")
            );
        }
    }
    page
}
