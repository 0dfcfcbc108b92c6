//! Every process of the tree is seen, also those the program lost.

use outlive::store::StoredRun;
use outlive_diagnose::facts::{EndStatus, ProcessFacts, StatusSource};
use rustix::process::{Pid, Signal, kill_process};

use crate::context::{Context, python, text};

/// Waits until the supervisor has opened a file of the process, which means that it watches it.
const UNTIL_WATCHED: &str = "\
import os, signal, sys
def until_watched(pid, supervisor):
    folder = f'/proc/{supervisor}/fd'
    while True:
        for name in os.listdir(folder):
            try:
                if os.readlink(f'{folder}/{name}') == f'/proc/{pid}/statm':
                    return
            except FileNotFoundError:
                pass
        os.sched_yield()
";

fn run_python(context: &Context, body: &str) -> String {
    let script = format!("{UNTIL_WATCHED}{body}");
    let output = context
        .run()
        .args(["--quiet", "--", python(), "-c", &script])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    text(&output.stdout).trim().to_owned()
}

fn process(context: &Context, pid: &str) -> ProcessFacts {
    let facts = context.facts();
    let pid: u32 = pid.parse().unwrap();
    facts
        .processes
        .into_iter()
        .find(|process| process.id.pid == pid)
        .unwrap()
}

#[test]
fn the_program_is_listed_with_its_end() {
    let context = Context::new();
    let pid = run_python(&context, "print(os.getpid())");
    let root = process(&context, &pid);
    assert_eq!(root.status, Some(EndStatus::Exited(0)));
    assert_eq!(root.status_source, StatusSource::Waited);
    assert_eq!(context.facts().root, root.id);
    assert!(context.facts().ended_at.is_some());
}

#[test]
fn a_killed_worker_is_recorded_with_its_signal() {
    let context = Context::new();
    let pid = run_python(
        &context,
        "
worker = os.fork()
if worker == 0:
    while True:
        signal.pause()
until_watched(worker, os.getppid())
os.kill(worker, signal.SIGKILL)
os.waitpid(worker, 0)
print(worker)
",
    );
    let worker = process(&context, &pid);
    assert_eq!(worker.status, Some(EndStatus::Signaled(9)));
    assert!(
        matches!(
            worker.status_source,
            StatusSource::Zombie | StatusSource::Pidfd
        ),
        "{:?}",
        worker.status_source
    );
    assert!(worker.ended_at.unwrap() > worker.seen_at);
}

#[test]
fn a_worker_nobody_waits_for_is_recorded_too() {
    let context = Context::new();
    let pid = run_python(
        &context,
        "
reader, writer = os.pipe()
supervisor = os.getppid()
worker = os.fork()
if worker == 0:
    until_watched(os.getpid(), supervisor)
    os._exit(9)
os.close(writer)
os.read(reader, 1)
print(worker)
",
    );
    assert_eq!(process(&context, &pid).status, Some(EndStatus::Exited(9)));
}

#[test]
fn a_dead_worker_that_stays_visible_is_listed_once() {
    let context = Context::new();
    let pid = run_python(
        &context,
        "
supervisor = os.getppid()
def worker():
    pid = os.fork()
    if pid == 0:
        while True:
            signal.pause()
    until_watched(pid, supervisor)
    os.kill(pid, signal.SIGKILL)
    return pid
first = worker()
# To see these the supervisor looks at the whole tree again and again, the first one in it.
for _ in range(3):
    worker()
print(first)
",
    );
    let pid: u32 = pid.parse().unwrap();
    let mut processes = context.facts().processes;
    assert_eq!(processes.len(), 5, "{processes:#?}");
    processes.retain(|process| process.id.pid == pid);
    assert_eq!(processes.len(), 1, "{processes:#?}");
    assert_eq!(processes[0].status, Some(EndStatus::Signaled(9)));
    assert!(processes[0].peak_resident > 0);
}

#[test]
fn memory_that_a_fork_shares_is_counted_once() {
    let context = Context::new();
    run_python(
        &context,
        "
supervisor = os.getppid()
shared = b'x' * (200 << 20)
workers = []
for _ in range(4):
    pid = os.fork()
    if pid == 0:
        while True:
            signal.pause()
    until_watched(pid, supervisor)
    workers.append(pid)
import time
time.sleep(0.5)
for pid in workers:
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
",
    );
    let facts = context.facts();
    let largest = facts.processes.iter().map(|it| it.peak_resident).max();
    assert!(largest > Some(200 << 20), "{largest:?}");
    assert!(
        facts.peak_memory < 400 << 20,
        "{} bytes for 200 MiB that all five share",
        facts.peak_memory
    );
}

#[test]
fn a_box_that_is_replaced_is_followed() {
    let context = Context::new();
    run_python(
        &context,
        "
import time
supervisor = os.getppid()
ticks = open('/proc/self/stat').read().rsplit(')', 1)[1].split()[19]
name = f\"{os.environ['OUTLIVE_RUN_DIR']}/{os.getpid()}-{ticks}\"
def make(path):
    with open(path, 'wb') as file:
        file.truncate(4 << 20)
def until_open(path):
    # As long as a slow machine may need, and no longer: a box may never be followed.
    deadline = time.monotonic() + 60
    folder = f'/proc/{supervisor}/fd'
    while time.monotonic() < deadline:
        for entry in os.listdir(folder):
            try:
                if os.path.samefile(f'{folder}/{entry}', path):
                    return
            except OSError:
                pass
        os.sched_yield()
    sys.exit('not followed')
make(name + '.box')
until_open(name + '.box')
os.rename(name + '.box', name + '.before-exec')
make(name + '.new')
os.rename(name + '.new', name + '.box')
until_open(name + '.box')
# A sample that is in the new box only.
while not any(open(name + '.box', 'rb').read()):
    os.sched_yield()
",
    );
    let folder = context.run_folders().pop().unwrap();
    let run = StoredRun {
        id: String::new(),
        directory: folder,
    };
    assert_eq!(
        run.boxes().unwrap().len(),
        1,
        "what was set aside is no box"
    );
    assert_eq!(context.facts().processes.len(), 1);
}

#[test]
fn an_orphan_is_adopted_and_its_end_recorded() {
    let context = Context::new();
    let pid = run_python(
        &context,
        "
reader, writer = os.pipe()
supervisor = os.getppid()
between = os.fork()
if between == 0:
    orphan = os.fork()
    if orphan == 0:
        while os.getppid() != supervisor:
            os.sched_yield()
        os.write(writer, str(os.getpid()).encode())
        os._exit(7)
    os._exit(0)
os.close(writer)
os.waitpid(between, 0)
print(os.read(reader, 32).decode())
os.read(reader, 1)
",
    );
    let orphan = process(&context, &pid);
    assert_eq!(orphan.status, Some(EndStatus::Exited(7)));
    assert_eq!(orphan.status_source, StatusSource::Waited);
}

#[test]
fn a_process_left_behind_does_not_keep_the_run_open() {
    let context = Context::new();
    let output = context
        .run()
        .args([
            "--",
            "sh",
            "-c",
            "sleep 600 </dev/null >/dev/null 2>&1 & echo $!",
        ])
        .output()
        .unwrap();
    let pid = text(&output.stdout).trim();
    assert_eq!(process(&context, pid).status, None);
    assert!(
        context
            .facts()
            .remarks
            .contains(&"1 process lives on".to_owned())
    );
    kill_process(Pid::from_raw(pid.parse().unwrap()).unwrap(), Signal::KILL).unwrap();
}

#[test]
fn outlives_own_helper_is_not_part_of_the_tree() {
    let context = Context::new();
    let children = run_python(
        &context,
        "
supervisor = os.getppid()
until_watched(os.getpid(), supervisor)
print(open(f'/proc/{supervisor}/task/{supervisor}/children').read())
",
    );
    assert_eq!(
        children.split_ascii_whitespace().count(),
        2,
        "the program and the helper"
    );
    assert_eq!(context.facts().processes.len(), 1);
}
