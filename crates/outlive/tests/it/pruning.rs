//! Old runs make room for new ones.

use std::os::unix::fs::MetadataExt;

use outlive::store::StoredRun;
use outlive_diagnose::facts::EndStatus;

use crate::context::{Companion, Context, python, text};

fn finish_one(context: &Context, keep_runs: &str, keep_bytes: &str) {
    let mut command = context.run();
    command
        .env("OUTLIVE_KEEP_RUNS", keep_runs)
        .env("OUTLIVE_KEEP_BYTES", keep_bytes);
    assert!(command.args(["--", "true"]).status().unwrap().success());
}

#[test]
fn only_the_newest_runs_are_kept() {
    let context = Context::new();
    let mut made = Vec::new();
    for _ in 0..4 {
        finish_one(&context, "2", "1000000000");
        made.push(context.run_folders().pop().unwrap());
    }
    assert_eq!(context.run_folders(), made[2..]);
}

#[test]
fn runs_that_ended_well_go_before_those_that_did_not() {
    let context = Context::new();
    let mut command = context.run();
    command.args(["--quiet", "--", "sh", "-c", "kill -SEGV $$"]);
    assert!(!command.status().unwrap().success());
    let bad = context.run_folders().pop().unwrap();
    for _ in 0..3 {
        finish_one(&context, "2", "1000000000");
    }
    let left = context.run_folders();
    assert_eq!(left.len(), 2);
    assert!(bad.exists(), "{left:?}");
    finish_one(&context, "2", "1");
    assert!(!bad.exists(), "no more bytes than allowed");
}

#[test]
fn a_box_keeps_every_byte_and_gives_back_what_was_never_touched() {
    // Written through a mapping, as boxes are, by a process that is killed while pages are dirty;
    // so few that wide gaps lie between them, however large the pieces that the cache reads. It gets
    // its name last: nobody lives who has that number, and what is called so counts as complete.
    let script = "
import mmap, os, random, signal
size = 32 << 20
number = 4194303
folder = os.environ['OUTLIVE_RUN_DIR']
path = f\"{folder}/being-written\"
file = os.open(path, os.O_RDWR | os.O_CREAT)
os.posix_fallocate(file, 0, size)
mapping = mmap.mmap(file, size)
chance = random.Random(7)
for _ in range(100):
    place = chance.randrange(size - 1)
    mapping[place] = 1 + chance.randrange(255)
    mapping[place // 2 // 4096 * 4096]
os.rename(path, f\"{folder}/{number}-1.box\")
os.kill(os.getpid(), signal.SIGKILL)
";
    let check = "
import random, sys
size = 32 << 20
expected = bytearray(size)
chance = random.Random(7)
for _ in range(100):
    place = chance.randrange(size - 1)
    expected[place] = 1 + chance.randrange(255)
print(open(sys.argv[1], 'rb').read() == expected)
";
    let context = Context::new();
    context
        .run()
        .args(["--quiet", "--", python(), "-c", script])
        .output()
        .unwrap();
    let path = context.run_folders().pop().unwrap().join("4194303-1.box");
    let metadata = fs_err::metadata(&path).unwrap();
    assert_eq!(metadata.len(), 32 << 20);
    let taken = metadata.blocks() * 512;
    assert!(taken < 30 << 20, "{taken} bytes still taken");
    let same = std::process::Command::new(python())
        .args(["-c", check])
        .arg(&path)
        .output()
        .unwrap();
    assert_eq!(text(&same.stdout).trim(), "True");
}

#[test]
fn what_execution_set_aside_counts_and_goes_with_its_run() {
    let context = Context::new();
    let script = "
head -c 3000000 /dev/zero | tr '\\0' x > $OUTLIVE_RUN_DIR/1-1.before-exec
head -c 3000000 /dev/zero | tr '\\0' x > $OUTLIVE_RUN_DIR/1-1.new
";
    context
        .run()
        .args(["--", "sh", "-c", script])
        .output()
        .unwrap();
    let folder = context.run_folders().pop().unwrap();
    assert!(folder.join("1-1.before-exec").exists());
    finish_one(&context, "50", "10000000");
    assert!(folder.exists(), "6 MB of 10 may stay");
    finish_one(&context, "50", "5000000");
    assert!(!folder.exists(), "6 MB of 5 may not");
}

#[test]
fn runs_together_stay_below_the_bytes_allowed() {
    let context = Context::new();
    for _ in 0..3 {
        finish_one(&context, "50", "1");
    }
    assert_eq!(
        context.run_folders().len(),
        1,
        "the current one stays, whatever its size"
    );
}

#[test]
fn a_run_that_goes_on_is_never_removed() {
    let context = Context::new();
    let mut lasting = Companion::start(context.run().args(["--", "sh", "-c", "echo x; cat"]));
    assert_eq!(lasting.line(), "x");
    let folder = context.run_folders().pop().unwrap();
    for _ in 0..2 {
        finish_one(&context, "1", "1");
    }
    assert!(folder.exists());
    lasting.close_input();
    assert!(lasting.child.wait().unwrap().success());
    finish_one(&context, "1", "1000000000");
    assert!(!folder.exists());
}

/// Forks workers that wait for a word, each with a box of this many bytes.
const WORKERS: &str = "
import os, sys, time
supervisor = os.getppid()
def box_of(pid):
    ticks = open(f'/proc/{pid}/stat').read().rsplit(')', 1)[1].split()[19]
    return f\"{os.environ['OUTLIVE_RUN_DIR']}/{pid}-{ticks}.box\"
def watched():
    folder = f'/proc/{supervisor}/fd'
    found = set()
    for name in os.listdir(folder):
        try:
            found.add(os.readlink(f'{folder}/{name}'))
        except FileNotFoundError:
            pass
    return found
def worker(code, size):
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(writer)
        os.read(reader, 1)
        os._exit(code)
    os.close(reader)
    box = box_of(pid)
    with open(box, 'wb') as file:
        os.posix_fallocate(file.fileno(), 0, size)
    return pid, writer, box
def until(is_so, what):
    # As long as a slow machine may need, and no longer.
    deadline = time.monotonic() + 60
    while not is_so():
        if time.monotonic() > deadline:
            sys.exit(what)
        os.sched_yield()
def end(workers):
    until(lambda: {f'/proc/{pid}/statm' for pid, _, _ in workers} <= watched(), 'not watched')
    for pid, writer, _ in workers:
        os.write(writer, b'x')
        os.waitpid(pid, 0)
";

#[test]
fn the_space_of_an_ended_process_is_given_back_while_the_run_goes_on() {
    let context = Context::new();
    let script = format!(
        "{WORKERS}
one = worker(0, 32 << 20)
taken = lambda: os.stat(one[2]).st_blocks * 512
if taken() < 32 << 20:
    sys.exit('space is not taken in advance')
end([one])
until(lambda: taken() < 1 << 20, 'not given back')
"
    );
    let mut command = context.run();
    let output = command.args(["--quiet", "--", python(), "-c", &script]);
    let output = output.output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn of_very_many_boxes_the_oldest_that_ended_well_go() {
    let context = Context::new();
    let script = format!(
        "{WORKERS}
end([worker(3, 4 << 10)])
first = [worker(0, 4 << 10) for _ in range(100)]
end(first)
end([worker(0, 4 << 10) for _ in range(200)])
until(lambda: not os.path.exists(first[0][2]), 'not removed')
"
    );
    let mut command = context.run();
    let output = command.args(["--quiet", "--", python(), "-c", &script]);
    let output = output.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let facts = context.facts();
    let with_box = |code| {
        let ended = Some(EndStatus::Exited(code));
        let mut processes = facts.processes.iter();
        let found = processes.by_ref().filter(|it| it.status == ended);
        found.filter(|it| it.black_box.is_some()).count()
    };
    assert_eq!(facts.processes.len(), 302);
    assert_eq!((with_box(0), with_box(3)), (256, 1));
    let remark = "The oldest 44 black boxes of processes that ended well were removed";
    assert!(facts.remarks.iter().any(|it| it == remark), "{facts:#?}");
    let run = StoredRun {
        id: String::new(),
        directory: context.run_folders().pop().unwrap(),
    };
    assert_eq!(run.boxes().unwrap().len(), 257);
}
