//! Watches a program that Outlive did not start: the hook was put into it while it ran.
//!
//! The program is nobody's child here. Its end is seen through a pidfd, its wait status while its
//! own parent has not asked for it, or from the kernel afterwards (Linux 6.15). It lives on if this
//! process is killed.

use std::io;

use outlive_diagnose::facts::RunFacts;
use rustix::event::{PollFd, PollFlags, poll};

use super::clock;
use super::recorder::Recorder;
use super::{Plan, allow_many_files, process};

/// Watches a program until it has ended. `ready` is called once everything is there that a hook
/// needs; an error means that the program was not there.
pub fn watch(pid: u32, plan: Plan<'_>, ready: impl FnOnce()) -> io::Result<RunFacts> {
    allow_many_files();
    let mut recorder = Recorder::before(plan.run, &plan.command, plan.remarks);
    if let Some(guard) = plan.guard {
        recorder.guard_with(guard);
    }
    recorder.joined(pid);
    if !recorder.is_watching(pid) {
        return Err(io::ErrorKind::NotFound.into());
    }
    ready();
    while recorder.is_watching(pid) {
        turn(&mut recorder);
    }
    Ok(recorder.finish(None))
}

/// The command a process was started with.
pub fn command_of(pid: u32) -> Vec<String> {
    process::arguments(pid)
}

/// Sleeps until a process ends or a sample is due, and deals with it.
fn turn(recorder: &mut Recorder) {
    let ended = wait(recorder);
    let now = clock::monotonic();
    if recorder.ended(&ended, now) {
        // The counters of this very moment prove who did it.
        recorder.refresh();
    }
    recorder.tick(now);
}

/// The places of processes that have ended.
fn wait(recorder: &Recorder) -> Vec<usize> {
    let timeout = recorder.due_at().saturating_sub(clock::monotonic());
    let timeout = clock::timespec(timeout);
    let mut pidfds: Vec<PollFd<'_>> = recorder
        .pidfds()
        .map(|pidfd| PollFd::from_borrowed_fd(pidfd, PollFlags::IN))
        .collect();
    if poll(&mut pidfds, Some(&timeout)).is_err() {
        return Vec::new();
    }
    let ended = |fd: &PollFd<'_>| !fd.revents().is_empty();
    let places = pidfds.iter().enumerate().filter(|(_, fd)| ended(fd));
    places.map(|(place, _)| place).collect()
}
