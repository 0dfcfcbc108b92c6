//! Where a pyramid is published: a folder or an archive.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};

use fs_err as fs;

use crate::grid::own_file::{create_folder, create_unshared};

/// Takes files by name; names have `/` between folders.
pub trait Store: Send {
    /// Publishes a file. It is there as a whole, or not at all.
    fn put(&mut self, name: &str, bytes: &[u8]) -> io::Result<()>;

    /// Publishes what is in a file of any length.
    fn put_file(&mut self, name: &str, file: &mut File) -> io::Result<()>;

    /// Ends it. Nothing is put after.
    fn finish(&mut self) -> io::Result<()>;
}

/// A folder.
#[derive(Debug)]
pub struct Folder {
    root: PathBuf,
    made: HashSet<PathBuf>,
}

impl Folder {
    /// The folder at `root`, which is made when the first file comes.
    pub fn new(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            made: HashSet::new(),
        }
    }

    /// Writes beside the final name and moves it there.
    fn publish(
        &mut self,
        name: &str,
        write: &mut dyn FnMut(&mut fs::File) -> io::Result<()>,
    ) -> io::Result<()> {
        let path = self.root.join(name);
        if let Some(folder) = path.parent()
            && !self.made.contains(folder)
        {
            create_folder(&self.root, folder)?;
            self.made.insert(folder.to_owned());
        }
        let new = unfinished(&path);
        let written = create_unshared(&new).and_then(|mut file| write(&mut file));
        if let Err(error) = written {
            // The error of the write is the one to report.
            let _ = fs::remove_file(&new);
            return Err(error);
        }
        fs::rename(&new, &path)
    }
}

impl Store for Folder {
    fn put(&mut self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.publish(name, &mut |file| file.write_all(bytes))
    }

    fn put_file(&mut self, name: &str, from: &mut File) -> io::Result<()> {
        self.publish(name, &mut |file| {
            from.rewind()?;
            io::copy(from, file).map(drop)
        })
    }

    fn finish(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The ending of a file that is being written.
pub(super) const UNFINISHED: &str = ".new";

/// The name of a file that is being written.
pub(super) fn unfinished(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(UNFINISHED);
    PathBuf::from(name)
}
