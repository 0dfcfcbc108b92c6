//! `cargo xtask bench survival`: what becomes of programs that run out of memory, bare and under
//! every tool, each in a memory cgroup of its own; and the other figures of the guard: fast growth,
//! programs that fit, the cost of a decision.

mod decision;
mod fits;
mod group;
mod growth;
mod guardian;
mod named;
mod native;
mod options;
mod outing;
mod page;
mod rounds;
mod run;
mod scenario;

use anyhow::Result;

use super::stage::Stage;
use options::{Figure, Options};

/// The words behind `survival`.
pub(super) const USAGE: &str = "\
Options of `survival`:

  --growth | --fits | --decision   another figure of the guard instead of the scenarios
  --limits SIZE[,SIZE]  limits of the cgroup (default: 512MiB,1GiB,2GiB,4GiB)
  --rounds N            rounds under Outlive (default: 20; growth 50, fits 25)
  --peer-rounds N       rounds of the others (default: 1)
  --only NAME[,NAME]    these scenarios or programs
  --tools NAME[,…]      of bare, earlyoom, fil, memray, outlive (default: all)
  --again               measures anew what was measured already
  --date YYYY-MM-DD     goes on with the results of that day (default: today)
  --quick               the smallest limit, one round unless `--rounds` says more, nothing kept
  --python, --outlive   as above
";

/// Reads the words behind `survival` and measures what they ask for.
pub(super) fn main(arguments: &[String]) -> Result<()> {
    let options = Options::parse(arguments)?;
    let stage = Stage::prepare(&options.stage())?;
    match options.figure {
        Figure::Scenarios => rounds::main(&options, &stage),
        Figure::Growth => growth::main(&options, &stage),
        Figure::Fits => fits::main(&options, &stage),
        Figure::Decision => decision::main(&options, &stage),
    }
}
