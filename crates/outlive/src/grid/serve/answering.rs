//! The threads that answer requests. There is a fixed number of them; a client can hold one up
//! only by reading its own answer slowly, and has to know the token for an answer that is long
//! enough for that.

use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

use super::connection::Connection;
use super::door::Counter;
use super::request::{Method, Refusal, Request, Then};
use super::response::Response;
use super::site::Site;

/// How many answer at a time. Most of them wait for decoders, which are as many as there are
/// processors.
const THREADS: usize = 12;

/// Starts the threads.
pub(super) fn start(site: &Arc<Site>) -> io::Result<Counter> {
    let (ready, requests) = channel();
    let requests = Arc::new(Mutex::new(requests));
    let (answers, answered) = channel();
    let (bell, clapper) = UnixStream::pair()?;
    bell.set_nonblocking(true)?;
    clapper.set_nonblocking(true)?;
    for _ in 0..THREADS {
        let clerk = Clerk {
            site: Arc::clone(site),
            requests: Arc::clone(&requests),
            answers: answers.clone(),
            clapper: clapper.try_clone()?,
        };
        let thread = std::thread::Builder::new().name("outlive-answer".to_owned());
        thread.spawn(move || clerk.work())?;
    }
    Ok(Counter {
        ready,
        answered,
        bell,
    })
}

struct Clerk {
    site: Arc<Site>,
    requests: Arc<Mutex<Receiver<Connection>>>,
    answers: Sender<Option<Connection>>,
    clapper: UnixStream,
}

impl Clerk {
    fn work(mut self) {
        while let Some(mut connection) = self.next() {
            // A fault in one answer costs its client the connection, and nobody else anything.
            let then = catch_unwind(AssertUnwindSafe(|| self.answer(&mut connection)));
            let is_kept = matches!(then, Ok(Ok(Then::Stay)));
            if is_kept {
                connection.answered();
            }
            if self.answers.send(is_kept.then_some(connection)).is_err() {
                return;
            }
            // A bell that is full of rings rings already.
            let _ = self.clapper.write(&[0]);
        }
    }

    fn next(&self) -> Option<Connection> {
        let requests = self.requests.lock();
        requests.unwrap_or_else(PoisonError::into_inner).recv().ok()
    }

    fn answer(&self, connection: &mut Connection) -> io::Result<Then> {
        let head = connection.take_head();
        connection.stream.set_nonblocking(false)?;
        let (response, method, then) = match Request::read(&head) {
            Ok(request) => {
                let (response, then) = self.site.answer(&request);
                (response, request.method, then)
            }
            Err(refusal) => (refused(refusal), Method::Get, Then::Close),
        };
        response.send(&mut connection.stream, method, then)?;
        connection.stream.set_nonblocking(true)?;
        if then == Then::Close {
            connection.leave();
        }
        Ok(then)
    }
}

fn refused(refusal: Refusal) -> Response {
    match refusal {
        Refusal::Malformed => Response::empty("400 Bad Request"),
        Refusal::Host => Response::empty("403 Forbidden"),
        Refusal::Method => Response::empty("405 Method Not Allowed").with("Allow", "GET, HEAD"),
    }
}
