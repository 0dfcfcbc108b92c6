//! The ledger of a run that goes on, read from outside: what the tree uses and may use. The bytes
//! are copied, since a file that another process cuts short must not fault here; any bytes give
//! some answer.

use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use outlive_record::ledger::{FILE_NAME, Ledger, MAX_FOLDER, SIZE, Source};
use outlive_record::region::Region;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// One copy for the whole process: a region stays for good.
static COPY: OnceLock<Mutex<Region>> = OnceLock::new();

/// Reads the ledger in a run's folder; `None` where there is none, or nobody has measured yet.
#[pyfunction]
pub(crate) fn ledger(python: Python<'_>, path: PathBuf) -> PyResult<Option<Bound<'_, PyDict>>> {
    let mut file = path;
    file.push(FILE_NAME);
    let Some(bytes) = bytes(&file) else {
        return Ok(None);
    };
    let copy = COPY.get_or_init(|| Mutex::new(Region::leaked(SIZE)));
    let region = copy.lock().unwrap_or_else(PoisonError::into_inner);
    region.put(0, &bytes);
    let Some(ledger) = Ledger::open(*region) else {
        return Ok(None);
    };
    let measured = ledger.measured();
    if measured.time == 0 {
        return Ok(None);
    }
    let (refusals, stops) = ledger.interventions();
    let facts = PyDict::new(python);
    facts.set_item(
        "use",
        i128::from(measured.budget) - i128::from(measured.headroom),
    )?;
    facts.set_item("budget", measured.budget)?;
    facts.set_item("headroom", measured.headroom)?;
    facts.set_item("source", words(&ledger, measured.source))?;
    facts.set_item("limit", ledger.limit())?;
    facts.set_item("measured_ns", measured.time)?;
    facts.set_item("refusals", refusals)?;
    facts.set_item("stops", stops)?;
    Ok(Some(facts))
}

/// The bytes of a plain file that is as long as a ledger. Whatever else lies there is not waited
/// for.
fn bytes(path: &Path) -> Option<Vec<u8>> {
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(libc::O_NONBLOCK);
    let mut file: File = options.open(path).ok()?;
    let metadata = file.metadata().ok()?;
    if !metadata.is_file() || metadata.len() < SIZE {
        return None;
    }
    let mut bytes = vec![0; SIZE as usize];
    file.read_exact(&mut bytes).ok()?;
    Some(bytes)
}

/// A source in the words of the guard itself.
fn words(ledger: &Ledger, source: Source) -> String {
    match source {
        Source::Cgroup(level) => {
            let mut folder = [0; MAX_FOLDER];
            let level = ledger.level(level, &mut folder);
            let folder = level.map_or(&[][..], |level| level.folder);
            let folder = String::from_utf8_lossy(folder);
            format!("memory cgroup {}", below_mount(&folder))
        }
        Source::Machine => "memory of the machine".to_owned(),
        Source::Limit => "--limit".to_owned(),
        Source::Block => "outlive.guard".to_owned(),
        Source::AddressSpace => "RLIMIT_AS".to_owned(),
        Source::Data => "RLIMIT_DATA".to_owned(),
        Source::Unknown => "unknown".to_owned(),
    }
}

/// A cgroup's folder without the usual places of the mount, as `/proc/self/cgroup` has it.
fn below_mount(folder: &str) -> &str {
    let mounts = ["/sys/fs/cgroup/memory", "/sys/fs/cgroup"];
    match mounts.iter().find_map(|mount| folder.strip_prefix(mount)) {
        Some("") => "/",
        Some(below) => below,
        None => folder,
    }
}
