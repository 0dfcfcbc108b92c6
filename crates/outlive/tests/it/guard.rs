//! The supervisor's part of the guard: limits it accepts, the ledger it makes and keeps true. A
//! program in Python stands in for the hook and reads and writes the ledger as a hook would.

use crate::context::{Context, python, stderr, text};

/// The ledger of the run, mapped; offsets as in `outlive-record/src/ledger`.
const LEDGER: &str = "\
import mmap, os, struct, sys
path = os.environ['OUTLIVE_RUN_DIR'] + '/ledger'
with open(path, 'r+b') as file:
    ledger = mmap.mmap(file.fileno(), 0)
def word(offset, form='<Q'):
    return struct.unpack_from(form, ledger, offset)[0]
def put(offset, value, form='<Q'):
    struct.pack_into(form, ledger, offset, value)
FOREIGN, SHARED, CEILING, HEADROOM, BUDGET = 24, 32, 136, 200, 208
COUNT, FIRST_LEVEL, SLOTS = 4096, 4160, 12288
PID, BELL, START, RESIDENT, UNTOUCHED, UPDATED = 0, 4, 8, 16, 24, 56
def start_ticks(pid):
    return int(open(f'/proc/{pid}/stat').read().rsplit(')', 1)[1].split()[19])
def claim(slot, pid, ticks):
    put(SLOTS + 128 * slot + START, ticks)
    put(SLOTS + 128 * slot + PID, pid, '<I')
def until(condition):
    while not condition():
        os.sched_yield()
";

fn run_python(context: &Context, options: &[&str], body: &str) -> String {
    let output = context
        .run()
        .arg("--quiet")
        .args(options)
        .args(["--", python(), "-c", &format!("{LEDGER}{body}")])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    text(&output.stdout).trim().to_owned()
}

#[test]
fn a_limit_that_makes_no_sense_is_refused_in_one_line_before_anything_starts() {
    for (limit, reason) in [
        ("0", "below the 16 MiB that an interpreter needs"),
        ("1MiB", "below the 16 MiB that an interpreter needs"),
        ("-1", "not a limit"),
        ("12XB", "not a limit"),
        ("0%", "a share is from `1%` to `100%`"),
        ("150%", "a share is from `1%` to `100%`"),
    ] {
        let context = Context::new();
        let output = context
            .run()
            .args(["--limit", limit, "--", "echo", "started"])
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2), "{limit}");
        assert_eq!(text(&output.stdout), "", "{limit}");
        let line = stderr(&output).lines().next().unwrap_or_default();
        assert!(
            line.starts_with("error: ") && line.contains(reason),
            "{line}"
        );
        assert!(line.contains("--limit"), "{line}");
        assert!(context.run_folders().is_empty());
    }
}

#[test]
fn a_guard_that_is_off_takes_no_limit() {
    let context = Context::new();
    for option in [&["--limit", "1GiB"][..], &["--allow-sparse"]] {
        let output = context
            .run()
            .arg("--no-guard")
            .args(option)
            .args(["--", "true"])
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2));
    }
}

#[test]
fn the_ledger_is_there_before_the_program_and_gone_after_it() {
    let context = Context::new();
    let facts = "print(ledger[:7].decode(), len(ledger), word(8, '<I'), word(16))";
    let shown = run_python(&context, &["--limit", "1GiB", "--allow-sparse"], facts);
    assert_eq!(shown, format!("OUTLEDG 65536 1 {}", 1 << 30));
    let folder = context.run_folders().pop().unwrap();
    assert!(!folder.join("ledger").exists());
}

#[test]
fn without_the_guard_there_is_no_ledger() {
    let context = Context::new();
    let show = "import os; print(os.listdir(os.environ['OUTLIVE_RUN_DIR']))";
    let output = context
        .run()
        .args(["--no-guard", "--", python(), "-c", show])
        .output()
        .unwrap();
    assert!(!text(&output.stdout).contains("ledger"), "{output:?}");
    assert_eq!(context.facts().budget, None);
}

#[test]
fn the_budget_is_known_before_the_first_request_and_kept_in_the_facts() {
    let context = Context::new();
    let budget = run_python(
        &context,
        &["--limit", "256MiB"],
        "print(word(BUDGET), word(CEILING, '<q') > 64 << 20)",
    );
    let whole = 256 << 20;
    let expected = whole - whole / 104;
    assert_eq!(budget, format!("{expected} True"));
    let facts = context.facts().budget.unwrap();
    assert_eq!(
        (facts.asked.as_str(), facts.limit),
        ("256 MiB", Some(256 << 20))
    );
    assert_eq!(
        (facts.at_start, facts.source.as_str()),
        (expected, "--limit")
    );
    assert_eq!(facts.source_limit, whole);
    assert!(facts.headroom_lowest > 0 && facts.headroom_lowest <= facts.at_start as i64);
    assert_eq!((facts.refusals, facts.stops), (0, 0));
}

#[test]
fn every_level_of_the_chain_is_a_cgroup_that_can_have_a_limit() {
    let context = Context::new();
    let levels = run_python(
        &context,
        &[],
        "
for number in range(word(COUNT) & 0xFFFFFFFF):
    level = FIRST_LEVEL + 1016 * number
    version, length = word(level, '<I'), word(level + 4, '<I')
    folder = ledger[level + 8:level + 8 + length].decode()
    name = {1: 'memory.limit_in_bytes', 2: 'memory.max'}[version]
    print(os.path.exists(f'{folder}/{name}'), os.path.exists(f'{folder}/cgroup.sane_behavior'))
",
    );
    assert!(levels.lines().all(|line| line == "True False"), "{levels}");
}

#[test]
fn the_slot_of_a_process_that_is_gone_is_emptied() {
    let context = Context::new();
    run_python(
        &context,
        &[],
        "
claim(0, os.getpid(), start_ticks(os.getpid()))
dead = os.fork()
if dead == 0:
    os._exit(0)
# Not waited for yet: a zombie has no memory either.
claim(1, dead, start_ticks(dead))
put(SLOTS + 128 + UNTOUCHED, 1 << 30)
# A namesake that started at another time is somebody else.
claim(2, os.getppid(), 1)
until(lambda: word(SLOTS + 128 + PID, '<I') == 0 and word(SLOTS + 256 + PID, '<I') == 0)
assert word(SLOTS + 128 + UNTOUCHED) == 0
assert word(SLOTS + PID, '<I') == os.getpid()
",
    );
}

#[test]
fn what_processes_without_a_slot_hold_is_counted_and_what_forks_share_is_not_counted_twice() {
    let context = Context::new();
    run_python(
        &context,
        &["--limit", "4GiB"],
        "
held = b'x' * (100 << 20)
ready, write = os.pipe()
child = os.fork()
if child == 0:
    own = b'x' * (60 << 20)
    os.write(write, b'!')
    while True:
        os.read(ready, 0) or os.sched_yield()
claim(0, os.getpid(), start_ticks(os.getpid()))
os.read(ready, 1)
# The child's own memory and the copy of its parent's, which is the parent's still.
until(lambda: word(FOREIGN) > 150 << 20 and word(SHARED) > 90 << 20)
assert word(SHARED) < 130 << 20, word(SHARED) >> 20
# The parent's slot says what the parent has, although the parent never did.
until(lambda: word(SLOTS + RESIDENT) > 100 << 20)
os.kill(child, 9)
os.waitpid(child, 0)
until(lambda: word(FOREIGN) == 0)
",
    );
}

#[test]
fn memory_that_was_granted_and_touched_since_is_not_told_twice() {
    let context = Context::new();
    run_python(
        &context,
        &["--limit", "1GiB"],
        "
status = open('/proc/self/status').read().split('RssAnon:')[1]
put(SLOTS + UPDATED, 1)
put(SLOTS + RESIDENT, int(status.split()[0]) << 10)
put(SLOTS + UNTOUCHED, 300 << 20)
claim(0, os.getpid(), start_ticks(os.getpid()))
held = b'x' * (300 << 20)
until(lambda: word(SLOTS + RESIDENT) > 300 << 20)
",
    );
    let facts = context.facts().budget.unwrap();
    assert!(facts.headroom_lowest > 600 << 20, "{facts:?}");
    assert!(facts.headroom_lowest < 730 << 20, "{facts:?}");
}

#[test]
fn watchdogs_are_woken_when_little_is_left() {
    let context = Context::new();
    run_python(
        &context,
        &["--limit", "1GiB"],
        "
claim(0, os.getpid(), start_ticks(os.getpid()))
# What a process says of itself stands while it is newer than the supervisor's look.
put(SLOTS + UPDATED, 1 << 62)
put(SLOTS + RESIDENT, 1020 << 20)
until(lambda: word(SLOTS + BELL, '<I') > 0)
until(lambda: word(HEADROOM, '<q') < 32 << 20)
",
    );
    let facts = context.facts().budget.unwrap();
    assert!(facts.headroom_lowest < 32 << 20, "{facts:?}");
}

#[test]
fn a_run_that_was_interfered_with_says_so_in_one_line_and_in_why() {
    let context = Context::new();
    let intervene = format!("{LEDGER}\nput(40, 2)\nput(48, 1)\n");
    let run = |options: &[&str]| {
        let mut command = context.run();
        command.args(options);
        command
            .args(["--", python(), "-c", &intervene])
            .output()
            .unwrap()
    };
    let output = run(&[]);
    assert!(output.status.success());
    let line = stderr(&output);
    assert_eq!(line.lines().count(), 1, "{line}");
    assert!(
        line.contains("Outlive refused 2 requests and stopped growth once"),
        "{line}"
    );
    assert_eq!(stderr(&run(&["--quiet"])), "");
    let budget = context.facts().budget.unwrap();
    assert_eq!((budget.refusals, budget.stops), (2, 1));
    let why = context.outlive(&["why"]).output().unwrap();
    let told = "Outlive refused 2 requests and stopped growth once, and the program went on";
    assert!(text(&why.stdout).contains(told), "{}", text(&why.stdout));
}
