//! The raw runs, kept under `benches/results/<date>-<processor>/`: anyone can compute the tables
//! again, or others. Nothing in them names a machine, a person or a path.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::instructions::Count;
use super::measurement::Run;
use super::report;
use super::samples::Sampled;
use super::stage::Stage;
use crate::step;

/// Prints the versions of what takes part, as JSON.
const VERSIONS: &str = "
import json, platform
from importlib import metadata
versions = {'python': platform.python_version()}
names = ('numpy', 'torch', 'tensorflow-cpu', 'torchvision', 'pandas', 'polars', 'pyarrow')
names += ('pillow', 'matplotlib', 'memray', 'filprofiler', 'scalene')
names += ('torch-preflight', 'torchfix')
for name in names:
    try:
        versions[name] = metadata.version(name)
    except metadata.PackageNotFoundError:
        pass
print(json.dumps(versions))
";

/// A session's runs and what they ran on.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Results {
    /// Day of the session.
    pub(crate) date: String,
    /// The machine.
    pub(crate) machine: Machine,
    /// Versions of Python, the frameworks and the peers.
    pub(crate) versions: BTreeMap<String, String>,
    /// Every run.
    pub(crate) runs: Vec<Run>,
    /// Instruction counts.
    pub(crate) instructions: Vec<Count>,
    /// Samples of the time inside Outlive.
    #[serde(default)]
    pub(crate) samples: Vec<Sampled>,
    #[serde(skip)]
    folder: PathBuf,
}

/// What the numbers depend on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Machine {
    /// Model of the processor.
    pub(crate) processor: String,
    /// Processors this program may use.
    pub(crate) processors: usize,
    /// Memory in GiB.
    pub(crate) memory_gib: u64,
    /// Version of the kernel, two numbers.
    pub(crate) kernel: String,
}

/// Which earlier results of a workload are measured anew.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Forget {
    /// The timed runs.
    pub(crate) runs: bool,
    /// The counts of instructions.
    pub(crate) instructions: bool,
    /// The samples.
    pub(crate) samples: bool,
}

impl Results {
    /// An empty session on this machine, today.
    pub(crate) fn new(stage: &Stage) -> Result<Self> {
        Self::of_day(stage, None)
    }

    /// An empty session on this machine, to be kept with those of another day where one is named.
    pub(crate) fn of_day(stage: &Stage, day: Option<&str>) -> Result<Self> {
        let date = match day {
            Some(day) => day.to_owned(),
            None => step::output(Command::new("date").args(["--utc", "+%Y-%m-%d"]))?,
        };
        let date = date.trim().to_owned();
        let machine = Machine::this()?;
        let versions = step::output(Command::new(&stage.python).args(["-c", VERSIONS]))?;
        let folder = stage
            .benches
            .join("results")
            .join(format!("{date}-{}", machine.slug()));
        Ok(Self {
            date,
            machine,
            versions: serde_json::from_str(&versions).context("Cannot read the versions")?,
            runs: Vec::new(),
            instructions: Vec::new(),
            samples: Vec::new(),
            folder,
        })
    }

    /// Takes over what was measured earlier today with the same versions, so that workloads can be
    /// measured one by one.
    pub(crate) fn adopt_earlier(&mut self) -> Result<()> {
        let Ok(text) = fs::read_to_string(self.folder.join("overhead.json")) else {
            return Ok(());
        };
        let earlier: Self = serde_json::from_str(&text).context("Cannot read `overhead.json`")?;
        if (&earlier.machine, &earlier.versions) == (&self.machine, &self.versions) {
            self.runs = earlier.runs;
            self.instructions = earlier.instructions;
            self.samples = earlier.samples;
        }
        Ok(())
    }

    /// Drops what is known of a workload: it is about to be measured again.
    pub(crate) fn forget(&mut self, workload: &str, forget: Forget) {
        if forget.runs {
            self.runs.retain(|run| run.workload != workload);
        }
        if forget.instructions {
            self.instructions.retain(|count| count.workload != workload);
        }
        if forget.samples {
            self.samples.retain(|sampled| sampled.workload != workload);
        }
    }

    /// Adds runs.
    pub(crate) fn add(&mut self, runs: Vec<Run>) {
        self.runs.extend(runs);
    }

    /// Writes `overhead.json` and the tables made from it, `overhead.md`.
    pub(crate) fn save(&self) -> Result<()> {
        self.write(
            "overhead.json",
            &(serde_json::to_string_pretty(self)? + "\n"),
        )?;
        self.write("overhead.md", &report::overhead(self))
    }

    /// Reads one file of the session, if it is there.
    pub(crate) fn read(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.folder.join(name)).ok()
    }

    /// Writes one file of the session.
    pub(crate) fn write(&self, name: &str, text: &str) -> Result<()> {
        let path = self.folder.join(name);
        fs::create_dir_all(&self.folder)
            .and_then(|()| fs::write(&path, text))
            .with_context(|| format!("Cannot write `{}`", path.display()))
    }
}

impl Machine {
    /// This one.
    fn this() -> Result<Self> {
        let processor = field("/proc/cpuinfo", "model name")?;
        let kibibytes = field("/proc/meminfo", "MemTotal")?;
        let kibibytes: u64 = kibibytes.trim_end_matches(" kB").parse()?;
        let release = fs::read_to_string("/proc/sys/kernel/osrelease")?;
        Ok(Self {
            processor,
            processors: std::thread::available_parallelism()?.get(),
            memory_gib: kibibytes.div_ceil(1 << 20),
            kernel: release.split('.').take(2).collect::<Vec<_>>().join("."),
        })
    }

    /// The processor as part of a folder's name.
    fn slug(&self) -> String {
        let words = self.processor.to_lowercase();
        let words = words.split(|letter: char| !letter.is_ascii_alphanumeric());
        words
            .filter(|word| !word.is_empty())
            .collect::<Vec<_>>()
            .join("-")
    }
}

/// The value behind the first `name:` of a file in `/proc`.
fn field(path: &str, name: &str) -> Result<String> {
    let text = fs::read_to_string(Path::new(path))?;
    text.lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(key, _)| key.trim() == name)
        .map(|(_, value)| value.trim().to_owned())
        .with_context(|| format!("`{path}` has no `{name}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_is_named_for_the_processor_alone() {
        let processor = "AMD EPYC 9B14 (96-Core)".to_owned();
        let machine = Machine {
            processor,
            processors: 2,
            memory_gib: 24,
            kernel: "6.1".into(),
        };
        assert_eq!(machine.slug(), "amd-epyc-9b14-96-core");
    }
}
