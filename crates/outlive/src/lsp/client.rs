//! What the editor can do, and the way to it.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::mpsc::Sender;

use lsp_server::{ErrorCode, Message, Notification, Request, RequestId, Response};
use lsp_types::{MarkupKind, Uri};
use serde::Serialize;
use serde_json::Value;

use super::position::Encoding;

/// Something that not every editor can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Ability {
    /// It asks for diagnostics.
    Pull,
    /// It takes diagnostics that it did not ask for.
    Push,
    /// It can be told to ask again.
    Refresh,
    /// It shows places that belong to a diagnostic.
    RelatedInformation,
    /// It takes edits that name the version they are for.
    VersionedEdits,
    /// It takes actions with edits, not only commands.
    ActionLiterals,
    /// It can be asked to watch files.
    WatchFiles,
    /// It can be asked for its settings.
    GiveSettings,
    /// It can be asked to say when its settings change.
    AnnounceSettings,
}

impl Ability {
    const ALL: [Self; 9] = [
        Self::Pull,
        Self::Push,
        Self::Refresh,
        Self::RelatedInformation,
        Self::VersionedEdits,
        Self::ActionLiterals,
        Self::WatchFiles,
        Self::GiveSettings,
        Self::AnnounceSettings,
    ];

    /// Where an editor says so.
    const fn path(self) -> &'static str {
        match self {
            Self::Pull => "/textDocument/diagnostic",
            Self::Push => "/textDocument/publishDiagnostics",
            Self::Refresh => "/workspace/diagnostics/refreshSupport",
            Self::RelatedInformation => "/textDocument/publishDiagnostics/relatedInformation",
            Self::VersionedEdits => "/workspace/workspaceEdit/documentChanges",
            Self::ActionLiterals => "/textDocument/codeAction/codeActionLiteralSupport",
            Self::WatchFiles => "/workspace/didChangeWatchedFiles/dynamicRegistration",
            Self::GiveSettings => "/workspace/configuration",
            Self::AnnounceSettings => "/workspace/didChangeConfiguration/dynamicRegistration",
        }
    }
}

/// What the editor said of itself. Read by name from the message rather than as a whole: an editor
/// that says more than we know, or says it differently, is an editor all the same.
#[derive(Clone, Debug)]
pub(super) struct Client {
    /// What columns count.
    pub(super) encoding: Encoding,
    /// How it shows text.
    pub(super) markup: MarkupKind,
    /// Its folder.
    pub(super) root: PathBuf,
    /// Its process.
    pub(super) process: Option<u32>,
    abilities: BTreeSet<Ability>,
}

impl Client {
    /// Reads the parameters of `initialize`.
    pub(super) fn new(parameters: &Value) -> Self {
        let at = |path: &str| parameters.pointer(path);
        let capability = |path: &str| at(&format!("/capabilities{path}"));
        let list = |path: &str| {
            let list = capability(path).and_then(Value::as_array);
            list.into_iter().flatten().filter_map(Value::as_str)
        };
        let can = |ability: &Ability| capability(ability.path()).is_some_and(is_yes);
        let has_markdown = list("/textDocument/hover/contentFormat").any(|it| it == "markdown");
        let root = at("/workspaceFolders/0/uri").or_else(|| at("/rootUri"));
        let root = root.and_then(Value::as_str).and_then(path_of_text);
        Self {
            encoding: Encoding::best_of(list("/general/positionEncodings")),
            markup: if has_markdown {
                MarkupKind::Markdown
            } else {
                MarkupKind::PlainText
            },
            root: root
                .or_else(|| Some(PathBuf::from(at("/rootPath")?.as_str()?)))
                .or_else(|| std::env::current_dir().ok())
                .unwrap_or_else(|| PathBuf::from("/")),
            process: at("/processId")
                .and_then(Value::as_u64)
                .and_then(|process| u32::try_from(process).ok()),
            abilities: Ability::ALL.into_iter().filter(can).collect(),
        }
    }

    /// Whether it can.
    pub(super) fn can(&self, ability: Ability) -> bool {
        self.abilities.contains(&ability)
    }
}

fn is_yes(value: &Value) -> bool {
    matches!(value, Value::Bool(true) | Value::Object(_))
}

/// The file a URI names, if it names one.
pub(super) fn path_of(uri: &Uri) -> Option<PathBuf> {
    path_of_text(uri.as_str())
}

fn path_of_text(uri: &str) -> Option<PathBuf> {
    let uri: Uri = uri.parse().ok()?;
    let is_file = uri
        .scheme()
        .is_some_and(|scheme| scheme.as_str().eq_ignore_ascii_case("file"));
    let path = uri.path().as_estr().decode().into_string().ok()?;
    is_file.then(|| PathBuf::from(path.into_owned()))
}

/// What goes out. Cloned freely; a thread writes it down, so that an editor that does not read
/// holds nobody up.
#[derive(Clone, Debug)]
pub(super) struct Outbox {
    frames: Sender<Vec<u8>>,
}

impl Outbox {
    /// Sends by this way.
    pub(super) const fn new(frames: Sender<Vec<u8>>) -> Self {
        Self { frames }
    }

    /// Sends bytes that are a message already.
    pub(super) fn send_frame(&self, frame: Vec<u8>) {
        // Nobody there to read: the loop learns of it from the closed input.
        let _ = self.frames.send(frame);
    }

    /// Answers a request.
    pub(super) fn answer(&self, id: RequestId, result: impl Serialize) {
        self.send(Response::new_ok(id, result));
    }

    /// Answers that a request cannot be met.
    pub(super) fn refuse(&self, id: RequestId, code: ErrorCode, reason: &str) {
        self.send(Response::new_err(id, code as i32, reason.to_owned()));
    }

    /// Tells something.
    pub(super) fn tell<N: lsp_types::notification::Notification>(&self, parameters: N::Params) {
        self.send(Notification::new(N::METHOD.to_owned(), parameters));
    }

    /// Asks something; the answer comes in as a message with this id.
    pub(super) fn ask<R: lsp_types::request::Request>(&self, id: &str, parameters: R::Params) {
        let id = RequestId::from(id.to_owned());
        self.send(Request::new(id, R::METHOD.to_owned(), parameters));
    }

    fn send(&self, message: impl Into<Message>) {
        let mut frame = Vec::new();
        if message.into().write(&mut frame).is_ok() {
            self.send_frame(frame);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_editor_that_says_nothing_gets_the_oldest_protocol() {
        let client = Client::new(&json!({}));
        assert_eq!(client.encoding, Encoding::Utf16);
        assert_eq!(client.markup, MarkupKind::PlainText);
        assert!(client.abilities.is_empty());
        assert_eq!(client.process, None);
    }

    #[test]
    fn what_an_editor_can_do_is_read_by_name() {
        let client = Client::new(&json!({
            "processId": 42,
            "rootUri": "file:///project/a%20b",
            "capabilities": {
                "general": { "positionEncodings": ["utf-16", "utf-8", "unheard-of"] },
                "textDocument": {
                    "diagnostic": {},
                    "hover": { "contentFormat": ["plaintext", "markdown"] },
                    "codeAction": { "codeActionLiteralSupport": null },
                },
                "workspace": "everything",
            },
        }));
        assert_eq!(client.encoding, Encoding::Utf8);
        assert_eq!(client.markup, MarkupKind::Markdown);
        assert_eq!(client.abilities, BTreeSet::from([Ability::Pull]));
        assert_eq!(client.process, Some(42));
        assert_eq!(client.root, PathBuf::from("/project/a b"));
    }

    #[test]
    fn only_the_uri_of_a_file_has_a_path() {
        let path = |text| path_of_text(text);
        assert_eq!(path("file:///a/%C3%A9.py"), Some(PathBuf::from("/a/é.py")));
        assert_eq!(path("untitled:Untitled-1"), None);
        assert_eq!(path("not a uri"), None);
    }
}
