//! SARIF 2.1.0, for code scanning services and editors.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use outlive_check::{Level, Rule, rules};
use serde_json::{Value, json};

use super::fingerprint::Fingerprints;
use super::in_cell;
use crate::check::{Change, Found, Gap, Outcome, Replacement, Span};

const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// Prints the document.
pub(crate) fn write(outcome: &Outcome, out: &mut dyn Write) -> io::Result<()> {
    let mut fingerprints = Fingerprints::default();
    let results: Vec<Value> = outcome
        .findings
        .iter()
        .map(|found| result(found, &fingerprints.next(found)))
        .collect();
    let value = json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "outlive",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules::ALL.iter().map(|rule| descriptor(rule)).collect::<Vec<_>>(),
            }},
            "columnKind": "unicodeCodePoints",
            "invocations": [{
                "executionSuccessful": !outcome.has_failed(),
                "toolExecutionNotifications":
                    outcome.gaps.iter().map(notification).collect::<Vec<_>>(),
            }],
            "results": results,
        }],
    });
    serde_json::to_writer_pretty(&mut *out, &value)?;
    writeln!(out)
}

const fn level(level: Level) -> &'static str {
    match level {
        Level::Error => "error",
        Level::Warning => "warning",
        Level::Info => "note",
    }
}

fn descriptor(rule: &Rule) -> Value {
    json!({
        "id": rule.code,
        "name": rule.name,
        "shortDescription": { "text": rule.summary },
        "help": { "text": rule.page, "markdown": rule.page },
        "defaultConfiguration": { "level": level(rule.level) },
        "properties": { "cause": rule.cause },
    })
}

fn result(found: &Found, fingerprint: &str) -> Value {
    let index = rules::ALL.iter().position(|rule| *rule == found.rule);
    let related = found.witness.iter().map(|note| {
        json!({
            "physicalLocation": location(&found.path, note.span),
            "message": { "text": note.text },
        })
    });
    let mut result = json!({
        "ruleId": found.rule.code,
        "ruleIndex": index,
        "level": level(found.level),
        "message": { "text": text(found) },
        "locations": [{ "physicalLocation": location(&found.path, found.span) }],
        "relatedLocations": related.collect::<Vec<_>>(),
        "partialFingerprints": { "outlive/v1": fingerprint },
    });
    if let Some(fix) = found
        .fix
        .as_ref()
        .and_then(|change| fix(&found.path, change))
        && let Value::Object(fields) = &mut result
    {
        fields.insert("fixes".to_owned(), json!([fix]));
    }
    result
}

fn text(found: &Found) -> String {
    let text = format!("{}{}", in_cell(found), found.message);
    if found.help.is_empty() {
        text
    } else {
        format!("{text}\nhelp: {}", found.help)
    }
}

fn location(path: &Path, span: Span) -> Value {
    json!({ "artifactLocation": { "uri": uri(path) }, "region": region(span) })
}

/// Columns end behind the last character, as ours do.
fn region(span: Span) -> Value {
    json!({
        "startLine": span.start.file_line,
        "startColumn": span.file_columns.0,
        "endLine": span.end.file_line,
        "endColumn": span.file_columns.1,
    })
}

/// `None` for a change of a notebook that goes over several lines of its JSON.
fn fix(path: &Path, change: &Change) -> Option<Value> {
    let replacements: Option<Vec<Value>> = change.replacements.iter().map(replacement).collect();
    Some(json!({
        "description": { "text": change.title },
        "artifactChanges": [{
            "artifactLocation": { "uri": uri(path) },
            "replacements": replacements?,
        }],
        "properties": { "applicability": change.applicability.word() },
    }))
}

fn replacement(replacement: &Replacement) -> Option<Value> {
    let Replacement { span, content } = replacement;
    let text = if span.start.cell.is_none() {
        content.clone()
    } else if span.is_in_one_line() && !content.contains('\n') {
        // Inside of a string of the file.
        let quoted = Value::from(content.as_str()).to_string();
        quoted.strip_prefix('"')?.strip_suffix('"')?.to_owned()
    } else {
        return None;
    };
    Some(json!({ "deletedRegion": region(*span), "insertedContent": { "text": text } }))
}

fn notification(gap: &Gap) -> Value {
    let location = match gap.position {
        Some(position) => json!({
            "artifactLocation": { "uri": uri(&gap.path) },
            "region": { "startLine": position.file_line },
        }),
        None => json!({ "artifactLocation": { "uri": uri(&gap.path) } }),
    };
    json!({
        "level": if gap.kind.is_failure() { "error" } else { "note" },
        "message": { "text": gap.message },
        "locations": [{ "physicalLocation": location }],
    })
}

/// The path as a reference: every byte of it survives.
fn uri(path: &Path) -> String {
    let mut uri = String::new();
    if path.is_absolute() {
        uri.push_str("file://");
    }
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' => {
                uri.push(char::from(*byte));
            }
            // Writing to a string does not fail.
            _ => _ = write!(uri, "%{byte:02X}"),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    #[test]
    fn any_name_is_a_reference() {
        assert_eq!(uri(Path::new("a b/c#d:é.py")), "a%20b/c%23d%3A%C3%A9.py");
        assert_eq!(uri(Path::new("/x.py")), "file:///x.py");
        let odd = OsStr::from_bytes(b"\xff\n.py");
        assert_eq!(uri(Path::new(odd)), "%FF%0A.py");
    }
}
