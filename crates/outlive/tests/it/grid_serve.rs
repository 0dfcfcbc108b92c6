//! `outlive grid --serve`: who gets what, and who does not.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Instant;

use rustix::process::{Signal, kill_process};

use crate::browser::{Pictures, SIDE, picture};
use crate::context::stderr;

/// Colours that tell cells apart.
fn colours(count: usize) -> Vec<[u8; 3]> {
    let part = |number: usize| (number % 200 + 20) as u8;
    (0..count)
        .map(|number| [part(number * 7), part(number * 13), part(number * 29)])
        .collect()
}

/// What those are told who do not know the token.
const ADVICE: &[u8] = b"Use the whole address that was printed\n";

#[test]
fn a_page_comes_to_whoever_has_the_address() {
    let pictures = Pictures::new(&colours(5));
    let served = pictures.serve(&["--title", "<Five>"]);
    let page = served.get("");
    assert_eq!(page.status, 200);
    for field in [
        "Content-Type: text/html; charset=utf-8",
        "Content-Security-Policy: default-src 'none'; script-src 'self';",
        "X-Content-Type-Options: nosniff",
        "Referrer-Policy: no-referrer",
        "Cache-Control: no-store",
    ] {
        assert!(page.head.contains(field), "{field}: {}", page.head);
    }
    assert!(page.body.starts_with(b"<!doctype html>"));
    assert_eq!(served.get("index.html").body, page.body);
    assert_eq!(served.get("page/page.js").status, 200);
    let grid = &served.script("grid.js")[0];
    assert_eq!((&grid["cells"], &grid["live"]), (&5.into(), &true.into()));
    assert_eq!(grid["title"], "<Five>");
    assert!(
        !String::from_utf8(served.get("grid.js").body)
            .unwrap()
            .contains('<')
    );
    let moved = served.ask(&format!("/{}", served.token), "");
    assert_eq!(moved.status, 308);
    assert!(
        moved
            .head
            .contains(&format!("Location: /{}/\r\n", served.token))
    );
}

#[test]
fn nobody_else_gets_anything() {
    let pictures = Pictures::new(&colours(2));
    let served = pictures.serve(&[]);
    let wrong = "0123456789abcdef0123456789abcdef";
    for path in [
        "/",
        "/grid.js",
        "/index.html",
        &format!("/{wrong}/"),
        &format!("/{}x/", served.token),
    ] {
        let answer = served.ask(path, "");
        assert_eq!((answer.status, &answer.body[..]), (403, ADVICE), "{path}");
    }
    for (host, status) in [
        ("evil.example", 403),
        ("127.0.0.1.evil.example", 403),
        ("localhost:9", 200),
        ("[::1]", 200),
    ] {
        let path = served.path("grid.js");
        let answer = served.send(&format!(
            "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
        ));
        assert_eq!(answer.status, status, "{host}");
        assert_eq!(answer.body.is_empty(), status != 200);
    }
    let path = served.path("");
    assert_eq!(
        served.send(&format!("GET {path} HTTP/1.0\r\n\r\n")).status,
        403
    );
    let post = format!("POST {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert_eq!(served.send(&post).status, 405);
    assert_eq!(served.send("nonsense\r\n\r\n").status, 400);
    let long = format!(
        "GET / HTTP/1.1\r\nHost: localhost\r\nX: {}",
        "x".repeat(9000)
    );
    assert_eq!(served.send(&long).status, 431);
}

#[test]
fn a_connection_without_the_token_ends_after_one_answer() {
    let pictures = Pictures::new(&colours(2));
    let served = pictures.serve(&[]);
    let wrong = "0123456789abcdef0123456789abcdef";
    for path in ["/".to_owned(), format!("/{wrong}/grid.js")] {
        let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
        let answer = served.send(&request.repeat(20));
        assert_eq!((answer.status, &answer.body[..]), (403, ADVICE), "{path}");
        assert!(answer.head.contains("Connection: close\r\n"));
    }
    // Whoever has the token keeps the connection, even if there is nothing of a name.
    let missing = served.path("nothing");
    let first = format!("GET {missing} HTTP/1.1\r\nHost: localhost\r\n\r\n");
    let last = format!("GET {missing} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    let answers = served.send(&(first + &last));
    assert_eq!(answers.status, 404);
    assert!(answers.body.starts_with(b"HTTP/1.1 404"));
}

#[test]
fn no_address_leads_out_of_the_grid() {
    let pictures = Pictures::new(&colours(2));
    fs_err::write(pictures.path().join("secret.txt"), "secret").unwrap();
    let served = pictures.serve(&[]);
    for name in [
        "../secret.txt",
        "secret.txt",
        "page/../secret.txt",
        "%2e%2e/secret.txt",
        "image/../secret.txt",
        "image/2",
        "image/-1",
        "image/000.png",
        "image/18446744073709551616",
        "/etc/passwd",
        "cells/1.js",
        "grid_files/99/0_0.png",
        "grid_files/0/1_0.png",
        "grid_files/0/0_0.jpg",
        "grid_files/6/99999999999999999_0.png",
    ] {
        let answer = served.get(name);
        assert_eq!((answer.status, answer.body.len()), (404, 0), "{name}");
    }
}

#[test]
fn tiles_show_their_cells_at_every_level() {
    let colours = colours(40);
    let pictures = Pictures::new(&colours);
    let served = pictures.serve(&["--columns", "8"]);
    served.finish();
    // 8 x 5 cells of 32 pixels: 256 x 160, one tile a level.
    for level in 3..=8 {
        let shift = 8 - level;
        let (width, height) = (256 >> shift, 160 >> shift);
        let name = format!("grid_files/{level}/0_0.png");
        // Cells larger than their thumbnails are decoded, which may take longer than a tile waits.
        let cell = SIDE >> shift;
        let shows_all = |pixels: &[u8]| {
            colours.iter().enumerate().all(|(index, colour)| {
                let (x, y) = (index % 8 * cell + cell / 2, index / 8 * cell + cell / 2);
                let start = (y * width + x) * 3;
                pixels[start..start + 3] == colour[..]
            })
        };
        let began = Instant::now();
        while !shows_all(&served.tile(&name, width, height)) {
            assert!(began.elapsed().as_secs() < 60, "level {level}");
        }
    }
    assert_eq!(served.script("broken.js")[0]["total"], 0);
}

#[test]
fn broken_and_vanished_images_are_told_and_stop_nothing() {
    let pictures = Pictures::new(&colours(6));
    fs_err::write(pictures.path().join("002.png"), &picture([9; 3])[..60]).unwrap();
    let hostile =
        "</script><img src=x onerror=alert(1)>\"\\\n\u{2028}.png".replace('/', "\u{2215}");
    fs_err::write(pictures.path().join(&hostile), "<script>alert(1)</script>").unwrap();
    let served = pictures.serve(&["--order", "path", "--threads", "1"]);
    let gone = pictures.path().join("005.png");
    fs_err::remove_file(&gone).unwrap();
    served.finish();
    let broken = &served.script("broken.js")[0];
    let cells = &served.script("cells/0.js")[1];
    assert_eq!(cells.as_array().unwrap().len(), 7);
    let index = |name: &str| {
        let all = cells.as_array().unwrap().iter();
        all.clone().position(|cell| cell[0] == name).unwrap()
    };
    assert_eq!(cells[index("002.png")][5], "PNG is cut off");
    assert!(
        cells[index(&hostile)][5]
            .as_str()
            .unwrap()
            .starts_with("Not a picture")
    );
    assert_eq!(cells[0][2], SIDE);
    assert_eq!(cells[0][6], "image/0");
    assert!(broken["total"].as_u64().unwrap() >= 2);
    // What it is called decides nothing: what is no picture is not shown as one.
    let answer = served.get(&format!("image/{}", index(&hostile)));
    assert_eq!(answer.status, 200);
    assert!(
        answer
            .head
            .contains("Content-Type: application/octet-stream\r\n")
    );
    assert!(
        answer
            .head
            .contains("Content-Disposition: attachment; filename*=UTF-8''%")
    );
    assert!(answer.head.contains("sandbox"));
    assert_eq!(
        served.get(&format!("image/{}", index("005.png"))).status,
        404
    );
    let tile = served.get("grid_files/7/0_0.png");
    assert_eq!(tile.status, 200, "{}", tile.head);
}

#[test]
fn images_come_as_they_are_and_in_parts() {
    let pictures = Pictures::new(&colours(3));
    let served = pictures.serve(&[]);
    let file = fs_err::read(pictures.path().join("001.png")).unwrap();
    let whole = served.get("image/1");
    assert!(
        whole.head.contains("Content-Type: image/png\r\n"),
        "{}",
        whole.head
    );
    assert_eq!(whole.body, file);
    let part = served.ask(&served.path("image/1"), "Range: bytes=4-9\r\n");
    assert_eq!((part.status, &part.body[..]), (206, &file[4..10]));
    assert!(
        part.head
            .contains(&format!("Content-Range: bytes 4-9/{}\r\n", file.len()))
    );
    let beyond = served.ask(&served.path("image/1"), "Range: bytes=99999-\r\n");
    assert_eq!(beyond.status, 416);
    let path = served.path("image/1");
    let head = served.send(&format!(
        "HEAD {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    ));
    assert_eq!(head.body, b"");
    assert!(
        head.head
            .contains(&format!("Content-Length: {}\r\n", file.len()))
    );
}

#[test]
fn members_of_an_archive_are_served_alone() {
    let pictures = Pictures::new(&[]);
    let inside = Pictures::new(&colours(2));
    let archive = pictures.path().join("all.tar");
    let made = std::process::Command::new("tar")
        .arg("cf")
        .arg(&archive)
        .args(["-C", inside.path().to_str().unwrap(), "000.png", "001.png"])
        .status();
    assert!(made.unwrap().success());
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_outlive"));
    command.arg("grid").arg(&archive).arg("--serve");
    let served = crate::browser::Served::start(&mut command);
    let file = fs_err::read(inside.path().join("001.png")).unwrap();
    assert_eq!(served.get("image/1").body, file);
}

#[test]
fn many_ask_at_once_and_one_connection_serves_many_requests() {
    let pictures = Pictures::new(&colours(100));
    let served = pictures.serve(&[]);
    std::thread::scope(|scope| {
        for client in 0..40 {
            let served = &served;
            scope.spawn(move || {
                let mut stream = served.connect();
                for round in 0..5 {
                    let name = format!("image/{}", (client * 7 + round) % 100);
                    let path = served.path(&name);
                    // In two pieces, and the next request before the answer to this one.
                    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
                    let (first, second) = request.split_at(20);
                    stream.write_all(first.as_bytes()).unwrap();
                    stream.write_all(second.as_bytes()).unwrap();
                }
                let path = served.path("grid_files/8/0_0.png");
                let last =
                    format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
                stream.write_all(last.as_bytes()).unwrap();
                let mut all = Vec::new();
                stream.read_to_end(&mut all).unwrap();
                let answers = all.windows(15).filter(|bytes| bytes == b"HTTP/1.1 200 OK");
                assert_eq!(answers.count(), 6);
            });
        }
    });
}

#[test]
fn half_a_request_holds_nobody_up() {
    let pictures = Pictures::new(&colours(2));
    let served = pictures.serve(&[]);
    // More than there are threads, and more than are let in at a time.
    let slow: Vec<_> = (0..150)
        .map(|_| {
            let mut stream = served.connect();
            stream.write_all(b"GET / HTTP/1.1\r\nHo").unwrap();
            stream
        })
        .collect();
    let began = Instant::now();
    assert_eq!(served.get("grid.js").status, 200);
    assert!(began.elapsed().as_secs() < 5, "{:?}", began.elapsed());
    drop(slow);
}

#[test]
fn connections_that_only_wait_take_no_place_of_those_that_know_the_token() {
    let pictures = Pictures::new(&colours(2));
    let served = pictures.serve(&[]);
    let request = |then: &str| {
        let path = served.path("progress.js");
        format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: {then}\r\n\r\n")
    };
    let mut known = served.connect();
    known.write_all(request("keep-alive").as_bytes()).unwrap();
    assert!(known.read(&mut [0; 4096]).unwrap() > 0);
    let begun = |count: usize| -> Vec<TcpStream> {
        let begin = |_| {
            let mut stream = served.connect();
            stream.write_all(b"GET / HT").unwrap();
            stream
        };
        (0..count).map(begin).collect()
    };
    // More than the server keeps, and some after one that has not said anything yet.
    let before = begun(200);
    let mut late = served.connect();
    let after = begun(20);
    for stream in [&mut known, &mut late] {
        stream.write_all(request("close").as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
    drop((before, after));
}

#[test]
fn half_a_request_makes_nobody_newer() {
    let pictures = Pictures::new(&colours(2));
    let served = pictures.serve(&[]);
    let request = |then: &str| {
        let path = served.path("progress.js");
        format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: {then}\r\n\r\n")
    };
    let mut early: Vec<_> = (0..100).map(|_| served.connect()).collect();
    let mut late = served.connect();
    for stream in &mut early {
        stream.write_all(b"GET / HT").unwrap();
    }
    // The answer says that the server has seen all of that.
    let mut known = served.connect();
    known.write_all(request("keep-alive").as_bytes()).unwrap();
    assert!(known.read(&mut [0; 4096]).unwrap() > 0);
    // More than the server keeps: some of the early ones have to go.
    let more: Vec<_> = (0..60).map(|_| served.connect()).collect();
    late.write_all(request("close").as_bytes()).unwrap();
    let mut answer = String::new();
    late.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    drop((early, known, more));
}

#[test]
fn ctrl_c_ends_it_well() {
    let pictures = Pictures::new(&colours(3));
    let mut served = pictures.serve(&[]);
    let _open = served.connect();
    kill_process(served.process.pid(), Signal::INT).unwrap();
    assert_eq!(served.process.child.wait().unwrap().code(), Some(0));
    assert_eq!(served.process.line(), "", "one line and nothing else");
}

#[test]
fn a_port_in_use_is_named() {
    let pictures = Pictures::new(&colours(1));
    let served = pictures.serve(&[]);
    let port = served.port.to_string();
    let second = pictures.command(&["--port", &port]).output().unwrap();
    assert_eq!(second.status.code(), Some(2));
    let message = format!("Port {port} is in use\nhint:");
    assert!(stderr(&second).contains(&message), "{}", stderr(&second));
    let mixed = pictures.command(&["--output", "x.png"]).output().unwrap();
    assert_eq!(mixed.status.code(), Some(2));
    let small = pictures.command(&["--cache", "1MiB"]).output().unwrap();
    assert!(
        stderr(&small).contains("1MiB is below 16MiB"),
        "{}",
        stderr(&small)
    );
}
