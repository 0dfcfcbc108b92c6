//! Commands of GitHub Actions, which become notes beside the lines of a change.

use std::io::{self, Write};

use outlive_check::Level;

use super::in_cell;
use crate::check::{Found, Outcome, Span};

/// Prints a line a finding.
pub(crate) fn write(outcome: &Outcome, out: &mut dyn Write) -> io::Result<()> {
    for found in &outcome.findings {
        writeln!(out, "{}", line(found))?;
    }
    Ok(())
}

fn line(found: &Found) -> String {
    let command = match found.level {
        Level::Error => "error",
        Level::Warning => "warning",
        Level::Info => "notice",
    };
    let title = property(&format!("Outlive {} {}", found.rule.code, found.rule.name));
    let file = property(&found.path.to_string_lossy());
    let Span { start, end, .. } = found.span;
    let mut place = format!("line={},endLine={}", start.file_line, end.file_line);
    // Columns of a note over several lines have no meaning there.
    if found.span.is_in_one_line() {
        let (first, last) = found.span.file_columns;
        place = format!("{place},col={first},endColumn={last}");
    }
    let message = data(&format!(
        "{}{}{}",
        in_cell(found),
        found.message,
        help(found)
    ));
    format!("::{command} title={title},file={file},{place}::{message}")
}

fn help(found: &Found) -> String {
    if found.help.is_empty() {
        String::new()
    } else {
        format!("\nhelp: {}", found.help)
    }
}

fn data(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::{data, property};

    #[test]
    fn what_would_end_a_command_or_a_property_is_escaped() {
        assert_eq!(data("5 %\r\n: ,"), "5 %25%0D%0A: ,");
        assert_eq!(
            property("a,b:c\n::error::d"),
            "a%2Cb%3Ac%0A%3A%3Aerror%3A%3Ad"
        );
    }
}
