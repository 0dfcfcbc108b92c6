//! A session with an editor: what is open, what is being checked, who waits for what.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use lsp_server::{ErrorCode, Notification, Request, RequestId, Response};
use lsp_types::notification::ShowMessage;
use lsp_types::request::{RegisterCapability, WorkspaceConfiguration, WorkspaceDiagnosticRefresh};
use lsp_types::{
    ConfigurationItem, ConfigurationParams, MessageType, NumberOrString, ShowMessageParams, Uri,
};
use serde_json::Value;

use super::capabilities;
use super::checked::Checked;
use super::checker::{Checker, Job};
use super::client::{Ability, Client, Outbox};
use super::documents::{Document, Documents};
use super::news::News;
use super::options::{self, SECTION};
use super::questions::{NoQuestion, Question};
use crate::check::{Overrides, Resolver};
use crate::supervise::memory::Memory;

/// A check that takes no longer is made after every change.
const SHORT_CHECK: Duration = Duration::from_millis(50);
/// The longest time that typing holds a check back.
const LONGEST_PAUSE: Duration = Duration::from_millis(500);
/// The ids of our own requests.
const ASK_SETTINGS: &str = "settings";
const ASK_REGISTRATION: &str = "registration";
const ASK_REFRESH: &str = "refresh";

/// A question that has no answer yet.
#[derive(Debug)]
struct Waiting {
    id: RequestId,
    document: String,
    question: Question,
}

/// One editor's session.
#[derive(Debug)]
pub(super) struct Session {
    client: Client,
    out: Outbox,
    checker: Checker,
    overrides: Overrides,
    resolver: Arc<Resolver>,
    documents: Documents,
    waiting: Vec<Waiting>,
    /// What the user was told already.
    told: BTreeSet<String>,
    revision: u64,
}

impl Session {
    /// A session in which nothing is open.
    pub(super) fn new(client: Client, out: Outbox, checker: Checker) -> Result<Self> {
        let overrides = Overrides {
            folder: client.root.clone(),
            ..Overrides::default()
        };
        Ok(Self {
            client,
            out,
            checker,
            resolver: Arc::new(Resolver::new(overrides.clone(), Memory::of_machine())?),
            overrides,
            documents: Documents::default(),
            waiting: Vec::new(),
            told: BTreeSet::new(),
            revision: 0,
        })
    }

    /// Takes the editor's settings. Those that cannot be read change nothing.
    pub(super) fn set_options(&mut self, value: &Value) {
        match options::read(value, &self.client.root) {
            Ok(overrides) => {
                self.overrides = overrides;
                self.forget_configurations();
            }
            Err(reason) => self.warn(&reason),
        }
    }

    /// Answers a request, now or when its document is checked.
    pub(super) fn request(&mut self, request: Request) {
        let (id, question) = match Question::read(request) {
            Ok(read) => read,
            Err((id, NoQuestion::Unknown)) => {
                let reason = "No such request";
                return self.out.refuse(id, ErrorCode::MethodNotFound, reason);
            }
            Err((id, NoQuestion::Malformed(reason))) => {
                return self.out.refuse(id, ErrorCode::InvalidParams, &reason);
            }
        };
        let Some((document, state)) = self.documents.with(question.uri()) else {
            return self.out.answer(id, question.answer(None, &self.client));
        };
        match state.present() {
            Some(checked) => {
                let answer = question.answer(Some(checked), &self.client);
                self.out.answer(id, answer);
            }
            None => self.waiting.push(Waiting {
                id,
                document: document.to_owned(),
                question,
            }),
        }
    }

    /// Takes in what the editor tells.
    pub(super) fn hear(&mut self, notification: Notification) {
        match News::read(notification) {
            News::Ready => {
                if let Some(wanted) = capabilities::wanted(&self.client) {
                    self.out.ask::<RegisterCapability>(ASK_REGISTRATION, wanted);
                }
            }
            News::Opened(uri, content) => {
                let name = uri.as_str().to_owned();
                self.documents.open(&uri, content);
                self.check(&name, Duration::ZERO);
            }
            News::Changed(uri, change) => {
                let encoding = self.client.encoding;
                let Some(document) = self.documents.named(uri.as_str()) else {
                    return;
                };
                change.make(&mut document.content, encoding);
                let pause = pause_after(document.took);
                self.check(uri.as_str(), pause);
            }
            News::Saved(uri) => {
                // Not every editor tells when a configuration changes.
                self.forget_configurations();
                self.check(uri.as_str(), Duration::ZERO);
            }
            News::Closed(uri) => self.close(&uri),
            News::Cancelled(id) => self.cancel(&id),
            News::Settings(settings) => self.settings_changed(&settings),
            News::Files => self.check_all(),
            News::Nothing => {}
        }
    }

    /// Takes in an answer of the editor's.
    pub(super) fn answered(&mut self, response: Response) {
        let is_settings = response.id == RequestId::from(ASK_SETTINGS.to_owned());
        if let Ok(value) = response.response_result
            && is_settings
        {
            // One value for each section that was asked for.
            self.set_options(value.get(0).unwrap_or_default());
            self.check_all();
        }
    }

    /// Takes in what a check found. An earlier state's findings are nobody's any more.
    pub(super) fn take(&mut self, checked: Checked) {
        let checked = Arc::new(checked);
        let name = &checked.document;
        let Some(document) = self.documents.named(name) else {
            return;
        };
        if !document.keep(&checked) {
            return;
        }
        if is_pushed(document, &self.client) {
            document.published.update(&checked, &self.client, &self.out);
        }
        self.answer_waiting(name, Some(&checked));
        if let Some(trouble) = &checked.trouble {
            self.warn(trouble);
        }
    }

    /// Gives everybody who waits an answer, at the end.
    pub(super) fn end(&mut self) {
        for waiting in self.waiting.drain(..) {
            let reason = "The server shuts down";
            let code = ErrorCode::RequestCanceled;
            self.out.refuse(waiting.id, code, reason);
        }
    }

    fn answer_waiting(&mut self, document: &str, checked: Option<&Checked>) {
        let is_about = |waiting: &mut Waiting| waiting.document == document;
        for waiting in self.waiting.extract_if(.., is_about) {
            let answer = waiting.question.answer(checked, &self.client);
            self.out.answer(waiting.id, answer);
        }
    }

    /// Has the present state of a document checked, after a pause in which it may change again.
    fn check(&mut self, name: &str, pause: Duration) {
        let Some(document) = self.documents.named(name) else {
            return;
        };
        self.revision += 1;
        document.revision = self.revision;
        self.checker.check(Job {
            document: name.to_owned(),
            revision: self.revision,
            path: document.path(),
            root: self.client.root.clone(),
            parts: document.parts(),
            is_notebook: document.is_notebook(),
            resolver: Arc::clone(&self.resolver),
            due: Instant::now() + pause,
        });
    }

    fn check_all(&mut self) {
        self.told.clear();
        self.forget_configurations();
        for name in self.documents.names() {
            self.check(&name, Duration::ZERO);
        }
        if self.client.can(Ability::Pull) && self.client.can(Ability::Refresh) {
            self.out.ask::<WorkspaceDiagnosticRefresh>(ASK_REFRESH, ());
        }
    }

    /// Reads them again for the next check. The old ones stay with the checks that use them.
    fn forget_configurations(&mut self) {
        match Resolver::new(self.overrides.clone(), Memory::of_machine()) {
            Ok(resolver) => self.resolver = Arc::new(resolver),
            Err(error) => self.warn(&error.to_string()),
        }
    }

    fn close(&mut self, uri: &Uri) {
        if let Some(mut document) = self.documents.close(uri) {
            document.published.clear(&self.out);
            self.answer_waiting(uri.as_str(), None);
        }
    }

    fn cancel(&mut self, id: &NumberOrString) {
        let id = match id {
            NumberOrString::Number(number) => RequestId::from(*number),
            NumberOrString::String(text) => RequestId::from(text.clone()),
        };
        for waiting in self.waiting.extract_if(.., |waiting| waiting.id == id) {
            let reason = "Cancelled by the client";
            let code = ErrorCode::RequestCanceled;
            self.out.refuse(waiting.id, code, reason);
        }
    }

    /// The editor sends its settings, or only that they changed; then it is asked for them.
    fn settings_changed(&mut self, settings: &Value) {
        let is_sent = settings.as_object().is_some_and(|it| !it.is_empty());
        if !is_sent && self.client.can(Ability::GiveSettings) {
            let item = ConfigurationItem {
                scope_uri: None,
                section: Some(SECTION.to_owned()),
            };
            let items = ConfigurationParams { items: vec![item] };
            self.out.ask::<WorkspaceConfiguration>(ASK_SETTINGS, items);
            return;
        }
        self.set_options(settings);
        self.check_all();
    }

    /// Shows a line to the user, once.
    fn warn(&mut self, message: &str) {
        if self.told.insert(message.to_owned()) {
            self.out.tell::<ShowMessage>(ShowMessageParams {
                typ: MessageType::WARNING,
                message: format!("Outlive: {message}"),
            });
        }
    }
}

/// How long a change is left to rest if the last check took so long: as long again, so that typing
/// costs no more than half of a core.
fn pause_after(check: Duration) -> Duration {
    if check <= SHORT_CHECK {
        Duration::ZERO
    } else {
        check.min(LONGEST_PAUSE)
    }
}

/// Whether an editor is sent a document's diagnostics unasked. Cells always: editors that ask do
/// so for files.
fn is_pushed(document: &Document, client: &Client) -> bool {
    !client.can(Ability::Pull) || (document.is_notebook() && client.can(Ability::Push))
}
