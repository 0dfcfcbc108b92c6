//! The file behind a cell, as it is. Its type is told by its first bytes, and only pictures that
//! browsers show are shown: anything else could be a page with scripts, and is offered for saving.

use std::fmt::Write;
use std::io;
use std::os::unix::fs::FileExt;

use outlive_data::decode::{DecodeError, Format};
use outlive_data::source::Opened;

use super::range::Part;
use super::response::{Body, Response};

/// Bytes that tell what a file is.
const START: usize = 64;
/// Of a file that no browser shows.
const UNKNOWN: &str = "application/octet-stream";

/// The answer with a file, or with the part of it that was asked for. `name` is what it is called.
pub(super) fn image(opened: Opened, name: &str, range: Option<&str>) -> io::Result<Response> {
    let kind = kind(&start(&opened)?);
    let length = opened.bytes;
    let (opened, field) = match Part::of(range, length) {
        Part::Whole => (opened, None),
        Part::Range(first, last) => {
            let part = Opened {
                offset: opened.offset + first,
                bytes: last - first + 1,
                ..opened
            };
            (part, Some(format!("bytes {first}-{last}/{length}")))
        }
        Part::Beyond => {
            let refusal = Response::empty("416 Range Not Satisfiable");
            return Ok(refusal.with("Content-Range", &format!("bytes */{length}")));
        }
    };
    let way = if kind == UNKNOWN {
        "attachment"
    } else {
        "inline"
    };
    let response = Response::fine(kind, Body::File(opened))
        .with("Accept-Ranges", "bytes")
        .with(
            "Content-Disposition",
            &format!("{way}; filename*=UTF-8''{}", encoded(name)),
        );
    Ok(match field {
        Some(field) => response
            .with_status("206 Partial Content")
            .with("Content-Range", &field),
        None => response,
    })
}

fn start(opened: &Opened) -> io::Result<Vec<u8>> {
    let mut start = vec![0; START.min(opened.bytes as usize)];
    opened.file.read_exact_at(&mut start, opened.offset)?;
    Ok(start)
}

fn kind(start: &[u8]) -> &'static str {
    match Format::of(start) {
        Ok(Format::Jpeg) => "image/jpeg",
        Ok(Format::Png) => "image/png",
        Ok(Format::WebP) => "image/webp",
        Ok(Format::Other(_)) if start.starts_with(b"GIF8") => "image/gif",
        Ok(Format::Other(_)) if start.starts_with(b"BM") => "image/bmp",
        Ok(Format::Other(_)) if start.starts_with(b"\0\0\x01\0") => "image/x-icon",
        Err(DecodeError::Unsupported { name: "AVIF" }) => "image/avif",
        _ => UNKNOWN,
    }
}

/// The last part of a name, with everything that is not plain as numbers.
fn encoded(name: &str) -> String {
    let name = name.rsplit('/').next().unwrap_or_default();
    let mut encoded = String::new();
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' => {
                encoded.push(char::from(byte));
            }
            // Writing to a string cannot fail.
            _ => drop(write!(encoded, "%{byte:02X}")),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_come_from_the_first_bytes() {
        assert_eq!(kind(b"\xff\xd8\xff\xe0"), "image/jpeg");
        assert_eq!(kind(b"GIF89a"), "image/gif");
        for start in [
            &b"<svg xmlns="[..],
            b"<html>",
            b"",
            b"P6 1 1 255",
            b"%PDF-1.4",
        ] {
            assert_eq!(kind(start), UNKNOWN);
        }
    }

    #[test]
    fn names_cannot_leave_their_header() {
        assert_eq!(
            encoded("a/b\r\nX: \"é\".jpg"),
            "b%0D%0AX%3A%20%22%C3%A9%22.jpg"
        );
    }
}
