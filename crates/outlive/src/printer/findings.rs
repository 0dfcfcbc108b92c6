//! The findings of the check, for people: with the source, or a line each.

use std::io::{self, Write};
use std::path::Path;

use outlive_check::{Applicability, Level, Position};

use super::excerpt;
use super::visible::visible;
use super::{Style, Tone};
use crate::check::{Found, Noted};

/// Prints one finding with its source, its witness and what to write instead.
pub(crate) fn print_full(finding: &Found, out: &mut dyn Write, style: Style) -> io::Result<()> {
    let tone = tone(finding.level);
    writeln!(out, "{}", head(finding, style))?;
    writeln!(out, "  {}", visible(&finding.message))?;
    let margin = excerpt::print(&finding.excerpt, out, style, tone)?;
    let sign = style.paint(Tone::Faint, "=");
    for note in &finding.witness {
        writeln!(out, "{margin} {sign} {}", witness(finding, note))?;
    }
    if !finding.help.is_empty() {
        let help = visible(&finding.help);
        writeln!(out, "{margin} {sign} help: {help}{}", way(finding))?;
    }
    writeln!(out)
}

/// Prints one finding as a line.
pub(crate) fn print_line(finding: &Found, out: &mut dyn Write, style: Style) -> io::Result<()> {
    let mark = finding
        .is_fixable(Applicability::Safe)
        .then_some(" [fixable]");
    let message = visible(&finding.message);
    writeln!(
        out,
        "{}: {message}{}",
        head(finding, style),
        mark.unwrap_or_default()
    )
}

/// `train.py:40:9: warning OL101 retained_graph_accumulation`.
fn head(finding: &Found, style: Style) -> String {
    format!(
        "{}: {} {} {}",
        style.paint(
            Tone::Strong,
            &place(&finding.path, Some(finding.span.start))
        ),
        style.paint(tone(finding.level), finding.level.word()),
        finding.rule.code,
        finding.rule.name
    )
}

/// A place in a file: `train.py:40:9`, `notebook.ipynb:cell 7:12:5`.
pub(crate) fn place(path: &Path, position: Option<Position>) -> String {
    let path = visible(&path.to_string_lossy());
    match position {
        None => path,
        Some(Position {
            cell, line, column, ..
        }) => match cell {
            Some(cell) => format!("{path}:cell {cell}:{line}:{column}"),
            None => format!("{path}:{line}:{column}"),
        },
    }
}

fn witness(finding: &Found, note: &Noted) -> String {
    let text = visible(&note.text);
    let Position { cell, line, .. } = note.span.start;
    let at = match cell {
        Some(cell) if note.span.start.cell != finding.span.start.cell => {
            format!("cell {cell} line {line}: ")
        }
        _ if line != finding.span.start.line => format!("line {line}: "),
        _ => String::new(),
    };
    format!("{at}{text}")
}

/// Which option makes the change.
fn way(finding: &Found) -> &'static str {
    match finding.fix.as_ref().map(|fix| fix.applicability) {
        Some(Applicability::Safe) => " (`--fix` does it)",
        Some(Applicability::Unsafe) => " (`--fix --unsafe-fixes` does it)",
        _ => "",
    }
}

const fn tone(level: Level) -> Tone {
    match level {
        Level::Error => Tone::Bad,
        Level::Warning => Tone::Caution,
        Level::Info => Tone::Faint,
    }
}
