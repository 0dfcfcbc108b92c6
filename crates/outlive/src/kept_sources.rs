//! The user's source files as they were when a run ended badly, kept in the run's folder: people
//! edit the line that failed before they ask why it did.
//!
//! Only files that recorded frames are in, and only the user's own. Where nothing was kept, as
//! when Outlive was killed too, `sources.rs` reads what is on disk.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use outlive_diagnose::BlackBoxes;
use outlive_diagnose::facts::{EndStatus, ProcessFacts, RunFacts};
use outlive_diagnose::place::is_user_file;
use outlive_diagnose::signal;
use serde::{Deserialize, Serialize};

use crate::boxes::Shelf;

const FOLDER: &str = "sources";
const INDEX_FILE: &str = "index.json";
/// Boxes that are asked for names of files: of a large tree the processes have the same ones.
const BOXES: usize = 8;
/// Files that are kept.
const FILES: usize = 64;
/// No list of so few files is larger.
const LARGEST_INDEX: u64 = 1 << 20;
/// Bytes of all of them together.
const BYTES: u64 = 4 << 20;

/// One file of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KeptSource {
    /// The whole path.
    pub(crate) path: PathBuf,
    /// Its name in the folder.
    stored: String,
    /// When it was last changed, `CLOCK_REALTIME` nanoseconds.
    pub(crate) modified: u64,
}

/// What was kept of a run.
#[derive(Debug, Default)]
pub(crate) struct KeptSources {
    folder: PathBuf,
    files: HashMap<PathBuf, KeptSource>,
}

impl KeptSources {
    /// Reads the list in a run's folder. What cannot be read was not kept.
    pub(crate) fn of(directory: &Path) -> Self {
        let folder = directory.join(FOLDER);
        let index = read_file(&folder.join(INDEX_FILE), LARGEST_INDEX);
        let index = index.map(|(bytes, _)| bytes).unwrap_or_default();
        let files: Vec<KeptSource> = serde_json::from_slice(&index).unwrap_or_default();
        // The list may have been written by anybody: names lead nowhere else.
        let inside = files.into_iter().filter(|it| !it.stored.contains('/'));
        Self {
            folder,
            files: inside.map(|it| (it.path.clone(), it)).collect(),
        }
    }

    /// The bytes of a file and when they were written, `CLOCK_REALTIME` nanoseconds.
    pub(crate) fn read(&self, path: &Path) -> Option<(Vec<u8>, u64)> {
        let kept = self.files.get(path)?;
        let (bytes, _) = read_file(&self.folder.join(&kept.stored), BYTES).ok()?;
        Some((bytes, kept.modified))
    }
}

/// Keeps the files of a run that ended badly. What cannot be kept is left out.
pub(crate) fn keep(directory: &Path, facts: &RunFacts) {
    if ended_badly(facts) {
        let _ = copy(directory, &paths(directory, facts));
    }
}

/// A plain file with at most so many bytes, and when it was last changed.
pub(crate) fn read_file(path: &Path, most: u64) -> io::Result<(Vec<u8>, u64)> {
    // Looked at first: opening a pipe would wait for whoever writes to it.
    let metadata = std::fs::metadata(path)?;
    if !metadata.is_file() || metadata.len() > most {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(most).read_to_end(&mut bytes)?;
    let nanoseconds =
        i128::from(metadata.mtime()) * 1_000_000_000 + i128::from(metadata.mtime_nsec());
    Ok((bytes, u64::try_from(nanoseconds).unwrap_or(0)))
}

fn ended_badly(facts: &RunFacts) -> bool {
    let is_root = |process: &ProcessFacts| process.id == facts.root;
    facts.processes.iter().any(|process| match process.status {
        Some(EndStatus::Exited(0) | EndStatus::Signaled(signal::INT)) | None => false,
        Some(status) => is_root(process) || signal::is_violent(status),
    })
}

/// The user's files that frames of the processes are in.
fn paths(directory: &Path, facts: &RunFacts) -> Vec<PathBuf> {
    let mut processes: Vec<&ProcessFacts> = facts.processes.iter().collect();
    processes.retain(|process| process.black_box.is_some());
    processes.sort_by_key(|process| {
        let is_dead = process.status.is_some_and(signal::is_violent);
        let size = std::cmp::Reverse(process.peak_resident);
        (process.id != facts.root, !is_dead, size)
    });
    let mut paths = Vec::new();
    for process in processes.into_iter().take(BOXES) {
        let name = process.black_box.iter();
        let shelf = Shelf::new(name.map(|name| directory.join(name)).collect());
        let Some(recording) = shelf.open(process.id) else {
            continue;
        };
        let home = recording.identity().cwd.into_owned();
        let files = recording.files().filter(|file| is_source(file));
        for path in files.map(|file| Path::new(&home).join(&*file)) {
            if !paths.contains(&path) {
                paths.push(path);
            }
        }
    }
    paths
}

/// Whether a name is that of a file the user wrote: `<stdin>` and its like are names alone.
fn is_source(file: &str) -> bool {
    is_user_file(file) && !file.starts_with('<')
}

fn copy(directory: &Path, paths: &[PathBuf]) -> io::Result<()> {
    let folder = directory.join(FOLDER);
    let mut files: Vec<KeptSource> = Vec::new();
    let mut room = BYTES;
    for path in paths {
        if files.len() == FILES {
            break;
        }
        let Ok((bytes, modified)) = read_file(path, room) else {
            continue;
        };
        if files.is_empty() {
            std::fs::DirBuilder::new().mode(0o700).create(&folder)?;
        }
        let stored = format!("{}.py", files.len());
        std::fs::write(folder.join(&stored), &bytes)?;
        room = room.saturating_sub(bytes.len() as u64);
        files.push(KeptSource {
            path: path.clone(),
            stored,
            modified,
        });
    }
    if files.is_empty() {
        return Ok(());
    }
    // Last: a list without its files would hide those on disk.
    std::fs::write(folder.join(INDEX_FILE), serde_json::to_vec(&files)?)
}

#[cfg(test)]
mod tests {
    use super::{FILES, KeptSources, copy, ended_badly, is_source};
    use outlive_diagnose::facts::{EndStatus, ProcessFacts, ProcessId, RunFacts};

    #[test]
    fn what_was_kept_outlives_an_edit_and_a_removal() {
        let run = tempfile::tempdir().unwrap();
        let path = run.path().join("train.py");
        fs_err::write(&path, "kept = load()\n").unwrap();
        let missing = run.path().join("gone.py");
        copy(run.path(), &[missing.clone(), path.clone()]).unwrap();
        fs_err::write(&path, "kept = None\n").unwrap();
        let kept = KeptSources::of(run.path());
        let (bytes, modified) = kept.read(&path).unwrap();
        assert_eq!(bytes, b"kept = load()\n");
        assert!(modified > 0);
        fs_err::remove_file(&path).unwrap();
        assert!(kept.read(&path).is_some());
        assert!(kept.read(&missing).is_none());
    }

    #[test]
    fn many_files_and_large_ones_are_left_out() {
        let run = tempfile::tempdir().unwrap();
        let large = run.path().join("large.py");
        let file = fs_err::File::create(&large).unwrap();
        file.set_len(5 << 20).unwrap();
        let mut paths = vec![large.clone()];
        for number in 0..=FILES {
            let path = run.path().join(format!("{number}.py"));
            fs_err::write(&path, "x = 1\n").unwrap();
            paths.push(path);
        }
        copy(run.path(), &paths).unwrap();
        let kept = KeptSources::of(run.path());
        assert!(kept.read(&large).is_none());
        assert!(kept.read(&paths[FILES]).is_some());
        assert!(kept.read(&paths[FILES + 1]).is_none(), "one too many");
    }

    #[test]
    fn names_in_a_list_lead_nowhere_else() {
        let run = tempfile::tempdir().unwrap();
        let folder = run.path().join("sources");
        fs_err::create_dir(&folder).unwrap();
        fs_err::write(run.path().join("secret"), "x").unwrap();
        let index = r#"[{"path": "/a.py", "stored": "../secret", "modified": 1}]"#;
        fs_err::write(folder.join("index.json"), index).unwrap();
        assert!(KeptSources::of(run.path()).read("/a.py".as_ref()).is_none());
    }

    #[test]
    fn only_bad_ends_cost_anything() {
        let ended = |status, child| {
            let process = |pid, status| ProcessFacts {
                id: ProcessId {
                    pid,
                    start_ticks: 1,
                },
                status,
                ..ProcessFacts::default()
            };
            let processes = vec![process(1, status), process(2, child)];
            ended_badly(&RunFacts {
                root: processes[0].id,
                processes,
                ..RunFacts::default()
            })
        };
        let exited = |code| Some(EndStatus::Exited(code));
        let signaled = |signal| Some(EndStatus::Signaled(signal));
        assert!(!ended(exited(0), None));
        assert!(!ended(signaled(2), exited(0)));
        assert!(!ended(exited(0), exited(1)), "the parent dealt with it");
        assert!(!ended(exited(0), signaled(15)));
        assert!(ended(exited(1), None));
        assert!(ended(signaled(9), None));
        assert!(ended(exited(0), signaled(9)));
    }

    #[test]
    fn names_that_are_no_files_are_not_looked_for() {
        assert!(is_source("/home/a/train.py"));
        assert!(!is_source("<stdin>"));
        assert!(!is_source("/v/lib/python3.12/site-packages/torch/nn.py"));
    }
}
