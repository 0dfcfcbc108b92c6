//! `cargo xtask bench overhead`: rounds of all tools, interleaved, until the answer is sharp.

use std::time::Instant;

use anyhow::Result;

use super::figures::{Figure, estimate};
use super::instructions::{self, Counter};
use super::measurement::{Look, Run, measure};
use super::options::Options;
use super::report;
use super::results::{Forget, Results};
use super::samples;
use super::stage::Stage;
use super::tool::{Scale, Tool};
use super::workload::{Goal, LOOP_GOAL, Workload};

/// Programs of a few milliseconds need more rounds, and can have them.
const SHORT_ROUNDS_FACTOR: usize = 4;

/// Measures every workload, keeps the runs, prints the table.
pub(crate) fn main(options: &Options) -> Result<()> {
    let stage = Stage::prepare(options)?;
    let mut results = Results::new(&stage)?;
    if options.scale == Scale::Full {
        results.adopt_earlier()?;
    }
    for workload in &options.workloads {
        let forget = Forget {
            runs: options.rounds > 0,
            instructions: options.instructions,
            samples: options.samples,
        };
        results.forget(workload.name, forget);
        if options.rounds > 0 {
            results.add(rounds(options, &stage, workload)?);
        }
        let counted = options.instructions && workload.countable;
        if let Some(counter) = Counter::available().filter(|_| counted) {
            let counts = instructions::count(options, &stage, workload, counter);
            results.instructions.extend(counts);
        }
        let is_sampled = options.samples && matches!(workload.goal, Goal::Ratio(_));
        if is_sampled && options.tools.contains(&Tool::Outlive) && samples::available() {
            results
                .samples
                .push(samples::sample(options, &stage, workload)?);
        }
        if options.scale == Scale::Full {
            // After each workload: hours of measuring must not be lost to the last one.
            results.save()?;
        }
    }
    println!("\n{}", report::overhead(&results));
    Ok(())
}

/// All rounds of one workload. Round 0 is watched for memory and warms the caches.
fn rounds(options: &Options, stage: &Stage, workload: &Workload) -> Result<Vec<Run>> {
    let mut tools = options.tools.clone();
    tools.retain(|tool| tool.can_run(workload));
    println!("\n==> {}", workload.name);
    let mut started = Instant::now();
    let mut runs = Vec::new();
    let limit = match workload.goal {
        Goal::Ratio(_) => options.rounds,
        Goal::AddedMilliseconds(_) => options.rounds * SHORT_ROUNDS_FACTOR,
    };
    for round in 0..=limit {
        if round == options.peer_rounds + 1 {
            tools.retain(|tool| !tool.is_peer());
            started = Instant::now();
        }
        if tools == [Tool::Bare] || started.elapsed() > options.patience {
            break;
        }
        if round == 0 && options.peer_rounds < 2 {
            // Little time for the peers: it goes into a timed round.
            let mut own: Vec<Tool> = tools.iter().copied().filter(|it| !it.is_peer()).collect();
            play(options, stage, workload, &mut own, round, &mut runs)?;
            continue;
        }
        play(options, stage, workload, &mut tools, round, &mut runs)?;
        if is_sharp(workload, &runs) {
            break;
        }
    }
    Ok(runs)
}

/// One round: every tool once, the order turned by one from round to round, so that none always
/// follows the same other and none always meets the same phase of the machine.
fn play(
    options: &Options,
    stage: &Stage,
    workload: &Workload,
    tools: &mut Vec<Tool>,
    round: usize,
    runs: &mut Vec<Run>,
) -> Result<()> {
    let mut order = tools.clone();
    order.rotate_left(round % tools.len());
    let look = if round == 0 {
        Look::Memory
    } else {
        Look::Clock
    };
    for tool in order {
        match measure(stage, workload, tool, options.scale, look) {
            Ok(cost) => {
                println!(
                    "    round {round:2}  {:8} {:8.3} s wall {:8.3} s processor",
                    tool.name(),
                    cost.wall_seconds,
                    cost.cpu_seconds()
                );
                runs.push(Run {
                    workload: workload.name.to_owned(),
                    tool,
                    round,
                    cost,
                });
            }
            // A peer that cannot run a workload is a result; ours is a defect.
            Err(error) if tool.is_peer() => {
                println!("    {} is left out: {error:#}", tool.name());
                tools.retain(|other| *other != tool);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Whether the intervals of our own figures are narrower than the margin that the goal allows.
/// It looks at widths alone: stopping at a welcome value would bias the result.
fn is_sharp(workload: &Workload, runs: &[Run]) -> bool {
    let narrow = |figure: Figure, margin: f64| {
        estimate(runs, workload.name, Tool::Outlive, figure)
            .is_some_and(|estimate| estimate.width() <= margin)
    };
    match workload.goal {
        Goal::AddedMilliseconds(most) => narrow(Figure::AddedWallMilliseconds, most / 10.0),
        Goal::Ratio(most) => {
            narrow(Figure::Cpu, most - 1.0)
                && (!workload.has_loop || narrow(Figure::LoopCpu, LOOP_GOAL - 1.0))
        }
    }
}
