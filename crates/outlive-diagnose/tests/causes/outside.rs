//! Limits, sandboxes and signals from outside: none of them may be called out of memory.

use outlive_diagnose::facts::{EndStatus, RunFacts};
use outlive_diagnose::{Confidence, VerdictId};

use crate::scene::{ROOT, SECOND, Scene};

#[test]
fn a_plain_kill_comes_from_outside() {
    let diagnosis = Scene::killed(9).expect(VerdictId::KilledFromOutside, Confidence::Likely);
    assert_eq!(
        diagnosis.verdict.summary,
        "python (pid 100) was killed from outside by SIGKILL; nothing shows who sent it"
    );
    let not = &diagnosis.verdict.ruled_out;
    assert!(
        not.iter()
            .any(|line| line.starts_with("out of memory: no kill was counted")),
        "{not:?}"
    );
    assert!(
        not.iter().any(|line| line.starts_with("CPU limit: none")),
        "{not:?}"
    );
    assert!(
        not.iter()
            .any(|line| line.starts_with("seccomp: no filter")),
        "{not:?}"
    );
}

#[test]
fn an_exit_with_137_is_an_exit() {
    let diagnosis = Scene::ended(EndStatus::Exited(137))
        .with_box(ROOT, |_| {})
        .expect(VerdictId::ExitedWithCode, Confidence::Proved);
    assert!(diagnosis.verdict.evidence[0].contains("exited with code 137"));
}

#[test]
fn the_limit_of_processor_time() {
    let limited = |signal| {
        Scene::killed(signal).of(ROOT, |process| {
            process.limits.cpu = (Some(60), Some(60));
            process.cpu_time = 59 * SECOND;
        })
    };
    limited(24).expect(VerdictId::CpuLimit, Confidence::Proved);
    limited(9).expect(VerdictId::CpuLimit, Confidence::Likely);
    let diagnosis = limited(9)
        .of(ROOT, |process| process.cpu_time = 5 * SECOND)
        .expect(VerdictId::KilledFromOutside, Confidence::Likely);
    assert!(
        diagnosis
            .verdict
            .ruled_out
            .iter()
            .any(|line| line == "CPU limit: 5.0 s used of 60 s")
    );
}

#[test]
fn a_sandbox_shows_in_the_audit_line() {
    let line = "audit: type=1326 audit(1.2:3): auid=0 uid=0 gid=0 pid=100 comm=\"python\" \
                exe=\"/usr/bin/python\" sig=9 arch=c000003e syscall=41 compat=0 ip=0x7f code=0x0";
    let diagnosis = Scene::killed(9)
        .logged(&[line])
        .expect(VerdictId::Seccomp, Confidence::Proved);
    assert!(diagnosis.verdict.summary.contains("system call 41"));
    Scene::killed(31).expect(VerdictId::Seccomp, Confidence::Likely);
}

#[test]
fn a_sandbox_without_a_log_is_left_open() {
    let diagnosis = Scene::killed(9)
        .of(ROOT, |process| process.seccomp = 2)
        .with(|run| run.kernel_log.readable = false)
        .expect(VerdictId::KilledFromOutside, Confidence::Unproved);
    assert!(
        diagnosis
            .verdict
            .evidence
            .iter()
            .any(|line| line.contains("seccomp filter"))
    );
    assert!(
        diagnosis
            .verdict
            .not_checked
            .iter()
            .any(|line| line.starts_with("kernel log"))
    );
}

#[test]
fn polite_signals_say_what_they_are() {
    Scene::killed(15).expect(VerdictId::Terminated, Confidence::Proved);
    Scene::killed(1).expect(VerdictId::HungUp, Confidence::Proved);
    Scene::killed(2).expect(VerdictId::Interrupted, Confidence::Proved);
    Scene::killed(25).expect(VerdictId::FileSizeLimit, Confidence::Proved);
    Scene::killed(10).expect(VerdictId::KilledBySignal, Confidence::Proved);
}

#[test]
fn a_termination_tells_the_way_it_came() {
    let summary = |change: fn(&mut RunFacts)| {
        let scene = Scene::killed(15).with(change);
        let diagnosis = scene.expect(VerdictId::Terminated, Confidence::Proved);
        diagnosis.verdict.summary
    };
    let plain = "python (pid 100) was asked to end by SIGTERM";
    assert_eq!(summary(|_| {}), plain);
    assert_eq!(
        summary(|run| run.forwarded_signals.push((15, 89 * SECOND))),
        format!("{plain}, which Outlive received and passed on")
    );
    assert_eq!(
        summary(|run| run.group_signals.push((15, 89 * SECOND))),
        format!("{plain}, which was sent to the whole process group")
    );
}
