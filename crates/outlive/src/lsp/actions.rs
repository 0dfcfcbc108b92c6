//! What an editor can do about findings: make the change, ignore it, or make all safe changes.

use lsp_types::{
    CodeAction, CodeActionKind, CodeActionOrCommand, CodeActionParams, Diagnostic, Uri,
};
use outlive_check::{Applicability, Edit, Finding};

use super::checked::{Checked, Places};
use super::client::{Ability, Client};
use super::diagnostics;
use super::edits;

/// All safe changes of a script or cell.
pub(super) const FIX_ALL: CodeActionKind = CodeActionKind::new("source.fixAll.outlive");
/// The actions for a range of a script or cell.
pub(super) fn at(
    checked: &Checked,
    parameters: &CodeActionParams,
    client: &Client,
) -> Vec<CodeActionOrCommand> {
    if !client.can(Ability::ActionLiterals) {
        // Such an editor runs commands only, and there are none.
        return Vec::new();
    }
    let only = parameters.context.only.as_deref();
    let view = View {
        checked,
        places: checked.places(client.encoding),
        client,
        uri: &parameters.text_document.uri,
    };
    let mut actions = Vec::new();
    if is_wanted(&CodeActionKind::QUICKFIX, only) {
        actions.extend(view.quick_fixes(parameters));
    }
    if is_wanted(&FIX_ALL, only) {
        actions.extend(view.fix_all());
    }
    actions.into_iter().map(Into::into).collect()
}

/// Whether a kind, or one that it is a case of, was asked for.
fn is_wanted(kind: &CodeActionKind, only: Option<&[CodeActionKind]>) -> bool {
    only.is_none_or(|only| {
        only.iter().any(|asked| {
            let rest = kind.as_str().strip_prefix(asked.as_str());
            rest.is_some_and(|rest| {
                asked.as_str().is_empty() || rest.is_empty() || rest.starts_with('.')
            })
        })
    })
}

/// What the actions are made from.
struct View<'a> {
    checked: &'a Checked,
    places: Places<'a>,
    client: &'a Client,
    uri: &'a Uri,
}

impl View<'_> {
    /// For each finding that the range touches: its change, and a comment that silences it.
    fn quick_fixes(&self, parameters: &CodeActionParams) -> Vec<CodeAction> {
        let range = self.places.source_range(self.uri, parameters.range);
        let touched = self.checked.silenceable().filter(|(finding, _)| {
            range.is_some_and(|range| finding.range.intersect(range).is_some())
        });
        touched
            .flat_map(|(finding, silencing)| {
                let diagnostic = diagnostics::of_finding(finding, &self.places, self.client);
                let diagnostic = diagnostic.map(|(_, diagnostic)| diagnostic);
                let fix = self.fix(finding, diagnostic.clone());
                let ignore = silencing.and_then(|edit| self.ignore(finding, edit, diagnostic));
                fix.into_iter().chain(ignore)
            })
            .collect()
    }

    fn fix(&self, finding: &Finding, diagnostic: Option<Diagnostic>) -> Option<CodeAction> {
        let fix = finding.fix.as_ref()?;
        let title = match fix.applicability {
            Applicability::Display => return None,
            Applicability::Unsafe => format!("{} (unsafe)", fix.title),
            Applicability::Safe => fix.title.clone(),
        };
        Some(CodeAction {
            is_preferred: Some(fix.applicability == Applicability::Safe),
            ..self.quick_fix(title, &fix.edits, diagnostic)?
        })
    }

    fn ignore(
        &self,
        finding: &Finding,
        edit: &Edit,
        diagnostic: Option<Diagnostic>,
    ) -> Option<CodeAction> {
        let title = format!("Ignore with `# outlive: ignore[{}]`", finding.rule.name);
        self.quick_fix(title, std::slice::from_ref(edit), diagnostic)
    }

    fn quick_fix(
        &self,
        title: String,
        changes: &[Edit],
        diagnostic: Option<Diagnostic>,
    ) -> Option<CodeAction> {
        Some(CodeAction {
            title,
            kind: Some(CodeActionKind::QUICKFIX),
            diagnostics: diagnostic.map(|diagnostic| vec![diagnostic]),
            edit: Some(edits::workspace_edit(changes, &self.places, self.client)?),
            ..CodeAction::default()
        })
    }

    /// All safe changes that stay in this script or cell. Editors ask every cell of a notebook.
    fn fix_all(&self) -> Option<CodeAction> {
        let findings = self.checked.findings().iter();
        let findings: Vec<Finding> = findings
            .filter(|finding| self.stays_here(finding))
            .cloned()
            .collect();
        let (changes, _) = outlive_check::combined_edits(&findings, Applicability::Safe);
        if changes.is_empty() {
            return None;
        }
        Some(CodeAction {
            title: "Fix all that Outlive can fix safely".to_owned(),
            kind: Some(FIX_ALL),
            edit: Some(edits::workspace_edit(&changes, &self.places, self.client)?),
            ..CodeAction::default()
        })
    }

    fn stays_here(&self, finding: &Finding) -> bool {
        let edits = finding.fix.iter().flat_map(|fix| &fix.edits);
        let mut places = edits.map(|edit| self.places.whole_place(edit.range));
        places.all(|place| place.is_some_and(|place| place.part.uri == *self.uri))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_that_was_asked_for_includes_its_cases() {
        let wanted = |asked: Option<&'static str>| {
            let only = asked.map(|kind| vec![CodeActionKind::from(kind)]);
            is_wanted(&FIX_ALL, only.as_deref())
        };
        assert!(wanted(None));
        for asked in ["", "source", "source.fixAll", "source.fixAll.outlive"] {
            assert!(wanted(Some(asked)), "{asked}");
        }
        for asked in ["quickfix", "source.fix", "source.fixAll.ruff", "sourc"] {
            assert!(!wanted(Some(asked)), "{asked}");
        }
    }
}
