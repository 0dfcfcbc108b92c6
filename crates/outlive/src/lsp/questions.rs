//! What an editor can ask of a document. An answer needs a check of the document's present state;
//! a question for which there is none yet waits.

use lsp_server::{Request, RequestId};
use lsp_types::request::{
    CodeActionRequest, DocumentDiagnosticRequest, HoverRequest, Request as _,
};
use lsp_types::{
    CodeActionParams, DocumentDiagnosticParams, DocumentDiagnosticReport,
    FullDocumentDiagnosticReport, HoverParams, RelatedFullDocumentDiagnosticReport,
    RelatedUnchangedDocumentDiagnosticReport, UnchangedDocumentDiagnosticReport, Uri,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::checked::Checked;
use super::client::{Ability, Client};
use super::{actions, diagnostics, hover};

/// A question.
#[derive(Debug)]
pub(super) enum Question {
    /// What can be done here?
    Actions(CodeActionParams),
    /// What is wrong in this text?
    Diagnostics(DocumentDiagnosticParams),
    /// What is this?
    Hover(HoverParams),
}

/// Why a request is not a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NoQuestion {
    /// We know no such request.
    Unknown,
    /// It does not say what it must say.
    Malformed(String),
}

impl Question {
    /// Reads one.
    pub(super) fn read(request: Request) -> Result<(RequestId, Self), (RequestId, NoQuestion)> {
        let parameters = request.params;
        let question = match request.method.as_str() {
            CodeActionRequest::METHOD => read(parameters).map(Self::Actions),
            DocumentDiagnosticRequest::METHOD => read(parameters).map(Self::Diagnostics),
            HoverRequest::METHOD => read(parameters).map(Self::Hover),
            _ => Err(NoQuestion::Unknown),
        };
        match question {
            Ok(question) => Ok((request.id, question)),
            Err(reason) => Err((request.id, reason)),
        }
    }

    /// The script or cell it is about.
    pub(super) const fn uri(&self) -> &Uri {
        match self {
            Self::Actions(it) => &it.text_document.uri,
            Self::Diagnostics(it) => &it.text_document.uri,
            Self::Hover(it) => &it.text_document_position_params.text_document.uri,
        }
    }

    /// The answer; without a check, as for a document that is not open, that there is nothing.
    pub(super) fn answer(&self, checked: Option<&Checked>, client: &Client) -> Value {
        match self {
            Self::Actions(it) => value(
                checked
                    .map(|checked| actions::at(checked, it, client))
                    .unwrap_or_default(),
            ),
            Self::Diagnostics(it) => value(report(it, checked, client)),
            Self::Hover(it) => value(checked.and_then(|checked| hover::at(checked, it, client))),
        }
    }
}

fn read<P: DeserializeOwned>(parameters: Value) -> Result<P, NoQuestion> {
    serde_json::from_value(parameters).map_err(|error| NoQuestion::Malformed(error.to_string()))
}

fn value(answer: impl Serialize) -> Value {
    serde_json::to_value(answer).unwrap_or_default()
}

fn report(
    parameters: &DocumentDiagnosticParams,
    checked: Option<&Checked>,
    client: &Client,
) -> DocumentDiagnosticReport {
    let result_id = checked.map(|checked| checked.revision.to_string());
    if let Some(result_id) = &result_id
        && parameters.previous_result_id.as_ref() == Some(result_id)
    {
        return DocumentDiagnosticReport::from(RelatedUnchangedDocumentDiagnosticReport {
            related_documents: None,
            unchanged_document_diagnostic_report: UnchangedDocumentDiagnosticReport {
                result_id: result_id.clone(),
            },
        });
    }
    // The diagnostics of cells are sent unasked to who takes them so; said twice, they would be
    // shown twice.
    let is_sent = |checked: &&Checked| checked.is_notebook() && client.can(Ability::Push);
    let uri = &parameters.text_document.uri;
    let items = checked
        .filter(|checked| !is_sent(checked))
        .map(|checked| diagnostics::of_part(checked, uri, client));
    DocumentDiagnosticReport::from(RelatedFullDocumentDiagnosticReport {
        related_documents: None,
        full_document_diagnostic_report: FullDocumentDiagnosticReport {
            result_id,
            items: items.unwrap_or_default(),
        },
    })
}
