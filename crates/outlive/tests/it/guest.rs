//! The program finds everything as it would without Outlive.

use std::process::{Command, Stdio};

use crate::context::{Companion, Context, python, stderr, text};

#[test]
fn standard_streams_pass_through_untouched() {
    let context = Context::new();
    let mut cat = Companion::start(context.run().args(["--", "cat"]));
    cat.say("to and fro");
    assert_eq!(cat.line(), "to and fro");
    cat.close_input();
    assert_eq!(cat.line(), "");
    assert!(cat.child.wait().unwrap().success());
}

#[test]
fn a_good_end_adds_nothing_to_the_output() {
    let script = ["--", "sh", "-c", "echo out; echo err >&2"];
    let output = Context::new().run().args(script).output().unwrap();
    assert_eq!(text(&output.stdout), "out\n");
    assert_eq!(stderr(&output), "err\n");
}

#[test]
fn the_program_is_in_the_same_process_group_and_session() {
    let script = "import os; print(os.getpgrp(), os.getsid(0))";
    let bare = Command::new(python())
        .args(["-c", script])
        .output()
        .unwrap();
    let under = Context::new()
        .run()
        .args(["--", python(), "-c", script])
        .output()
        .unwrap();
    assert_eq!(text(&bare.stdout), text(&under.stdout));
}

/// What the kernel says about blocked and ignored signals of a program started this way.
fn dispositions(mut launcher: Command) -> String {
    let output = launcher.stdin(Stdio::null()).output().unwrap();
    let status = text(&output.stdout);
    let lines: Vec<&str> = status
        .lines()
        .filter(|line| line.starts_with("SigBlk") || line.starts_with("SigIgn"))
        .collect();
    assert_eq!(lines.len(), 2, "{status}");
    lines.join("\n")
}

#[test]
fn blocked_and_ignored_signals_are_inherited_as_they_were() {
    let context = Context::new();
    let program = ["cat", "/proc/self/status"];
    let blocking = "import os, signal, sys\n\
                    signal.signal(signal.SIGPIPE, signal.SIG_DFL)\n\
                    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR2, signal.SIGALRM})\n\
                    os.execvp(sys.argv[1], sys.argv[1:])";
    let launchers: [&[&str]; 3] = [
        &["env"],
        &["sh", "-c", "trap '' HUP PIPE USR1 CHLD; exec \"$@\"", "sh"],
        &[python(), "-c", blocking],
    ];
    for launcher in launchers {
        let mut bare = Command::new(launcher[0]);
        bare.args(&launcher[1..]).args(program);
        let mut under = context.run_through(launcher);
        under.arg("--").args(program);
        assert_eq!(dispositions(under), dispositions(bare), "{launcher:?}");
    }
}

#[test]
fn a_run_inside_a_run_preloads_the_library_once() {
    let context = Context::new();
    let inner = [
        env!("CARGO_BIN_EXE_outlive"),
        "run",
        "--",
        "sh",
        "-c",
        "echo $LD_PRELOAD",
    ];
    let output = context.run().arg("--").args(inner).output().unwrap();
    assert_eq!(text(&output.stdout).matches("libc.so").count(), 1);
    assert_eq!(context.run_folders().len(), 2, "each has a run of its own");
}

#[test]
fn the_users_own_preloaded_libraries_stay() {
    let mut command = Context::new().run();
    command
        .env("LD_PRELOAD", "libm.so.6")
        .args(["--", "sh", "-c", "echo $LD_PRELOAD"]);
    let output = command.output().unwrap();
    let value = text(&output.stdout).trim_end();
    assert!(
        value.ends_with(":libm.so.6") && value.contains("libc.so"),
        "{value}"
    );
}
