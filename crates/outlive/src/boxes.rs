//! The black boxes of a run on disk, read when the diagnosis asks for one.
//!
//! A tree may have hundreds of boxes of 32 MiB each and few of them matter, so nothing is read
//! ahead; what was read once stays until the diagnosis is done.

use std::cell::{OnceCell, RefCell};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use outlive_diagnose::BlackBoxes;
use outlive_diagnose::facts::ProcessId;
use outlive_record::read::Recording;
use rustix::fs::SeekFrom;

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
        let remark = match written_bytes(&shelved.path) {
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

/// The bytes of a file, of which only those take memory that were ever written: a box is mostly
/// empty, and whoever reads it may be short of memory.
fn written_bytes(path: &Path) -> io::Result<Vec<u8>> {
    let file = fs_err::File::open(path)?;
    let length = file.metadata()?.len();
    let mut bytes = vec![0; usize::try_from(length).map_err(io::Error::other)?];
    let mut start = 0;
    while start < length {
        // Past the last data there is no more (`ENXIO`); file systems that do not know say all is.
        let Ok(from) = rustix::fs::seek(&file, SeekFrom::Data(start)) else {
            break;
        };
        let end = rustix::fs::seek(&file, SeekFrom::Hole(from)).unwrap_or(length);
        let Some(part) = bytes.get_mut(from as usize..end.min(length) as usize) else {
            break;
        };
        file.file().read_exact_at(part, from)?;
        start = end.max(from + 1);
    }
    Ok(bytes)
}

/// `4711-123456.box` is the box of process 4711 that started at tick 123456.
pub(crate) fn process_of(path: &Path) -> Option<ProcessId> {
    let (pid, start_ticks) = path.file_stem()?.to_str()?.split_once('-')?;
    Some(ProcessId {
        pid: pid.parse().ok()?,
        start_ticks: start_ticks.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_with_holes_is_read_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("box");
        let file = std::fs::File::create(&path).unwrap();
        file.set_len(1 << 20).unwrap();
        file.write_all_at(b"start", 0).unwrap();
        file.write_all_at(b"middle", 500_001).unwrap();
        let mut expected = vec![0; 1 << 20];
        expected[..5].copy_from_slice(b"start");
        expected[500_001..500_007].copy_from_slice(b"middle");
        assert!(written_bytes(&path).unwrap() == expected);
        file.write_all_at(b"end", (1 << 20) - 3).unwrap();
        expected[(1 << 20) - 3..].copy_from_slice(b"end");
        assert!(written_bytes(&path).unwrap() == expected);
        file.set_len(0).unwrap();
        assert!(written_bytes(&path).unwrap().is_empty());
    }
}
