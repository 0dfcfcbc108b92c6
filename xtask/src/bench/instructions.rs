//! Instructions executed by the program itself: the figure that no other load on the machine can
//! blur. `perf stat` counts full runs where the processor's counter can be reached; otherwise
//! valgrind counts small ones. The supervising process is left out: it works by the clock, and
//! would do more the slower the counted program is.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use super::options::Options;
use super::stage::Stage;
use super::tool::{Scale, Tool};
use super::workload::Workload;
use crate::step;

/// What counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Counter {
    /// The processor's own counter.
    Perf,
    /// valgrind's cachegrind, without its cache model.
    Cachegrind,
}

/// Instructions of one workload under one tool, outside the kernel.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Count {
    /// Name of the workload.
    pub(crate) workload: String,
    /// What was wrapped around it.
    pub(crate) tool: Tool,
    /// What counted.
    pub(crate) counter: Counter,
    /// From start to end.
    pub(crate) whole: u64,
    /// The loop alone: the whole less a run whose loop is empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) loop_alone: Option<u64>,
}

impl Counter {
    /// The best one that works here.
    pub(crate) fn available() -> Option<Self> {
        let mut probe = Command::new("perf");
        probe.args([
            "stat",
            "--field-separator=,",
            "--event=instructions:u",
            "true",
        ]);
        let counted = probe
            .output()
            .is_ok_and(|output| perf_count(&String::from_utf8_lossy(&output.stderr)).is_some());
        if counted {
            return Some(Self::Perf);
        }
        let valgrind = Command::new("valgrind").arg("--version").output();
        valgrind.is_ok().then_some(Self::Cachegrind)
    }

    /// How much work the counted program does.
    const fn scale(self, asked: Scale) -> Scale {
        match self {
            Self::Perf => asked,
            Self::Cachegrind => Scale::Small,
        }
    }

    /// What stands in front of the counted program.
    fn prefix(self, folder: &Path) -> Vec<OsString> {
        let file = |option: &str, name: &str| {
            let mut word = OsString::from(option);
            word.push(folder.join(name));
            word
        };
        match self {
            Self::Perf => vec![
                "perf".into(),
                "stat".into(),
                "--field-separator=,".into(),
                "--event=instructions:u".into(),
                file("--output=", "counted"),
                "--".into(),
            ],
            Self::Cachegrind => vec![
                "valgrind".into(),
                "--quiet".into(),
                "--tool=cachegrind".into(),
                "--cache-sim=no".into(),
                "--trace-children=yes".into(),
                file("--cachegrind-out-file=", "counted.%p"),
            ],
        }
    }

    /// Adds up what it left in `folder`, one file a process.
    fn read(self, folder: &Path) -> Result<u64> {
        let mut total = 0;
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            if entry.file_name().to_string_lossy().starts_with("counted") {
                let text = fs::read_to_string(entry.path())?;
                total += match self {
                    Self::Perf => perf_count(&text),
                    Self::Cachegrind => cachegrind_count(&text),
                }
                .context("The counter left no count")?;
            }
        }
        ensure!(total > 0, "The counter left no file");
        Ok(total)
    }
}

/// Counts `workload` under every tool that can be counted. One that cannot is left out: an
/// emulated processor is more than some of the peers bear.
pub(crate) fn count(
    options: &Options,
    stage: &Stage,
    workload: &Workload,
    counter: Counter,
) -> Vec<Count> {
    let mut counts = Vec::new();
    for tool in options
        .tools
        .iter()
        .copied()
        .filter(|tool| tool.can_run(workload))
    {
        match count_one(options, stage, workload, tool, counter) {
            Ok(count) => {
                println!("    {:8} {:>15} instructions", tool.name(), count.whole);
                counts.push(count);
            }
            Err(error) => println!("    {} was not counted: {error:#}", tool.name()),
        }
    }
    counts
}

fn count_one(
    options: &Options,
    stage: &Stage,
    workload: &Workload,
    tool: Tool,
    counter: Counter,
) -> Result<Count> {
    let run = |scale| -> Result<u64> {
        let folder = stage.fresh_folder()?;
        let mut words = tool.command(stage, workload, scale, &folder);
        words.splice(tool.own_words()..tool.own_words(), counter.prefix(&folder));
        let (program, rest) = words.split_first().context("Nothing to run")?;
        let mut command = Command::new(program);
        command.args(rest).current_dir(&folder);
        stage.dress(&mut command);
        step::output(&mut command)?;
        counter.read(&folder)
    };
    let whole = run(counter.scale(options.scale))?;
    let loop_alone = if workload.has_loop {
        Some(whole.saturating_sub(run(Scale::None)?))
    } else {
        None
    };
    Ok(Count {
        workload: workload.name.to_owned(),
        tool,
        counter,
        whole,
        loop_alone,
    })
}

/// The count in a line such as `1083925,,instructions:u,1203,100.00,,`.
fn perf_count(text: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.contains("instructions:u"))?;
    line.split(',').next()?.parse().ok()
}

/// The count in the last line, `summary: 109589467`.
fn cachegrind_count(text: &str) -> Option<u64> {
    text.lines()
        .rev()
        .find_map(|line| line.strip_prefix("summary:"))?
        .trim()
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_that_the_machine_does_not_have_is_not_a_count() {
        assert_eq!(
            perf_count("1083925,,instructions:u,1203,100.00,,\n"),
            Some(1_083_925)
        );
        assert_eq!(
            perf_count("<not supported>,,instructions:u,0,100.00,,\n"),
            None
        );
    }

    #[test]
    fn the_summary_of_cachegrind_is_its_last_line() {
        let text = "cmd: python\nevents: Ir\nfl=a\nfn=summary:\n1 5\nsummary: 109\n";
        assert_eq!(cachegrind_count(text), Some(109));
    }
}
