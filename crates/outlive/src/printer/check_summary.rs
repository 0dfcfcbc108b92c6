//! What the check says at its end: counts, and what it could not check.

use std::collections::BTreeMap;
use std::io::{self, Write};

use outlive_check::{Applicability, Level};

use super::findings::place;
use super::visible::visible;
use super::{Style, Tone};
use crate::check::{Found, Gap, GapKind, Outcome};
use crate::cli::RemarkArguments;

/// Lines about files that are not Python before the rest are only counted.
const LINES: usize = 10;

/// The last line.
pub(crate) fn summary(outcome: &Outcome) -> String {
    let findings = &outcome.findings;
    let left = counted(findings.len(), "finding");
    let files = counted(outcome.files, "file");
    match (outcome.fixed, findings.is_empty()) {
        (0, true) => format!("No findings in {files}"),
        (0, false) => format!("Found {left} ({}){}", levels(findings), ways(findings)),
        (fixed, is_empty) => {
            let fixed = counted(fixed, "finding");
            let places = counted(outcome.fixed_files, "file");
            let left = if is_empty {
                "none left".to_owned()
            } else {
                format!(
                    "{} left ({}){}",
                    findings.len(),
                    levels(findings),
                    ways(findings)
                )
            };
            format!("Fixed {fixed} in {places}; {left}")
        }
    }
}

/// The same for `--diff`.
pub(crate) fn would_fix(outcome: &Outcome) -> String {
    let places = counted(outcome.fixed_files, "file");
    match outcome.fixed {
        0 => format!("Nothing to fix in {}", counted(outcome.files, "file")),
        fixed => format!("Would fix {} in {places}", counted(fixed, "finding")),
    }
}

fn counted(number: usize, word: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {word}{plural}")
}

/// `1 error, 2 warnings`.
fn levels(findings: &[Found]) -> String {
    let of = |level: Level| findings.iter().filter(|found| found.level == level).count();
    let parts = [Level::Error, Level::Warning, Level::Info]
        .into_iter()
        .map(|level| (level, of(level)))
        .filter(|(_, number)| *number > 0)
        .map(|(level, number)| match level {
            Level::Info => format!("{number} info"),
            _ => counted(number, level.word()),
        });
    parts.collect::<Vec<_>>().join(", ")
}

fn ways(findings: &[Found]) -> String {
    let of = |least| {
        findings
            .iter()
            .filter(|found| found.is_fixable(least))
            .count()
    };
    let safe = of(Applicability::Safe);
    let risky = of(Applicability::Unsafe) - safe;
    match (safe, risky) {
        (0, 0) => String::new(),
        (safe, 0) => format!("; {safe} fixable with `--fix`"),
        (0, risky) => format!("; {risky} fixable with `--fix --unsafe-fixes`"),
        (safe, risky) => {
            format!("; {safe} fixable with `--fix`, {risky} more with `--unsafe-fixes`")
        }
    }
}

/// How often each rule was found, most often first.
pub(crate) fn print_statistics(
    findings: &[Found],
    out: &mut dyn Write,
    style: Style,
) -> io::Result<()> {
    let mut counts: BTreeMap<&str, (usize, &Found)> = BTreeMap::new();
    for found in findings {
        counts.entry(found.rule.code).or_insert((0, found)).0 += 1;
    }
    let mut rows: Vec<(usize, &Found)> = counts.into_values().collect();
    rows.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    let width = rows.first().map_or(0, |(count, _)| count.to_string().len());
    for (count, found) in rows {
        let rule = found.rule;
        let summary = style.paint(Tone::Faint, rule.summary);
        writeln!(
            out,
            "{count:>width$}  {}  {}  {summary}",
            rule.code, rule.name
        )?;
    }
    Ok(())
}

/// One line for each file that could not be checked as a whole; the rest of many as a number.
pub(crate) fn gap_lines(gaps: &[Gap], remarks: RemarkArguments) -> Vec<String> {
    let is_verbose = remarks.verbose;
    let mut lines = Vec::new();
    let mut broken = 0;
    for gap in gaps {
        let is_broken = gap.kind == GapKind::Syntax;
        broken += usize::from(is_broken);
        let is_told = match gap.kind {
            GapKind::Skipped => is_verbose,
            GapKind::Syntax => is_verbose || broken <= LINES && !remarks.quiet,
            GapKind::Unreadable => !remarks.quiet,
            GapKind::Failed => true,
        };
        if is_told {
            let message = visible(&gap.message);
            lines.push(format!("{}: {message}", place(&gap.path, gap.position)));
        }
    }
    if broken > LINES && !is_verbose && !remarks.quiet {
        lines.push(match broken - LINES {
            1 => "1 more file is not valid Python; `-v` names it".to_owned(),
            more => format!("{more} more files are not valid Python; `-v` names them"),
        });
    }
    lines
}
