//! The page for people, in Markdown.

use std::fmt::Write as _;

use super::super::report::{GOALS_HEAD, goal_row, machine};
use super::super::statistics::{Estimate, median_of};
use super::cost::Cost;
use super::editor::{PROCESS, SERVER};
use super::record::{Findings, Record};
use super::speed::{CORPUS, OUTLIVE, PEERS, TORCHVISION};

/// Files that the large corpus is to have for its goals to mean something.
const CORPUS_FILES: usize = 11_800;
/// How many times as fast as each peer.
const LEAST_RATIO: f64 = 300.0;

/// Everything.
pub(super) fn page(record: &Record) -> String {
    let versions: Vec<String> = record
        .versions
        .iter()
        .map(|(name, version)| format!("{name} {version}"))
        .collect();
    format!(
        "# Check\n\n{}, {}.\n{}.\n\n{}{}{}{}",
        record.date,
        machine(&record.machine),
        versions.join(", "),
        goals(record),
        tools(record),
        editor(record),
        findings(record)
    )
}

fn goals(record: &Record) -> String {
    let mut table = format!("## Goals\n\n{GOALS_HEAD}");
    let files = |subject: &str| record.files.get(subject).copied().unwrap_or(0);
    let told = |what: &str, subject: &str| format!("{what}, {} files", files(subject));
    let walls = |subject: &str, factor: f64| {
        let costs = record.costs(subject, OUTLIVE);
        estimate(&costs, |cost| cost.wall_seconds * factor)
    };
    table += &goal_row(
        &told("torchvision, wall time", TORCHVISION),
        100.0,
        " ms",
        walls(TORCHVISION, 1e3),
    );
    for peer in PEERS {
        table += &ratio_row(peer, Estimate::of(&ratios(record, peer)));
    }
    let corpus = told("large corpus, wall time", CORPUS);
    table += &goal_row(&corpus, 4.0, " s", walls(CORPUS, 1.0));
    let costs = record.costs(CORPUS, OUTLIVE);
    let peak = estimate(&costs, |cost| mebibytes(cost.peak_resident_bytes));
    table += &goal_row("large corpus, peak resident memory", 100.0, " MiB", peak);
    for by in [SERVER, PROCESS] {
        let told = format!("editor, `{by}`, slowest of the files below");
        table += &goal_row(&told, 50.0, " ms", slowest(record, by));
    }
    if files(CORPUS) < CORPUS_FILES {
        let _ = write!(
            table,
            "\nThe goals of the large corpus are for {CORPUS_FILES} files.\n"
        );
    }
    table + "\n"
}

/// A goal that is a lower limit.
fn ratio_row(peer: &str, ratio: Option<Estimate>) -> String {
    let Some(ratio) = ratio else {
        return format!(
            "| times as fast as {peer} | ≥ {LEAST_RATIO} | – | – | 0 | not measured |\n"
        );
    };
    // Turned round it is an upper limit, for which there are words.
    let turned = Estimate {
        median: -ratio.median,
        low: -ratio.high,
        high: -ratio.low,
        count: ratio.count,
    };
    format!(
        "| times as fast as {peer} | ≥ {LEAST_RATIO} | {:.0} | {:.0}–{:.0} | {} | {} |\n",
        ratio.median,
        ratio.low,
        ratio.high,
        ratio.count,
        turned.verdict(-LEAST_RATIO).words()
    )
}

/// Wall time of the peer over ours, round by round.
fn ratios(record: &Record, peer: &str) -> Vec<f64> {
    let ours = record.costs(TORCHVISION, OUTLIVE);
    let theirs = record.costs(TORCHVISION, peer);
    theirs
        .iter()
        .zip(ours)
        .map(|(peer, ours)| peer.wall_seconds / ours.wall_seconds)
        .collect()
}

fn tools(record: &Record) -> String {
    let mut table = "## Costs\n\nMedians.\n\n| subject | tool | wall | processor time | peak \
                     resident | rounds |\n|---|---|---|---|---|---|\n"
        .to_owned();
    let rows = [OUTLIVE, PEERS[0], PEERS[1]].map(|tool| (TORCHVISION, tool));
    for (subject, tool) in rows.into_iter().chain([(CORPUS, OUTLIVE)]) {
        let costs = record.costs(subject, tool);
        if !costs.is_empty() {
            let _ = writeln!(
                table,
                "| {subject} | {tool} | {:.3} s | {:.3} s | {:.0} MiB | {} |",
                median(&costs, |cost| cost.wall_seconds),
                median(&costs, Cost::cpu_seconds),
                median(&costs, |cost| mebibytes(cost.peak_resident_bytes)),
                costs.len()
            );
        }
    }
    table + "\n"
}

fn editor(record: &Record) -> String {
    let mut table = "## One file of about 2,000 lines\n\n| file | by | median | slowest \
                     |\n|---|---|---|---|\n"
        .to_owned();
    for edited in &record.editor {
        let _ = writeln!(
            table,
            "| `{}` | `{}` | {:.1} ms | {:.1} ms |",
            edited.file,
            edited.by,
            median_of(&edited.seconds).unwrap_or(f64::NAN) * 1e3,
            edited.seconds.iter().copied().fold(f64::NAN, f64::max) * 1e3
        );
    }
    table + "\n"
}

/// Milliseconds of the file that takes a program longest.
fn slowest(record: &Record, by: &str) -> Option<Estimate> {
    let files = record.editor.iter().filter(|edited| edited.by == by);
    let estimates = files.filter_map(|edited| {
        let milliseconds: Vec<f64> = edited.seconds.iter().map(|time| time * 1e3).collect();
        Estimate::of(&milliseconds)
    });
    estimates.max_by(|one, other| one.median.total_cmp(&other.median))
}

fn findings(record: &Record) -> String {
    let mut table = "## Findings in packages\n\nIn those marked *sound* an error, or a file that \
                     `--fix` changes, is a mistake of Outlive.\n\n| package | | files | errors | \
                     warnings | infos | changed by `--fix` | rules |\n|---|---|---|---|---|---|---|---|\n"
        .to_owned();
    for package in &record.packages {
        let _ = writeln!(
            table,
            "| {} | {} | {} | {} | {} | {} | {} | {} |",
            package.package,
            if package.is_sound { "sound" } else { "" },
            package.files,
            package.count("error"),
            package.count("warning"),
            package.count("info"),
            package.changed.len(),
            rules(package)
        );
    }
    table
}

/// Which rules spoke of errors and warnings.
fn rules(package: &Findings) -> String {
    let loud = package.levels.iter().filter(|(level, _)| *level != "info");
    let told: Vec<String> = loud
        .flat_map(|(_, rules)| rules)
        .map(|(rule, count)| format!("{count} × `{rule}`"))
        .collect();
    told.join(", ")
}

fn estimate(costs: &[&Cost], figure: impl Fn(&Cost) -> f64) -> Option<Estimate> {
    let values: Vec<f64> = costs.iter().map(|cost| figure(cost)).collect();
    Estimate::of(&values)
}

fn median(costs: &[&Cost], figure: impl Fn(&Cost) -> f64) -> f64 {
    let values: Vec<f64> = costs.iter().map(|cost| figure(cost)).collect();
    median_of(&values).unwrap_or(f64::NAN)
}

fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}
