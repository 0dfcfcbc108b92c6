//! Figures of a tool against the bare run of the same round.

use super::measurement::{Cost, Run};
use super::statistics::Estimate;
use super::tool::Tool;

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Figure {
    /// Ratio of wall time, whole process.
    Wall,
    /// Ratio of processor time, whole tree.
    Cpu,
    /// Ratio of wall time, the loop alone.
    LoopWall,
    /// Ratio of processor time, the loop alone.
    LoopCpu,
    /// Milliseconds of wall time on top.
    AddedWallMilliseconds,
    /// Milliseconds of processor time on top.
    AddedCpuMilliseconds,
}

impl Figure {
    fn of(self, cost: &Cost, bare: &Cost) -> Option<f64> {
        match self {
            Self::Wall => Some(cost.wall_seconds / bare.wall_seconds),
            Self::Cpu => Some(cost.cpu_seconds() / bare.cpu_seconds()),
            Self::LoopWall => Some(cost.body_seconds? / bare.body_seconds?),
            Self::LoopCpu => Some(cost.body_cpu_seconds? / bare.body_cpu_seconds?),
            Self::AddedWallMilliseconds => Some((cost.wall_seconds - bare.wall_seconds) * 1e3),
            Self::AddedCpuMilliseconds => Some((cost.cpu_seconds() - bare.cpu_seconds()) * 1e3),
        }
    }
}

/// The figure over all timed rounds, each run paired with the bare run of its own round.
pub(crate) fn estimate(
    runs: &[Run],
    workload: &str,
    tool: Tool,
    figure: Figure,
) -> Option<Estimate> {
    let values: Vec<f64> = timed(runs, workload, tool)
        .filter_map(|run| {
            let bare = timed(runs, workload, Tool::Bare).find(|bare| bare.round == run.round)?;
            figure.of(&run.cost, &bare.cost)
        })
        .collect();
    Estimate::of(&values)
}

/// Runs that were timed and not watched.
pub(crate) fn timed<'a>(
    runs: &'a [Run],
    workload: &'a str,
    tool: Tool,
) -> impl Iterator<Item = &'a Run> {
    runs.iter().filter(move |run| {
        run.workload == workload && run.tool == tool && run.cost.peak_anonymous_bytes.is_none()
    })
}

/// The run that was watched for memory.
pub(crate) fn watched<'a>(runs: &'a [Run], workload: &str, tool: Tool) -> Option<&'a Run> {
    runs.iter().find(|run| {
        run.workload == workload && run.tool == tool && run.cost.peak_anonymous_bytes.is_some()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(tool: &str, round: usize, cpu: f64, watched: bool) -> Run {
        let peak = if watched { "1" } else { "null" };
        serde_json::from_str(&format!(
            r#"{{"workload": "churn", "tool": "{tool}", "round": {round}, "wall_seconds": 1.0,
                "user_seconds": {cpu}, "system_seconds": 0.0, "peak_anonymous_bytes": {peak}}}"#
        ))
        .unwrap()
    }

    #[test]
    fn a_run_is_compared_with_the_bare_run_of_its_own_round() {
        // The machine became twice as slow in round 2; the ratio did not change.
        let runs = [
            run("bare", 1, 1.0, false),
            run("outlive", 1, 1.5, false),
            run("outlive", 2, 3.0, false),
            run("bare", 2, 2.0, false),
        ];
        let estimate = estimate(&runs, "churn", Tool::Outlive, Figure::Cpu).unwrap();
        assert_eq!(
            (estimate.median, estimate.low, estimate.high),
            (1.5, 1.5, 1.5)
        );
    }

    #[test]
    fn a_watched_run_is_not_timed() {
        let runs = [run("bare", 0, 1.0, true), run("memray", 0, 2.0, true)];
        assert_eq!(estimate(&runs, "churn", Tool::Memray, Figure::Cpu), None);
        assert!(watched(&runs, "churn", Tool::Memray).is_some());
    }
}
