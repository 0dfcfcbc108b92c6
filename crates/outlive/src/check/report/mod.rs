//! The findings for programs, one file a format. What is said for people is in the printer.

mod fingerprint;
pub(crate) mod github;
pub(crate) mod gitlab;
pub(crate) mod json;
pub(crate) mod junit;
pub(crate) mod sarif;

use crate::check::Found;

/// A place in words, for formats that only know the lines of the file itself.
fn in_cell(finding: &Found) -> String {
    match finding.span.start.cell {
        Some(cell) => format!("cell {cell} line {}: ", finding.span.start.line),
        None => String::new(),
    }
}
