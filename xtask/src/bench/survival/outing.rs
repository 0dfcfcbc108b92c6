//! One program in one memory cgroup: started, looked at until it ends, and ended when it hangs.

use std::ffi::OsString;
use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::group::Group;

/// Time between two looks at the group.
const LOOK: Duration = Duration::from_millis(20);
/// How much of a failed run's complaint is shown.
const COMPLAINT_LINES: usize = 16;
/// Shells say `128 + signal` of a program that was killed.
const SHELL_SIGNAL: i32 = 128;

/// How a program ended, and what it used.
#[derive(Clone, Debug)]
pub(super) struct Outing {
    /// Its end.
    pub(super) end: End,
    /// What it printed.
    pub(super) output: String,
    /// What it complained of.
    pub(super) complaint: String,
    /// Processes of the group that the kernel killed for memory.
    pub(super) kills: u64,
    /// The most memory of the group, reclaimable pages of files included.
    pub(super) peak_bytes: Option<u64>,
    /// The most anonymous and shared memory of the group that a look found.
    pub(super) anonymous_bytes: u64,
    /// From start to end.
    pub(super) seconds: f64,
}

impl Outing {
    /// The end of what it complained of, indented.
    pub(super) fn last_complaint(&self) -> String {
        let lines: Vec<&str> = self.complaint.lines().collect();
        let last = &lines[lines.len().saturating_sub(COMPLAINT_LINES)..];
        let indented: Vec<String> = last.iter().map(|line| format!("        {line}")).collect();
        indented.join(
            "
",
        )
    }
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// By itself, with this code.
    Exit(i32),
    /// By this signal.
    Signal(i32),
    /// By us, after too long.
    Patience,
}

impl End {
    /// In words.
    pub(super) fn words(self) -> String {
        match self {
            Self::Exit(code) => format!("exit {code}"),
            Self::Signal(signal) => format!("signal {signal}"),
            Self::Patience => "no end".to_owned(),
        }
    }

    fn of(status: ExitStatus) -> Self {
        match (status.code(), status.signal()) {
            (Some(code), _) if code > SHELL_SIGNAL => Self::Signal(code - SHELL_SIGNAL),
            (Some(code), _) => Self::Exit(code),
            (None, signal) => Self::Signal(signal.unwrap_or(0)),
        }
    }
}

/// Runs `words`, which enter `group` by themselves, in `folder`.
pub(super) fn watch(
    group: &Group,
    words: &[OsString],
    folder: &Path,
    variables: &[(&str, String)],
    patience: Duration,
) -> Result<Outing> {
    let (printed, complained) = (folder.join("stdout"), folder.join("stderr"));
    let (program, rest) = words.split_first().context("Nothing to run")?;
    let mut command = Command::new(program);
    command
        .args(rest)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(File::create(&printed)?)
        .stderr(File::create(&complained)?);
    dress(&mut command, folder);
    command.envs(variables.iter().map(|(name, value)| (name, value)));
    let started = Instant::now();
    let mut child = command
        .spawn()
        .with_context(|| format!("Cannot start `{}`", program.display()))?;
    let mut anonymous_bytes = 0;
    let mut is_late = false;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if started.elapsed() > patience {
            is_late = true;
            group.end_members();
        }
        anonymous_bytes = anonymous_bytes.max(group.anonymous());
        thread::sleep(LOOK);
    };
    let end = if is_late {
        End::Patience
    } else {
        End::of(status)
    };
    Ok(Outing {
        end,
        output: String::from_utf8_lossy(&fs::read(printed)?).into_owned(),
        complaint: String::from_utf8_lossy(&fs::read(complained)?).into_owned(),
        kills: group.kills()?,
        peak_bytes: group.peak(),
        anonymous_bytes,
        seconds: started.elapsed().as_secs_f64(),
    })
}

/// The environment of a person, without what would disturb: nothing preloaded, no graphics card, no
/// talk of TensorFlow's. The heap is left as it is by default, unlike where costs are measured.
pub(super) fn dress(command: &mut Command, folder: &Path) {
    command
        .env("TF_CPP_MIN_LOG_LEVEL", "3")
        .env("CUDA_VISIBLE_DEVICES", "")
        .env("MPLBACKEND", "agg")
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("OUTLIVE_HOME", folder.join("outlive"))
        .env_remove("LD_PRELOAD")
        .env_remove("PYTHONPATH")
        .env_remove("PYTHONHOME");
}
