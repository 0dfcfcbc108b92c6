//! An open notebook: the order of its cells, and their texts.

use std::collections::BTreeMap;

use lsp_types::{
    NotebookCell, NotebookCellArrayChange, NotebookCellKind, NotebookDocumentCellChange,
    TextDocumentItem, Uri,
};

use super::position::Encoding;
use super::text::Text;

/// A notebook as the editor has it.
#[derive(Debug, Default)]
pub(super) struct Notebook {
    /// All cells, in order.
    cells: Vec<NotebookCell>,
    /// Their texts, by the cell's URI.
    texts: BTreeMap<String, Text>,
}

impl Notebook {
    /// As it was opened.
    pub(super) fn new(cells: Vec<NotebookCell>, texts: Vec<TextDocumentItem>) -> Self {
        let mut notebook = Self {
            cells,
            texts: BTreeMap::new(),
        };
        notebook.add(texts);
        notebook
    }

    /// The cells with Python in them, each with its number among all cells, counted from one.
    pub(super) fn python_cells(&self) -> impl Iterator<Item = (u32, &Text)> {
        let numbered = (1..).zip(&self.cells);
        numbered.filter_map(|(number, cell)| {
            let text = self.texts.get(cell.document.as_str())?;
            let is_wanted = cell.kind == NotebookCellKind::Code && text.is_python();
            is_wanted.then_some((number, text))
        })
    }

    /// Whether this is one of its cells.
    pub(super) fn has(&self, uri: &Uri) -> bool {
        self.texts.contains_key(uri.as_str())
    }

    /// Makes a change: first the order, so that the texts that follow have their cells.
    pub(super) fn change(&mut self, change: NotebookDocumentCellChange, encoding: Encoding) {
        if let Some(structure) = change.structure {
            self.reorder(structure.array);
            for closed in structure.did_close.unwrap_or_default() {
                self.texts.remove(closed.uri.as_str());
            }
            self.add(structure.did_open.unwrap_or_default());
        }
        for cell in change.data.unwrap_or_default() {
            if let Some(known) = self
                .cells
                .iter_mut()
                .find(|known| known.document == cell.document)
            {
                *known = cell;
            }
        }
        for content in change.text_content.unwrap_or_default() {
            if let Some(text) = self.texts.get_mut(content.document.uri.as_str()) {
                text.change(content.document.version, content.changes, encoding);
            }
        }
    }

    fn reorder(&mut self, change: NotebookCellArrayChange) {
        let start = (change.start as usize).min(self.cells.len());
        let end = start
            .saturating_add(change.delete_count as usize)
            .min(self.cells.len());
        let cells = change.cells.unwrap_or_default();
        self.cells.splice(start..end, cells);
    }

    fn add(&mut self, items: Vec<TextDocumentItem>) {
        for item in items {
            self.texts
                .insert(item.uri.as_str().to_owned(), Text::new(item));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn cell(name: &str, kind: u8) -> serde_json::Value {
        json!({ "kind": kind, "document": format!("cell:{name}") })
    }

    fn item(name: &str, language: &str) -> serde_json::Value {
        json!({
            "uri": format!("cell:{name}"), "languageId": language, "version": 1, "text": name,
        })
    }

    fn opened() -> Notebook {
        let cells = json!([cell("a", 2), cell("m", 1), cell("r", 2), cell("b", 2)]);
        let texts = json!([
            item("a", "python"),
            item("m", "markdown"),
            item("r", "r"),
            item("b", "python")
        ]);
        Notebook::new(
            serde_json::from_value(cells).unwrap(),
            serde_json::from_value(texts).unwrap(),
        )
    }

    fn shown(notebook: &Notebook) -> Vec<(u32, &str)> {
        let cells = notebook.python_cells();
        cells
            .map(|(number, text)| (number, text.content.as_str()))
            .collect()
    }

    fn change(notebook: &mut Notebook, change: serde_json::Value) {
        let change = serde_json::from_value(change).unwrap();
        notebook.change(change, Encoding::Utf16);
    }

    #[test]
    fn only_python_is_checked_and_keeps_its_number() {
        assert_eq!(shown(&opened()), [(1, "a"), (4, "b")]);
    }

    #[test]
    fn cells_come_go_and_change_in_one_message() {
        let mut notebook = opened();
        change(
            &mut notebook,
            json!({
                "structure": {
                    "array": { "start": 1, "deleteCount": 2, "cells": [cell("new", 2)] },
                    "didOpen": [item("new", "python")],
                    "didClose": [{ "uri": "cell:m" }, { "uri": "cell:r" }],
                },
                "textContent": [{
                    "document": { "uri": "cell:new", "version": 2 },
                    "changes": [{ "text": "changed" }],
                }],
            }),
        );
        assert_eq!(shown(&notebook), [(1, "a"), (2, "changed"), (3, "b")]);
    }

    #[test]
    fn a_cell_that_becomes_text_is_not_checked() {
        let mut notebook = opened();
        change(&mut notebook, json!({ "data": [cell("a", 1)] }));
        assert_eq!(shown(&notebook), [(4, "b")]);
    }

    #[test]
    fn a_change_of_cells_that_are_not_there_is_no_fault() {
        let mut notebook = opened();
        change(
            &mut notebook,
            json!({
                "structure": { "array": { "start": 90, "deleteCount": u32::MAX } },
                "textContent": [{
                    "document": { "uri": "cell:none", "version": 2 },
                    "changes": [{ "text": "" }],
                }],
            }),
        );
        assert_eq!(shown(&notebook), [(1, "a"), (4, "b")]);
    }
}
