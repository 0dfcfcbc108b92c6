//! What a walk leaves out: the grid itself, which may lie among its own images.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{FileType, Stat, stat};

/// Device and number of a folder.
pub(super) type Identity = [u64; 2];

/// A folder, or an entry of one. Known by its identity: it may be reached under several names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exclusion {
    folder: Option<Identity>,
    /// Only the entry of this name.
    name: Option<Vec<u8>>,
}

impl Exclusion {
    /// A folder with all that is in it, or a file, which need not be there yet.
    pub fn of(path: &Path) -> Self {
        let folder = stat(path).ok();
        let is_folder = |stat: &Stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
        if let Some(stat) = folder.filter(is_folder) {
            return Self {
                folder: Some(identity(&stat)),
                name: None,
            };
        }
        let parent = path
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty());
        let parent = stat(parent.unwrap_or(Path::new("."))).ok();
        Self {
            folder: parent.map(|stat| identity(&stat)),
            name: path.file_name().map(|name| name.as_bytes().to_vec()),
        }
    }

    /// Whether a folder is left out.
    pub(super) fn is(&self, folder: Identity) -> bool {
        self.name.is_none() && self.folder == Some(folder)
    }

    /// Whether an entry of a folder is left out.
    pub(super) fn is_entry(&self, folder: Identity, name: &[u8]) -> bool {
        self.folder == Some(folder) && self.name.as_deref() == Some(name)
    }
}

#[expect(
    clippy::unnecessary_cast,
    reason = "the widths differ between machines"
)]
pub(super) fn identity(stat: &Stat) -> Identity {
    [stat.st_dev as u64, stat.st_ino as u64]
}
