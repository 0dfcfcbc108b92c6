//! One connection of a client, and the reading of a head from it, which never waits.

use std::io::{self, ErrorKind, Read};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use super::request::{LONGEST_HEAD, head_end};

/// A head that began must be complete after this time.
const PATIENCE: Duration = Duration::from_secs(10);
/// A connection on which nothing comes is kept this long.
const IDLE: Duration = Duration::from_secs(75);
/// A client that takes nothing of its answer for this long is given up.
const UNREAD: Duration = Duration::from_secs(5);

/// A connection.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) stream: TcpStream,
    /// What came and was not used yet.
    received: Vec<u8>,
    /// When it came, or its last request was answered.
    since: Instant,
    /// When the first byte of its next request came.
    begun: Instant,
    /// Whether a request on it had the token.
    is_known: bool,
}

/// What a look at a connection gave.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// Not all is there yet.
    Wait,
    /// A whole head is there.
    Head,
    /// It is over.
    End,
    /// More came than a head may have.
    TooLong,
}

impl Connection {
    pub(super) fn new(stream: TcpStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        stream.set_write_timeout(Some(UNREAD))?;
        let since = Instant::now();
        Ok(Self {
            stream,
            received: Vec::new(),
            since,
            begun: since,
            is_known: false,
        })
    }

    /// Takes what has come.
    pub(super) fn look(&mut self) -> Look {
        loop {
            if head_end(&self.received).is_some() {
                return Look::Head;
            }
            let have = self.received.len();
            if have >= LONGEST_HEAD {
                return Look::TooLong;
            }
            self.received.resize(LONGEST_HEAD, 0);
            let room = self.received.get_mut(have..).unwrap_or_default();
            let read = self.stream.read(room);
            self.received.truncate(have + *read.as_ref().unwrap_or(&0));
            match read {
                Ok(0) => return Look::End,
                Ok(_) if have == 0 => self.begun = Instant::now(),
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Look::Wait,
                Err(_) => return Look::End,
            }
        }
    }

    /// Takes the head off what was received.
    pub(super) fn take_head(&mut self) -> Vec<u8> {
        let end = head_end(&self.received).unwrap_or(self.received.len());
        let rest = self.received.split_off(end);
        std::mem::replace(&mut self.received, rest)
    }

    /// The answer was sent, and the connection goes on, which it does only for those who know the
    /// token.
    pub(super) fn answered(&mut self) {
        self.since = Instant::now();
        self.begun = self.since;
        self.is_known = true;
        // A connection that waits for its next request takes no memory.
        if self.received.is_empty() {
            self.received = Vec::new();
        }
    }

    /// Says that nothing more comes, and takes what has come already: a connection that is closed
    /// with something unread takes its answer back.
    pub(super) fn leave(&mut self) {
        let is_left = self.stream.shutdown(Shutdown::Write).is_ok();
        let mut rest = [0; LONGEST_HEAD];
        let is_more = |read: io::Result<usize>| read.is_ok_and(|length| length > 0);
        let mut pieces = 0..8;
        while is_left && pieces.next().is_some() && is_more(self.stream.read(&mut rest)) {}
    }

    /// Whether a request on it had the token.
    pub(super) fn is_known(&self) -> bool {
        self.is_known
    }

    /// When it is given up: a request that began must be complete soon.
    pub(super) fn deadline(&self) -> Instant {
        if self.received.is_empty() {
            self.since + IDLE
        } else {
            self.begun + PATIENCE
        }
    }

    /// When it began to wait. Half a request makes nobody newer.
    pub(super) fn since(&self) -> Instant {
        self.since
    }
}
