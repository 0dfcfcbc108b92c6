//! Signals reach the program exactly once, whoever they were sent to.
//!
//! How "once" is seen without waiting: after the signal under test, SIGUSR1 is sent to the
//! supervisor alone. It decides about signals in the order they came, so when the program has
//! seen SIGUSR1, whatever was to be passed on before it has arrived.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::context::{Companion, Context, python};

/// Prints the name of every signal it gets, until SIGUSR1.
const LISTENER: &str = "\
import signal
def heard(number, frame):
    print(signal.Signals(number).name, flush=True)
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
    signal.signal(number, heard)
print('ready', flush=True)
while True:
    signal.pause()
";

fn listener(context: &Context) -> Command {
    let mut command = context.run();
    command.args(["--quiet", "--", python(), "-c", LISTENER]);
    command
}

/// The names heard after `send`, up to the fence.
fn heard(listener: &mut Companion, send: impl FnOnce(Pid)) -> Vec<String> {
    assert_eq!(listener.line(), "ready");
    let supervisor = listener.pid();
    send(supervisor);
    let first = listener.line();
    kill_process(supervisor, Signal::USR1).unwrap();
    let mut names = vec![first];
    while names.last().unwrap() != "SIGUSR1" {
        names.push(listener.line());
    }
    names.pop();
    names
}

fn end(mut listener: Companion) {
    // The supervisor dies, and the program with it.
    listener.child.kill().unwrap();
    listener.child.wait().unwrap();
    assert_eq!(listener.line(), "", "the program outlived its supervisor");
}

#[test]
fn a_signal_to_the_supervisor_alone_is_passed_on_once() {
    let context = Context::new();
    for signal in [Signal::TERM, Signal::INT, Signal::HUP, Signal::USR2] {
        let mut listener = Companion::start(&mut listener(&context));
        let names = heard(&mut listener, |supervisor| {
            kill_process(supervisor, signal).unwrap();
        });
        assert_eq!(names.len(), 1, "{names:?}");
        end(listener);
    }
}

#[test]
fn a_signal_to_the_whole_group_is_not_passed_on() {
    let context = Context::new();
    for signal in [Signal::TERM, Signal::INT, Signal::HUP, Signal::USR2] {
        let mut listener = Companion::start(listener(&context).process_group(0));
        let names = heard(&mut listener, |group| {
            kill_process_group(group, signal).unwrap();
        });
        assert_eq!(names.len(), 1, "{names:?}");
        end(listener);
    }
}

#[test]
fn a_signal_to_every_process_of_the_job_one_by_one_is_not_passed_on() {
    let context = Context::new();
    let mut listener = Companion::start(&mut listener(&context));
    let names = heard(&mut listener, |supervisor| {
        let number = supervisor.as_raw_nonzero();
        let children = fs_err::read_to_string(format!("/proc/{number}/task/{number}/children"));
        kill_process(supervisor, Signal::TERM).unwrap();
        for child in children.unwrap().split_ascii_whitespace() {
            kill_process(Pid::from_raw(child.parse().unwrap()).unwrap(), Signal::TERM).unwrap();
        }
    });
    assert_eq!(names, ["SIGTERM"]);
    end(listener);
}

#[test]
fn one_group_signal_after_another_is_heard_each_time() {
    let context = Context::new();
    let mut listener = Companion::start(listener(&context).process_group(0));
    let names = heard(&mut listener, |group| {
        kill_process_group(group, Signal::TERM).unwrap();
    });
    assert_eq!(names, ["SIGTERM"]);
    // The witness has forgotten the first one: a signal to the supervisor alone is passed on.
    kill_process(listener.pid(), Signal::TERM).unwrap();
    assert_eq!(listener.line(), "SIGTERM");
    end(listener);
}

#[test]
fn ctrl_c_at_a_terminal_interrupts_once() {
    let context = Context::new();
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&terminal).unwrap();
    unlockpt(&terminal).unwrap();
    let name = ptsname(&terminal, Vec::new()).unwrap();
    let open = || {
        Stdio::from(
            File::options()
                .read(true)
                .write(true)
                .open(name.to_str().unwrap())
                .unwrap(),
        )
    };
    let mut supervisor = context
        .run_through(&["setsid", "--ctty"])
        .args(["--quiet", "--", python(), "-c", LISTENER])
        .stdin(open())
        .stdout(open())
        .stderr(open())
        .spawn()
        .unwrap();
    let mut keyboard = File::from(terminal);
    let mut screen = BufReader::new(keyboard.try_clone().unwrap());
    let mut line = || {
        let mut line = String::new();
        screen.read_line(&mut line).unwrap();
        line.trim_end().trim_start_matches("^C").to_owned()
    };
    assert_eq!(line(), "ready");
    keyboard.write_all(b"\x03").unwrap();
    assert_eq!(line(), "SIGINT");
    kill_process(Pid::from_child(&supervisor), Signal::USR1).unwrap();
    assert_eq!(line(), "SIGUSR1");
    supervisor.kill().unwrap();
    supervisor.wait().unwrap();
}

#[test]
fn a_program_that_dies_of_the_signal_takes_the_supervisor_along() {
    let context = Context::new();
    let mut sleeper = Companion::start(context.run().args([
        "-q",
        "--",
        "sh",
        "-c",
        "echo ready; exec sleep 600",
    ]));
    assert_eq!(sleeper.line(), "ready");
    kill_process(sleeper.pid(), Signal::TERM).unwrap();
    assert_eq!(sleeper.child.wait().unwrap().signal(), Some(15));
    let forwarded = context.facts().forwarded_signals;
    assert_eq!(
        forwarded
            .iter()
            .map(|(signal, _)| *signal)
            .collect::<Vec<_>>(),
        [15]
    );
}
