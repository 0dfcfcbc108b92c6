//! Lines as the kernel writes them.

use super::{FaultKind, KernelLog, Scope};
use crate::facts::LogFacts;

fn parse(lines: &[&str]) -> KernelLog {
    let lines = lines.iter().map(|&line| line.to_owned()).collect();
    let facts = LogFacts {
        readable: true,
        reason: String::new(),
        lines,
    };
    KernelLog::parse(&facts, &LogFacts::default())
}

#[test]
fn the_journal_stands_in_for_a_closed_log() {
    let line = "Nov 15 09:00:00 host kernel: Out of memory: Killed process 7 (x) anon-rss:2kB";
    let journal = LogFacts {
        readable: true,
        reason: String::new(),
        lines: vec![line.to_owned()],
    };
    let log = KernelLog::parse(&LogFacts::default(), &journal);
    assert_eq!(log.kills[0].pid, 7);
}

#[test]
fn two_lines_make_one_kill() {
    let log = parse(&[
        "6,77,1500000,-;oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,\
         mems_allowed=0,oom_memcg=/job,task_memcg=/job/a,task=python3,pid=42,uid=0",
        "3,78,1500100,-;Memory cgroup out of memory: Killed process 42 (python3) \
         total-vm:900kB, anon-rss:500kB, file-rss:20kB, shmem-rss:4kB, UID:0",
    ]);
    assert_eq!(log.kills.len(), 1);
    let kill = &log.kills[0];
    assert_eq!((kill.pid, kill.name.as_str()), (42, "python3"));
    assert_eq!(kill.scope, Some(Scope::Cgroup));
    assert_eq!(kill.limited_cgroup.as_deref(), Some("/job"));
    assert_eq!(kill.resident, Some(524 * 1024));
    assert_eq!(kill.time, Some(1_500_000_000));
}

#[test]
fn a_global_kill_has_host_scope() {
    let log = parse(&["[  9.5] Out of memory: Killed process 7 (a b) total-vm:1kB, anon-rss:2kB"]);
    assert_eq!(log.kills[0].scope, Some(Scope::Host));
    assert_eq!(log.kills[0].name, "a b");
    assert_eq!(log.kills[0].time, Some(9_500_000_000));
}

#[test]
fn faults_give_address_stack_pointer_and_library() {
    let log = parse(&[
        "python[9]: segfault at 7fff988a019c ip 0000560a sp 00007fff988a0140 error 6 in \
         libc.so.6[7f00+1000]",
        "traps: python[9] general protection fault ip:7f01 sp:7ffd error:0 in libx.so[7f00+9]",
        "traps: python[9] trap invalid opcode ip:7f01 sp:7ffd error:0 in _polars.so[7f00+9]",
        "traps: python[9] trap divide error ip:7f01 sp:7ffd error:0 in liby.so[7f00+9]",
    ]);
    let kinds: Vec<FaultKind> = log.faults.iter().map(|fault| fault.kind).collect();
    assert_eq!(
        kinds,
        [
            FaultKind::Segfault,
            FaultKind::GeneralProtection,
            FaultKind::InvalidOpcode,
            FaultKind::DivideError
        ]
    );
    assert_eq!(log.faults[0].address, Some(0x7fff_988a_019c));
    assert_eq!(log.faults[0].sp, Some(0x7fff_988a_0140));
    assert_eq!(log.faults[2].library.as_deref(), Some("_polars.so"));
    assert_eq!(log.faults[3].sp, Some(0x7ffd));
}

#[test]
fn driver_and_sandbox_lines_are_found() {
    let log = parse(&[
        "NVRM: Xid (PCI:0000:01:00): 79, pid=12, name=python, GPU has fallen off the bus.",
        "NVRM: GPU 0000:01:00.0: GPU has fallen off the bus.",
        "audit: type=1326 audit(1.2:3): auid=0 uid=0 gid=0 pid=5 comm=\"python\" exe=\"/p\" \
         sig=9 arch=c000003e syscall=41 compat=0 ip=0x7f code=0x0",
        "something else",
    ]);
    assert_eq!(log.xids[0].number, Some(79));
    assert_eq!(log.xids[1].number, None);
    assert_eq!((log.refused[0].pid, log.refused[0].syscall), (5, Some(41)));
}
