//! `outlive check --watch`: looks again and again, and checks what changed.
//!
//! Files are looked at by their times, not through a service of the kernel: it works on every file
//! system, network folders and containers included.

use std::collections::HashMap;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::{Session, output, tell_gaps};
use crate::check::{Checked, Deed, Outcome, Target, check_files};
use crate::exit::Ending;
use crate::say;

/// Time between two looks.
const PAUSE: Duration = Duration::from_millis(500);
/// A look at a large tree takes at most this share of a processor: one part in twenty.
const SHARE: u32 = 20;
/// Empties a terminal.
const CLEAR: &str = "\u{1b}[2J\u{1b}[3J\u{1b}[H";

/// Checks until Ctrl-C, or until nobody reads any more.
pub(super) fn run(session: &Session<'_>) -> Result<Ending> {
    let end = signals()?;
    let mut known = Known::default();
    loop {
        let began = Instant::now();
        session.resolver.forget();
        match known.look(session) {
            Ok(None) => {}
            Ok(Some(outcome)) => match show(&outcome, session) {
                Err(error) if error.kind() == ErrorKind::BrokenPipe => break,
                shown => shown?,
            },
            // A configuration that is being written; it will be right again.
            Err(error) => known.tell(&error.to_string()),
        }
        let pause = PAUSE.max(began.elapsed() * SHARE);
        if end.recv_timeout(pause) != Err(RecvTimeoutError::Timeout) {
            break;
        }
    }
    Ok(Ending::Code(0))
}

/// A channel that hears of the signals that end it.
fn signals() -> io::Result<Receiver<i32>> {
    let (sender, receiver) = channel();
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    thread::Builder::new().spawn(move || {
        let first = signals.forever().next();
        // Nobody listens any more if the check is over.
        let _ = sender.send(first.unwrap_or(SIGTERM));
    })?;
    Ok(receiver)
}

fn show(outcome: &Outcome, session: &Session<'_>) -> io::Result<()> {
    let mut out = io::stdout();
    if out.is_terminal() {
        out.write_all(CLEAR.as_bytes())?;
    }
    tell_gaps(outcome, session.arguments);
    output::print(outcome, session.arguments)?;
    if session.arguments.output.remarks.quiet {
        return Ok(());
    }
    writeln!(out, "Watching; Ctrl-C ends")
}

/// When a file was last written, and how long it is.
type Stamp = (i64, i64, u64);

/// What is known from earlier looks.
#[derive(Debug, Default)]
struct Known {
    files: HashMap<PathBuf, (Stamp, Checked)>,
    configurations: Vec<(PathBuf, Option<Stamp>)>,
    is_first_over: bool,
    complaint: String,
}

impl Known {
    /// Says what is wrong with a configuration, once.
    fn tell(&mut self, complaint: &str) {
        if self.complaint != complaint {
            complaint.clone_into(&mut self.complaint);
            say(complaint);
        }
        self.configurations.clear();
    }

    /// Checks what is new; `None` if nothing is.
    fn look(&mut self, session: &Session<'_>) -> Result<Option<Outcome>> {
        let walk = session.walk()?;
        let configurations = configurations(session);
        self.complaint.clear();
        if self.configurations != configurations {
            self.configurations = configurations;
            self.files.clear();
            self.is_first_over = false;
        }
        let mut before = std::mem::take(&mut self.files);
        let mut new: Vec<(&Target, Stamp)> = Vec::new();
        for target in &walk.targets {
            let stamp = stamp(&target.path).unwrap_or_default();
            match before.remove(&target.absolute) {
                Some(known) if known.0 == stamp => {
                    self.files.insert(target.absolute.clone(), known);
                }
                _ => new.push((target, stamp)),
            }
        }
        if self.is_first_over && new.is_empty() && before.is_empty() {
            return Ok(None);
        }
        self.is_first_over = true;
        let targets: Vec<Target> = new.iter().map(|(target, _)| (*target).clone()).collect();
        let checked = check_files(&targets, &session.resolver, Deed::Report)?;
        for ((target, stamp), checked) in new.into_iter().zip(checked) {
            let entry = (stamp, checked);
            self.files.insert(target.absolute.clone(), entry);
        }
        let mut outcome = Outcome {
            gaps: walk.gaps,
            ..Outcome::default()
        };
        for target in &walk.targets {
            if let Some((_, checked)) = self.files.get(&target.absolute) {
                outcome.add(checked.clone());
            }
        }
        Ok(Some(outcome))
    }
}

fn configurations(session: &Session<'_>) -> Vec<(PathBuf, Option<Stamp>)> {
    let files = session.resolver.configurations().into_iter();
    files
        .map(|path| {
            let stamp = stamp(&path);
            (path, stamp)
        })
        .collect()
}

fn stamp(path: &Path) -> Option<Stamp> {
    let metadata = std::fs::metadata(path).ok()?;
    Some((metadata.mtime(), metadata.mtime_nsec(), metadata.len()))
}
