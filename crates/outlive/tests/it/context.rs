//! A home of its own for each test, and programs that tell what happens to them.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};
use std::sync::OnceLock;

use outlive_diagnose::facts::RunFacts;
use tempfile::TempDir;

/// Where the runs of one test are kept.
pub(crate) struct Context {
    home: TempDir,
}

impl Context {
    pub(crate) fn new() -> Self {
        Self {
            home: tempfile::tempdir().unwrap(),
        }
    }

    /// `outlive run`, to which options and a command can be added.
    pub(crate) fn run(&self) -> Command {
        self.prepare(Command::new(env!("CARGO_BIN_EXE_outlive")), &["run"])
    }

    /// `outlive` with these arguments.
    pub(crate) fn outlive(&self, arguments: &[&str]) -> Command {
        self.prepare(Command::new(env!("CARGO_BIN_EXE_outlive")), arguments)
    }

    /// `outlive run`, started through another program that ends up executing it.
    pub(crate) fn run_through(&self, launcher: &[&str]) -> Command {
        let (program, arguments) = launcher.split_first().unwrap();
        let mut command = Command::new(program);
        command.args(arguments);
        self.prepare(command, &[env!("CARGO_BIN_EXE_outlive"), "run"])
    }

    fn prepare(&self, mut command: Command, arguments: &[&str]) -> Command {
        command
            .args(arguments)
            .env("OUTLIVE_HOME", self.home.path())
            .env("OUTLIVE_HOOK_LIBRARY", preloadable())
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn run_folders(&self) -> Vec<PathBuf> {
        let Ok(entries) = fs_err::read_dir(self.home.path().join("runs")) else {
            return Vec::new();
        };
        let mut folders: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        folders.sort();
        folders
    }

    /// What is known of the newest run.
    pub(crate) fn facts(&self) -> RunFacts {
        let file = self.run_folders().last().unwrap().join("run.json");
        serde_json::from_slice(&fs_err::read(file).unwrap()).unwrap()
    }
}

/// A library that can be put into any program and changes nothing: the C library itself. What
/// the supervisor does is the same whichever library it is.
fn preloadable() -> String {
    let maps = fs_err::read_to_string("/proc/self/maps").unwrap();
    let line = maps.lines().find(|line| line.contains("/libc.so")).unwrap();
    line.split_ascii_whitespace().last().unwrap().to_owned()
}

/// The real interpreter behind `python3`, which may be a script that looks for one.
pub(crate) fn python() -> &'static str {
    static PYTHON: OnceLock<String> = OnceLock::new();
    PYTHON.get_or_init(|| {
        let output = Command::new("python3")
            .args(["-c", "import sys; print(sys.executable)"])
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    })
}

pub(crate) fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

pub(crate) fn stderr(output: &Output) -> &str {
    text(&output.stderr)
}

/// A program that runs beside the test and is talked to in lines.
pub(crate) struct Companion {
    pub(crate) child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Companion {
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self {
            child,
            input,
            output,
        }
    }

    /// The next line it prints; empty when it has closed its output.
    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    pub(crate) fn say(&mut self, line: &str) {
        writeln!(self.input.as_mut().unwrap(), "{line}").unwrap();
    }

    pub(crate) fn close_input(&mut self) {
        self.input = None;
    }

    pub(crate) fn pid(&self) -> rustix::process::Pid {
        rustix::process::Pid::from_child(&self.child)
    }
}
