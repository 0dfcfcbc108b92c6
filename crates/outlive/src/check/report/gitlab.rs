//! A code quality report of GitLab.

use std::io::{self, Write};

use outlive_check::Level;
use serde_json::{Value, json};

use super::fingerprint::Fingerprints;
use super::in_cell;
use crate::check::{Found, Outcome};

/// Prints the array.
pub(crate) fn write(outcome: &Outcome, out: &mut dyn Write) -> io::Result<()> {
    let mut fingerprints = Fingerprints::default();
    let findings = outcome.findings.iter();
    let entries: Vec<Value> = findings
        .map(|found| entry(found, &fingerprints.next(found)))
        .collect();
    serde_json::to_writer_pretty(&mut *out, &entries)?;
    writeln!(out)
}

fn entry(found: &Found, fingerprint: &str) -> Value {
    let severity = match found.level {
        Level::Error => "critical",
        Level::Warning => "major",
        Level::Info => "info",
    };
    json!({
        "description": format!("{}: {}{}", found.rule.code, in_cell(found), found.message),
        "check_name": found.rule.name,
        "fingerprint": fingerprint,
        "severity": severity,
        "location": {
            "path": found.path.to_string_lossy(),
            "lines": { "begin": found.span.start.file_line, "end": found.span.end.file_line },
        },
    })
}
