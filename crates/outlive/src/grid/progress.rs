//! How far a grid is: a line on a terminal that is written over, and nothing in a pipe.

use std::io::{self, IsTerminal, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use outlive_data::grid::cells::{Drawn, Entries};
use outlive_data::grid::progress::Progress;
use outlive_data::listing::ListedEntries;
use outlive_diagnose::size::Span;
use rustix::termios::tcgetwinsize;

use super::broken_list::BrokenList;
use crate::printer::thousands;

/// Time between two looks of the line.
const PAUSE: Duration = Duration::from_millis(100);
/// Broken images that are told at the end.
const TOLD: usize = 5;
/// Cells of the bar.
const WIDTH: u64 = 24;
/// Columns of a terminal that does not say how many it has.
const COLUMNS: usize = 80;

/// The line.
#[derive(Debug)]
pub(crate) struct Bar {
    is_shown: bool,
    began: Instant,
    last: Option<Instant>,
}

impl Bar {
    /// A line on standard error, if that is a terminal and nobody asked for silence.
    pub(crate) fn new(quiet: bool) -> Self {
        Self {
            is_shown: !quiet && io::stderr().is_terminal(),
            began: Instant::now(),
            last: None,
        }
    }

    /// Time since it was made.
    pub(crate) fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// So many images are known.
    pub(crate) fn listed(&mut self, found: u64) {
        self.show(|| format!("{} images found", thousands(found)));
    }

    /// Takes the line away.
    pub(crate) fn clear(&mut self) {
        if self.is_shown && self.last.take().is_some() {
            write_line("");
        }
    }

    fn show(&mut self, line: impl FnOnce() -> String) {
        let is_due = self.last.is_none_or(|last| last.elapsed() >= PAUSE);
        if self.is_shown && is_due {
            self.last = Some(Instant::now());
            write_line(&line());
        }
    }
}

/// As much of a line as a terminal shows in one row, since only one is taken away again. Numbers
/// matter more than the bar before them.
fn fitting(line: &str, columns: usize) -> &str {
    // In the last column some terminals begin the next row already.
    let most = columns.saturating_sub(1);
    let line = if line.chars().count() > most {
        line.trim_start_matches(['█', '░', ' '])
    } else {
        line
    };
    let end = line.char_indices().nth(most).map(|(end, _)| end);
    line.get(..end.unwrap_or(line.len())).unwrap_or_default()
}

/// A terminal that is gone is no fault.
fn write_line(line: &str) {
    let mut out = io::stderr().lock();
    let columns = tcgetwinsize(&out).map_or(0, |size| usize::from(size.ws_col));
    // Some terminals do not know.
    let columns = if columns == 0 { COLUMNS } else { columns };
    let line = fitting(line, columns);
    let _ = write!(out, "\r\u{1b}[2K{line}").and_then(|()| out.flush());
}

/// Hears of every cell: counts, shows, and writes broken ones down.
#[derive(Debug)]
pub(crate) struct Watcher<'a> {
    pub(crate) bar: &'a mut Bar,
    pub(crate) entries: Arc<ListedEntries>,
    pub(crate) list: Option<BrokenList>,
    /// Cells of the grid, and those that were there before.
    total: u64,
    kept: u64,
    drawn: u64,
    broken: u64,
    began: Instant,
    /// The first broken ones, with their problem.
    pub(crate) first: Vec<(String, String)>,
}

impl<'a> Watcher<'a> {
    /// For a grid of which `kept` cells are there already.
    pub(crate) fn new(
        bar: &'a mut Bar,
        entries: Arc<ListedEntries>,
        list: Option<BrokenList>,
        kept: u64,
    ) -> Self {
        let total = entries.listing.len();
        Self {
            bar,
            entries,
            list,
            total,
            kept,
            drawn: 0,
            broken: 0,
            began: Instant::now(),
            first: Vec::new(),
        }
    }
}

impl Progress for Watcher<'_> {
    fn drawn(&mut self, index: u64, drawn: &Drawn) {
        self.drawn += 1;
        if let Some(problem) = &drawn.problem {
            self.broken += 1;
            let is_told = self.first.len() < TOLD;
            if is_told || self.list.is_some() {
                let name = self.entries.entry(index).name.into_owned();
                if let Some(list) = &mut self.list {
                    list.add(index, &name, problem);
                }
                if is_told {
                    self.first.push((name, problem.clone()));
                }
            }
        }
        let state = State {
            done: self.kept + self.drawn,
            total: self.total,
            drawn: self.drawn,
            broken: self.broken,
            elapsed: self.began.elapsed(),
        };
        self.bar.show(|| state.line());
    }
}

/// What the line says.
struct State {
    done: u64,
    total: u64,
    drawn: u64,
    broken: u64,
    elapsed: Duration,
}

impl State {
    fn line(&self) -> String {
        let full = self.done.min(self.total) * WIDTH / self.total.max(1);
        let bar = "█".repeat(full as usize) + &"░".repeat((WIDTH - full) as usize);
        let rate = self.drawn as f64 / self.elapsed.as_secs_f64().max(0.001);
        let (done, total) = (thousands(self.done), thousands(self.total));
        let mut parts = vec![
            format!("{bar} {done} of {total} images"),
            format!("{}/s", thousands(rate as u64)),
        ];
        let left = self.total.saturating_sub(self.done) as f64 / rate.max(0.001);
        if self.elapsed >= Duration::from_secs(1) {
            parts.push(format!("{} left", Span((left * 1e9) as u64)));
        }
        if self.broken > 0 {
            parts.push(format!("{} broken", thousands(self.broken)));
        }
        parts.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_cut_before_it_becomes_two() {
        assert_eq!(fitting("██░░ 1 of 3", 20), "██░░ 1 of 3");
        assert_eq!(fitting("██░░ 1 of 3", 11), "1 of 3");
        assert_eq!(fitting("██░░ 1 of 3", 5), "1 of");
        assert_eq!(fitting("██░░ é", 2), "é");
        assert_eq!(fitting("██░░ 1 of 3", 1), "");
    }

    #[test]
    fn the_line_says_how_far_how_fast_and_how_long() {
        let state = State {
            done: 1_500,
            total: 3_000,
            drawn: 1_000,
            broken: 2,
            elapsed: Duration::from_secs(10),
        };
        let line = state.line();
        assert!(
            line.starts_with("████████████░░░░░░░░░░░░ 1,500 of 3,000"),
            "{line}"
        );
        assert!(
            line.ends_with("images, 100/s, 15 s left, 2 broken"),
            "{line}"
        );
        let none = State {
            total: 0,
            done: 0,
            drawn: 0,
            broken: 0,
            elapsed: Duration::ZERO,
        };
        assert!(none.line().contains("0 of 0"));
    }
}
