//! The table of survival, in Markdown, made from the raw runs.

use std::fmt::Write as _;

use super::super::report::machine;
use super::super::results::Results;
use super::super::statistics::median_of;
use super::guardian::Guardian;
use super::options::size_words;
use super::run::Run;

/// Percent of the budget that the peak may be over it.
const MOST_OVERSHOOT: f64 = 1.0;
const LEGEND: &str = "\
Every run is in a memory cgroup of its own. *Survived*: the program caught an exception, let go of \
its data, finished a small job with the same library and ended well, and the kernel killed no \
process of it. *Line*: a line of the program that may rightly be blamed is named, by an uncaught \
run and `outlive why`, or by the report of the tool (the line of the program that holds most). \
*Over*: how far the highest peak of the group was above the budget (the limit less one part in \
104), in percent of the budget; the cache of files is in it, so it is an upper bound, and where the \
kernel kills it says nothing. How it is measured: `benches/README.md`.\n\n";

/// The whole page.
pub(super) fn survival(results: &Results, runs: &[Run]) -> String {
    let versions: Vec<String> = results
        .versions
        .iter()
        .map(|(name, version)| format!("{name} {version}"))
        .collect();
    let mut page = format!(
        "# Survival\n\n{}, {}.\n{}.\n\n{LEGEND}",
        results.date,
        machine(&results.machine),
        versions.join(", ")
    );
    page += &goals(runs);
    page += &tools(runs);
    page += &matrix(runs);
    page += &limits(runs);
    page
}

/// One run in one line, as it is seen while measuring.
pub(super) fn line(run: &Run) -> String {
    format!(
        "    {:8} {:>3}  {}  {:5.1} s  peak {:7.1} MiB  anonymous {:7.1} MiB  over {} %",
        run.tool.name(),
        run.round + 1,
        cell(&[run]),
        run.seconds,
        mebibytes(run.peak_bytes.unwrap_or(0)),
        mebibytes(run.anonymous_bytes),
        run.overshoot()
            .map_or_else(|| "–".to_owned(), |over| format!("{over:.2}")),
    )
}

fn goals(runs: &[Run]) -> String {
    let ours: Vec<&Run> = of(runs, Guardian::Outlive);
    if ours.is_empty() {
        return String::new();
    }
    let survived = ours.iter().filter(|run| run.survived).count();
    let kills: u64 = ours.iter().map(|run| run.kills).sum();
    let over = highest_over(&ours);
    let anonymous = ours.iter().map(|run| run.anonymous_overshoot());
    let anonymous = anonymous.fold(0.0, f64::max);
    let verdict = |met| if met { "met" } else { "not met" };
    format!(
        "## Goals\n\n| figure | goal | measured | |\n|---|---|---|---|\n\
         | runs survived | all | {survived} of {} | {} |\n\
         | kernel kills | 0 | {kills} | {} |\n\
         | highest overshoot | ≤ {MOST_OVERSHOOT} % | {over:.2} % | {} |\n\
         | the same, anonymous memory alone | ≤ {MOST_OVERSHOOT} % | {anonymous:.2} % | {} |\n\n",
        ours.len(),
        verdict(survived == ours.len()),
        verdict(kills == 0),
        verdict(over <= MOST_OVERSHOOT),
        verdict(anonymous <= MOST_OVERSHOOT),
    )
}

fn tools(runs: &[Run]) -> String {
    let mut table =
        "## Tools\n\n| tool | runs | survived | exception seen | killed by the kernel | \
                     line named | over |\n|---|---|---|---|---|---|---|\n"
            .to_owned();
    for guardian in Guardian::ALL {
        let its = of(runs, guardian);
        if its.is_empty() {
            continue;
        }
        let asked = its.iter().filter(|run| run.round == 0).count();
        let right = its.iter().filter(|run| names_line(run)).count();
        let _ = writeln!(
            table,
            "| {} | {} | {} | {} | {} | {right} of {asked} | {:.2} % |",
            guardian.name(),
            its.len(),
            its.iter().filter(|run| run.survived).count(),
            its.iter().filter(|run| run.caught.is_some()).count(),
            its.iter().filter(|run| run.kills > 0).count(),
            highest_over(&its)
        );
    }
    table + "\n"
}

/// Scenario × tool, all limits together.
fn matrix(runs: &[Run]) -> String {
    let guardians: Vec<Guardian> = Guardian::ALL
        .into_iter()
        .filter(|guardian| runs.iter().any(|run| run.tool == *guardian))
        .collect();
    let names: Vec<&str> = guardians.iter().map(|guardian| guardian.name()).collect();
    let mut table = format!(
        "## Scenarios\n\n| scenario | {} |\n|---|{}\n",
        names.join(" | "),
        "---|".repeat(names.len())
    );
    for scenario in scenarios(runs) {
        let cells: Vec<String> = guardians
            .iter()
            .map(|guardian| {
                let its: Vec<&Run> = of(runs, *guardian)
                    .into_iter()
                    .filter(|run| run.scenario == scenario)
                    .collect();
                cell(&its)
            })
            .collect();
        let _ = writeln!(table, "| `{scenario}` | {} |", cells.join(" | "));
    }
    table + "\n"
}

/// Outlive alone, limit by limit.
fn limits(runs: &[Run]) -> String {
    let ours = of(runs, Guardian::Outlive);
    if ours.is_empty() {
        return String::new();
    }
    let mut table =
        "## Outlive at each limit\n\n| scenario | limit | survived | exception | verdict \
                     | over | over, anonymous | seconds |\n|---|---|---|---|---|---|---|---|\n"
            .to_owned();
    let mut keys: Vec<(&str, u64)> = ours
        .iter()
        .map(|run| (run.scenario.as_str(), run.limit))
        .collect();
    keys.sort_unstable();
    keys.dedup();
    for (scenario, limit) in keys {
        let its: Vec<&Run> = ours
            .iter()
            .copied()
            .filter(|run| run.scenario == scenario && run.limit == limit)
            .collect();
        let seconds: Vec<f64> = its.iter().map(|run| run.seconds).collect();
        let anonymous = its.iter().map(|run| run.anonymous_overshoot());
        let verdict = its
            .iter()
            .find_map(|run| run.answer.as_ref()?.verdict.as_deref());
        let _ = writeln!(
            table,
            "| `{scenario}` | {} | {} of {} | {} | {} | {:.2} % | {:.2} % | {:.1} |",
            size_words(limit),
            its.iter().filter(|run| run.survived).count(),
            its.len(),
            exceptions(&its).unwrap_or_else(|| "–".to_owned()),
            verdict.unwrap_or("–"),
            highest_over(&its),
            anonymous.fold(0.0, f64::max),
            median_of(&seconds).unwrap_or(f64::NAN)
        );
    }
    table
}

/// `20/20, MemoryError, line` or `0/4, killed, no line`.
fn cell(runs: &[&Run]) -> String {
    if runs.is_empty() {
        return "–".to_owned();
    }
    let survived = runs.iter().filter(|run| run.survived).count();
    let mut parts = vec![format!("{survived}/{}", runs.len())];
    parts.extend(exceptions(runs));
    let mut ends: Vec<&str> = runs
        .iter()
        .filter(|run| !run.survived)
        .map(|run| {
            if run.kills > 0 {
                "killed"
            } else {
                run.end.as_str()
            }
        })
        .collect();
    ends.sort_unstable();
    ends.dedup();
    parts.extend(ends.into_iter().map(str::to_owned));
    let asked: Vec<&&Run> = runs.iter().filter(|run| run.answer.is_some()).collect();
    let right = asked.iter().filter(|run| names_line(run)).count();
    if right > 0 && right == asked.len() {
        parts.push("line".to_owned());
    } else if !asked.is_empty() {
        parts.push(format!("line {right} of {}", asked.len()));
    }
    parts.join(", ")
}

/// The types of the exceptions seen.
fn exceptions(runs: &[&Run]) -> Option<String> {
    let mut types: Vec<&str> = runs
        .iter()
        .filter_map(|run| run.caught.as_deref())
        .collect();
    types.sort_unstable();
    types.dedup();
    (!types.is_empty()).then(|| types.join(" or "))
}

fn names_line(run: &Run) -> bool {
    run.answer.as_ref().is_some_and(|answer| answer.right)
}

fn highest_over(runs: &[&Run]) -> f64 {
    let overshoots = runs.iter().filter_map(|run| run.overshoot());
    overshoots.fold(0.0, f64::max)
}

fn of(runs: &[Run], guardian: Guardian) -> Vec<&Run> {
    runs.iter().filter(|run| run.tool == guardian).collect()
}

fn scenarios(runs: &[Run]) -> Vec<&str> {
    let mut names: Vec<&str> = runs.iter().map(|run| run.scenario.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(survived: bool, kills: u64) -> Run {
        serde_json::from_str(&format!(
            r#"{{"scenario": "a", "tool": "outlive", "limit": 1073741824, "round": 0,
                "survived": {survived}, "caught": "MemoryError", "end": "exit 1",
                "kills": {kills}, "anonymous_bytes": 1, "seconds": 1.0}}"#
        ))
        .unwrap()
    }

    #[test]
    fn a_cell_says_how_those_ended_that_did_not_survive() {
        assert_eq!(cell(&[&run(true, 0)]), "1/1, MemoryError");
        assert_eq!(
            cell(&[&run(true, 0), &run(false, 1)]),
            "1/2, MemoryError, killed"
        );
        assert_eq!(cell(&[]), "–");
    }

    #[test]
    fn one_kill_is_a_goal_not_met() {
        assert!(goals(&[run(true, 0)]).contains("| kernel kills | 0 | 0 | met |"));
        assert!(goals(&[run(true, 1)]).contains("| kernel kills | 0 | 1 | not met |"));
    }
}
