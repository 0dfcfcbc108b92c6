//! Which lines of a log speak of deaths.

/// Words of the kernel, in lower case.
const KERNEL: [&str; 20] = [
    "oom-kill",
    "oom_reaper",
    "out of memory",
    "killed process",
    "oom.group",
    "segfault at",
    "traps:",
    "general protection",
    "invalid opcode",
    "divide error",
    "type=1326",
    "nvrm: xid",
    "fallen off the bus",
    "mce:",
    "memory failure",
    "hardware error",
    "pids controller",
    "api mismatch",
    "page allocation failure",
    "stack guard page",
];

/// Words of programs that end others, in lower case.
const KILLERS: [&str; 7] = [
    "earlyoom",
    "systemd-oomd",
    "oomd",
    "nohang",
    "slurmstepd",
    "oom_kill event",
    "killed by the oom killer",
];

/// Whether the kernel says that something died.
pub(super) fn kernel_speaks_of_death(line: &str) -> bool {
    has_any(line, &KERNEL)
}

/// Whether a line of the journal says that something was ended.
pub(super) fn journal_speaks_of_death(line: &str) -> bool {
    has_any(line, &KERNEL) || has_any(line, &KILLERS)
}

fn has_any(line: &str, words: &[&str]) -> bool {
    let line = line.to_ascii_lowercase();
    words.iter().any(|word| line.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_about_deaths_are_kept_and_others_not() {
        for line in [
            "python3 invoked oom-killer: gfp_mask=0xcc0, order=0, oom_score_adj=0",
            "Memory cgroup out of memory: Killed process 42 (python3) total-vm:1kB",
            "python3[42]: segfault at 0 ip 00007f sp 00007f error 4 in libc.so.6[7f+1]",
            "traps: python3[42] trap divide error ip:7f sp:7f error:0 in x.so[7f+1]",
            "audit: type=1326 audit(1.2:3): auid=0 uid=0 pid=42 sig=9 syscall=39",
            "NVRM: Xid (PCI:0000:01:00): 79, pid=42, GPU has fallen off the bus.",
            "cgroup: fork rejected by pids controller in /user.slice",
        ] {
            assert!(kernel_speaks_of_death(line), "{line}");
        }
        assert!(!kernel_speaks_of_death(
            "usb 1-1: new high-speed USB device number 2"
        ));
        assert!(journal_speaks_of_death(
            "node1 earlyoom[1]: sending SIGTERM to process 42"
        ));
        assert!(!journal_speaks_of_death(
            "node1 sshd[1]: Accepted publickey for ann"
        ));
    }
}
