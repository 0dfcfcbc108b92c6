//! The list of runs as a table.

use std::io::{self, Write};

use outlive_diagnose::Liveness;
use outlive_diagnose::facts::EndStatus;
use outlive_diagnose::signal;
use outlive_diagnose::size::{Size, Span};

use super::visible;
use super::{Style, Tone, cut};
use crate::commands::list::Listed;

/// Prints the table, or how to get a first row.
pub(crate) fn print(
    runs: &[Listed],
    now: u64,
    out: &mut dyn Write,
    style: Style,
) -> io::Result<()> {
    if runs.is_empty() {
        return writeln!(
            out,
            "No runs yet\nhint: record one with `outlive run -- COMMAND`"
        );
    }
    let rows: Vec<[String; 5]> = runs.iter().map(|run| row(run, now)).collect();
    let header = ["run", "started", "end", "peak", "lasted"].map(str::to_owned);
    let width = |column: usize| {
        let cells = rows
            .iter()
            .chain([&header])
            .filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..header.len()).map(width).collect();
    let draw = |cells: &[String; 5]| {
        let padded = cells
            .iter()
            .zip(&widths)
            .map(|(cell, width)| format!("{cell:<width$}"));
        padded.collect::<Vec<_>>().join("  ")
    };
    writeln!(
        out,
        "{}",
        style.paint(Tone::Faint, &format!("{}  command", draw(&header)))
    )?;
    let taken: usize = widths.iter().map(|width| width + 2).sum();
    for (run, cells) in runs.iter().zip(&rows) {
        let command = cut(
            &visible::command(&run.command),
            style.width.saturating_sub(taken).max(20),
        );
        writeln!(out, "{}  {command}", draw(cells))?;
    }
    Ok(())
}

fn row(run: &Listed, now: u64) -> [String; 5] {
    let end = match (run.status, run.liveness) {
        (Some(EndStatus::Exited(0)), _) => "fine".to_owned(),
        (Some(EndStatus::Exited(code)), _) => format!("exit {code}"),
        (Some(EndStatus::Signaled(number)), _) => signal::name(number),
        (None, Liveness::Running) => "running".to_owned(),
        (None, _) => "unknown".to_owned(),
    };
    let until = run
        .ended_at
        .or((run.liveness == Liveness::Running).then_some(now));
    let lasted = until.map_or_else(String::new, |until| {
        Span(until.saturating_sub(run.started_at)).to_string()
    });
    let peak = if run.peak == 0 {
        String::new()
    } else {
        Size(run.peak).to_string()
    };
    let ago = format!("{} ago", Span(now.saturating_sub(run.started_at)));
    [run.id.clone(), ago, end, peak, lasted]
}
