//! The kernel's log since the start of the run: the lines that speak of deaths.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;

use outlive_diagnose::facts::LogFacts;
use rustix::event::{PollFd, PollFlags, poll};

use super::clock;
use super::log_words::kernel_speaks_of_death;

/// Longer than any record the kernel gives.
const RECORD: usize = 8 << 10;
/// A machine that dies slowly says the same again and again.
const MOST_LINES: usize = 400;

/// `/dev/kmsg`, positioned at the first record after the start.
#[derive(Debug)]
pub(super) struct KernelLog {
    device: Option<File>,
}

impl KernelLog {
    /// Opens it at its end; `facts` say whether and why not.
    pub(super) fn open(facts: &mut LogFacts) -> Self {
        Self::open_at(SeekFrom::End(0), facts)
    }

    /// Opens it at the oldest record that is still there.
    pub(super) fn open_from_start(facts: &mut LogFacts) -> Self {
        Self::open_at(SeekFrom::Start(0), facts)
    }

    fn open_at(place: SeekFrom, facts: &mut LogFacts) -> Self {
        let opened = OpenOptions::new()
            .read(true)
            .custom_flags(rustix::fs::OFlags::NONBLOCK.bits() as i32)
            .open("/dev/kmsg")
            .and_then(|mut device| device.seek(place).map(|_| device));
        match opened {
            Ok(device) => {
                facts.readable = true;
                Self {
                    device: Some(device),
                }
            }
            Err(error) => {
                facts.reason = format!("/dev/kmsg: {error}");
                Self { device: None }
            }
        }
    }

    /// Waits until there is something to read, at most this many nanoseconds.
    pub(super) fn wait(&self, most: u64) {
        if let Some(device) = &self.device {
            let mut ready = [PollFd::new(device, PollFlags::IN)];
            let _ = poll(&mut ready, Some(&clock::timespec(most)));
        }
    }

    /// Adds what came since the last call. True when a line was kept.
    pub(super) fn drain(&mut self, facts: &mut LogFacts) -> bool {
        let Some(device) = &mut self.device else {
            return false;
        };
        let kept_before = facts.lines.len();
        let mut record = [0; RECORD];
        loop {
            match device.read(&mut record) {
                Ok(0) => break,
                Ok(length) => {
                    let text = String::from_utf8_lossy(record.get(..length).unwrap_or(&[]));
                    if let Some(line) = readable_line(&text)
                        && kernel_speaks_of_death(&line)
                        && facts.lines.len() < MOST_LINES
                    {
                        facts.lines.push(line);
                    }
                }
                // Records were overwritten before they were read; the next one is there.
                Err(error) if error.kind() == ErrorKind::BrokenPipe => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        facts.lines.len() > kept_before
    }
}

/// `6,1234,98765432,-;text` becomes `[   98.765432] text`, as other tools show it.
fn readable_line(record: &str) -> Option<String> {
    let (head, text) = record.split_once(';')?;
    let microseconds: u64 = head.split(',').nth(2)?.parse().ok()?;
    let text = text.lines().next()?;
    Some(format!(
        "[{:5}.{:06}] {text}",
        microseconds / 1_000_000,
        microseconds % 1_000_000
    ))
}

/// When a line that [`readable_line`] made was written, in nanoseconds.
pub(super) fn time_of(line: &str) -> Option<u64> {
    let (stamp, _) = line.strip_prefix('[')?.split_once(']')?;
    let (seconds, microseconds) = stamp.trim().split_once('.')?;
    let seconds: u64 = seconds.parse().ok()?;
    let microseconds: u64 = microseconds.parse().ok()?;
    Some(seconds * clock::SECOND + microseconds * 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_becomes_a_line_with_its_time() {
        let record = "6,339,5140900,-;python3[42]: segfault at 0\n SUBSYSTEM=x\n";
        assert_eq!(
            readable_line(record).unwrap(),
            "[    5.140900] python3[42]: segfault at 0"
        );
        assert_eq!(time_of("[    5.140900] x"), Some(5_140_900_000));
        assert_eq!(readable_line("nonsense"), None);
        assert_eq!(time_of("nonsense"), None);
    }
}
