//! Tables for people, in Markdown, made from the raw runs.

use std::fmt::Write as _;

use super::figures::{Figure, estimate, timed, watched};
use super::instructions::{Count, Counter};
use super::results::{Machine, Results};
use super::samples::Share;
use super::statistics::{Estimate, median_of};
use super::tool::Tool;
use super::workload::{Goal, LOOP_GOAL, WORKLOADS, Workload};

/// The page about overhead: goals first, then every tool on every workload.
pub(crate) fn overhead(results: &Results) -> String {
    let versions: Vec<String> = results
        .versions
        .iter()
        .map(|(name, version)| format!("{name} {version}"))
        .collect();
    let mut page = format!(
        "# Overhead\n\n{}, {}.\n{}.\n\n",
        results.date,
        machine(&results.machine),
        versions.join(", ")
    );
    page += "Medians of the ratios to the bare run of the same round, 95 % intervals in brackets \
             (bootstrap of the median). *Whole* is the process from start to end, imports and exit \
             included; *loop* is the work alone, timed inside the program. How it is measured: \
             `benches/README.md`.\n\n";
    if results.runs.iter().any(|run| run.tool == Tool::Outlive) {
        page += &goals(results);
    }
    page += &boxes(results);
    for workload in WORKLOADS
        .iter()
        .filter(|workload| was_run(results, workload))
    {
        page += &tools(results, workload);
    }
    page
}

/// One line about the machine.
pub(crate) fn machine(machine: &Machine) -> String {
    format!(
        "{} × {}, {} GiB, Linux {}",
        machine.processors, machine.processor, machine.memory_gib, machine.kernel
    )
}

/// A row of a table of goals.
pub(crate) fn goal_row(figure: &str, goal: f64, unit: &str, estimate: Option<Estimate>) -> String {
    let digits = if unit.is_empty() { 3 } else { 1 };
    let Some(estimate) = estimate else {
        return format!("| {figure} | ≤ {goal}{unit} | – | – | 0 | not measured |\n");
    };
    format!(
        "| {figure} | ≤ {goal}{unit} | {:.digits$} | {:.digits$}–{:.digits$} | {} | {} |\n",
        estimate.median,
        estimate.low,
        estimate.high,
        estimate.count,
        estimate.verdict(goal).words()
    )
}

/// Head of a table of goals.
pub(crate) const GOALS_HEAD: &str =
    "| figure | goal | median | 95 % interval | rounds | |\n|---|---|---|---|---|---|\n";

fn goals(results: &Results) -> String {
    let mut table = format!("## Goals\n\n{GOALS_HEAD}");
    for workload in WORKLOADS
        .iter()
        .filter(|workload| was_run(results, workload))
    {
        let of = |figure| estimate(&results.runs, workload.name, Tool::Outlive, figure);
        let name = |part: &str| format!("`{}`, {part}", workload.name);
        match workload.goal {
            Goal::Ratio(most) => {
                table += &goal_row(&name("whole, processor time"), most, "", of(Figure::Cpu));
                table += &goal_row(&name("whole, wall time"), most, "", of(Figure::Wall));
            }
            Goal::AddedMilliseconds(most) => {
                let added = of(Figure::AddedWallMilliseconds);
                table += &goal_row(&name("added wall time"), most, " ms", added);
            }
        }
        if workload.has_loop {
            table += &goal_row(
                &name("loop, processor time"),
                LOOP_GOAL,
                "",
                of(Figure::LoopCpu),
            );
            table += &goal_row(
                &name("loop, wall time"),
                LOOP_GOAL,
                "",
                of(Figure::LoopWall),
            );
        }
        table += &count_row(results, workload);
        table += &sample_rows(results, workload);
    }
    table + "\n"
}

/// The row with the instructions, which need no interval: the same run gives the same count.
fn count_row(results: &Results, workload: &Workload) -> String {
    let Some(count) = count(results, workload, Tool::Outlive) else {
        return String::new();
    };
    let (part, goal, ratio) = match (workload.goal, count.loop_alone) {
        (_, Some(_)) => (
            "loop",
            LOOP_GOAL,
            count_ratio(results, &count, |count| count.loop_alone),
        ),
        (Goal::Ratio(most), None) => (
            "whole",
            most,
            count_ratio(results, &count, |count| Some(count.whole)),
        ),
        (Goal::AddedMilliseconds(_), None) => return String::new(),
    };
    let Some(ratio) = ratio else {
        return String::new();
    };
    let verdict = if ratio <= goal { "met" } else { "not met" };
    let name = workload.name;
    format!("| `{name}`, {part}, instructions | ≤ {goal} | {ratio:.4} | | 1 | {verdict} |\n")
}

/// The rows with the time inside Outlive, sampled.
fn sample_rows(results: &Results, workload: &Workload) -> String {
    let mut samples = results.samples.iter();
    let Some(sampled) = samples.find(|sampled| sampled.workload == workload.name) else {
        return String::new();
    };
    let Goal::Ratio(most) = workload.goal else {
        return String::new();
    };
    let row = |part: &str, share: Share, goal: f64| {
        let Some([ratio, low, high]) = share.ratio() else {
            return String::new();
        };
        let verdict = if high <= goal {
            "met"
        } else if low > goal {
            "not met"
        } else {
            "not resolved"
        };
        format!(
            "| `{}`, {part}, samples | ≤ {goal} | {ratio:.4} | {low:.4}–{high:.4} | {} | {verdict} |\n",
            workload.name, sampled.runs
        )
    };
    row("whole", sampled.whole, most) + &row("loop", sampled.loop_alone, LOOP_GOAL)
}

fn boxes(results: &Results) -> String {
    let mut sizes: Vec<u64> = results
        .runs
        .iter()
        .flat_map(|run| run.cost.box_bytes.clone())
        .collect();
    let count = sizes.len();
    sizes.sort_unstable();
    sizes.dedup();
    if sizes.is_empty() {
        return String::new();
    }
    let sizes: Vec<String> = sizes.iter().map(|size| mebibytes(*size)).collect();
    format!(
        "{count} black boxes were written; their sizes: {} MiB.\n\n",
        sizes.join(", ")
    )
}

fn tools(results: &Results, workload: &Workload) -> String {
    let bare = |of: fn(&super::measurement::Run) -> f64| {
        let values: Vec<f64> = timed(&results.runs, workload.name, Tool::Bare)
            .map(of)
            .collect();
        median_of(&values).unwrap_or(f64::NAN)
    };
    let mut table = format!(
        "## `{}`\n\nBare: {:.2} s wall, {:.2} s processor{}.\n\n",
        workload.name,
        bare(|run| run.cost.wall_seconds),
        bare(|run| run.cost.cpu_seconds()),
        memory(results, workload, Tool::Bare)
            .map(|(peak, _)| format!(", {peak} MiB"))
            .unwrap_or_default(),
    );
    table += "| tool | rounds | whole, wall | whole, processor | loop, wall | loop, processor | \
              instructions, whole / loop | peak MiB | output MiB |\n|---|---|---|---|---|---|---|---|---|\n";
    for tool in Tool::ALL.into_iter().filter(|tool| *tool != Tool::Bare) {
        table += &tool_row(results, workload, tool);
    }
    table + "\n"
}

fn tool_row(results: &Results, workload: &Workload, tool: Tool) -> String {
    let of = |figure| estimate(&results.runs, workload.name, tool, figure);
    let Some(wall) = of(Figure::Wall) else {
        return String::new();
    };
    let (whole_wall, whole_cpu) = match workload.goal {
        Goal::Ratio(_) => (cell(Some(wall), ""), cell(of(Figure::Cpu), "")),
        Goal::AddedMilliseconds(_) => (
            cell(of(Figure::AddedWallMilliseconds), " ms"),
            cell(of(Figure::AddedCpuMilliseconds), " ms"),
        ),
    };
    let (peak, output) = memory(results, workload, tool).unwrap_or_default();
    let mut row = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(
        row,
        "| {} | {} | {whole_wall} | {whole_cpu} | {} | {} | {} | {peak} | {output} |",
        tool.name(),
        wall.count,
        cell(of(Figure::LoopWall), ""),
        cell(of(Figure::LoopCpu), ""),
        count_cell(results, workload, tool),
    );
    row
}

/// `1.32 [1.30–1.35]`, or `+12.0 ms [11.0–13.0]`.
fn cell(estimate: Option<Estimate>, unit: &str) -> String {
    let Some(estimate) = estimate else {
        return "–".to_owned();
    };
    let Estimate {
        median, low, high, ..
    } = estimate;
    if unit.is_empty() {
        format!("{median:.3} [{low:.3}–{high:.3}]")
    } else {
        format!("+{median:.1}{unit} [{low:.1}–{high:.1}]")
    }
}

fn count_cell(results: &Results, workload: &Workload, tool: Tool) -> String {
    let Some(count) = count(results, workload, tool) else {
        return "–".to_owned();
    };
    let shown = |ratio: Option<f64>| ratio.map_or("–".to_owned(), |ratio| format!("{ratio:.4}"));
    let whole = shown(count_ratio(results, &count, |count| Some(count.whole)));
    let loop_alone = shown(count_ratio(results, &count, |count| count.loop_alone));
    let small = if count.counter == Counter::Cachegrind {
        " (small run)"
    } else {
        ""
    };
    format!("{whole} / {loop_alone}{small}")
}

fn count(results: &Results, workload: &Workload, tool: Tool) -> Option<Count> {
    let mut counts = results.instructions.iter();
    counts
        .find(|count| count.workload == workload.name && count.tool == tool)
        .cloned()
}

fn count_ratio(results: &Results, count: &Count, part: fn(&Count) -> Option<u64>) -> Option<f64> {
    let mut counts = results.instructions.iter();
    let bare = counts.find(|bare| bare.workload == count.workload && bare.tool == Tool::Bare)?;
    Some(part(count)? as f64 / part(bare)? as f64)
}

/// Peak memory of the tree and space of the output, in MiB.
fn memory(results: &Results, workload: &Workload, tool: Tool) -> Option<(String, String)> {
    let cost = &watched(&results.runs, workload.name, tool)?.cost;
    let peak = match workload.goal {
        Goal::Ratio(_) => mebibytes(cost.peak_anonymous_bytes?),
        // It ended before it could be looked at.
        Goal::AddedMilliseconds(_) => "–".to_owned(),
    };
    Some((peak, mebibytes(cost.output_bytes)))
}

fn mebibytes(bytes: u64) -> String {
    let mebibytes = bytes as f64 / f64::from(1 << 20);
    if mebibytes < 10.0 {
        format!("{mebibytes:.1}")
    } else {
        format!("{mebibytes:.0}")
    }
}

fn was_run(results: &Results, workload: &Workload) -> bool {
    results.runs.iter().any(|run| run.workload == workload.name)
}
