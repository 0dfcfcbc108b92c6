//! `JUnit` XML: a suite a file, a failed case a finding.

use std::io::{self, Write};

use super::in_cell;
use crate::check::{Found, Outcome};

/// Prints the document.
pub(crate) fn write(outcome: &Outcome, out: &mut dyn Write) -> io::Result<()> {
    let findings = &outcome.findings;
    let count = findings.len();
    writeln!(out, r#"<?xml version="1.0" encoding="UTF-8"?>"#)?;
    // Readers take a document without any case for one that is broken.
    if findings.is_empty() {
        writeln!(
            out,
            r#"<testsuites name="outlive" tests="1" failures="0" errors="0">"#
        )?;
        writeln!(
            out,
            r#"  <testsuite name="outlive" tests="1" failures="0" errors="0">"#
        )?;
        writeln!(
            out,
            r#"    <testcase name="No findings" classname="outlive"/>"#
        )?;
        writeln!(out, "  </testsuite>")?;
        return writeln!(out, "</testsuites>");
    }
    writeln!(
        out,
        r#"<testsuites name="outlive" tests="{count}" failures="{count}" errors="0">"#
    )?;
    for suite in findings.chunk_by(|one, other| one.path == other.path) {
        write_suite(suite, out)?;
    }
    writeln!(out, "</testsuites>")
}

fn write_suite(findings: &[Found], out: &mut dyn Write) -> io::Result<()> {
    let Some(first) = findings.first() else {
        return Ok(());
    };
    let path = escaped(&first.path.to_string_lossy());
    let count = findings.len();
    writeln!(
        out,
        r#"  <testsuite name="{path}" tests="{count}" failures="{count}" errors="0">"#
    )?;
    for found in findings {
        let (name, code) = (found.rule.name, found.rule.code);
        let (line, column) = (found.span.start.file_line, found.span.file_columns.0);
        let message = escaped(&format!("{}{}", in_cell(found), found.message));
        let help = escaped(&found.help);
        writeln!(
            out,
            r#"    <testcase name="{code} {name}" classname="{path}" file="{path}" line="{line}" column="{column}">"#
        )?;
        writeln!(
            out,
            r#"      <failure type="{}" message="{message}">line {line}, column {column}: {message}; {help}</failure>"#,
            found.level.word()
        )?;
        writeln!(out, "    </testcase>")?;
    }
    writeln!(out, "  </testsuite>")
}

/// Text that may stand in an attribute and between elements. XML has no way at all to write most
/// control characters.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&apos;"),
            '\n' => safe.push_str("&#10;"),
            '\r' => safe.push_str("&#13;"),
            '\t' => safe.push_str("&#9;"),
            '\u{fffe}' | '\u{ffff}' => safe.push('?'),
            character if character.is_control() => safe.push('?'),
            character => safe.push(character),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn no_text_can_leave_its_place() {
        assert_eq!(
            escaped("a<b>&\"'\n\u{1b}\u{0}\u{ffff}é"),
            "a&lt;b&gt;&amp;&quot;&apos;&#10;???é"
        );
    }
}
