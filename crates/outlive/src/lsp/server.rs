//! The server's loop, and the beginning and end of a session.

use std::io::{self, BufReader, Write};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use lsp_server::{ErrorCode, Message, Notification, Request};
use lsp_types::notification::{Exit, Notification as _};
use lsp_types::request::{Initialize, Request as _, Shutdown};

use super::capabilities;
use super::checked::Checked;
use super::checker::Checker;
use super::client::{Client, Outbox};
use super::parent;
use super::session::Session;
use super::wire::{self, Incoming};
use crate::exit::FAILED;

/// How long an editor has to read what was said last.
const FAREWELL: Duration = Duration::from_secs(1);

/// What happens.
#[derive(Debug)]
enum Event {
    /// The editor sent something.
    Incoming(Incoming),
    /// It will send nothing any more, or its process is gone.
    Gone,
    /// A document was checked.
    Checked(Box<Checked>),
}

/// How far a session is.
#[derive(Debug)]
enum Phase {
    /// Before `initialize`.
    Silent,
    /// After it.
    Running(Box<Session>),
    /// After `shutdown`.
    Over,
}

#[derive(Debug)]
struct Server {
    phase: Phase,
    out: Outbox,
    events: Sender<Event>,
}

/// Serves the editor at standard input and output. The exit code is the protocol's: 0 if
/// `shutdown` came before the end, 1 otherwise.
pub(crate) fn serve() -> Result<u8> {
    let (events, happening) = mpsc::channel();
    let (frames, outgoing) = mpsc::channel();
    let written = write_all(outgoing)?;
    read_all(events.clone())?;
    let server = Server {
        phase: Phase::Silent,
        out: Outbox::new(frames),
        events,
    };
    let code = server.run(&happening)?;
    // Ends when the writer does, or when the editor does not read.
    let _ = written.recv_timeout(FAREWELL);
    Ok(code)
}

fn read_all(events: Sender<Event>) -> Result<()> {
    let read = move || {
        let mut input = BufReader::new(io::stdin().lock());
        // A broken input is a closed one.
        while let Ok(Some(incoming)) = wire::read(&mut input) {
            if events.send(Event::Incoming(incoming)).is_err() {
                return;
            }
        }
        let _ = events.send(Event::Gone);
    };
    let reader = thread::Builder::new().name("reader".to_owned());
    reader.spawn(read).context("Cannot start a thread")?;
    Ok(())
}

/// Writes what comes, until nothing can come or be written any more; the receiver learns of that.
fn write_all(outgoing: Receiver<Vec<u8>>) -> Result<Receiver<()>> {
    let (done, written) = mpsc::channel();
    let write = move || {
        let mut output = io::stdout().lock();
        for frame in outgoing {
            if output
                .write_all(&frame)
                .and_then(|()| output.flush())
                .is_err()
            {
                break;
            }
        }
        drop(done);
    };
    let writer = thread::Builder::new().name("writer".to_owned());
    writer.spawn(write).context("Cannot start a thread")?;
    Ok(written)
}

impl Server {
    fn run(mut self, happening: &Receiver<Event>) -> Result<u8> {
        loop {
            match happening.recv().unwrap_or(Event::Gone) {
                Event::Gone => return Ok(self.exit_code()),
                Event::Checked(checked) => {
                    if let Phase::Running(session) = &mut self.phase {
                        session.take(*checked);
                    }
                }
                Event::Incoming(Incoming::Malformed(malformed)) => {
                    self.out.send_frame(malformed.answer());
                }
                Event::Incoming(Incoming::Message(message)) => match message {
                    Message::Request(request) => self.answer(request)?,
                    Message::Notification(told) if told.method == Exit::METHOD => {
                        return Ok(self.exit_code());
                    }
                    Message::Notification(told) => self.hear(told),
                    Message::Response(response) => {
                        if let Phase::Running(session) = &mut self.phase {
                            session.answered(response);
                        }
                    }
                },
            }
        }
    }

    const fn exit_code(&self) -> u8 {
        match self.phase {
            Phase::Over => 0,
            Phase::Silent | Phase::Running(_) => FAILED,
        }
    }

    fn answer(&mut self, request: Request) -> Result<()> {
        match (&mut self.phase, request.method.as_str()) {
            (Phase::Silent, Initialize::METHOD) => self.begin(request)?,
            (Phase::Silent, _) => self.out.refuse(
                request.id,
                ErrorCode::ServerNotInitialized,
                "`initialize` comes first",
            ),
            (Phase::Running(_), Initialize::METHOD) => self.out.refuse(
                request.id,
                ErrorCode::InvalidRequest,
                "`initialize` comes once",
            ),
            (Phase::Running(session), Shutdown::METHOD) => {
                session.end();
                self.out.answer(request.id, ());
                self.phase = Phase::Over;
            }
            (Phase::Running(session), _) => session.request(request),
            (Phase::Over, _) => self.out.refuse(
                request.id,
                ErrorCode::InvalidRequest,
                "Only `exit` comes after `shutdown`",
            ),
        }
        Ok(())
    }

    fn hear(&mut self, told: Notification) {
        if let Phase::Running(session) = &mut self.phase {
            session.hear(told);
        }
    }

    fn begin(&mut self, request: Request) -> Result<()> {
        let client = Client::new(&request.params);
        if let Some(process) = client.process {
            let events = self.events.clone();
            parent::watch(process, move || {
                let _ = events.send(Event::Gone);
            });
        }
        let events = self.events.clone();
        let checker = Checker::start(move |checked| {
            let _ = events.send(Event::Checked(Box::new(checked)));
        })?;
        self.out
            .answer(request.id, capabilities::of_server(&client));
        let mut session = Session::new(client, self.out.clone(), checker)?;
        let options = request.params.get("initializationOptions");
        session.set_options(options.unwrap_or_default());
        self.phase = Phase::Running(Box::new(session));
        Ok(())
    }
}
