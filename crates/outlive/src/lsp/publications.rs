//! The diagnostics that an editor was sent without asking.

use lsp_types::notification::PublishDiagnostics;
use lsp_types::{Diagnostic, PublishDiagnosticsParams, Uri};

use super::checked::Checked;
use super::client::{Client, Outbox};
use super::diagnostics;

/// What the editor has for the parts of one document.
#[derive(Debug, Default)]
pub(super) struct Publications {
    sent: Vec<PublishDiagnosticsParams>,
}

impl Publications {
    /// Sends what is new, and takes back what was said of cells that are gone.
    pub(super) fn update(&mut self, checked: &Checked, client: &Client, out: &Outbox) {
        let found = diagnostics::all(checked, client);
        let of_part = |uri: &Uri| -> Vec<Diagnostic> {
            let here = found.iter().filter(|(found_in, _)| *found_in == uri);
            here.map(|(_, diagnostic)| diagnostic.clone()).collect()
        };
        let present: Vec<PublishDiagnosticsParams> = checked
            .parts
            .iter()
            .map(|part| PublishDiagnosticsParams {
                uri: part.uri.clone(),
                diagnostics: of_part(&part.uri),
                version: Some(part.version),
            })
            .collect();
        let before = std::mem::take(&mut self.sent);
        let gone = before
            .iter()
            .filter(|old| !present.iter().any(|new| new.uri == old.uri));
        take_back(gone, out);
        for publication in &present {
            if !before.contains(publication) {
                out.tell::<PublishDiagnostics>(publication.clone());
            }
        }
        self.sent = present;
    }

    /// Takes everything back.
    pub(super) fn clear(&mut self, out: &Outbox) {
        take_back(self.sent.drain(..).as_slice().iter(), out);
    }
}

fn take_back<'a>(sent: impl Iterator<Item = &'a PublishDiagnosticsParams>, out: &Outbox) {
    for publication in sent {
        out.tell::<PublishDiagnostics>(PublishDiagnosticsParams {
            uri: publication.uri.clone(),
            diagnostics: Vec::new(),
            version: None,
        });
    }
}
