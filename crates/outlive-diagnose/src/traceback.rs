//! The lines of a traceback: outermost first, `/home/a/train.py:17 in step` each.

use outlive_record::read::ExceptionRecord;

use crate::cells::Cells;
use crate::place::Line;

/// Every line of the traceback, outermost first.
pub fn lines(exception: &ExceptionRecord, cells: &Cells) -> Vec<Line> {
    let lines = exception.traceback.lines();
    let lines = lines.filter(|line| !line.trim().is_empty());
    lines.map(|text| parse(text, exception, cells)).collect()
}

/// Where the exception was raised.
pub(crate) fn innermost(exception: &ExceptionRecord, cells: &Cells) -> Option<String> {
    let text = innermost_text(&exception.traceback)?;
    Some(shown(text, exception, cells))
}

/// The innermost line that the user wrote; where none is, the innermost at all.
pub fn own_line(exception: &ExceptionRecord, cells: &Cells) -> Option<String> {
    let is_own = |text: &&str| parse(text, exception, cells).is_users();
    let mut texts = exception.traceback.lines();
    let own = texts.rfind(is_own);
    let text = own.or_else(|| innermost_text(&exception.traceback))?;
    Some(shown(text, exception, cells))
}

fn innermost_text(traceback: &str) -> Option<&str> {
    traceback.lines().rfind(|line| !line.trim().is_empty())
}

/// As it was recorded, unless it is in a cell: whose file says nothing to a person.
fn shown(text: &str, exception: &ExceptionRecord, cells: &Cells) -> String {
    let line = parse(text, exception, cells);
    match line.cell {
        Some(_) => line.describe(),
        None => text.to_owned(),
    }
}

fn parse(text: &str, exception: &ExceptionRecord, cells: &Cells) -> Line {
    let (place, function) = text.rsplit_once(" in ").unwrap_or((text, ""));
    let (file, number) = place.rsplit_once(':').unwrap_or((place, ""));
    let mut line = Line {
        file: file.to_owned(),
        line: number.parse().ok(),
        function: function.to_owned(),
        cell: None,
    };
    cells.mark_line(&mut line, exception.time);
    line
}

#[cfg(test)]
mod tests {
    use super::{innermost, lines, own_line};
    use crate::cells::{Cell, Cells};
    use outlive_record::read::ExceptionRecord;

    fn exception(traceback: &str) -> ExceptionRecord {
        ExceptionRecord {
            kind: None,
            tid: 1,
            time: 9,
            thread: String::new(),
            type_name: "ValueError".to_owned(),
            message: String::new(),
            traceback: traceback.to_owned(),
        }
    }

    #[test]
    fn the_users_line_is_the_innermost_outside_libraries() {
        let library = "/v/lib/python3.12/site-packages/torch/nn.py:9 in forward";
        let text =
            format!("/home/a/train.py:30 in <module>\n/home/a/train.py:12 in step\n{library}");
        let cells = Cells::default();
        let own = |text: &str| own_line(&exception(text), &cells);
        assert_eq!(own(&text).as_deref(), Some("/home/a/train.py:12 in step"));
        let raised = innermost(&exception(&text), &cells);
        assert_eq!(raised.as_deref(), Some(library));
        assert_eq!(own(library).as_deref(), Some(library));
        assert_eq!(own(""), None);
        let string = "<string>:1 in <module>";
        assert_eq!(
            own(&format!("{string}\n{library}")).as_deref(),
            Some(string)
        );
    }

    #[test]
    fn a_line_in_a_cell_is_named_by_its_cell() {
        let cells = Cells::new(vec![Cell {
            file: "/tmp/ipykernel_1/2.py".to_owned(),
            count: 3,
            id: None,
            source: "def load():\n    return read()".to_owned(),
            time: 5,
        }]);
        let shell = "/v/lib/python3.12/site-packages/IPython/core/interactiveshell.py:9 in run";
        let text = format!(
            "{shell}\n/tmp/ipykernel_1/2.py:4 in <module>\n/tmp/ipykernel_1/2.py:2 in load"
        );
        let raised = exception(&text);
        let own = own_line(&raised, &cells);
        assert_eq!(own.as_deref(), Some("cell [3] line 2 in load"));
        let lines = lines(&raised, &cells);
        let texts: Vec<_> = lines
            .iter()
            .map(|line| line.cell.as_ref().and_then(|cell| cell.text.as_deref()))
            .collect();
        assert_eq!(texts, [None, None, Some("return read()")]);
        assert_eq!(
            (lines[0].line, lines[0].function.as_str()),
            (Some(9), "run")
        );
    }
}
