//! Where clients come in. One thread looks after all connections that wait for a request, so that
//! half a request costs nobody anything; a whole one goes to a thread that answers.

use std::io::{self, ErrorKind, Read};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, Sender};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::low_level::pipe;

use super::connection::{Connection, Look};
use super::request::{Method, Then};
use super::response::Response;

/// Connections at a time, those that are being answered included.
const MOST: usize = 128;
/// At least this often the deadlines are looked at.
const ROUND: Duration = Duration::from_secs(1);

/// The listening socket, and who waits at it.
#[derive(Debug)]
pub(super) struct Door {
    listener: TcpListener,
    /// Becomes readable when a signal asks for the end.
    signals: UnixStream,
    waiting: Vec<Connection>,
    /// Connections that are with those who answer.
    busy: usize,
}

/// The way to those who answer and back.
#[derive(Debug)]
pub(super) struct Counter {
    /// Connections with a whole head.
    pub(super) ready: Sender<Connection>,
    /// Those that were answered; `None` for one that is over.
    pub(super) answered: Receiver<Option<Connection>>,
    /// Becomes readable when one was answered.
    pub(super) bell: UnixStream,
}

impl Door {
    /// Listens on the loopback address. Port 0 is any that is free.
    pub(super) fn open(port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        listener.set_nonblocking(true)?;
        let (signals, sender) = UnixStream::pair()?;
        signals.set_nonblocking(true)?;
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            pipe::register(signal, sender.try_clone()?)?;
        }
        Ok(Self {
            listener,
            signals,
            waiting: Vec::new(),
            busy: 0,
        })
    }

    /// Where it listens.
    pub(super) fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Lets clients in until a signal asks for the end.
    pub(super) fn keep(&mut self, counter: &Counter) -> io::Result<()> {
        loop {
            let events = self.wait(counter)?;
            if events.signal {
                return Ok(());
            }
            if events.bell {
                self.take_back(counter);
            }
            self.look(&events.readable, counter);
            if events.client {
                self.let_in();
            }
            let now = Instant::now();
            self.waiting
                .retain(|connection| now < connection.deadline());
        }
    }

    fn wait(&self, counter: &Counter) -> io::Result<Events> {
        let has_room = self.busy < MOST;
        let clients = if has_room {
            PollFlags::IN
        } else {
            PollFlags::empty()
        };
        let mut all = vec![
            PollFd::new(&self.signals, PollFlags::IN),
            PollFd::new(&counter.bell, PollFlags::IN),
            PollFd::new(&self.listener, clients),
        ];
        let streams = self.waiting.iter().map(|connection| &connection.stream);
        all.extend(streams.map(|stream| PollFd::new(stream, PollFlags::IN)));
        let round = Timespec {
            tv_sec: ROUND.as_secs() as i64,
            tv_nsec: 0,
        };
        match poll(&mut all, Some(&round)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let mut happened = all.iter().map(|one| !one.revents().is_empty());
        let mut next = || happened.next().unwrap_or(false);
        Ok(Events {
            signal: next(),
            bell: next(),
            client: next(),
            readable: happened.collect(),
        })
    }

    /// Looks at the connections on which something came.
    fn look(&mut self, readable: &[bool], counter: &Counter) {
        let waiting = std::mem::take(&mut self.waiting);
        for (number, connection) in waiting.into_iter().enumerate() {
            if readable.get(number).copied().unwrap_or(false) {
                self.receive(connection, counter);
            } else {
                self.waiting.push(connection);
            }
        }
    }

    fn receive(&mut self, mut connection: Connection, counter: &Counter) {
        match connection.look() {
            Look::Wait => self.waiting.push(connection),
            Look::End => {}
            Look::TooLong => {
                let refusal = Response::empty("431 Request Header Fields Too Large");
                // It does not wait, and whoever sends that much may not be listening.
                let _ = refusal.send(&mut connection.stream, Method::Get, Then::Close);
                connection.leave();
            }
            Look::Head => {
                // It fails only if nobody is left to answer, which ends the program.
                self.busy += usize::from(counter.ready.send(connection).is_ok());
            }
        }
    }

    /// Takes back the connections that were answered; a further request may be there already.
    fn take_back(&mut self, counter: &Counter) {
        while matches!((&counter.bell).read(&mut [0; 64]), Ok(64)) {}
        while let Ok(answered) = counter.answered.try_recv() {
            self.busy = self.busy.saturating_sub(1);
            if let Some(connection) = answered {
                self.receive(connection, counter);
            }
        }
    }

    fn let_in(&mut self) {
        while self.busy < MOST {
            match self.listener.accept() {
                Ok((stream, _)) => {
                    if self.busy + self.waiting.len() >= MOST {
                        self.make_room();
                    }
                    self.waiting.extend(Connection::new(stream));
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // Nobody is left, or it went away meanwhile, or there are too many open files.
                Err(_) => return,
            }
        }
    }

    /// Closes the connection that waits longest: one that has not shown that it knows the token, if
    /// there is one. So whoever does not know it can only take the place of others like them.
    fn make_room(&mut self) {
        let numbered = self.waiting.iter().enumerate();
        let oldest = numbered.min_by_key(|(_, one)| (one.is_known(), one.since()));
        if let Some((number, _)) = oldest {
            self.waiting.swap_remove(number);
        }
    }
}

/// What happened since the last look.
#[derive(Debug)]
struct Events {
    signal: bool,
    bell: bool,
    client: bool,
    /// For each connection that waits, in order.
    readable: Vec<bool>,
}
