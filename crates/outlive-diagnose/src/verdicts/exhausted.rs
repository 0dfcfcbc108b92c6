//! Things other than memory that ran out: shared memory, threads, descriptors, disk space.

use crate::case::Case;
use crate::facts::FilesystemFacts;
use crate::signal;
use crate::size::Size;
use crate::verdict::{Confidence, Verdict, VerdictId};
use crate::words::Word;

/// A file system with less than this left is full for anything that matters.
const FULL: u64 = 1 << 20;

/// `/dev/shm`.
pub(super) fn shared_memory(case: &Case<'_>) -> Option<Verdict> {
    let told = case.tree_says(&["insufficient shared memory (shm)", "out of shared memory"]);
    let no_space = case
        .raised(&["[Errno 28]", "No space left on device"])
        .filter(|word| word.line.contains("/dev/shm") || word.line.contains("torch_"));
    let space = case.run.shared_memory.as_ref();
    let full = space.filter(|space| space.total > 0 && lowest(space) < FULL.max(space.total / 200));
    let confidence = match (case.died_of(signal::BUS), full, told.or(no_space)) {
        (true, Some(_), _) | (_, Some(_), Some(_)) => Confidence::Proved,
        (true, None, Some(_)) => Confidence::Likely,
        (_, _, Some(_)) if no_space.is_some() => Confidence::Proved,
        _ => return None,
    };
    let size = space.map_or_else(String::new, |space| format!(" ({})", Size(space.total)));
    Some(
        Verdict::new(
            VerdictId::SharedMemoryFull,
            confidence,
            format!("/dev/shm{size} was full when {} wrote to it", case.who()),
        )
        .because(case.status_line())
        .because_all(space.map(|space| {
            format!(
                "/dev/shm: {} free at the lowest, of {}",
                Size(lowest(space)),
                Size(space.total)
            )
        }))
        .because_all(told.or(no_space).map(Word::quote))
        .advise(
            "Make it larger: `docker run --shm-size`, `--ipc=host`, or on Kubernetes an emptyDir \
                 with `medium: Memory`",
        )
        .advise("Or keep fewer batches in flight: `num_workers`, `prefetch_factor`")
        .advise("It counts against the container's memory limit too"),
    )
}

fn lowest(space: &FilesystemFacts) -> u64 {
    space.free_lowest.min(space.free)
}

/// Threads or processes.
pub(super) fn threads(case: &Case<'_>) -> Option<Verdict> {
    let marks = [
        "can't start new thread",
        "pthread_create failed",
        "libgomp: Thread creation failed",
        "[Errno 11] Resource temporarily unavailable",
    ];
    let word = match case.exit_code() {
        Some(_) => case.raised(&marks),
        None if case.died_of(signal::SEGV) || case.died_of(signal::ABRT) => case.says(&marks),
        None => None,
    }?;
    let limited = case
        .run
        .cgroups
        .iter()
        .find(|cgroup| cgroup.pids_max.is_some_and(|change| change.rise() > 0));
    let counter = limited.and_then(|cgroup| {
        let change = cgroup.pids_max?;
        let limit = cgroup
            .pids_limit
            .map_or_else(String::new, |limit| format!(", limit {limit}"));
        Some(format!(
            "{}: pids.events max {} -> {}{limit}",
            crate::memory::describe(cgroup),
            change.before,
            change.after
        ))
    });
    let rejected = case.log.forks_rejected.first();
    let sure = case.exit_code().is_some() || counter.is_some() || rejected.is_some();
    Some(
        Verdict::new(
            VerdictId::ThreadsExhausted,
            if sure {
                Confidence::Proved
            } else {
                Confidence::Likely
            },
            format!("{} could not start another thread or process", case.who()),
        )
        .because(case.status_line())
        .because(word.quote())
        .because_all(counter)
        .because_all(rejected.map(|line| format!("kernel log: {line}")))
        .because_all(
            case.victim
                .limits
                .processes
                .0
                .map(|limit| format!("RLIMIT_NPROC: {limit}")),
        )
        .advise("Start fewer: `OPENBLAS_NUM_THREADS`, `OMP_NUM_THREADS`, fewer workers")
        .advise("Or raise the pids limit of the cgroup (`docker run --pids-limit`) or `ulimit -u`"),
    )
}

/// File descriptors.
pub(super) fn descriptors(case: &Case<'_>) -> Option<Verdict> {
    let word = case.raised(&[
        "[Errno 24]",
        "Too many open files",
        "received 0 items of ancdata",
    ])?;
    let limit = case.victim.limits.open_files.0;
    Some(
        Verdict::new(
            VerdictId::DescriptorsExhausted,
            case.sureness(),
            format!("{} had no file descriptor left", case.who()),
        )
        .because(case.status_line())
        .because(word.quote())
        .because_all(limit.map(|limit| format!("RLIMIT_NOFILE: {limit}")))
        .advise("Close what is opened in the loop (`with`), or raise `ulimit -n`")
        .advise(
            "For tensors sent between processes: \
                 `torch.multiprocessing.set_sharing_strategy('file_system')`",
        ),
    )
}

/// Disk space.
pub(super) fn disk(case: &Case<'_>) -> Option<Verdict> {
    let word = case.raised(&["[Errno 28]", "No space left on device", "[Errno 122]"])?;
    Some(
        Verdict::new(
            VerdictId::DiskFull,
            case.sureness(),
            format!(
                "{} could not write: the file system or the quota is full",
                case.who()
            ),
        )
        .because(case.status_line())
        .because(word.quote())
        .advise("Free space there (`df -h`, `df -i`), or write elsewhere; keep fewer checkpoints"),
    )
}
