//! Answers, and how they are sent. Every one of them carries the same strict headers: nothing may
//! be kept, guessed, framed, or taken for a script of another page.

use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use outlive_data::source::Opened;

use super::request::{Method, Then};

/// Bytes of a file that are in memory at a time.
const PIECE: usize = 64 << 10;
/// What the page may load: itself and nothing else.
const PAGE_POLICY: &str = "default-src 'none'; script-src 'self'; \
                           style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
                           base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/// What is no page may do nothing.
const FILE_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; sandbox";

/// An answer.
#[derive(Debug)]
pub(super) struct Response {
    status: &'static str,
    kind: &'static str,
    /// Further headers, each with its line end.
    fields: String,
    body: Body,
}

/// What an answer holds.
#[derive(Debug)]
pub(super) enum Body {
    /// A part of this program.
    Fixed(&'static [u8]),
    /// Made for this answer.
    Text(String),
    /// Shared with the cache.
    Tile(Arc<[u8]>),
    /// A file, or a part of one, which is read while it is sent.
    File(Opened),
}

impl Response {
    /// An answer that has what was asked for.
    pub(super) fn fine(kind: &'static str, body: Body) -> Self {
        Self {
            status: "200 OK",
            kind,
            fields: String::new(),
            body,
        }
    }

    /// An answer without anything: the status says it all.
    pub(super) fn empty(status: &'static str) -> Self {
        Self {
            status,
            ..Self::fine("text/plain", Body::Fixed(b""))
        }
    }

    /// With another status.
    pub(super) fn with_status(mut self, status: &'static str) -> Self {
        self.status = status;
        self
    }

    /// With a further header. The value must hold no line end.
    pub(super) fn with(mut self, name: &str, value: &str) -> Self {
        self.fields.extend([name, ": ", value, "\r\n"]);
        self
    }

    /// Sends it.
    pub(super) fn send(
        self,
        stream: &mut impl Write,
        method: Method,
        then: Then,
    ) -> io::Result<()> {
        let policy = if self.kind.starts_with("text/html") {
            PAGE_POLICY
        } else {
            FILE_POLICY
        };
        let connection = match then {
            Then::Stay => "keep-alive",
            Then::Close => "close",
        };
        let mut bytes = format!(
            "HTTP/1.1 {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: {connection}\r\n\
             Cache-Control: no-store\r\nContent-Security-Policy: {policy}\r\n\
             Cross-Origin-Resource-Policy: same-origin\r\nReferrer-Policy: no-referrer\r\n\
             X-Content-Type-Options: nosniff\r\n{}\r\n",
            self.status,
            self.kind,
            self.body.len(),
            self.fields
        )
        .into_bytes();
        if method == Method::Head {
            return stream.write_all(&bytes);
        }
        // Head and body in one piece, where the body is at hand: one packet for a small answer.
        if let Some(body) = self.body.at_hand() {
            bytes.extend_from_slice(body);
        }
        stream.write_all(&bytes)?;
        match &self.body {
            Body::File(opened) => send_file(stream, opened),
            _ => Ok(()),
        }
    }
}

impl Body {
    fn len(&self) -> u64 {
        match self {
            Self::File(opened) => opened.bytes,
            _ => self.at_hand().map_or(0, |bytes| bytes.len() as u64),
        }
    }

    fn at_hand(&self) -> Option<&[u8]> {
        match self {
            Self::Fixed(bytes) => Some(bytes),
            Self::Text(text) => Some(text.as_bytes()),
            Self::Tile(bytes) => Some(bytes),
            Self::File(_) => None,
        }
    }
}

/// A file that became shorter meanwhile is an error, which closes the connection: the client was
/// promised more.
fn send_file(stream: &mut impl Write, opened: &Opened) -> io::Result<()> {
    let mut piece = vec![0; PIECE.min(opened.bytes as usize)];
    let mut sent = 0;
    while sent < opened.bytes {
        let length = (opened.bytes - sent).min(PIECE as u64) as usize;
        let part = piece.get_mut(..length).unwrap_or_default();
        opened.file.read_exact_at(part, opened.offset + sent)?;
        stream.write_all(part)?;
        sent += length as u64;
    }
    Ok(())
}
