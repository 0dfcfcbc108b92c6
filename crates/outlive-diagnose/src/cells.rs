//! Cells of a notebook: which file name of the interpreter is which cell, and what its lines say.
//!
//! A cell is compiled under a name made of its source, so a cell that runs again unchanged has the
//! name it had before; which of the runs is meant follows from the time.

use serde::Deserialize;

use crate::place::{CellLine, Line, Place};

/// Longer lines are cut.
const WIDEST: usize = 160;

/// One run of a cell: a line of `cells.jsonl` in the run's folder.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Cell {
    /// File, as the interpreter names it.
    pub file: String,
    /// Execution count: the number that the notebook shows beside it.
    pub count: u64,
    /// The notebook's own name of the cell, if the front end told it.
    #[serde(default)]
    pub id: Option<String>,
    /// What stands in the cell, or the start of it.
    pub source: String,
    /// `CLOCK_MONOTONIC` nanoseconds before it ran.
    pub time: u64,
}

/// All cells that ran.
#[derive(Clone, Debug, Default)]
pub struct Cells {
    /// By file, then by time.
    all: Vec<Cell>,
}

impl Cells {
    /// In any order.
    pub fn new(mut all: Vec<Cell>) -> Self {
        all.retain(|cell| !cell.file.is_empty());
        all.sort_by(|left, right| (&left.file, left.time).cmp(&(&right.file, right.time)));
        Self { all }
    }

    /// Whether this file is a cell.
    pub fn has(&self, file: &str) -> bool {
        !self.runs(file).is_empty()
    }

    /// The last cell that was started before this time, or at it.
    pub fn last_before(&self, time: u64) -> Option<&Cell> {
        let before = self.all.iter().filter(|cell| cell.time <= time);
        before.max_by_key(|cell| (cell.time, cell.count))
    }

    /// Every text that ran, once, in the order of its first run: the program that the notebook is.
    pub(crate) fn program(&self) -> Vec<&Cell> {
        let mut first: Vec<&Cell> = Vec::new();
        for cell in &self.all {
            // By file, then by time: the first of a file is its first run.
            if first.last().is_none_or(|last| last.file != cell.file) {
                first.push(cell);
            }
        }
        first.sort_by_key(|cell| (cell.time, cell.count));
        first
    }

    /// Says of a place which cell it is in, as of this time; 0 where none is known.
    pub fn mark(&self, place: &mut Place, time: u64) {
        if let Some(line) = place.line_mut() {
            self.mark_line(line, time);
        }
    }

    /// The same of a line.
    pub(crate) fn mark_line(&self, line: &mut Line, time: u64) {
        let runs = self.runs(&line.file);
        let known = runs.iter().rfind(|cell| time > 0 && cell.time <= time);
        line.cell = known.or(runs.last()).map(|cell| CellLine {
            count: cell.count,
            id: cell.id.clone(),
            text: line.line.and_then(|number| text_of(&cell.source, number)),
        });
    }

    fn runs(&self, file: &str) -> &[Cell] {
        let start = self.all.partition_point(|cell| cell.file.as_str() < file);
        let rest = self.all.get(start..).unwrap_or_default();
        let end = rest.partition_point(|cell| cell.file == file);
        rest.get(..end).unwrap_or_default()
    }
}

/// A line of a cell's source. `IPython` takes empty lines off the top before it counts.
fn text_of(source: &str, line: u32) -> Option<String> {
    let mut lines = source.lines().skip_while(|line| line.trim().is_empty());
    let text = lines.nth(line.checked_sub(1)? as usize)?.trim();
    let text = cell_magic(text).unwrap_or_else(|| text.to_owned());
    (!text.is_empty()).then(|| text.chars().take(WIDEST).collect())
}

/// `%%time` of a cell that `IPython` has made one call of, `get_ipython().run_cell_magic('time', …`.
fn cell_magic(text: &str) -> Option<String> {
    let rest = text.strip_prefix("get_ipython().run_cell_magic('")?;
    let (name, rest) = rest.split_once("', '")?;
    let (arguments, _) = rest.split_once("', ")?;
    Some(format!("%%{name} {arguments}").trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::{Cell, Cells, text_of};
    use crate::place::{Line, Place};

    fn cell(file: &str, count: u64, time: u64) -> Cell {
        Cell {
            file: file.to_owned(),
            count,
            id: None,
            source: format!("x = {count}\ny = x"),
            time,
        }
    }

    fn shown(cells: &Cells, file: &str, function: &str, time: u64) -> String {
        let mut place = Place::Line(Line {
            file: file.to_owned(),
            line: Some(2),
            function: function.to_owned(),
            cell: None,
        });
        cells.mark(&mut place, time);
        place.describe()
    }

    #[test]
    fn of_several_runs_of_a_cell_the_last_before_the_event_is_named() {
        let cells = Cells::new(vec![
            cell("b.py", 5, 50),
            cell("a.py", 3, 30),
            cell("", 4, 40),
            cell("a.py", 7, 70),
        ]);
        for (time, expected) in [
            (30, "cell [3] line 2"),
            (69, "cell [3] line 2"),
            (70, "cell [7] line 2"),
            (0, "cell [7] line 2"),
            (7, "cell [7] line 2"),
        ] {
            assert_eq!(shown(&cells, "a.py", "<module>", time), expected, "{time}");
        }
        assert_eq!(
            shown(&cells, "c.py", "<module>", 99),
            "c.py:2 in <module>",
            "no cell"
        );
        let last = |time| cells.last_before(time).map(|cell| cell.count);
        assert_eq!((last(69), last(99), last(1)), (Some(5), Some(7), None));
        assert!(!cells.has(""));
    }

    #[test]
    fn a_function_of_a_cell_is_named_and_the_cell_itself_is_not() {
        let cells = Cells::new(vec![cell("a.py", 3, 30)]);
        for (function, expected) in [
            ("load", "cell [3] line 2 in load"),
            ("<module>", "cell [3] line 2"),
            ("<cell line: 1>", "cell [3] line 2"),
        ] {
            assert_eq!(shown(&cells, "a.py", function, 30), expected);
        }
    }

    #[test]
    fn lines_are_counted_as_ipython_counts_them() {
        let source = "\n  \nimport x\n\n    y = 1\n";
        assert_eq!(text_of(source, 1).as_deref(), Some("import x"));
        assert_eq!(text_of(source, 3).as_deref(), Some("y = 1"));
        for line in [0, 2, 9] {
            assert_eq!(text_of(source, line), None, "{line}");
        }
        assert_eq!(text_of(&"x".repeat(999), 1).unwrap().len(), 160);
        for (source, expected) in [
            (
                "get_ipython().run_cell_magic('time', '', 'x = 1\\n')",
                "%%time",
            ),
            ("get_ipython().run_cell_magic('a', 'b=2', '')", "%%a b=2"),
            (
                "get_ipython().run_cell_magic(",
                "get_ipython().run_cell_magic(",
            ),
        ] {
            assert_eq!(text_of(source, 1).as_deref(), Some(expected));
        }
    }
}
