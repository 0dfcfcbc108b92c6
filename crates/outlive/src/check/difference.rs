//! What fixes change, as a unified diff; of a notebook, a diff of each changed cell.

use std::path::Path;

use outlive_check::{Cell, Source, SourceKind};
use similar::TextDiff;

use crate::printer::visible::visible;

/// The diff between two states of one file.
pub(super) fn difference(path: &Path, before: &Source, after: &Source) -> String {
    let name = visible(&path.to_string_lossy());
    match before.kind() {
        SourceKind::Python => unified(&name, before.text(), after.text(), true),
        SourceKind::Notebook => {
            let cells = before.cells().iter().zip(after.cells());
            cells
                .map(|(old, new)| {
                    let name = format!("{name}:cell {}", old.number);
                    unified(&name, text_of(before, old), text_of(after, new), false)
                })
                .collect()
        }
    }
}

fn text_of<'a>(source: &'a Source, cell: &Cell) -> &'a str {
    let range = cell.range.start().to_usize()..cell.range.end().to_usize();
    source.text().get(range).unwrap_or_default()
}

/// Empty for equal texts. The last line of a cell never has a newline, so nothing is said of it.
fn unified(name: &str, before: &str, after: &str, hint: bool) -> String {
    if before == after {
        return String::new();
    }
    let difference = TextDiff::from_lines(before, after);
    let mut unified = difference.unified_diff();
    unified.header(name, name).missing_newline_hint(hint);
    unified.to_string()
}
