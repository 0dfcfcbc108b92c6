//! `cargo xtask bench`: what Outlive costs, as ratios to the same program without it and beside
//! its peers, measured in one session. `benches/README.md` tells the method.

mod check;
mod figures;
mod grid;
mod instructions;
mod measurement;
mod memory;
mod notebook;
mod options;
mod overhead;
mod report;
mod results;
mod samples;
mod stage;
mod statistics;
mod survival;
mod tool;
mod why;
mod workload;

use anyhow::{Result, bail};

const USAGE: &str = "\
Usage: cargo xtask bench NAME [OPTIONS]

  overhead   time, processor time, instructions and memory, bare and under every tool
  memory     resident memory and start-up time that recording adds to a process
  check      time of `outlive check` beside its peers, and what it says about sound packages
  why        time of `outlive why` on full and on ordinary black boxes
  notebook   what the set-up of Jupyter adds to a kernel, and how soon its answers are there
  grid       `make_grid` and contact sheets beside their peers: time, memory
  survival   what becomes of programs that run out of memory, bare and under every tool

  --rounds N         at most N rounds (default: 60); 0 only counts and samples
  --peer-rounds N    rounds in which the peers take part (default: 3)
  --minutes N        at most N minutes a workload (default: 20)
  --no-instructions  leaves the counting of instructions out
  --no-samples       leaves the sampling out
  --only NAME[,NAME] these workloads
  --tools NAME[,…]   of bare, outlive, memray, fil, scalene (default: all)
  --quick            small workloads, three rounds, nothing kept: shows that the harness works
  --python PATH      an interpreter that has the requirements (default: .cache/bench-venv)
  --outlive PATH     a built tool, its hook library beside it (default: builds one)
";

/// Runs the benchmark that the first word names.
pub(crate) fn main(arguments: &[String]) -> Result<()> {
    let Some((name, rest)) = arguments.split_first() else {
        print!("{USAGE}\n{}\n{}", survival::USAGE, check::USAGE);
        return Ok(());
    };
    match name.as_str() {
        "survival" => return survival::main(rest),
        "check" => return check::main(rest),
        _ => {}
    }
    let options = options::Options::parse(rest)?;
    match name.as_str() {
        "overhead" => overhead::main(&options),
        "memory" => memory::main(&options),
        "why" => why::main(&options),
        "grid" => grid::main(&options),
        "notebook" => notebook::main(&options),
        _ => bail!("Unknown benchmark `{name}`\nhint: `cargo xtask bench` lists them"),
    }
}
