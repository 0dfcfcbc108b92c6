//! All files, checked on all cores.

use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use outlive_check::STACK_SIZE;

use super::configuration::ConfigurationError;
use super::found::Found;
use super::gap::Gap;
use super::one_file::{Checked, Deed, check_file};
use super::resolver::Resolver;
use super::walk::Target;

/// What is to be said of all files together.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The findings, in the order of files and text.
    pub findings: Vec<Found>,
    /// What could not be checked, in the same order.
    pub gaps: Vec<Gap>,
    /// How many files were looked at.
    pub files: usize,
    /// Fixes that were made, or would be.
    pub fixed: usize,
    /// In how many files.
    pub fixed_files: usize,
    /// What fixes would change.
    pub differences: Vec<String>,
}

impl Outcome {
    /// Adds what is to be said of one more file.
    pub fn add(&mut self, checked: Checked) {
        self.files += 1;
        self.fixed += checked.fixed;
        self.fixed_files += usize::from(checked.fixed > 0);
        self.findings.extend(checked.findings);
        self.gaps.extend(checked.gaps);
        self.differences.extend(checked.difference);
    }

    /// Whether something that was asked for could not be done.
    pub fn has_failed(&self) -> bool {
        self.gaps.iter().any(|gap| gap.kind.is_failure())
    }
}

/// How many threads are worth it.
pub fn threads() -> usize {
    thread::available_parallelism().map_or(2, NonZero::get)
}

/// Checks files; the answers have the order of the files.
pub fn check_files(
    targets: &[Target],
    resolver: &Resolver,
    deed: Deed,
) -> Result<Vec<Checked>, ConfigurationError> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(target) = targets.get(index) else {
                return Ok(done);
            };
            let scope = resolver.of_file(&target.absolute)?;
            done.push((index, check_file(target, &scope, deed)));
        }
    };
    let mut all = Vec::with_capacity(targets.len());
    for part in on_all_cores(targets.len(), &work) {
        all.extend(part?);
    }
    all.sort_unstable_by_key(|(index, _)| *index);
    Ok(all.into_iter().map(|(_, checked)| checked).collect())
}

/// Runs one piece of work in several threads with deep stacks, and gives what each came to.
fn on_all_cores<T: Send>(pieces: usize, work: &(impl Fn() -> T + Sync)) -> Vec<T> {
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads().min(pieces))
            .filter_map(|_| {
                let worker = thread::Builder::new().stack_size(STACK_SIZE);
                worker.spawn_scoped(scope, work).ok()
            })
            .collect();
        // Where no thread can be had, there is still this one.
        if workers.is_empty() {
            return vec![work()];
        }
        workers
            .into_iter()
            .map(|worker| worker.join().unwrap_or_else(|panic| resume_unwind(panic)))
            .collect()
    })
}
