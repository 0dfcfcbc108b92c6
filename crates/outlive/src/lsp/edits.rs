//! Changes of a source as changes of what the editor has open.

use std::collections::HashMap;

use lsp_types::{
    DocumentChanges, OneOf, OptionalVersionedTextDocumentIdentifier, TextDocumentEdit, TextEdit,
    WorkspaceEdit,
};
use outlive_check::Edit;

use super::checked::{Part, Places};
use super::client::{Ability, Client};

/// The changes for the editor; nothing if one of them is not within a script or cell, for a part
/// of a fix is none.
#[expect(
    clippy::mutable_key_type,
    reason = "the protocol's; nobody changes a URI that is a key"
)]
pub(super) fn workspace_edit(
    changes: &[Edit],
    places: &Places<'_>,
    client: &Client,
) -> Option<WorkspaceEdit> {
    let mut changed: Vec<(&Part, Vec<TextEdit>)> = Vec::new();
    for change in changes {
        let place = places.whole_place(change.range)?;
        let edit = TextEdit::new(place.range, change.content.clone());
        match changed
            .iter_mut()
            .find(|(part, _)| part.uri == place.part.uri)
        {
            Some((_, edits)) => edits.push(edit),
            None => changed.push((place.part, vec![edit])),
        }
    }
    Some(if client.can(Ability::VersionedEdits) {
        let changes = changed.into_iter().map(versioned).collect();
        WorkspaceEdit {
            document_changes: Some(DocumentChanges::Edits(changes)),
            ..WorkspaceEdit::default()
        }
    } else {
        let changes = changed.into_iter();
        let changes: HashMap<_, _> = changes
            .map(|(part, edits)| (part.uri.clone(), edits))
            .collect();
        WorkspaceEdit::new(changes)
    })
}

fn versioned((part, edits): (&Part, Vec<TextEdit>)) -> TextDocumentEdit {
    TextDocumentEdit {
        text_document: OptionalVersionedTextDocumentIdentifier {
            uri: part.uri.clone(),
            version: Some(part.version),
        },
        edits: edits.into_iter().map(OneOf::Left).collect(),
    }
}
