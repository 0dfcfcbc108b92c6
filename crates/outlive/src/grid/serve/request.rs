//! The head of a request. Only what is needed is read, and what is not plain is refused: there is
//! one kind of client, a browser that shows the page.

/// More bytes than this are no head.
pub(super) const LONGEST_HEAD: usize = 8 << 10;

/// What a client asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) method: Method,
    /// Without the query, and as it was sent: nothing is decoded, since no address that is
    /// answered needs it.
    pub(super) path: String,
    /// What stands in `Range`.
    pub(super) range: Option<String>,
    pub(super) then: Then,
}

/// How the answer is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    /// With its body.
    Get,
    /// Without it.
    Head,
}

/// What becomes of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    /// The next request may come.
    Stay,
    /// It ends.
    Close,
}

/// Why a request is not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// Not HTTP as it is spoken here.
    Malformed,
    /// Neither `GET` nor `HEAD`.
    Method,
    /// Asked for by another name than that of this machine for itself. A page of another site can
    /// give its own name this machine's address, and would then be allowed to read what it asks.
    Host,
}

/// Where the head ends in what was received so far: the first byte behind it.
pub(super) fn head_end(received: &[u8]) -> Option<usize> {
    let end = received.windows(4).position(|four| four == b"\r\n\r\n")?;
    Some(end + 4)
}

impl Request {
    /// Reads a head, up to its empty line.
    pub(super) fn read(head: &[u8]) -> Result<Self, Refusal> {
        let head = std::str::from_utf8(head).map_err(|_| Refusal::Malformed)?;
        let mut lines = head.strip_suffix("\r\n\r\n").unwrap_or(head).split("\r\n");
        // What others may take for the end of a line, or of a text, is in no head of a browser.
        let is_control = |sign: char| sign.is_control() && sign != '\t';
        if lines.clone().any(|line| line.contains(is_control)) {
            return Err(Refusal::Malformed);
        }
        let mut words = lines.next().unwrap_or_default().split(' ');
        let first = [words.next(), words.next(), words.next(), words.next()];
        let [Some(method), Some(target), Some(version), None] = first else {
            return Err(Refusal::Malformed);
        };
        let is_old = version == "HTTP/1.0";
        if !target.starts_with('/') || !(is_old || version == "HTTP/1.1") {
            return Err(Refusal::Malformed);
        }
        let fields = Fields::read(lines)?;
        if !fields.host.is_some_and(is_own_name) {
            return Err(Refusal::Host);
        }
        let path = target.split(['?', '#']).next().unwrap_or_default();
        Ok(Self {
            method: match method {
                "GET" => Method::Get,
                "HEAD" => Method::Head,
                _ => return Err(Refusal::Method),
            },
            path: path.to_owned(),
            range: fields.range.map(str::to_owned),
            then: if is_old || fields.is_last {
                Then::Close
            } else {
                Then::Stay
            },
        })
    }
}

#[derive(Default)]
struct Fields<'a> {
    host: Option<&'a str>,
    range: Option<&'a str>,
    is_last: bool,
}

impl<'a> Fields<'a> {
    fn read(lines: impl Iterator<Item = &'a str>) -> Result<Self, Refusal> {
        let mut fields = Self::default();
        for line in lines {
            let (name, value) = line.split_once(':').ok_or(Refusal::Malformed)?;
            let value = value.trim_matches([' ', '\t']);
            match name.to_ascii_lowercase().as_str() {
                "host" if fields.host.is_some() => return Err(Refusal::Malformed),
                "host" => fields.host = Some(value),
                "range" => fields.range = Some(value),
                "connection" => fields.is_last = value.eq_ignore_ascii_case("close"),
                // A body would be taken for the next request.
                "content-length" if value != "0" => return Err(Refusal::Malformed),
                "transfer-encoding" => return Err(Refusal::Malformed),
                _ if name.is_empty() || name.contains([' ', '\t']) => {
                    return Err(Refusal::Malformed);
                }
                _ => {}
            }
        }
        Ok(fields)
    }
}

/// Whether a host is this machine as it calls itself. The port may be any: that of a tunnel is
/// another one.
fn is_own_name(host: &str) -> bool {
    let names = ["127.0.0.1", "localhost", "[::1]"];
    names.iter().any(|name| {
        let start = host.get(..name.len()).unwrap_or_default();
        let rest = host.get(name.len()..).unwrap_or_default();
        let is_port = |port: &str| port.bytes().all(|digit| digit.is_ascii_digit());
        start.eq_ignore_ascii_case(name)
            && (rest.is_empty() || rest.strip_prefix(':').is_some_and(is_port))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Request, Refusal> {
        Request::read(text.as_bytes())
    }

    #[test]
    fn a_plain_request_is_read() {
        let head = "GET /a/b.js?g=3 HTTP/1.1\r\nHost: 127.0.0.1:80\r\nRange: bytes=0-\r\n\r\n";
        assert_eq!(head_end(head.as_bytes()), Some(head.len()));
        let request = read(head).unwrap();
        assert_eq!(request.path, "/a/b.js");
        assert_eq!(request.range.as_deref(), Some("bytes=0-"));
        assert_eq!((request.method, request.then), (Method::Get, Then::Stay));
        let last = "HEAD / HTTP/1.1\r\nHOST: LocalHost\r\nConnection: Close\r\n\r\n";
        let request = read(last).unwrap();
        assert_eq!((request.method, request.then), (Method::Head, Then::Close));
    }

    #[test]
    fn names_of_other_machines_are_refused() {
        for host in [
            "evil.example",
            "127.0.0.1.evil.example",
            "localhost.evil.example:80",
            "127.0.0.1:80@evil.example",
            "[::1]x",
            "",
            "é27.0.0.1",
        ] {
            let head = format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n");
            assert_eq!(read(&head), Err(Refusal::Host), "{host}");
        }
        assert_eq!(read("GET / HTTP/1.1\r\n\r\n"), Err(Refusal::Host));
        for host in ["127.0.0.1", "localhost:8000", "[::1]:1", "LOCALHOST"] {
            let head = format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n");
            assert!(read(&head).is_ok(), "{host}");
        }
    }

    #[test]
    fn what_is_not_plain_is_refused() {
        let host = "Host: localhost\r\n";
        for (head, refusal) in [
            (format!("POST / HTTP/1.1\r\n{host}\r\n"), Refusal::Method),
            (
                format!("GET http://x/ HTTP/1.1\r\n{host}\r\n"),
                Refusal::Malformed,
            ),
            (format!("GET / HTTP/2\r\n{host}\r\n"), Refusal::Malformed),
            (
                format!("GET / x HTTP/1.1\r\n{host}\r\n"),
                Refusal::Malformed,
            ),
            (
                format!("GET / HTTP/1.1\r\n{host}{host}\r\n"),
                Refusal::Malformed,
            ),
            (
                format!("GET / HTTP/1.1\r\n{host}Content-Length: 5\r\n\r\n"),
                Refusal::Malformed,
            ),
            (
                format!("GET / HTTP/1.1\r\n{host}Transfer-Encoding: chunked\r\n\r\n"),
                Refusal::Malformed,
            ),
            (
                format!("GET / HTTP/1.1\r\n{host} folded: x\r\n\r\n"),
                Refusal::Malformed,
            ),
            (
                format!("GET / HTTP/1.1\r\n{host}X: a\nContent-Length: 5\r\n\r\n"),
                Refusal::Malformed,
            ),
            (
                format!("GET /\0 HTTP/1.1\r\n{host}\r\n"),
                Refusal::Malformed,
            ),
            ("\r\n\r\n".to_owned(), Refusal::Malformed),
        ] {
            assert_eq!(read(&head), Err(refusal), "{head}");
        }
        assert_eq!(
            Request::read(b"\xff\0 / HTTP/1.1\r\n\r\n"),
            Err(Refusal::Malformed)
        );
    }
}
