//! What the server can do, and what it asks the editor to do for it.

use lsp_types::{
    CodeActionKind, CodeActionOptions, CodeActionProviderCapability, DiagnosticOptions,
    DiagnosticServerCapabilities, HoverProviderCapability, InitializeResult, Notebook,
    NotebookDocumentSyncOptions, NotebookSelector, OneOf, Registration, RegistrationParams,
    SaveOptions, ServerCapabilities, ServerInfo, TextDocumentSyncCapability, TextDocumentSyncKind,
    TextDocumentSyncOptions, TextDocumentSyncSaveOptions,
};
use serde_json::json;

use super::actions::FIX_ALL;
use super::client::{Ability, Client};
use super::options::SECTION;

/// The files that hold a project's configuration.
const CONFIGURATION_FILES: &str = "**/{pyproject,outlive,.outlive}.toml";

/// The answer to `initialize`.
pub(super) fn of_server(client: &Client) -> InitializeResult {
    InitializeResult {
        server_info: Some(ServerInfo {
            name: "outlive".to_owned(),
            version: Some(env!("CARGO_PKG_VERSION").to_owned()),
        }),
        capabilities: ServerCapabilities {
            position_encoding: Some(client.encoding.kind()),
            text_document_sync: Some(TextDocumentSyncCapability::Options(
                TextDocumentSyncOptions {
                    open_close: Some(true),
                    change: Some(TextDocumentSyncKind::INCREMENTAL),
                    save: Some(TextDocumentSyncSaveOptions::SaveOptions(
                        SaveOptions::default(),
                    )),
                    ..TextDocumentSyncOptions::default()
                },
            )),
            notebook_document_sync: Some(OneOf::Left(NotebookDocumentSyncOptions {
                // All cells, not only those with code: their numbers are the user's then.
                notebook_selector: vec![NotebookSelector::ByNotebook {
                    notebook: Notebook::String("*".to_owned()),
                    cells: None,
                }],
                save: Some(true),
            })),
            hover_provider: Some(HoverProviderCapability::Simple(true)),
            code_action_provider: Some(CodeActionProviderCapability::Options(CodeActionOptions {
                code_action_kinds: Some(vec![CodeActionKind::QUICKFIX, FIX_ALL]),
                ..CodeActionOptions::default()
            })),
            diagnostic_provider: client.can(Ability::Pull).then(|| {
                DiagnosticServerCapabilities::Options(DiagnosticOptions {
                    identifier: Some("outlive".to_owned()),
                    ..DiagnosticOptions::default()
                })
            }),
            ..ServerCapabilities::default()
        },
    }
}

/// What to ask the editor to tell, if it can: changes of its settings and of configuration files.
pub(super) fn wanted(client: &Client) -> Option<RegistrationParams> {
    let mut registrations = Vec::new();
    if client.can(Ability::WatchFiles) {
        registrations.push(Registration {
            id: "configuration-files".to_owned(),
            method: "workspace/didChangeWatchedFiles".to_owned(),
            register_options: Some(json!({ "watchers": [{ "globPattern": CONFIGURATION_FILES }] })),
        });
    }
    if client.can(Ability::AnnounceSettings) {
        registrations.push(Registration {
            id: "settings".to_owned(),
            method: "workspace/didChangeConfiguration".to_owned(),
            register_options: Some(json!({ "section": SECTION })),
        });
    }
    (!registrations.is_empty()).then_some(RegistrationParams { registrations })
}
