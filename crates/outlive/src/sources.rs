//! The user's source files: as they were kept with the run, or else as they are on disk now.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use outlive_diagnose::{SourceFile, SourceText};

use crate::kept_sources::{KeptSources, read_file};

/// Larger files are data, not source.
const LARGEST: u64 = 4 << 20;
/// Longer lines are cut.
const WIDEST: usize = 160;

/// Files read so far.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    kept: KeptSources,
    /// `CLOCK_REALTIME` nanoseconds at the start of the run; 0 where that is not known.
    started_at: u64,
    files: RefCell<BTreeMap<PathBuf, Option<Rc<SourceFile>>>>,
}

impl Sources {
    /// Those of the run in this folder.
    pub(crate) fn of(run: &Path, started_at: u64) -> Self {
        Self {
            kept: KeptSources::of(run),
            started_at,
            files: RefCell::default(),
        }
    }

    /// A line for each file that may not be what ran.
    pub(crate) fn remarks(&self) -> Vec<String> {
        let files = self.files.borrow();
        let later = files
            .iter()
            .filter(|(_, file)| file.as_ref().is_some_and(|file| file.is_later));
        later
            .map(|(path, _)| {
                let path = path.display();
                format!("{path} was changed after the run had started: other lines may have run")
            })
            .collect()
    }

    fn read(&self, path: &Path) -> Option<Rc<SourceFile>> {
        let on_disk = || read_file(path, LARGEST).ok();
        let (bytes, modified) = self.kept.read(path).or_else(on_disk)?;
        Some(Rc::new(SourceFile {
            text: String::from_utf8_lossy(&bytes).into_owned(),
            is_later: self.started_at > 0 && modified > self.started_at,
        }))
    }
}

impl SourceText for Sources {
    fn file(&self, directory: &str, file: &str) -> Option<Rc<SourceFile>> {
        // `<stdin>`, `<string>` and their like are names, not files.
        if file.starts_with('<') {
            return None;
        }
        let path = Path::new(directory).join(file);
        let mut files = self.files.borrow_mut();
        let known = files.entry(path);
        let read = known.or_insert_with_key(|path| self.read(path));
        read.clone()
    }

    fn line(&self, directory: &str, file: &str, line: u32) -> Option<String> {
        let file = self.file(directory, file)?;
        let text = file.text.lines().nth(line.checked_sub(1)? as usize)?;
        let text = text.trim();
        (!text.is_empty()).then(|| text.chars().take(WIDEST).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::Sources;
    use outlive_diagnose::SourceText;

    #[test]
    fn lines_are_found_relative_to_the_directory_of_the_process() {
        let directory = tempfile::tempdir().unwrap();
        fs_err::write(
            directory.path().join("train.py"),
            "import x\n\n    y = x()\n",
        )
        .unwrap();
        let place = directory.path().to_str().unwrap();
        let sources = Sources::default();
        assert_eq!(
            sources.line(place, "train.py", 3).as_deref(),
            Some("y = x()")
        );
        assert_eq!(sources.line(place, "train.py", 2), None);
        assert_eq!(sources.line(place, "train.py", 9), None);
        assert_eq!(sources.line(place, "gone.py", 1), None);
        assert_eq!(sources.line(place, "<stdin>", 1), None);
        assert!(sources.remarks().is_empty());
    }

    #[test]
    fn a_file_that_was_changed_since_the_start_is_told() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("train.py");
        fs_err::write(&path, "import x\n").unwrap();
        let place = directory.path().to_str().unwrap();
        let remarks = |started_at| {
            let sources = Sources::of(directory.path(), started_at);
            assert!(sources.line(place, "train.py", 1).is_some());
            sources.remarks()
        };
        assert!(remarks(u64::MAX).is_empty());
        assert_eq!(
            remarks(1),
            [format!(
                "{place}/train.py was changed after the run had started: other lines may have run"
            )]
        );
    }
}
