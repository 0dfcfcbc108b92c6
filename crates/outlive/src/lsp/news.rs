//! What an editor tells, without an answer.

use lsp_server::Notification;
use lsp_types::notification::{
    Cancel, DidChangeConfiguration, DidChangeNotebookDocument, DidChangeTextDocument,
    DidChangeWatchedFiles, DidCloseNotebookDocument, DidCloseTextDocument, DidOpenNotebookDocument,
    DidOpenTextDocument, DidSaveNotebookDocument, DidSaveTextDocument, Initialized,
    Notification as _,
};
use lsp_types::{
    CancelParams, DidChangeConfigurationParams, DidChangeNotebookDocumentParams,
    DidChangeTextDocumentParams, DidCloseNotebookDocumentParams, DidCloseTextDocumentParams,
    DidOpenNotebookDocumentParams, DidOpenTextDocumentParams, DidSaveNotebookDocumentParams,
    DidSaveTextDocumentParams, NotebookDocumentCellChange, NumberOrString,
    TextDocumentContentChangeEvent, Uri,
};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::documents::Content;
use super::notebook::Notebook;
use super::position::Encoding;
use super::text::Text;

/// Something that happened in the editor.
#[derive(Debug)]
pub(super) enum News {
    /// It is ready for requests.
    Ready,
    /// A document is open now.
    Opened(Uri, Content),
    /// A document changed.
    Changed(Uri, Change),
    /// A document was written to its file.
    Saved(Uri),
    /// A document is not open any more.
    Closed(Uri),
    /// An answer is not needed any more.
    Cancelled(NumberOrString),
    /// The editor's settings changed.
    Settings(Value),
    /// Configuration files changed.
    Files,
    /// Nothing that concerns us, or nothing that can be read; there is nobody to be told.
    Nothing,
}

/// How a document changed.
#[derive(Debug)]
pub(super) enum Change {
    /// The text.
    Script(i32, Vec<TextDocumentContentChangeEvent>),
    /// The cells.
    Notebook(NotebookDocumentCellChange),
}

impl Change {
    /// Makes it.
    pub(super) fn make(self, content: &mut Content, encoding: Encoding) {
        match (self, content) {
            (Self::Script(version, changes), Content::Script(text)) => {
                text.change(version, changes, encoding);
            }
            (Self::Notebook(change), Content::Notebook(notebook)) => {
                notebook.change(change, encoding);
            }
            // Somebody has given a notebook and a script the same name.
            (Self::Script(..), Content::Notebook(_)) | (Self::Notebook(_), Content::Script(_)) => {}
        }
    }
}

impl News {
    /// Reads it.
    pub(super) fn read(notification: Notification) -> Self {
        let it = notification.params;
        let news = match notification.method.as_str() {
            Initialized::METHOD => Some(Self::Ready),
            DidOpenTextDocument::METHOD => read(it).and_then(opened),
            DidChangeTextDocument::METHOD => read(it).map(changed),
            DidSaveTextDocument::METHOD => {
                read(it).map(|it: DidSaveTextDocumentParams| Self::Saved(it.text_document.uri))
            }
            DidCloseTextDocument::METHOD => {
                read(it).map(|it: DidCloseTextDocumentParams| Self::Closed(it.text_document.uri))
            }
            DidOpenNotebookDocument::METHOD => read(it).map(notebook_opened),
            DidChangeNotebookDocument::METHOD => read(it).map(notebook_changed),
            DidSaveNotebookDocument::METHOD => read(it)
                .map(|it: DidSaveNotebookDocumentParams| Self::Saved(it.notebook_document.uri)),
            DidCloseNotebookDocument::METHOD => read(it)
                .map(|it: DidCloseNotebookDocumentParams| Self::Closed(it.notebook_document.uri)),
            Cancel::METHOD => read(it).map(|it: CancelParams| Self::Cancelled(it.id)),
            DidChangeConfiguration::METHOD => {
                read(it).map(|it: DidChangeConfigurationParams| Self::Settings(it.settings))
            }
            DidChangeWatchedFiles::METHOD => Some(Self::Files),
            _ => None,
        };
        news.unwrap_or(Self::Nothing)
    }
}

fn read<P: DeserializeOwned>(parameters: Value) -> Option<P> {
    serde_json::from_value(parameters).ok()
}

fn opened(it: DidOpenTextDocumentParams) -> Option<News> {
    let uri = it.text_document.uri.clone();
    let text = Text::new(it.text_document);
    text.is_python()
        .then_some(News::Opened(uri, Content::Script(text)))
}

fn changed(it: DidChangeTextDocumentParams) -> News {
    let change = Change::Script(it.text_document.version, it.content_changes);
    News::Changed(it.text_document.uri, change)
}

fn notebook_opened(it: DidOpenNotebookDocumentParams) -> News {
    let document = it.notebook_document;
    let notebook = Notebook::new(document.cells, it.cell_text_documents);
    News::Opened(document.uri, Content::Notebook(notebook))
}

fn notebook_changed(it: DidChangeNotebookDocumentParams) -> News {
    let cells = it.change.cells.unwrap_or(NotebookDocumentCellChange {
        structure: None,
        data: None,
        text_content: None,
    });
    News::Changed(it.notebook_document.uri, Change::Notebook(cells))
}
