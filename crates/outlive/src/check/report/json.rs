//! The findings as JSON: a documented shape (`docs/check.md`) that only grows.

use std::io::{self, Write};

use serde_json::{Value, json};

use crate::check::{Change, Found, Gap, Outcome};

/// Version of the shape. Fields are added without a new version, never renamed or removed.
const VERSION: u32 = 1;

/// Prints them.
pub(crate) fn write(outcome: &Outcome, out: &mut dyn Write) -> io::Result<()> {
    let value = json!({
        "version": VERSION,
        "files": outcome.files,
        "findings": outcome.findings.iter().map(finding).collect::<Vec<_>>(),
        "problems": outcome.gaps.iter().map(gap).collect::<Vec<_>>(),
    });
    serde_json::to_writer_pretty(&mut *out, &value)?;
    writeln!(out)
}

fn finding(found: &Found) -> Value {
    json!({
        "rule": found.rule.name,
        "code": found.rule.code,
        "cause": found.rule.cause,
        "level": found.level.word(),
        "path": found.path.to_string_lossy(),
        "cell": found.span.start.cell,
        "line": found.span.start.line,
        "column": found.span.start.column,
        "end_line": found.span.end.line,
        "end_column": found.span.end.column,
        "file_line": found.span.start.file_line,
        "message": found.message,
        "witness": found.witness.iter().map(|note| json!({
            "cell": note.span.start.cell,
            "line": note.span.start.line,
            "column": note.span.start.column,
            "text": note.text,
        })).collect::<Vec<_>>(),
        "help": found.help,
        "fix": found.fix.as_ref().map(fix),
        "bytes": found.bytes,
    })
}

fn fix(change: &Change) -> Value {
    let edits = change.replacements.iter().map(|edit| {
        json!({
            "cell": edit.span.start.cell,
            "line": edit.span.start.line,
            "column": edit.span.start.column,
            "end_line": edit.span.end.line,
            "end_column": edit.span.end.column,
            "content": edit.content,
        })
    });
    json!({
        "title": change.title,
        "applicability": change.applicability.word(),
        "edits": edits.collect::<Vec<_>>(),
    })
}

fn gap(gap: &Gap) -> Value {
    json!({
        "kind": gap.kind.word(),
        "path": gap.path.to_string_lossy(),
        "cell": gap.position.and_then(|position| position.cell),
        "line": gap.position.map(|position| position.line),
        "column": gap.position.map(|position| position.column),
        "message": gap.message,
    })
}
