//! Findings as diagnostics.

use lsp_types::{
    Diagnostic, DiagnosticRelatedInformation, DiagnosticSeverity, Location, NumberOrString, Uri,
};
use outlive_check::{Finding, Level};
use serde_json::{Value, json};

use super::checked::{Checked, Places};
use super::client::{Ability, Client};

const SOURCE: &str = "outlive";

/// All diagnostics, each with the script or cell it belongs to.
pub(super) fn all<'a>(checked: &'a Checked, client: &Client) -> Vec<(&'a Uri, Diagnostic)> {
    let places = checked.places(client.encoding);
    let findings = checked.findings().iter();
    findings
        .filter_map(|finding| of_finding(finding, &places, client))
        .collect()
}

/// The diagnostics of one script or cell.
pub(super) fn of_part(checked: &Checked, uri: &Uri, client: &Client) -> Vec<Diagnostic> {
    let found = all(checked, client).into_iter();
    found
        .filter(|(found_in, _)| *found_in == uri)
        .map(|(_, diagnostic)| diagnostic)
        .collect()
}

/// The diagnostic of a finding, and the script or cell that it belongs to.
pub(super) fn of_finding<'a>(
    finding: &Finding,
    places: &Places<'a>,
    client: &Client,
) -> Option<(&'a Uri, Diagnostic)> {
    let place = places.place(finding.range)?;
    let diagnostic = Diagnostic {
        range: place.range,
        severity: Some(severity(finding.level)),
        code: Some(NumberOrString::String(finding.rule.code.to_owned())),
        // The rules' pages are not on the web; hover shows them.
        code_description: None,
        source: Some(SOURCE.to_owned()),
        message: message(finding, client),
        related_information: client
            .can(Ability::RelatedInformation)
            .then(|| related_information(finding, places)),
        tags: None,
        data: Some(data(finding, places)),
    };
    Some((&place.part.uri, diagnostic))
}

const fn severity(level: Level) -> DiagnosticSeverity {
    match level {
        Level::Error => DiagnosticSeverity::ERROR,
        Level::Warning => DiagnosticSeverity::WARNING,
        Level::Info => DiagnosticSeverity::INFORMATION,
    }
}

/// What happens and what to do; the witness too, for an editor that has no other place for it.
fn message(finding: &Finding, client: &Client) -> String {
    let mut lines = vec![finding.message.clone()];
    if !client.can(Ability::RelatedInformation) {
        lines.extend(finding.witness.iter().map(|note| note.text.clone()));
    }
    if !finding.help.is_empty() {
        lines.push(format!("help: {}", finding.help));
    }
    lines.join("\n")
}

fn related_information(
    finding: &Finding,
    places: &Places<'_>,
) -> Vec<DiagnosticRelatedInformation> {
    let notes = finding.witness.iter();
    let located = notes.filter_map(|note| {
        let place = places.place(note.range)?;
        Some(DiagnosticRelatedInformation {
            location: Location::new(place.part.uri.clone(), place.range),
            message: note.text.clone(),
        })
    });
    located.collect()
}

/// For programs: the rule's name, and the change.
fn data(finding: &Finding, places: &Places<'_>) -> Value {
    let fix = finding.fix.as_ref().map(|fix| {
        let edits = fix.edits.iter().filter_map(|edit| {
            let place = places.whole_place(edit.range)?;
            Some(json!({
                "uri": place.part.uri,
                "range": place.range,
                "newText": edit.content,
            }))
        });
        json!({
            "title": fix.title,
            "applicability": fix.applicability.word(),
            "edits": edits.collect::<Vec<Value>>(),
        })
    });
    json!({ "rule": finding.rule.name, "fix": fix })
}
