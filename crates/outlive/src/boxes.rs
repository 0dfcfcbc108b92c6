//! The black boxes of a run on disk, read when the diagnosis asks for one.
//!
//! A tree may have hundreds of boxes of 32 MiB each and few of them matter, so nothing is read
//! ahead; what was read once stays until the diagnosis is done.

use std::cell::{OnceCell, RefCell};
use std::path::{Path, PathBuf};

use outlive_diagnose::BlackBoxes;
use outlive_diagnose::facts::ProcessId;
use outlive_record::read::Recording;

/// One box, read or not.
#[derive(Debug)]
struct Shelved {
    process: ProcessId,
    path: PathBuf,
    bytes: OnceCell<Option<Vec<u8>>>,
}

/// All boxes of a run.
#[derive(Debug)]
pub(crate) struct Shelf {
    boxes: Vec<Shelved>,
    remarks: RefCell<Vec<String>>,
}

impl Shelf {
    /// Looks at the names only.
    pub(crate) fn new(paths: Vec<PathBuf>) -> Self {
        let mut remarks = Vec::new();
        let mut boxes = Vec::new();
        for path in paths {
            match process_of(&path) {
                Some(process) => boxes.push(Shelved {
                    process,
                    path,
                    bytes: OnceCell::new(),
                }),
                None => remarks.push(format!("Not the name of a black box: `{}`", path.display())),
            }
        }
        Self {
            boxes,
            remarks: RefCell::new(remarks),
        }
    }

    /// The processes that have a box, with its file name.
    pub(crate) fn processes(&self) -> impl Iterator<Item = (ProcessId, String)> {
        self.boxes.iter().map(|shelved| {
            let name = shelved.path.file_name().unwrap_or_default();
            (shelved.process, name.to_string_lossy().into_owned())
        })
    }

    /// What could not be read, one line each.
    pub(crate) fn into_remarks(self) -> Vec<String> {
        self.remarks.into_inner()
    }

    fn read(&self, shelved: &Shelved) -> Option<Vec<u8>> {
        let name = shelved.path.display();
        let remark = match fs_err::read(&shelved.path) {
            Ok(bytes) => match Recording::read(&bytes) {
                Ok(_) => return Some(bytes),
                Err(error) => format!("`{name}` cannot be read: {error}"),
            },
            Err(error) => format!("A black box cannot be read: {error}"),
        };
        self.remarks.borrow_mut().push(remark);
        None
    }
}

impl BlackBoxes for Shelf {
    fn open(&self, process: ProcessId) -> Option<Recording<'_>> {
        let shelved = self
            .boxes
            .iter()
            .find(|shelved| shelved.process == process)?;
        let bytes = shelved.bytes.get_or_init(|| self.read(shelved)).as_ref()?;
        Recording::read(bytes).ok()
    }
}

/// `4711-123456.box` is the box of process 4711 that started at tick 123456.
pub(crate) fn process_of(path: &Path) -> Option<ProcessId> {
    let (pid, start_ticks) = path.file_stem()?.to_str()?.split_once('-')?;
    Some(ProcessId {
        pid: pid.parse().ok()?,
        start_ticks: start_ticks.parse().ok()?,
    })
}
