//! Files of ours beside an output, under names that nobody else uses. None is ever written through
//! a link, nor by two processes at once.

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use fs_err as fs;
use fs_err::os::unix::fs::OpenOptionsExt;
use rustix::fs::{CWD, OFlags, RenameFlags, renameat_with};
use rustix::io::Errno;

/// Ends the name of an output that is being written.
pub(super) const PARTIAL: &str = ".outlive-partial";
/// Ends the name of what is needed to go on with an output.
pub(super) const RESUME: &str = ".outlive-resume";

/// The same name with an ending more.
pub(super) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// The right to write a file, against other processes. Given back even if a process that was
/// forked meanwhile still has the file open.
#[derive(Debug)]
pub(super) struct Claim(File);

impl Claim {
    /// Refuses a file that another process writes. Where files cannot be locked, nobody is refused.
    pub(super) fn on(file: &File) -> io::Result<Self> {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => Err(io::Error::new(
                io::ErrorKind::ResourceBusy,
                "another process is writing it",
            )),
            Ok(()) | Err(TryLockError::Error(_)) => Ok(Self(file.try_clone()?)),
        }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        // What is not locked need not be unlocked.
        let _ = self.0.unlock();
    }
}

/// A new file in place of what an earlier call left.
pub(super) fn create(path: &Path) -> io::Result<(fs::File, Claim)> {
    // One that may not be opened may be removed nevertheless.
    if is_plain(path)
        && let Err(error) = open(path)
        && error.kind() == io::ErrorKind::ResourceBusy
    {
        return Err(error);
    }
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut options = fs::OpenOptions::new();
    let file = options.read(true).write(true).create_new(true).open(path)?;
    let claim = Claim::on(file.file())?;
    Ok((file, claim))
}

/// A new file, in place of what an interrupted call left. For names that one process at a time has.
pub(super) fn create_unshared(path: &Path) -> io::Result<fs::File> {
    let mut options = fs::OpenOptions::new();
    let options = options.write(true).create_new(true);
    match options.open(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            fs::remove_file(path)?;
            options.open(path)
        }
        opened => opened,
    }
}

/// A folder below `root`, none of which may be a link: it may lead to files of somebody else.
pub(super) fn create_folder(root: &Path, folder: &Path) -> io::Result<()> {
    let mut below = folder.ancestors().take_while(|above| *above != root);
    if let Some(above) = below.find(|above| above.is_symlink()) {
        let reason = format!("`{}` is a link", above.display());
        return Err(io::Error::other(reason));
    }
    fs::create_dir_all(folder)
}

/// The file that an earlier call left.
pub(super) fn open(path: &Path) -> io::Result<(fs::File, Claim)> {
    let mut options = fs::OpenOptions::new();
    let options = options.read(true).write(true).custom_flags(no_link());
    let file = options.open(path)?;
    let claim = Claim::on(file.file())?;
    Ok((file, claim))
}

/// Renames a file, and replaces none: what is there came meanwhile.
pub(super) fn rename_to_new(file: &Path, new: &Path) -> io::Result<()> {
    let came_meanwhile = || {
        let name = file.display();
        let reason = format!("a file came there meanwhile, and what was made is `{name}`");
        io::Error::new(io::ErrorKind::AlreadyExists, reason)
    };
    match renameat_with(CWD, file, CWD, new, RenameFlags::NOREPLACE) {
        Ok(()) => Ok(()),
        Err(Errno::EXIST) => Err(came_meanwhile()),
        // Some file systems cannot do it in one step.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
            if new.symlink_metadata().is_ok() {
                return Err(came_meanwhile());
            }
            fs::rename(file, new)
        }
        Err(error) => Err(error.into()),
    }
}

/// Gives a file that is about to replace another one who may read and write that. Where this is
/// not allowed the file stays as it was made.
pub(super) fn keep_permissions(file: &Path, replaced: &Path) {
    if let Ok(metadata) = fs::metadata(replaced)
        && metadata.is_file()
    {
        let _ = fs::set_permissions(file, metadata.permissions());
    }
}

/// Opening fails if the last part of the path is a link.
pub(super) fn no_link() -> i32 {
    OFlags::NOFOLLOW.bits().cast_signed()
}

/// What the system says about a path, without the path if it is in there again.
pub(super) fn reason(path: &Path, error: &io::Error) -> String {
    let said = error.to_string();
    match said.split_once(&format!("`{}`: ", path.display())) {
        Some((_, cause)) => cause.to_owned(),
        None => said,
    }
}

/// Whether it is a file, and no link to one.
pub(super) fn is_plain(path: &Path) -> bool {
    path.symlink_metadata()
        .is_ok_and(|metadata| metadata.is_file())
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_file_that_is_being_written_is_neither_opened_nor_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sheet.png.outlive-partial");
        let (mut file, claim) = create(&path).unwrap();
        let copy_of_a_fork = file.try_clone().unwrap();
        file.write_all(b"begun").unwrap();
        for refused in [create(&path), open(&path)] {
            let error = refused.unwrap_err();
            assert_eq!(error.to_string(), "another process is writing it");
        }
        assert_eq!(std::fs::read(&path).unwrap(), b"begun");
        drop(claim);
        open(&path).unwrap();
        create(&path).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"");
        drop(copy_of_a_fork);
    }

    #[test]
    fn a_new_name_replaces_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let [made, there] = ["made", "there"].map(|name| folder.path().join(name));
        std::fs::write(&made, b"made").unwrap();
        std::fs::write(&there, b"there").unwrap();
        let error = rename_to_new(&made, &there).unwrap_err().to_string();
        assert!(error.contains("came there meanwhile"), "{error}");
        assert_eq!(std::fs::read(&there).unwrap(), b"there");
        std::fs::remove_file(&there).unwrap();
        rename_to_new(&made, &there).unwrap();
        assert_eq!(std::fs::read(&there).unwrap(), b"made");
    }

    #[test]
    fn a_file_that_replaces_another_is_for_the_same_readers() {
        let folder = tempfile::tempdir().unwrap();
        let [new, old] = ["new", "old"].map(|name| folder.path().join(name));
        std::fs::write(&new, b"new").unwrap();
        let mode = || std::fs::metadata(&new).unwrap().permissions().mode() & 0o777;
        let made = mode();
        keep_permissions(&new, &old);
        assert_eq!(mode(), made);
        std::fs::write(&old, b"old").unwrap();
        std::fs::set_permissions(&old, PermissionsExt::from_mode(0o604)).unwrap();
        keep_permissions(&new, &old);
        assert_eq!(mode(), 0o604);
    }
}
