//! Lines of the user's source files, as they are on disk now.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;

use outlive_diagnose::SourceText;

/// Larger files are data, not source.
const LARGEST: u64 = 4 << 20;
/// Longer lines are cut.
const WIDEST: usize = 160;

/// Files read so far.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    files: RefCell<HashMap<String, Option<Vec<String>>>>,
}

impl SourceText for Sources {
    fn line(&self, directory: &str, file: &str, line: u32) -> Option<String> {
        let mut files = self.files.borrow_mut();
        let lines = files
            .entry(file.to_owned())
            .or_insert_with(|| read(directory, file));
        let text = lines.as_ref()?.get(line.checked_sub(1)? as usize)?.trim();
        (!text.is_empty()).then(|| text.chars().take(WIDEST).collect())
    }
}

fn read(directory: &str, file: &str) -> Option<Vec<String>> {
    // `<stdin>`, `<string>` and their like are names, not files.
    if file.starts_with('<') {
        return None;
    }
    let path = Path::new(directory).join(file);
    let metadata = fs_err::metadata(&path).ok()?;
    if !metadata.is_file() || metadata.len() > LARGEST {
        return None;
    }
    let text = fs_err::read(&path).ok()?;
    Some(
        String::from_utf8_lossy(&text)
            .lines()
            .map(str::to_owned)
            .collect(),
    )
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
    }
}
