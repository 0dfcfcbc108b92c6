//! The processor's time that is spent inside Outlive, sampled by `perf record` on full runs.
//!
//! Two runs of one program differ by more than Outlive costs; one run, asked some ten thousand
//! times where it is, tells the share to a tenth of a percent. It cannot see what Outlive costs by
//! being there at all (a cache line that is gone, a page that moved): the timed rounds do.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use super::measurement::LoopTimes;
use super::options::Options;
use super::stage::Stage;
use super::tool::Tool;
use super::workload::Workload;
use crate::build::HOOK_NAME;

/// Samples wanted of each workload, and the most runs for them.
const ENOUGH: u64 = 60_000;
const MOST_RUNS: usize = 12;
/// Samples a second; not a multiple of the kernel's own clock, lest the two beat.
const FREQUENCY: &str = "3989";
/// Names of our supervising processes: the tool, and the witness it starts of itself.
const SUPERVISORS: [&str; 2] = ["outlive", "exe"];
/// What the hook does for the program, and would be done without it.
const PASSED_ON: [&str; 3] = ["mmap", "munmap", "mremap"];

/// Where the samples of one workload fell.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Sampled {
    /// Name of the workload.
    pub(crate) workload: String,
    /// Runs that were sampled.
    pub(crate) runs: usize,
    /// Of the whole tree, the supervising process included.
    pub(crate) whole: Share,
    /// While the loop ran.
    pub(crate) loop_alone: Share,
}

/// Samples, and those of them inside Outlive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Share {
    /// All.
    pub(crate) all: u64,
    /// In the hook, in the kernel on the hook's behalf, or in the supervising process.
    pub(crate) inside: u64,
}

impl Share {
    /// The cost as a ratio to a run without these samples, with its 95 % interval.
    pub(crate) fn ratio(self) -> Option<[f64; 3]> {
        if self.all == 0 {
            return None;
        }
        let all = self.all as f64;
        let share = self.inside as f64 / all;
        // One sample at least: none at all does not prove zero.
        let spread = 1.96 * (share.max(1.0 / all) * (1.0 - share) / all).sqrt();
        Some([share, share - spread, share + spread].map(|share| 1.0 / (1.0 - share.max(0.0))))
    }

    fn add(&mut self, inside: bool) {
        self.all += 1;
        self.inside += u64::from(inside);
    }
}

/// Whether `perf` can sample here.
pub(crate) fn available() -> bool {
    let mut probe = Command::new("perf");
    probe.args(["record", "--event=cpu-clock", "--output=/dev/null", "true"]);
    crate::step::succeeds(&mut probe)
}

/// Samples `workload` under Outlive until there are enough samples.
pub(crate) fn sample(options: &Options, stage: &Stage, workload: &Workload) -> Result<Sampled> {
    let mut sampled = Sampled {
        workload: workload.name.to_owned(),
        runs: 0,
        whole: Share::default(),
        loop_alone: Share::default(),
    };
    while sampled.whole.all < ENOUGH && sampled.runs < MOST_RUNS {
        let folder = stage.fresh_folder()?;
        let data = folder.join("samples");
        let times = record(options, stage, workload, &data)?;
        read(&data, times, &mut sampled)?;
        sampled.runs += 1;
    }
    println!(
        "    samples  {} of {} inside Outlive; {} of {} in the loop",
        sampled.whole.inside, sampled.whole.all, sampled.loop_alone.inside, sampled.loop_alone.all
    );
    Ok(sampled)
}

/// One run; gives when its loop began and ended.
fn record(
    options: &Options,
    stage: &Stage,
    workload: &Workload,
    data: &Path,
) -> Result<Option<LoopTimes>> {
    let folder = data.parent().context("No folder for the samples")?;
    let mut perf = Command::new("perf");
    perf.args(["record", "--quiet", "--event=cpu-clock", "--call-graph=fp"])
        .args(["--clockid=CLOCK_MONOTONIC", "--freq", FREQUENCY])
        .arg("--output")
        .arg(data)
        .arg("--")
        .args(Tool::Outlive.command(stage, workload, options.scale, folder))
        .current_dir(folder);
    stage.dress(&mut perf);
    let printed = crate::step::output(&mut perf)?;
    Ok(LoopTimes::printed(&printed))
}

/// Goes through the samples of one run.
fn read(data: &Path, times: Option<LoopTimes>, sampled: &mut Sampled) -> Result<()> {
    let mut script = Command::new("perf")
        .args(["script", "--fields", "comm,time,ip,sym,dso", "--input"])
        .arg(data)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .context("Cannot start `perf script`")?;
    let printed = script
        .stdout
        .take()
        .context("`perf script` has no output")?;
    let mut lines = BufReader::new(printed).lines();
    let mut frames: Vec<String> = Vec::new();
    let mut head = String::new();
    while let Some(line) = lines.next().transpose()? {
        if !line.is_empty() {
            let is_frame = line.starts_with(['\t', ' ']);
            if is_frame && !head.is_empty() {
                frames.push(line);
            } else {
                head = line;
            }
            continue;
        }
        let (name, time) = head_of(&head).context("`perf script` printed another form")?;
        let inside = SUPERVISORS.contains(&name) || is_inside(&frames);
        sampled.whole.add(inside);
        if times.is_some_and(|times| times.from <= time && time <= times.to) {
            sampled.loop_alone.add(inside);
        }
        frames.clear();
        head.clear();
    }
    ensure!(script.wait()?.success(), "`perf script` failed");
    Ok(())
}

/// Name and time of `python 11351.604042: `; names may hold spaces.
fn head_of(line: &str) -> Option<(&str, f64)> {
    let (name, time) = line.trim_end().trim_end_matches(':').rsplit_once(' ')?;
    Some((name.trim(), time.parse().ok()?))
}

/// Whether the hook was at work: its code, or what its code asked of the kernel and the clock.
fn is_inside(frames: &[String]) -> bool {
    let is_kernel = |frame: &&String| frame.contains("([kernel");
    let mut passed = frames.iter().take_while(is_kernel);
    if passed.any(|frame| PASSED_ON.iter().any(|call| frame.contains(call))) {
        return false;
    }
    let mut outside = frames.iter().skip_while(is_kernel);
    let is_errand = |frame: &&String| {
        frame.contains("([vdso])")
            || frame.contains(" syscall+")
            || frame.contains(" syscall (")
            || frame.contains("clock_gettime")
    };
    outside
        .find(|frame| !is_errand(frame))
        .is_some_and(|frame| frame.contains(HOOK_NAME))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(lines: &[&str]) -> Vec<String> {
        lines.iter().map(|&line| line.to_owned()).collect()
    }

    #[test]
    fn time_of_the_program_below_the_hook_is_not_ours() {
        let malloc = [
            "\t98f6 malloc (/lib/libc.so.6)",
            "\t1 malloc (/x/liboutlive_hook.so)",
        ];
        assert!(!is_inside(&frames(&malloc)));
        let unmap = [
            "\tffffffff81 __vm_munmap ([kernel.kallsyms])",
            "\t11 syscall (/lib/libc.so.6)",
            "\t1 munmap (/x/liboutlive_hook.so)",
        ];
        assert!(!is_inside(&frames(&unmap)));
    }

    #[test]
    fn the_hook_its_faults_and_its_errands_are_ours() {
        assert!(is_inside(&frames(&["\t1 free (/x/liboutlive_hook.so)"])));
        let fault = [
            "\tffffffff82 exc_page_fault ([kernel.kallsyms])",
            "\t1 acquired (/x/liboutlive_hook.so)",
        ];
        assert!(is_inside(&frames(&fault)));
        let clock = [
            "\t5 __vdso_clock_gettime ([vdso])",
            "\t7 clock_gettime@@GLIBC_2.17 (/lib/libc.so.6)",
            "\t1 acquired (/x/liboutlive_hook.so)",
        ];
        assert!(is_inside(&frames(&clock)));
        let other = [
            "\t5 __vdso_clock_gettime ([vdso])",
            "\t1 now (/x/libtensorflow.so)",
        ];
        assert!(!is_inside(&frames(&other)));
    }

    #[test]
    fn a_share_is_a_ratio_with_its_interval() {
        let share = Share {
            all: 10_000,
            inside: 100,
        };
        let [ratio, low, high] = share.ratio().unwrap();
        assert!((ratio - 1.0101).abs() < 1e-4, "{ratio}");
        assert!(low > 1.007 && high < 1.013, "{low} {high}");
        assert_eq!(Share::default().ratio(), None);
    }

    #[test]
    fn the_head_of_a_sample_has_name_and_time() {
        assert_eq!(head_of("python 11351.500000: "), Some(("python", 11_351.5)));
        assert_eq!(
            head_of("tf data worker 1.5: "),
            Some(("tf data worker", 1.5))
        );
    }
}
