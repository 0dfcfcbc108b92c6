//! Paths as they are shown and as they are looked up: relative to the folder where Outlive was
//! started, and from the root.

use std::io;
use std::path::{Component, Path, PathBuf};

/// The folder that shown paths are relative to.
#[derive(Clone, Debug)]
pub struct Base {
    folder: PathBuf,
}

impl Base {
    /// The current folder.
    pub fn current() -> io::Result<Self> {
        Ok(Self::new(std::env::current_dir()?))
    }

    /// This folder, which must be absolute.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// The folder itself.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The same place from the root, without `.` and `..`.
    pub fn absolute(&self, path: &Path) -> PathBuf {
        let mut absolute = PathBuf::new();
        for component in self.folder.join(path).components() {
            match component {
                Component::CurDir => {}
                Component::ParentDir => {
                    absolute.pop();
                }
                other => absolute.push(other),
            }
        }
        absolute
    }

    /// The same place as people want to read it: relative where it lies below the base.
    pub fn shown(&self, path: &Path) -> PathBuf {
        let below = path
            .strip_prefix(&self.folder)
            .or_else(|_| path.strip_prefix("."));
        match below {
            Ok(below) if !below.as_os_str().is_empty() => below.to_owned(),
            _ => path.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_below_the_base_are_shown_relative_to_it() {
        let base = Base::new(PathBuf::from("/a/b"));
        let shown = |path: &str| base.shown(Path::new(path)).display().to_string();
        assert_eq!(shown("./c/d.py"), "c/d.py");
        assert_eq!(shown("/a/b/c.py"), "c.py");
        assert_eq!(shown("/a/c.py"), "/a/c.py");
        assert_eq!(shown("../c.py"), "../c.py");
        assert_eq!(shown("."), ".");
    }

    #[test]
    fn dots_are_resolved_without_asking_the_disk() {
        let base = Base::new(PathBuf::from("/a/b"));
        let absolute = |path: &str| base.absolute(Path::new(path)).display().to_string();
        assert_eq!(absolute("./c/../d.py"), "/a/b/d.py");
        assert_eq!(absolute("../../../x"), "/x");
        assert_eq!(absolute("/x/./y"), "/x/y");
    }
}
