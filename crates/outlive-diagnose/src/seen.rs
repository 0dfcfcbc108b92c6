//! One process as it was seen: by the supervisor, and in its own box.

use outlive_record::read::Recording;
use outlive_record::timeline::Sample;

use crate::facts::{ProcessFacts, RunFacts};
use crate::kernel_log::KernelLog;
use crate::memory::Memory;
use crate::oom;
use crate::tree::Tree;

/// A process, its box and what both say of its memory.
#[derive(Debug)]
pub(crate) struct Seen<'a> {
    pub(crate) process: &'a ProcessFacts,
    pub(crate) recording: Option<&'a Recording<'a>>,
    pub(crate) samples: Vec<Sample>,
    pub(crate) memory: Memory,
}

impl<'a> Seen<'a> {
    pub(crate) fn new(
        run: &RunFacts,
        log: &KernelLog,
        tree: &Tree,
        process: &'a ProcessFacts,
        recording: Option<&'a Recording<'a>>,
    ) -> Self {
        let samples = recording.map(samples_alive).unwrap_or_default();
        let kill = oom::kill_of(run, log, tree, process);
        let memory = Memory::of(run, process, recording, &samples, kill);
        Self {
            process,
            recording,
            samples,
            memory,
        }
    }
}

/// The time line without looks at a process that has just died, which show nothing.
fn samples_alive(recording: &Recording<'_>) -> Vec<Sample> {
    let mut samples = recording.samples();
    while samples.last().is_some_and(|sample| sample.resident == 0) {
        samples.pop();
    }
    samples
}
