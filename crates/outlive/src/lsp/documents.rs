//! The open documents, scripts and notebooks, each with what its last check found.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use lsp_types::Uri;

use super::checked::{Checked, Part};
use super::client;
use super::notebook::Notebook;
use super::publications::Publications;
use super::text::Text;

/// How an editor has a document.
#[derive(Debug)]
pub(super) enum Content {
    /// One text.
    Script(Text),
    /// Cells.
    Notebook(Notebook),
}

/// An open document.
#[derive(Debug)]
pub(super) struct Document {
    /// What is in it.
    pub(super) content: Content,
    /// Counts its states over the whole session; no two documents share one.
    pub(super) revision: u64,
    /// How long its last check took.
    pub(super) took: Duration,
    /// What the editor was sent of it.
    pub(super) published: Publications,
    path: Option<PathBuf>,
    checked: Option<Arc<Checked>>,
}

impl Document {
    /// A document that was opened.
    pub(super) fn new(uri: &Uri, content: Content) -> Self {
        Self {
            content,
            revision: 0,
            took: Duration::ZERO,
            published: Publications::default(),
            path: client::path_of(uri),
            checked: None,
        }
    }

    /// Whether it has cells.
    pub(super) const fn is_notebook(&self) -> bool {
        matches!(self.content, Content::Notebook(_))
    }

    /// Its file, if it is one.
    pub(super) fn path(&self) -> Option<PathBuf> {
        self.path.clone()
    }

    /// The texts to check.
    pub(super) fn parts(&self) -> Vec<Part> {
        let part = |cell, text: &Text| Part {
            uri: text.uri.clone(),
            version: text.version,
            cell,
            content: Arc::clone(&text.content),
        };
        match &self.content {
            Content::Script(text) => vec![part(None, text)],
            Content::Notebook(notebook) => notebook
                .python_cells()
                .map(|(number, text)| part(Some(number), text))
                .collect(),
        }
    }

    /// Keeps what a check found, if it is about the present state.
    pub(super) fn keep(&mut self, checked: &Arc<Checked>) -> bool {
        let is_present = checked.revision == self.revision;
        if is_present {
            self.took = checked.took;
            self.checked = Some(Arc::clone(checked));
        }
        is_present
    }

    /// What was found in its present state, if that was checked already.
    pub(super) fn present(&self) -> Option<&Arc<Checked>> {
        let checked = self.checked.as_ref();
        checked.filter(|checked| checked.revision == self.revision)
    }

    fn has(&self, uri: &Uri) -> bool {
        match &self.content {
            Content::Script(text) => text.uri == *uri,
            Content::Notebook(notebook) => notebook.has(uri),
        }
    }
}

/// All of them, by their URIs.
#[derive(Debug, Default)]
pub(super) struct Documents {
    open: BTreeMap<String, Document>,
}

impl Documents {
    /// Adds one, or replaces it.
    pub(super) fn open(&mut self, uri: &Uri, content: Content) {
        let document = Document::new(uri, content);
        self.open.insert(uri.as_str().to_owned(), document);
    }

    /// Takes one away.
    pub(super) fn close(&mut self, uri: &Uri) -> Option<Document> {
        self.open.remove(uri.as_str())
    }

    /// One of them.
    pub(super) fn named(&mut self, name: &str) -> Option<&mut Document> {
        self.open.get_mut(name)
    }

    /// The document, and its name, that a URI is or that has a cell with this URI.
    pub(super) fn with(&self, uri: &Uri) -> Option<(&str, &Document)> {
        let mut open = self.open.iter();
        open.find(|(_, document)| document.has(uri))
            .map(|(name, document)| (name.as_str(), document))
    }

    /// The names of all.
    pub(super) fn names(&self) -> Vec<String> {
        self.open.keys().cloned().collect()
    }
}
