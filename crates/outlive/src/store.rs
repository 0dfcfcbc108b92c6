//! The folder where runs are kept: `$OUTLIVE_HOME/runs/<id>/` with `run.json` and the black boxes.
//!
//! Finding and reading runs is here, making a new one too; which old runs go is decided in
//! `supervise/prune.rs`.

use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use outlive_diagnose::facts::RunFacts;

use crate::env;
use crate::supervise::clock;

/// File name of the facts about a run.
pub const FACTS_FILE: &str = "run.json";
/// How many runs are named where a name fits several.
const LISTED: usize = 5;
/// Extension of black boxes.
pub const BOX_EXTENSION: &str = "box";

/// All runs that are kept.
#[derive(Clone, Debug)]
pub struct Store {
    directory: PathBuf,
}

/// One run that is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredRun {
    /// Its name, which is also the name of its folder.
    pub id: String,
    /// Its folder.
    pub directory: PathBuf,
}

impl Store {
    /// The store that the environment names. Nothing is made on disk.
    pub fn from_env() -> Result<Self> {
        let Some(home) = env::home() else {
            bail!(
                "No place for runs: neither `{}` nor `HOME` is set",
                env::HOME
            );
        };
        let home = std::path::absolute(&home)
            .with_context(|| format!("Cannot resolve `{}`", home.display()))?;
        Ok(Self {
            directory: home.join("runs"),
        })
    }

    /// All runs, newest first.
    pub fn runs(&self) -> Result<Vec<StoredRun>> {
        let entries = match fs_err::read_dir(&self.directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error.into()),
        };
        let mut runs: Vec<StoredRun> = entries
            .filter_map(Result::ok)
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
            .filter_map(|entry| {
                let id = entry.file_name().into_string().ok()?;
                is_run_name(&id).then(|| StoredRun {
                    id,
                    directory: entry.path(),
                })
            })
            .collect();
        runs.sort_by(|left, right| right.id.cmp(&left.id));
        Ok(runs)
    }

    /// The run a person means: `last`, its name, the start of its name, or the pid of one of its
    /// processes.
    pub fn find(&self, name: &str) -> Result<StoredRun> {
        let runs = self.runs()?;
        if name == "last" {
            let place = self.directory.display();
            // One that has just been made has no facts yet.
            let mut begun = runs
                .into_iter()
                .filter(|run| run.directory.join(FACTS_FILE).exists());
            return begun.next().with_context(|| {
                format!("No runs in `{place}`\nhint: record one with `outlive run -- COMMAND`")
            });
        }
        if let Some(run) = runs.iter().find(|run| run.id == name) {
            return Ok(run.clone());
        }
        // A pid is tried first: a run's name starts with a year, so a short number is a pid
        // unless nothing matches it.
        if let Some(run) = name.parse().ok().and_then(|pid| with_process(&runs, pid)) {
            return Ok(run);
        }
        let matching: Vec<&StoredRun> =
            runs.iter().filter(|run| run.id.starts_with(name)).collect();
        match matching.as_slice() {
            [run] => Ok((*run).clone()),
            [] => bail!("No run `{name}`\nhint: `outlive list` shows the runs that are kept"),
            several => bail!("{}", ambiguous(name, several)),
        }
    }

    /// Makes the folder of a new run, for its owner's eyes only.
    pub fn create(&self) -> Result<StoredRun> {
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true).mode(0o700);
        builder
            .create(&self.directory)
            .with_context(|| self.cannot_make())?;
        // Another run may have begun in the same instant; the next instant is another name.
        for _ in 0..64 {
            let now = clock::realtime();
            let id = format!("{}-{:04x}", utc_name(now / clock::SECOND), suffix(now));
            let directory = self.directory.join(&id);
            match std::fs::DirBuilder::new().mode(0o700).create(&directory) {
                Ok(()) => return Ok(StoredRun { id, directory }),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error).with_context(|| self.cannot_make()),
            }
        }
        bail!("{}: every name is taken", self.cannot_make())
    }

    /// The folder with the folders of the runs.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    fn cannot_make(&self) -> String {
        format!("Cannot make a folder in `{}`", self.directory.display())
    }
}

impl StoredRun {
    /// What the supervisor wrote down.
    pub fn facts(&self) -> Result<RunFacts> {
        let path = self.directory.join(FACTS_FILE);
        let text = fs_err::read(&path)?;
        serde_json::from_slice(&text)
            .with_context(|| format!("`{}` is not what Outlive writes", path.display()))
    }

    /// The black boxes, in the order of their names.
    pub fn boxes(&self) -> Result<Vec<PathBuf>> {
        let mut boxes: Vec<PathBuf> = fs_err::read_dir(&self.directory)?
            .filter_map(Result::ok)
            .map(|entry| entry.path())
            .filter(|path| {
                path.extension()
                    .is_some_and(|extension| extension == BOX_EXTENSION)
            })
            .collect();
        boxes.sort();
        Ok(boxes)
    }
}

/// `20261115` fits 3 runs: `…`, `…`, `…`.
fn ambiguous(name: &str, runs: &[&StoredRun]) -> String {
    let mut ids: Vec<String> = runs
        .iter()
        .take(LISTED)
        .map(|run| format!("`{}`", run.id))
        .collect();
    if runs.len() > LISTED {
        ids.push(format!("and {} more", runs.len() - LISTED));
    }
    format!(
        "`{name}` fits {} runs: {}\nhint: give more of the name; `last` is the newest",
        runs.len(),
        ids.join(", ")
    )
}

/// `20261115-091530-a1b2`; other folders are none of Outlive's business.
fn is_run_name(name: &str) -> bool {
    let parts: Vec<&str> = name.split('-').collect();
    let [day, time, suffix] = parts.as_slice() else {
        return false;
    };
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    (day.len(), time.len(), suffix.len()) == (8, 6, 4) && digits(day) && digits(time)
}

/// The newest run with a process of this id.
fn with_process(runs: &[StoredRun], pid: u32) -> Option<StoredRun> {
    let has_process = |facts: &RunFacts| {
        facts.root.pid == pid || facts.processes.iter().any(|process| process.id.pid == pid)
    };
    runs.iter()
        .find(|run| run.facts().is_ok_and(|facts| has_process(&facts)))
        .cloned()
}

/// The fraction of the second in 65,536ths: runs of one second sort by time too.
const fn suffix(realtime: u64) -> u16 {
    (((realtime % clock::SECOND) << 16) / clock::SECOND) as u16
}

/// `20261115-091530` for seconds since 1970, in UTC.
fn utc_name(seconds: u64) -> String {
    let (year, month, day) = civil_date(seconds / 86_400);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{year:04}{month:02}{day:02}-{hour:02}{minute:02}{second:02}")
}

/// Year, month and day of a number of days since 1970-01-01. Years are counted from March, so
/// that the leap day is the last one of a year.
const fn civil_date(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468; // since 0000-03-01
    let era = days / 146_097;
    let day_of_era = days % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    let year = year_of_era + era * 400 + if month <= 2 { 1 } else { 0 };
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_names_are_the_utc_time() {
        assert_eq!(utc_name(0), "19700101-000000");
        assert_eq!(utc_name(951_782_399), "20000228-235959");
        assert_eq!(utc_name(951_782_400), "20000229-000000");
        assert_eq!(utc_name(1_794_734_130), "20261115-091530");
    }

    #[test]
    fn names_sort_by_time_within_a_second() {
        assert_eq!(suffix(7 * clock::SECOND), 0);
        assert_eq!(suffix(7 * clock::SECOND + clock::SECOND / 2), 0x8000);
        assert_eq!(suffix(8 * clock::SECOND - 1), 0xffff);
    }

    fn store_with(ids: &[&str]) -> (tempfile::TempDir, Store) {
        let home = tempfile::tempdir().unwrap();
        let store = Store {
            directory: home.path().join("runs"),
        };
        for (index, id) in ids.iter().enumerate() {
            let directory = store.directory.join(id);
            fs_err::create_dir_all(&directory).unwrap();
            let mut facts = RunFacts {
                id: (*id).to_owned(),
                ..RunFacts::default()
            };
            facts.root.pid = 100 + index as u32;
            fs_err::write(
                directory.join(FACTS_FILE),
                serde_json::to_vec(&facts).unwrap(),
            )
            .unwrap();
        }
        (home, store)
    }

    #[test]
    fn runs_are_found_by_last_name_prefix_and_pid() {
        let (_home, store) = store_with(&[
            "20260101-000000-aaaa",
            "20260102-000000-bbbb",
            "20260102-000001-cccc",
        ]);
        let found = |name| store.find(name).unwrap().id;
        assert_eq!(found("last"), "20260102-000001-cccc");
        assert_eq!(found("20260102-000000-bbbb"), "20260102-000000-bbbb");
        assert_eq!(found("20260101"), "20260101-000000-aaaa");
        assert_eq!(found("101"), "20260102-000000-bbbb");
    }

    #[test]
    fn a_name_that_fits_several_runs_or_none_is_an_error_with_a_hint() {
        let (_home, store) = store_with(&["20260102-000000-bbbb", "20260102-000001-cccc"]);
        let message = |name| store.find(name).unwrap_err().to_string();
        assert_eq!(
            message("20260102"),
            "`20260102` fits 2 runs: `20260102-000001-cccc`, `20260102-000000-bbbb`\n\
             hint: give more of the name; `last` is the newest"
        );
        assert!(
            message("1999").contains("hint: `outlive list`"),
            "{}",
            message("1999")
        );
    }

    #[test]
    fn folders_that_are_no_runs_are_left_alone() {
        let (_home, store) = store_with(&["20260102-000000-bbbb", "not a run", "zzz-notes"]);
        let unborn = store.directory.join("20260103-000000-cccc");
        fs_err::create_dir(unborn).unwrap();
        assert_eq!(store.find("last").unwrap().id, "20260102-000000-bbbb");
        let ids: Vec<String> = store.runs().unwrap().into_iter().map(|it| it.id).collect();
        assert_eq!(ids, ["20260103-000000-cccc", "20260102-000000-bbbb"]);
    }

    #[test]
    fn an_empty_store_says_how_to_fill_it() {
        let (_home, store) = store_with(&[]);
        assert!(
            store
                .find("last")
                .unwrap_err()
                .to_string()
                .contains("outlive run")
        );
    }
}
