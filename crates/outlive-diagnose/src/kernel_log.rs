//! The kernel's own words about deaths: kills for memory, faults, GPU errors, refused system calls.
//!
//! Process ids in the kernel log are the host's. Inside a container they differ from the ones the
//! supervisor saw, so a line is matched to a process by id and name, and only where no id of the
//! tree occurs in the log at all, by name, size and time.

use crate::facts::LogFacts;

/// Why the out-of-memory killer was called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The limit of a memory cgroup.
    Cgroup,
    /// Memory of the machine, or of some of its nodes.
    Host,
}

/// A kill by the out-of-memory killer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OomKill {
    /// Victim's process id, as the host numbers it.
    pub pid: u32,
    /// Victim's name.
    pub name: String,
    /// Why, if a line says so.
    pub scope: Option<Scope>,
    /// The cgroup whose limit was reached.
    pub limited_cgroup: Option<String>,
    /// Resident bytes of the victim.
    pub resident: Option<u64>,
    /// `CLOCK_MONOTONIC` nanoseconds, if the line has a time.
    pub time: Option<u64>,
    /// The line that names the victim.
    pub line: String,
}

/// What kind of fault the kernel reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// `segfault at …`.
    Segfault,
    /// `general protection fault`.
    GeneralProtection,
    /// `trap invalid opcode`.
    InvalidOpcode,
    /// `trap divide error`.
    DivideError,
}

/// A fault nobody handled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Which.
    pub kind: FaultKind,
    /// Thread id, as the host numbers it.
    pub tid: u32,
    /// Name of the thread.
    pub name: String,
    /// Address that was touched, for segfaults.
    pub address: Option<u64>,
    /// Stack pointer.
    pub sp: Option<u64>,
    /// Library of the instruction.
    pub library: Option<String>,
    /// The line.
    pub line: String,
}

/// A message of the NVIDIA driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Xid {
    /// Its number in NVIDIA's catalogue, `None` for a lost GPU without one.
    pub number: Option<u32>,
    /// The line.
    pub line: String,
}

/// A system call that a filter refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Process id.
    pub pid: u32,
    /// Name of the process.
    pub name: String,
    /// Number of the system call.
    pub syscall: Option<u32>,
    /// The line.
    pub line: String,
}

/// What the log says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelLog {
    /// Whether it could be read.
    pub readable: bool,
    /// Kills for memory, in order.
    pub kills: Vec<OomKill>,
    /// Whole cgroups that were killed.
    pub group_kills: Vec<String>,
    /// Faults.
    pub faults: Vec<Fault>,
    /// GPU errors.
    pub xids: Vec<Xid>,
    /// Refused system calls.
    pub refused: Vec<Refused>,
    /// Damaged memory (`Memory failure:`, `mce:`).
    pub memory_failures: Vec<String>,
    /// Forks that the pids controller refused.
    pub forks_rejected: Vec<String>,
    /// Version mismatches between driver and libraries.
    pub driver_mismatches: Vec<String>,
}

impl KernelLog {
    /// Sorts the lines of the log; the journal, which copies it, stands in where it is closed.
    pub fn parse(kernel_log: &LogFacts, journal: &LogFacts) -> Self {
        let mut log = Self {
            readable: kernel_log.readable,
            ..Self::default()
        };
        for raw in &kernel_log.lines {
            log.take(raw);
        }
        if !kernel_log.readable {
            let copied = journal
                .lines
                .iter()
                .filter_map(|line| line.split_once(" kernel: "));
            for (_, line) in copied {
                log.take(line);
            }
        }
        log
    }

    fn take(&mut self, raw: &str) {
        let (time, line) = split_time(raw);
        if let Some(kill) = parse_constraint(line, time) {
            self.kills.push(kill);
        } else if let Some(kill) = parse_killed(line, time) {
            self.merge_kill(kill);
        } else if line.contains("are going to be killed due to memory.oom.group") {
            self.group_kills.push(line.to_owned());
        } else if let Some(fault) = parse_fault(line) {
            self.faults.push(fault);
        } else if line.contains("NVRM: API mismatch") {
            self.driver_mismatches.push(line.to_owned());
        } else if let Some(xid) = parse_xid(line) {
            self.xids.push(xid);
        } else if let Some(refused) = parse_refused(line) {
            self.refused.push(refused);
        } else if line.contains("fork rejected by pids controller") {
            self.forks_rejected.push(line.to_owned());
        } else if line.contains("Memory failure:") || line.contains("mce: [Hardware Error]") {
            self.memory_failures.push(line.to_owned());
        }
    }

    /// The kernel writes two lines about one kill: why, then whom and how large.
    fn merge_kill(&mut self, kill: OomKill) {
        let waiting = self
            .kills
            .iter_mut()
            .rev()
            .find(|earlier| earlier.pid == kill.pid && earlier.resident.is_none());
        match waiting {
            Some(earlier) => {
                earlier.resident = kill.resident;
                earlier.scope = earlier.scope.or(kill.scope);
                earlier.line = kill.line;
            }
            None => self.kills.push(kill),
        }
    }
}

/// Cuts `[  12.345678] ` (as `dmesg` prints) or `6,1234,12345678,-;` (as `/dev/kmsg` gives).
fn split_time(raw: &str) -> (Option<u64>, &str) {
    let raw = raw.trim();
    if let Some((stamp, text)) = raw.strip_prefix('[').and_then(|rest| rest.split_once("] ")) {
        let nanoseconds = stamp
            .trim()
            .parse::<f64>()
            .ok()
            .map(|seconds| (seconds * 1e9) as u64);
        return (nanoseconds, text.trim());
    }
    if let Some((prefix, text)) = raw.split_once(';') {
        let mut fields = prefix.split(',');
        let numbers = (fields.next(), fields.next(), fields.next());
        if let (Some(priority), Some(_), Some(stamp)) = numbers
            && priority.parse::<u32>().is_ok()
        {
            let microseconds = stamp.parse::<u64>().ok();
            return (
                microseconds.map(|time| time.saturating_mul(1000)),
                text.trim(),
            );
        }
    }
    (None, raw)
}

/// `oom-kill:constraint=CONSTRAINT_MEMCG,…,oom_memcg=/a,task_memcg=/a/b,task=python,pid=1,uid=0`.
fn parse_constraint(line: &str, time: Option<u64>) -> Option<OomKill> {
    let fields = line.split_once("oom-kill:")?.1;
    let value = |name: &str| {
        fields
            .split(',')
            .find_map(|field| field.strip_prefix(name)?.strip_prefix('='))
    };
    Some(OomKill {
        pid: value("pid")?.parse().ok()?,
        name: value("task").unwrap_or_default().to_owned(),
        scope: value("constraint").map(|word| {
            if word == "CONSTRAINT_MEMCG" {
                Scope::Cgroup
            } else {
                Scope::Host
            }
        }),
        limited_cgroup: value("oom_memcg").map(str::to_owned),
        resident: None,
        time,
        line: line.to_owned(),
    })
}

/// `Memory cgroup out of memory: Killed process 1 (python) total-vm:…kB, anon-rss:…kB, …`.
fn parse_killed(line: &str, time: Option<u64>) -> Option<OomKill> {
    let (before, victim) = line.split_once("Killed process ")?;
    let (pid, rest) = victim.split_once(' ')?;
    let (name, sizes) = rest.strip_prefix('(')?.split_once(')')?;
    let kilobytes = |field: &str| -> Option<u64> {
        let digits = sizes.split_once(field)?.1;
        digits.split("kB").next()?.trim().parse().ok()
    };
    let parts = ["anon-rss:", "file-rss:", "shmem-rss:"];
    let resident = kilobytes("anon-rss:").map(|_| {
        parts
            .iter()
            .filter_map(|part| kilobytes(part))
            .sum::<u64>()
            .saturating_mul(1024)
    });
    let scope = if before.contains("Memory cgroup") {
        Some(Scope::Cgroup)
    } else {
        before.contains("Out of memory").then_some(Scope::Host)
    };
    Some(OomKill {
        pid: pid.trim_end_matches(',').parse().ok()?,
        name: name.to_owned(),
        scope,
        limited_cgroup: None,
        resident,
        time,
        line: line.to_owned(),
    })
}

/// `python[1]: segfault at 0 ip … sp … error 4 in lib[…]`, `traps: python[1] trap invalid opcode …`.
fn parse_fault(line: &str) -> Option<Fault> {
    let kind = [
        (": segfault at ", FaultKind::Segfault),
        (" general protection", FaultKind::GeneralProtection),
        (" trap invalid opcode", FaultKind::InvalidOpcode),
        (" trap divide error", FaultKind::DivideError),
    ];
    let (mark, kind) = kind.into_iter().find(|(mark, _)| line.contains(mark))?;
    let (who, what) = line.split_once(mark)?;
    let who = who.strip_prefix("traps: ").unwrap_or(who);
    let (name, tid) = who.strip_suffix(']')?.rsplit_once('[')?;
    let hex = |text: &str| u64::from_str_radix(text, 16).ok();
    let after = |word: &str| {
        what.split_once(word)?
            .1
            .split([' ', ','])
            .next()
            .and_then(hex)
    };
    let library = what
        .rsplit_once(" in ")
        .and_then(|(_, name)| name.split('[').next());
    Some(Fault {
        kind,
        tid: tid.parse().ok()?,
        name: name.to_owned(),
        address: (kind == FaultKind::Segfault)
            .then(|| hex(what.split(' ').next()?))
            .flatten(),
        sp: after(" sp ").or_else(|| after(" sp:")),
        library: library.map(|name| name.trim().to_owned()),
        line: line.to_owned(),
    })
}

/// `NVRM: Xid (PCI:0000:01:00): 79, pid=1, name=python, GPU has fallen off the bus.`
fn parse_xid(line: &str) -> Option<Xid> {
    let number = line
        .split_once("NVRM: Xid (")
        .and_then(|(_, rest)| rest.split_once("): "))
        .and_then(|(_, rest)| rest.split([',', ' ']).next())
        .and_then(|digits| digits.parse().ok());
    let lost = line.contains("fallen off the bus");
    (number.is_some() || lost).then(|| Xid {
        number,
        line: line.to_owned(),
    })
}

/// `audit: type=1326 audit(…): … pid=1 comm="python" exe=… sig=9 arch=… syscall=41 …`.
fn parse_refused(line: &str) -> Option<Refused> {
    if !line.contains("type=1326") {
        return None;
    }
    let value = |name: &str| {
        line.split(' ')
            .find_map(|field| field.strip_prefix(name)?.strip_prefix('='))
    };
    Some(Refused {
        pid: value("pid")?.parse().ok()?,
        name: value("comm")
            .unwrap_or_default()
            .trim_matches('"')
            .to_owned(),
        syscall: value("syscall").and_then(|digits| digits.parse().ok()),
        line: line.to_owned(),
    })
}

#[cfg(test)]
mod tests;
