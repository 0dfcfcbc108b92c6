//! `outlive grid --serve`, and a client that asks it as a browser would, or worse.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use outlive_data::grid::pyramid::TileFormat;
use serde_json::Value;
use tempfile::TempDir;

use crate::context::Companion;

/// Side of the pictures, and of the cells.
pub(crate) const SIDE: usize = 32;

/// A folder of pictures, each of one colour.
pub(crate) struct Pictures {
    pub(crate) folder: TempDir,
}

/// A server that runs.
pub(crate) struct Served {
    pub(crate) process: Companion,
    pub(crate) port: u16,
    pub(crate) token: String,
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Pictures {
    /// As many as there are colours, called `000.png` and so on.
    pub(crate) fn new(colours: &[[u8; 3]]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (number, colour) in colours.iter().enumerate() {
            let path = folder.path().join(format!("{number:03}.png"));
            fs_err::write(path, picture(*colour)).unwrap();
        }
        Self { folder }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_outlive"));
        command.arg("grid").arg(self.path()).arg("--serve");
        command.args(["--tiles", "png", "--cell", "32", "--padding", "0"]);
        command.args(arguments);
        command
    }

    pub(crate) fn serve(&self, arguments: &[&str]) -> Served {
        Served::start(&mut self.command(arguments))
    }
}

/// A picture as a file.
pub(crate) fn picture(colour: [u8; 3]) -> Vec<u8> {
    let pixels = colour.repeat(SIDE * SIDE);
    TileFormat::Png.encode(&pixels, SIDE, SIDE).unwrap()
}

impl Served {
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut process = Companion::start(command);
        let address = process.line();
        let rest = address.strip_prefix("http://127.0.0.1:").unwrap();
        let (port, token) = rest.trim_end_matches('/').split_once('/').unwrap();
        Self {
            process,
            port: port.parse().unwrap(),
            token: token.to_owned(),
        }
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        let patience = Some(Duration::from_mins(1));
        stream.set_read_timeout(patience).unwrap();
        stream
    }

    /// Sends a request as it is, and reads until the server closes.
    pub(crate) fn send(&self, request: &str) -> Answer {
        let mut stream = self.connect();
        stream.write_all(request.as_bytes()).unwrap();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n");
        let body = bytes.split_off(end.unwrap() + 4);
        let head = String::from_utf8(bytes).unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Answer { status, head, body }
    }

    pub(crate) fn path(&self, name: &str) -> String {
        format!("/{}/{name}", self.token)
    }

    /// Asks for something of the page.
    pub(crate) fn get(&self, name: &str) -> Answer {
        self.ask(&self.path(name), "")
    }

    /// Asks for a path, with further headers.
    pub(crate) fn ask(&self, path: &str, fields: &str) -> Answer {
        let close = "Connection: close";
        self.send(&format!(
            "GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{close}\r\n{fields}\r\n"
        ))
    }

    /// What a script of the page calls its function with.
    pub(crate) fn script(&self, name: &str) -> Value {
        let answer = self.get(name);
        assert_eq!(answer.status, 200, "{}", answer.head);
        let text = String::from_utf8(answer.body).unwrap();
        let (_, rest) = text.split_once('(').unwrap();
        let (inside, _) = rest.rsplit_once(')').unwrap();
        serde_json::from_str(&format!("[{inside}]")).unwrap()
    }

    /// Waits until all cells were looked at, as the page does: by asking.
    pub(crate) fn finish(&self) {
        loop {
            let progress = &self.script("progress.js")[0];
            if progress["known"] == progress["cells"] {
                return;
            }
        }
    }

    /// The pixels of a tile.
    pub(crate) fn tile(&self, name: &str, width: usize, height: usize) -> Vec<u8> {
        let answer = self.get(name);
        assert_eq!(answer.status, 200, "{}", answer.head);
        let pixels = TileFormat::Png.decode(&answer.body, width, height);
        pixels.unwrap()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.process.child.kill();
        let _ = self.process.child.wait();
    }
}
