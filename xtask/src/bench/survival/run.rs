//! One run of one scenario under one tool, as it is kept.

use serde::{Deserialize, Serialize};

use super::group::budget;
use super::guardian::Guardian;
use super::outing::{End, Outing};

/// A run and what came of it. Nothing in it names a path.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Run {
    /// Name of the scenario.
    pub(super) scenario: String,
    /// What was wrapped around it.
    pub(super) tool: Guardian,
    /// Limit of the cgroup in bytes.
    pub(super) limit: u64,
    /// The round.
    pub(super) round: usize,
    /// Whether it went on to finish a small job, and no process of it was killed.
    pub(super) survived: bool,
    /// Type of the exception that it caught.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) caught: Option<String>,
    /// How it ended.
    pub(super) end: String,
    /// Processes that the kernel killed for memory.
    pub(super) kills: u64,
    /// The most memory of the group, reclaimable pages of files included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) peak_bytes: Option<u64>,
    /// The most anonymous and shared memory of the group that a look found.
    pub(super) anonymous_bytes: u64,
    /// From start to end.
    pub(super) seconds: f64,
    /// What the tool says about the cause; asked in the first round.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) answer: Option<Answer>,
}

/// What a tool says about the cause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Answer {
    /// Whether a guilty line is among those named.
    pub(super) right: bool,
    /// The lines of the scenario that it names.
    pub(super) lines: Vec<u64>,
    /// Outlive's verdict.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) verdict: Option<String>,
}

impl Run {
    /// What came of an outing.
    pub(super) fn of(
        scenario: &str,
        tool: Guardian,
        limit: u64,
        round: usize,
        outing: &Outing,
    ) -> Self {
        let lines = || outing.output.lines();
        let caught = lines().find_map(|line| line.strip_prefix("caught "));
        let caught = caught.map(|told| told.split(':').next().unwrap_or(told).to_owned());
        Self {
            scenario: scenario.to_owned(),
            tool,
            limit,
            round,
            survived: outing.end == End::Exit(0)
                && outing.kills == 0
                && lines().any(|line| line == "survived"),
            caught,
            end: outing.end.words(),
            kills: outing.kills,
            peak_bytes: outing.peak_bytes,
            anonymous_bytes: outing.anonymous_bytes,
            seconds: outing.seconds,
            answer: None,
        }
    }

    /// How far the group's peak was over the budget, in percent of it; 0 where it was below. The
    /// pages of files that the kernel would have taken back are in it, so it is an upper bound.
    pub(super) fn overshoot(&self) -> Option<f64> {
        self.peak_bytes.map(|peak| over(peak, self.limit))
    }

    /// The same of anonymous and shared memory alone, as far as looks found it.
    pub(super) fn anonymous_overshoot(&self) -> f64 {
        over(self.anonymous_bytes, self.limit)
    }
}

fn over(bytes: u64, limit: u64) -> f64 {
    bytes.saturating_sub(budget(limit)) as f64 / budget(limit) as f64 * 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outing(end: End, kills: u64) -> Outing {
        Outing {
            end,
            output: "caught MemoryError: no\nsurvived\n".to_owned(),
            complaint: String::new(),
            kills,
            peak_bytes: Some(1 << 30),
            anonymous_bytes: 1 << 20,
            seconds: 1.0,
        }
    }

    #[test]
    fn a_run_whose_worker_was_killed_did_not_survive() {
        let survived =
            |end, kills| Run::of("a", Guardian::Bare, 1 << 30, 0, &outing(end, kills)).survived;
        assert!(survived(End::Exit(0), 0));
        assert!(!survived(End::Exit(0), 1));
        assert!(!survived(End::Signal(9), 0));
    }

    #[test]
    fn the_overshoot_is_a_part_of_the_budget() {
        let run = Run::of("a", Guardian::Outlive, 1 << 30, 0, &outing(End::Exit(0), 0));
        assert_eq!(run.caught.as_deref(), Some("MemoryError"));
        // All of the limit is one part in 103 over the budget.
        assert!((run.overshoot().unwrap() - 100.0 / 103.0).abs() < 1e-6);
        assert!(run.anonymous_overshoot() < 1e-6);
    }
}
