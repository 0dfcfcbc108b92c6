//! What `/proc/PID` says about one process: text in, facts out.

use std::path::PathBuf;

use outlive_diagnose::facts::{EndStatus, LimitFacts, ProcessId};

use super::clock;
use super::kept_file::{bytes_of, text_of};

/// `PF_FORKNOEXEC` of the kernel, in field 9.
const FORKED_WITHOUT_EXEC: u64 = 0x40;

/// The fields of `/proc/PID/stat` that are of use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stat {
    /// Name of the process.
    pub(super) name: String,
    /// `R`, `S`, `Z` and so on.
    pub(super) state: char,
    /// Parent's process id.
    pub(super) parent: u32,
    /// Whether it was forked and has not executed a program of its own: its memory is its
    /// parent's until one of them writes to it.
    pub(super) is_copy: bool,
    /// Processor time used, nanoseconds.
    pub(super) cpu_time: u64,
    /// Start time in clock ticks since boot.
    pub(super) start_ticks: u64,
    /// Wait status of a zombie; 0 where the kernel does not tell us.
    pub(super) exit_code: i32,
}

impl Stat {
    /// Reads the file of a process, if there is such a process.
    pub(super) fn of(pid: u32) -> Option<Self> {
        Self::parse(&text_of(path(pid, "stat")).ok()?)
    }

    /// The name stands in parentheses and may itself hold any character; the numbers come after
    /// the last one.
    fn parse(text: &str) -> Option<Self> {
        let (head, tail) = text.rsplit_once(')')?;
        let (_, name) = head.split_once('(')?;
        let fields: Vec<&str> = tail.split_ascii_whitespace().collect();
        // `tail` starts with field 3, the state.
        let field = |number: usize| fields.get(number - 3).copied();
        let number = |number: usize| field(number)?.parse::<u64>().ok();
        Some(Self {
            name: name.to_owned(),
            state: field(3)?.chars().next()?,
            parent: number(4)? as u32,
            is_copy: number(9)? & FORKED_WITHOUT_EXEC != 0,
            cpu_time: ticks_to_nanoseconds(number(14)? + number(15)?),
            start_ticks: number(22)?,
            exit_code: field(52).and_then(|code| code.parse().ok()).unwrap_or(0),
        })
    }

    /// Whether the process has ended.
    pub(super) const fn has_ended(&self) -> bool {
        matches!(self.state, 'Z' | 'X' | 'x')
    }
}

/// Whether exactly this process still exists and has not ended.
pub(crate) fn is_alive(id: ProcessId) -> bool {
    Stat::of(id.pid).is_some_and(|stat| stat.start_ticks == id.start_ticks && !stat.has_ended())
}

/// This process.
pub(super) fn own_id() -> ProcessId {
    let pid = std::process::id();
    ProcessId {
        pid,
        start_ticks: Stat::of(pid).map_or(0, |stat| stat.start_ticks),
    }
}

/// Decodes a wait status.
pub(super) const fn end_status(wait_status: i32) -> EndStatus {
    match wait_status & 0x7f {
        0 => EndStatus::Exited(wait_status >> 8 & 0xff),
        signal => EndStatus::Signaled(signal),
    }
}

/// The arguments it was started with.
pub(super) fn arguments(pid: u32) -> Vec<String> {
    let bytes = bytes_of(path(pid, "cmdline")).unwrap_or_default();
    let bytes = bytes.strip_suffix(&[0]).unwrap_or(&bytes);
    if bytes.is_empty() {
        return Vec::new();
    }
    bytes
        .split(|&byte| byte == 0)
        .map(|part| String::from_utf8_lossy(part).into_owned())
        .collect()
}

/// The limits that can end it.
pub(super) fn limits(pid: u32) -> Option<LimitFacts> {
    text_of(path(pid, "limits"))
        .ok()
        .map(|text| parse_limits(&text))
}

fn parse_limits(text: &str) -> LimitFacts {
    let limit = |name: &str| {
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix(name))
            .unwrap_or_default();
        let mut values = line
            .split_ascii_whitespace()
            .map(|value| value.parse().ok());
        (values.next().flatten(), values.next().flatten())
    };
    LimitFacts {
        cpu: limit("Max cpu time "),
        address_space: limit("Max address space "),
        data: limit("Max data size "),
        file_size: limit("Max file size "),
        stack: limit("Max stack size "),
        processes: limit("Max processes "),
        open_files: limit("Max open files "),
    }
}

/// `oom_score_adj`.
pub(super) fn oom_score_adjustment(pid: u32) -> Option<i32> {
    text_of(path(pid, "oom_score_adj"))
        .ok()?
        .trim()
        .parse()
        .ok()
}

/// The first word after a name such as `VmHWM:` in `/proc/PID/status` and files of that form.
pub(super) fn status_word<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines()
        .find_map(|line| line.strip_prefix(name))?
        .split_ascii_whitespace()
        .next()
}

/// The same for a size in kB; gives bytes.
pub(super) fn status_bytes(text: &str, name: &str) -> Option<u64> {
    status_word(text, name)?
        .parse::<u64>()
        .ok()?
        .checked_mul(1024)
}

/// A file of a process.
pub(super) fn path(pid: u32, file: &str) -> PathBuf {
    PathBuf::from(format!("/proc/{pid}/{file}"))
}

fn ticks_to_nanoseconds(ticks: u64) -> u64 {
    ticks.saturating_mul(clock::SECOND / rustix::param::clock_ticks_per_second().max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_and_spaces_does_not_shift_the_fields() {
        let fields = (5..=52)
            .map(|number| number.to_string())
            .collect::<Vec<_>>()
            .join(" ");
        let stat = Stat::parse(&format!("77 (a) b (c) Z 4 {fields}\n")).unwrap();
        assert_eq!(stat.name, "a) b (c");
        assert_eq!((stat.state, stat.parent), ('Z', 4));
        assert_eq!((stat.start_ticks, stat.exit_code), (22, 52));
        assert!(stat.has_ended());
    }

    #[test]
    fn wait_statuses_are_decoded() {
        assert_eq!(end_status(0), EndStatus::Exited(0));
        assert_eq!(end_status(137 << 8), EndStatus::Exited(137));
        assert_eq!(end_status(9), EndStatus::Signaled(9));
        // With a core dump.
        assert_eq!(end_status(0x80 | 0x0B), EndStatus::Signaled(11));
    }

    #[test]
    fn own_limits_are_those_the_kernel_enforces() {
        let limits = limits(std::process::id()).unwrap();
        let real = rustix::process::getrlimit(rustix::process::Resource::Nofile);
        assert_eq!(limits.open_files, (real.current, real.maximum));
    }

    #[test]
    fn this_process_is_alive_and_its_namesake_is_not() {
        let id = own_id();
        assert!(is_alive(id));
        assert!(!is_alive(ProcessId {
            start_ticks: id.start_ticks + 1,
            ..id
        }));
    }
}
