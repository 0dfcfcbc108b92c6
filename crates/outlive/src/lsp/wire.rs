//! Messages on the wire: a header with a length, a blank line, JSON.
//!
//! `lsp_server` has a reader too, but it ends at the first message that is none. This one gives an
//! answer for such a message, and goes on with the next.

use std::io::{self, BufRead, Read};

use lsp_server::{ErrorCode, Message};
use serde::Deserialize;
use serde_json::{Value, json};

/// A longer message is skipped: no editor sends one, and it would have to be held in memory.
const LONGEST_MESSAGE: u64 = 512 << 20;
/// A longer header line is not one.
const LONGEST_LINE: u64 = 8 << 10;
const LENGTH_HEADER: &str = "content-length:";

/// What came in.
#[derive(Debug)]
pub(super) enum Incoming {
    /// A message.
    Message(Message),
    /// Something else, and what to answer.
    Malformed(Malformed),
}

/// Why something is not a message.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Malformed {
    code: i32,
    reason: String,
    /// The request's, if it can be told.
    id: Value,
}

impl Malformed {
    fn new(code: ErrorCode, reason: String) -> Self {
        Self {
            code: code as i32,
            reason,
            id: Value::Null,
        }
    }

    /// The answer, ready for the wire. `lsp_server` has none without a number.
    pub(super) fn answer(&self) -> Vec<u8> {
        let error = json!({ "code": self.code, "message": self.reason });
        let body = json!({ "jsonrpc": "2.0", "id": self.id, "error": error }).to_string();
        format!("Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
    }
}

/// Reads what comes next; nothing at the end of the input.
pub(super) fn read(input: &mut impl BufRead) -> io::Result<Option<Incoming>> {
    let length = match read_header(input)? {
        Header::End => return Ok(None),
        Header::Length(length) => length,
        Header::Broken(reason) => {
            let malformed = Malformed::new(ErrorCode::ParseError, reason);
            return Ok(Some(Incoming::Malformed(malformed)));
        }
    };
    if length > LONGEST_MESSAGE {
        io::copy(&mut input.by_ref().take(length), &mut io::sink())?;
        let reason = format!("Message of {length} bytes, at most {LONGEST_MESSAGE} are read");
        let malformed = Malformed::new(ErrorCode::InvalidRequest, reason);
        return Ok(Some(Incoming::Malformed(malformed)));
    }
    // Grows with what arrives, so that a length that is not true costs nothing.
    let mut body = Vec::new();
    input.by_ref().take(length).read_to_end(&mut body)?;
    if (body.len() as u64) < length {
        return Ok(None);
    }
    Ok(Some(parse(&body)))
}

enum Header {
    End,
    Length(u64),
    Broken(String),
}

/// Reads to the blank line. What is not a header is passed over, so that reading falls into step
/// again after a body that was longer than its header said.
fn read_header(input: &mut impl BufRead) -> io::Result<Header> {
    let mut length = None;
    let mut is_empty = true;
    loop {
        let mut line = Vec::new();
        if input
            .by_ref()
            .take(LONGEST_LINE)
            .read_until(b'\n', &mut line)?
            == 0
        {
            return Ok(Header::End);
        }
        let line = String::from_utf8_lossy(&line).to_ascii_lowercase();
        match line.trim() {
            "" if is_empty => {}
            "" => break,
            line => {
                is_empty = false;
                if let Some(at) = line.rfind(LENGTH_HEADER) {
                    let value = line.get(at + LENGTH_HEADER.len()..).unwrap_or_default();
                    length = Some(value.trim().parse::<u64>());
                }
            }
        }
    }
    Ok(match length {
        Some(Ok(length)) => Header::Length(length),
        Some(Err(_)) => Header::Broken("`Content-Length` is not a number".to_owned()),
        None => Header::Broken("Header without `Content-Length`".to_owned()),
    })
}

fn parse(body: &[u8]) -> Incoming {
    match serde_json::from_slice::<Message>(body) {
        Ok(Message::Notification(_)) if has_id(body) => Incoming::Malformed(refusal(body)),
        Ok(message) => Incoming::Message(message),
        Err(_) => Incoming::Malformed(refusal(body)),
    }
}

/// Whether what reads as a notification is a request whose id is neither string nor integer.
fn has_id(body: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct WithId {
        id: Option<Value>,
    }
    serde_json::from_slice::<WithId>(body).is_ok_and(|message| message.id.is_some())
}

fn refusal(body: &[u8]) -> Malformed {
    match serde_json::from_slice::<Value>(body) {
        Err(error) => Malformed::new(ErrorCode::ParseError, format!("Not JSON: {error}")),
        Ok(value) => Malformed {
            id: value.get("id").cloned().unwrap_or_default(),
            ..Malformed::new(
                ErrorCode::InvalidRequest,
                "Neither a request nor a response nor a notification".to_owned(),
            )
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(mut bytes: &[u8]) -> Vec<String> {
        let mut seen = Vec::new();
        while let Some(incoming) = read(&mut bytes).unwrap() {
            seen.push(match incoming {
                Incoming::Message(Message::Notification(it)) => it.method,
                Incoming::Message(other) => format!("{other:?}"),
                Incoming::Malformed(it) => format!("{} {}", it.code, it.id),
            });
        }
        seen
    }

    fn framed(body: &str) -> String {
        format!("Content-Length: {}\r\n\r\n{body}", body.len())
    }

    #[test]
    fn what_follows_a_malformed_message_is_read() {
        let good = framed(r#"{"jsonrpc":"2.0","method":"initialized"}"#);
        for (broken, answer) in [
            (framed("{"), "-32700 null"),
            (framed("[]"), "-32600 null"),
            (framed(r#"{"id":7}"#), "-32600 7"),
            (framed(r#"{"id":1.5,"method":"shutdown"}"#), "-32600 1.5"),
            (
                framed(r#"{"id":4294967296,"method":"x"}"#),
                "-32600 4294967296",
            ),
            ("Content-Length: many\r\n\r\n".to_owned(), "-32700 null"),
            ("Accept: all\r\n\r\n".to_owned(), "-32700 null"),
            ("Content-Length: 1\r\n\r\n{}".to_owned(), "-32700 null"),
        ] {
            let seen = all(format!("{broken}{good}{good}").as_bytes());
            assert_eq!(seen, [answer, "initialized", "initialized"], "{broken}");
        }
    }

    #[test]
    fn bytes_that_are_not_utf_8_and_a_message_that_is_cut_are_no_fault() {
        assert_eq!(all(b"Content-Length: 2\r\n\r\n\xff\xfe"), ["-32700 null"]);
        assert_eq!(
            all(b"Content-Length: 99999999999\r\n\r\n{"),
            ["-32600 null"]
        );
        assert!(all(b"Content-Length: 99\r\n\r\n{").is_empty());
        assert!(all(b"Content-Len").is_empty());
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_messages_or_answers_and_end(
            pieces in proptest::collection::vec("(Content-Length: [0-9]{1,3}|\r\n|\\PC{0,20}|\\{\"id\":1\\}){0,4}", 0..8),
            noise in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..64),
        ) {
            let bytes = [pieces.concat().as_bytes(), &noise].concat();
            proptest::prop_assert!(all(&bytes).len() <= bytes.len());
        }
    }

    #[test]
    fn an_answer_names_the_request_if_it_can_be_told() {
        let Some(Incoming::Malformed(malformed)) =
            read(&mut framed(r#"{"id":"a"}"#).as_bytes()).unwrap()
        else {
            panic!("it is malformed");
        };
        let answer = String::from_utf8(malformed.answer()).unwrap();
        assert!(answer.contains(r#""id":"a""#), "{answer}");
        assert!(answer.contains(r#""code":-32600"#), "{answer}");
    }
}
