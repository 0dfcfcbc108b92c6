//! Runs a program and watches its whole process tree, as a guest: same process group, same
//! terminal, same signals, same end.
//!
//! One thread, one loop. It wakes for signals, for the end of any process of the tree (each is
//! watched through a pidfd, which also tells the end of processes that are not our children),
//! and for samples. Evidence goes to disk when it appears, since the supervisor may be killed
//! with the rest.

mod aftermath;
pub mod beside;
mod cgroup;
mod cgroup_files;
mod cgroup_meter;
mod cgroup_mounts;
pub mod clock;
mod ended_boxes;
mod facts_file;
pub mod guard;
pub mod hook_library;
mod journal;
mod kept_file;
mod kernel_log;
pub(crate) mod late;
mod log_words;
mod machine;
pub mod memory;
mod pace;
mod parent_watch;
mod process;
pub mod prune;
mod recorder;
mod sampler;
mod signals;
mod space;
pub mod spawn;
pub mod target;
mod tree;
mod watched;
pub mod witness;

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::process::Command;

use outlive_diagnose::facts::{EndStatus, RunFacts};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{
    Pid, PidfdFlags, Resource, Rlimit, Signal, getrlimit, pidfd_open, pidfd_send_signal,
    set_child_subreaper, setrlimit,
};

pub(crate) use process::is_alive;

use crate::store::StoredRun;
use guard::Guard;
use parent_watch::ParentWatch;
use recorder::Recorder;
use signals::Relay;
use witness::Witness;

/// Where and what to record.
#[derive(Debug)]
pub struct Plan<'a> {
    /// The run.
    pub run: &'a StoredRun,
    /// The command, for people.
    pub command: Vec<String>,
    /// What could not be done before the start.
    pub remarks: Vec<String>,
    /// The guard, unless there is to be none.
    pub guard: Option<Guard>,
}

/// How the program is tied to whoever started Outlive; nothing by default.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ties {
    /// The program is ended when the parent of this process is gone.
    pub with_parent: bool,
    /// How willingly the kernel kills the program when memory runs out.
    pub oom_score_adj: Option<i32>,
}

/// A program that has ended.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// How.
    pub status: EndStatus,
    /// What was seen, if it was recorded.
    pub facts: Option<RunFacts>,
}

/// Starts the program and stays until it has ended. An error means that it could not be started.
///
/// `chore` is done once the program runs. In this thread: the first other thread would change
/// signal dispositions that the program is to inherit.
pub fn supervise(
    command: &mut Command,
    plan: Option<Plan<'_>>,
    ties: Ties,
    chore: impl FnOnce(),
) -> io::Result<Outcome> {
    if let Some(adjustment) = ties.oom_score_adj {
        spawn::with_oom_score(command, adjustment);
    }
    let parent = ties.with_parent.then(ParentWatch::begin);
    // Orphans of the tree become our children, and so can be seen and waited for.
    let _ = set_child_subreaper(Some(rustix::process::getpid()));
    let recorder = plan.map(|plan| {
        let mut recorder = Recorder::before(plan.run, &plan.command, plan.remarks);
        if let Some(guard) = plan.guard {
            recorder.guard_with(guard);
        }
        recorder
    });
    let mut supervisor = Supervisor::start(command, recorder, parent)?;
    chore();
    let status = loop {
        if let Some(status) = supervisor.turn() {
            break status;
        }
    };
    Ok(Outcome {
        status,
        facts: supervisor.finish(),
    })
}

struct Supervisor {
    root: u32,
    root_pidfd: OwnedFd,
    relay: Relay,
    recorder: Option<Recorder>,
    parent: Option<ParentWatch>,
}

impl Supervisor {
    fn start(
        command: &mut Command,
        mut recorder: Option<Recorder>,
        parent: Option<ParentWatch>,
    ) -> io::Result<Self> {
        // The witness first: it must be there when the first signal is caught. Then the handlers:
        // a program that runs already must not lose its supervisor to a signal.
        let mut relay = Relay::install(Witness::start().ok())?;
        let root = relay.start(command)?;
        allow_many_files();
        let root_pid = Pid::from_raw(root as i32).ok_or(io::ErrorKind::NotFound)?;
        let root_pidfd = pidfd_open(root_pid, PidfdFlags::empty())?;
        if let Some(recorder) = &mut recorder {
            recorder.started(root, relay.witness());
        }
        Ok(Self {
            root,
            root_pidfd,
            relay,
            recorder,
            parent,
        })
    }

    /// Waits for something to happen and deals with it. Gives the program's end.
    fn turn(&mut self) -> Option<EndStatus> {
        let ended = self.wait();
        let now = clock::monotonic();
        if let Some(signal) = self.parent.as_mut().and_then(|parent| parent.look(now)) {
            self.leave_with_parent(signal);
        }
        let has_child_ended = self.relay.receive(now);
        for decision in self.relay.decide(now, self.root_pidfd.as_fd()) {
            if let Some(recorder) = &mut self.recorder {
                recorder.signal(decision);
            }
        }
        let mut has_bad_end = false;
        if let Some(recorder) = &mut self.recorder {
            if has_child_ended {
                recorder.adopt_children(now);
            }
            has_bad_end = recorder.ended(&ended, now);
        }
        let status = self.reap();
        if let Some(recorder) = self.recorder.as_mut().filter(|_| status.is_none()) {
            if has_bad_end {
                // The counters of this very moment prove who did it.
                recorder.refresh();
            }
            recorder.tick(now);
        }
        status
    }

    /// Sleeps until a signal, an end or a sample is due; gives the places of ended processes.
    fn wait(&self) -> Vec<usize> {
        let now = clock::monotonic();
        let due = [
            self.relay.due_at(now),
            self.recorder.as_ref().map(Recorder::due_at),
            self.parent.as_ref().map(|_| now + parent_watch::LOOK_EVERY),
        ];
        let timeout = due
            .into_iter()
            .flatten()
            .min()
            .map(|due| due.saturating_sub(now));
        let timeout = timeout.map(clock::timespec);
        let mut ready = vec![
            PollFd::from_borrowed_fd(self.relay.as_fd(), PollFlags::IN),
            PollFd::new(&self.root_pidfd, PollFlags::IN),
        ];
        let own = ready.len();
        let pidfds = self.recorder.iter().flat_map(Recorder::pidfds);
        ready.extend(pidfds.map(|pidfd| PollFd::from_borrowed_fd(pidfd, PollFlags::IN)));
        if poll(&mut ready, timeout.as_ref()).is_err() {
            return Vec::new();
        }
        let processes = ready.iter().skip(own).enumerate();
        processes
            .filter(|(_, fd)| !fd.revents().is_empty())
            .map(|(place, _)| place)
            .collect()
    }

    /// Nobody is left to talk to the program.
    fn leave_with_parent(&mut self, signal: Signal) {
        let _ = pidfd_send_signal(&self.root_pidfd, signal);
        if let Some(recorder) = &mut self.recorder {
            let remark = "Ended by Outlive: the process that started it was gone";
            recorder.remark(remark);
        }
    }

    /// Waits for every child that has ended: the program, adopted orphans, the witness.
    fn reap(&mut self) -> Option<EndStatus> {
        let mut root_status = None;
        while let Some(reaped) = spawn::reap() {
            let status = process::end_status(reaped.status);
            if Some(reaped.pid) == self.relay.witness() {
                self.relay.witness_ended(match status {
                    EndStatus::Signaled(signal) => Some(signal),
                    EndStatus::Exited(_) => None,
                });
                continue;
            }
            if reaped.pid == self.root {
                root_status = Some(status);
            }
            if let Some(recorder) = &mut self.recorder {
                recorder.waited_for(reaped.pid, status, reaped.peak_resident);
            }
        }
        root_status
    }

    fn finish(self) -> Option<RunFacts> {
        let witness = self.relay.witness();
        self.recorder.map(|recorder| recorder.finish(witness))
    }
}

/// Four descriptors a process: a large tree needs more than the usual 1,024. Only the supervisor
/// gets them; the program was started before.
fn allow_many_files() {
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(
        Resource::Nofile,
        Rlimit {
            current: limit.maximum,
            maximum: limit.maximum,
        },
    );
}
