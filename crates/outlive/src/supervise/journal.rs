//! The system journal since the start of the run: what user-space killers wrote there.
//!
//! Asked only after a bad end, and only for a moment: a journal can be slow, and its answer is
//! one proof among several.

use std::io::Read;
use std::process::{Command, Stdio};

use outlive_diagnose::facts::LogFacts;
use rustix::event::{PollFd, PollFlags, poll};

use super::clock::{self, MILLISECOND, SECOND};
use super::log_words::journal_speaks_of_death;
use crate::env;

/// How long the journal may take.
const PATIENCE: u64 = 900 * MILLISECOND;
/// What is read of it at most; the killers' lines are few.
const MOST_BYTES: usize = 4 << 20;
const MOST_LINES: usize = 100;

/// Reads the lines since `started_at` (`CLOCK_REALTIME` nanoseconds).
pub(super) fn read(started_at: u64) -> LogFacts {
    let mut facts = LogFacts::default();
    let spawned = Command::new("journalctl")
        .args(["--quiet", "--no-pager", "--output=short"])
        .arg(format!("--since=@{}", started_at / SECOND))
        .env_remove(env::PRELOAD)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let mut child = match spawned {
        Ok(child) => child,
        Err(error) => {
            facts.reason = format!("journalctl: {error}");
            return facts;
        }
    };
    match child.stdout.take().and_then(read_in_time) {
        Some(text) => {
            facts.readable = true;
            facts.lines = lines_about_deaths(&text);
        }
        None => facts.reason = String::from("journalctl: no answer in time"),
    }
    let _ = child.kill();
    if child.wait().is_ok_and(|status| !status.success()) && facts.lines.is_empty() {
        facts.readable = false;
        facts.reason = String::from("journalctl: no journal can be read");
    }
    facts
}

fn read_in_time(mut output: std::process::ChildStdout) -> Option<String> {
    let deadline = clock::monotonic() + PATIENCE;
    let mut bytes = Vec::new();
    let mut piece = vec![0; 64 << 10];
    while bytes.len() < MOST_BYTES {
        let left = clock::timespec(deadline.checked_sub(clock::monotonic())?);
        let mut ready = [PollFd::new(&output, PollFlags::IN)];
        if poll(&mut ready, Some(&left)).ok()? == 0 {
            return None;
        }
        match output.read(&mut piece).ok()? {
            0 => break,
            length => bytes.extend_from_slice(piece.get(..length)?),
        }
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn lines_about_deaths(text: &str) -> Vec<String> {
    let lines = text.lines().filter(|line| journal_speaks_of_death(line));
    lines.take(MOST_LINES).map(str::to_owned).collect()
}
