//! The threads that check. A document waits at most once, with its latest text; while one large
//! document is checked, the others go on in another thread.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result};
use outlive_check::{STACK_SIZE, Source, SourceError};

use super::checked::{Checked, Part};
use crate::check::Resolver;

/// How many documents are checked at once.
const THREADS: usize = 2;

/// A document to check.
#[derive(Clone, Debug)]
pub(super) struct Job {
    /// Its URI.
    pub(super) document: String,
    /// Which state of it.
    pub(super) revision: u64,
    /// Its file, if it is one.
    pub(super) path: Option<PathBuf>,
    /// The editor's folder.
    pub(super) root: PathBuf,
    /// Whether its parts are cells.
    pub(super) is_notebook: bool,
    /// Its texts.
    pub(super) parts: Vec<Part>,
    /// What is wanted of it.
    pub(super) resolver: Arc<Resolver>,
    /// Not before.
    pub(super) due: Instant,
}

#[derive(Debug, Default)]
struct Queue {
    waiting: Vec<Job>,
    /// The documents that are being checked.
    running: BTreeSet<String>,
}

#[derive(Debug, Default)]
struct Shared {
    queue: Mutex<Queue>,
    changed: Condvar,
}

/// The threads, from outside.
#[derive(Debug)]
pub(super) struct Checker {
    shared: Arc<Shared>,
}

impl Checker {
    /// Starts the threads; what they find goes to `done`.
    pub(super) fn start(done: impl Fn(Checked) + Clone + Send + 'static) -> Result<Self> {
        let shared = Arc::new(Shared::default());
        for _ in 0..THREADS {
            let shared = Arc::clone(&shared);
            let done = done.clone();
            thread::Builder::new()
                .name("check".to_owned())
                .stack_size(STACK_SIZE)
                .spawn(move || work(&shared, &done))
                .context("Cannot start a thread")?;
        }
        Ok(Self { shared })
    }

    /// Has a document checked, instead of an earlier state of it that still waits.
    pub(super) fn check(&self, job: Job) {
        let mut queue = self.shared.lock();
        queue.waiting.retain(|other| other.document != job.document);
        queue.waiting.push(job);
        drop(queue);
        self.shared.changed.notify_all();
    }
}

impl Shared {
    /// A thread that panicked left the queue as it was between two statements; all of them leave
    /// it whole.
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the next job.
    fn next(&self) -> Job {
        let mut queue = self.lock();
        loop {
            let now = Instant::now();
            let next = queue.next();
            queue = match next {
                Some(index) if queue.waiting[index].due <= now => {
                    let job = queue.waiting.remove(index);
                    queue.running.insert(job.document.clone());
                    return job;
                }
                Some(index) => {
                    let pause = queue.waiting[index].due - now;
                    let waited = self.changed.wait_timeout(queue, pause);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
                None => {
                    let waited = self.changed.wait(queue);
                    waited.unwrap_or_else(PoisonError::into_inner)
                }
            };
        }
    }
}

impl Queue {
    /// The job that is due first, of a document that no thread has in hand.
    fn next(&self) -> Option<usize> {
        let free = self.waiting.iter().enumerate();
        free.filter(|(_, job)| !self.running.contains(&job.document))
            .min_by_key(|(_, job)| job.due)
            .map(|(index, _)| index)
    }
}

fn work(shared: &Shared, done: &impl Fn(Checked)) {
    loop {
        let job = shared.next();
        let document = job.document.clone();
        let started = Instant::now();
        let mut checked = check(job);
        checked.took = started.elapsed();
        shared.lock().running.remove(&document);
        shared.changed.notify_all();
        done(checked);
    }
}

fn check(job: Job) -> Checked {
    // A document without a file is one that will be in the editor's folder.
    let path = job.path.clone();
    let path = path.unwrap_or_else(|| job.root.join("untitled"));
    let (scope, mut trouble) = match job.resolver.of_file(&path) {
        Ok(scope) => (scope, None),
        Err(error) => {
            let scope = job.resolver.without_configuration();
            (scope, Some(error.to_string()))
        }
    };
    let is_wanted = !scope.excludes_below(&job.root, &path);
    let source = is_wanted.then(|| source(&job, &path));
    let mut checked = Checked::new(job.document, job.revision, job.parts);
    match source {
        Some(Ok(source)) => {
            let report = scope.check(&source, &path);
            checked = checked.with_report(&source, report);
        }
        Some(Err(error)) => trouble = Some(format!("`{}`: {error}", path.display())),
        None => {}
    }
    checked.trouble = trouble;
    checked
}

/// The text, unless there is too much of it.
fn source(job: &Job, path: &Path) -> Result<Source, SourceError> {
    let name = path.to_string_lossy();
    if job.is_notebook {
        let cells = job.parts.iter();
        let cells: Vec<(u32, &str)> = cells
            .filter_map(|part| Some((part.cell?, part.content.as_str())))
            .collect();
        return Source::cells_of(&name, &cells);
    }
    let text = job.parts.first().map(|part| part.content.as_str());
    Source::script(&name, text.unwrap_or_default())
}
