//! A file replaced in one step: whoever looks sees the old text or the new one, whole.

use std::fs::Metadata;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{Access, Gid, Uid, access, fchown};

use super::read::reason;

/// Replaces a file by these bytes, if it is still as it was when `seen` was taken. A link stays a
/// link; owner and mode stay.
pub(super) fn replace(path: &Path, seen: &Metadata, bytes: &[u8]) -> Result<(), String> {
    let cannot = |error: io::Error| format!("Cannot be fixed: {}", reason(&error));
    let target = std::fs::canonicalize(path).map_err(cannot)?;
    let folder = target.parent().unwrap_or(Path::new("/"));
    access(&target, Access::WRITE_OK).map_err(|error| cannot(error.into()))?;
    let mut draft = tempfile::Builder::new()
        .prefix(".outlive-")
        .tempfile_in(folder)
        .map_err(cannot)?;
    draft.write_all(bytes).map_err(cannot)?;
    // Only root may give a file away; anyone else owns it already, or will from now on.
    let owner = (Uid::from_raw(seen.uid()), Gid::from_raw(seen.gid()));
    let _ = fchown(draft.as_file(), Some(owner.0), Some(owner.1));
    let permissions = seen.permissions();
    draft
        .as_file()
        .set_permissions(permissions)
        .map_err(cannot)?;
    let now = std::fs::metadata(&target).map_err(cannot)?;
    if stamp(&now) != stamp(seen) {
        return Err("Not fixed: it was changed meanwhile".to_owned());
    }
    draft
        .persist(&target)
        .map_err(|error| cannot(error.error))?;
    Ok(())
}

/// What differs once a file was written.
fn stamp(metadata: &Metadata) -> (u64, u64, u64, i64, i64) {
    (
        metadata.dev(),
        metadata.ino(),
        metadata.len(),
        metadata.mtime(),
        metadata.mtime_nsec(),
    )
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::replace;

    #[test]
    fn mode_and_links_stay_and_nothing_is_left_behind() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("a.py"), folder.path().join("b.py"));
        fs_err::write(&file, "old").unwrap();
        fs_err::set_permissions(&file, PermissionsExt::from_mode(0o754)).unwrap();
        symlink("a.py", &link).unwrap();
        let seen = fs_err::metadata(&link).unwrap();
        replace(&link, &seen, b"new text").unwrap();
        assert_eq!(fs_err::read(&file).unwrap(), b"new text");
        assert!(fs_err::symlink_metadata(&link).unwrap().is_symlink());
        let mode = fs_err::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o754);
        assert_eq!(fs_err::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_file_that_somebody_else_changed_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.py");
        fs_err::write(&file, "old").unwrap();
        let seen = fs_err::metadata(&file).unwrap();
        fs_err::write(&file, "newer than that").unwrap();
        let message = replace(&file, &seen, b"fixed").unwrap_err();
        assert_eq!(message, "Not fixed: it was changed meanwhile");
        assert_eq!(fs_err::read(&file).unwrap(), b"newer than that");
        assert_eq!(fs_err::read_dir(folder.path()).unwrap().count(), 1);
    }
}
