//! The file beside a flat sheet that names its broken images: `NAME.broken.tsv`. It is there only if
//! one is broken. A file of that name that is no such list is left alone.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use fs_err as fs;
use outlive_data::grid::pyramid::broken_row;

/// Bytes of a first line that are looked at.
const LONGEST_ROW: u64 = 64 << 10;

/// Grows while the sheet is drawn.
#[derive(Debug)]
pub(crate) struct BrokenList {
    path: PathBuf,
    file: Option<fs::File>,
    error: Option<io::Error>,
    place: Place,
    /// Rows of cells before this one stay; none if that was seen to.
    first: Option<u64>,
}

/// What is there under the name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Nothing, or a list of ours.
    Ours,
    /// Something else.
    Taken,
}

impl BrokenList {
    /// The list of a sheet, begun or gone on with: rows of cells before `first` stay. Touches nothing
    /// yet: the sheet may turn out to be another process's, and its list with it.
    pub(crate) fn new(sheet: &Path, first: u64) -> Self {
        let mut name = sheet.as_os_str().to_owned();
        name.push(".broken.tsv");
        let path = PathBuf::from(name);
        Self {
            path,
            file: None,
            error: None,
            place: Place::Ours,
            first: Some(first),
        }
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Names a broken cell. An error shows when the list is finished.
    pub(crate) fn add(&mut self, index: u64, name: &str, problem: &str) {
        if self.error.is_none() {
            let row = broken_row(index, name, problem);
            self.error = self.write(row.as_bytes()).err();
        }
    }

    /// Ends a list to which there may have been nothing to add, and says what went wrong on the way.
    pub(crate) fn finish(&mut self) -> io::Result<()> {
        self.begin()?;
        self.error.take().map_or(Ok(()), Err)
    }

    fn begin(&mut self) -> io::Result<()> {
        self.first.take().map_or(Ok(()), |first| self.keep(first))
    }

    fn write(&mut self, row: &[u8]) -> io::Result<()> {
        self.begin()?;
        if self.place == Place::Taken {
            let reason = "It is there already and no list of broken images\n\
                          hint: move it away, or give the sheet another name";
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, reason));
        }
        let file = if let Some(file) = &mut self.file {
            file
        } else {
            let mut options = fs::OpenOptions::new();
            let file = options.create(true).append(true).open(&self.path)?;
            self.file.insert(file)
        };
        file.write_all(row)
    }

    /// Cuts the list of an earlier call where this one goes on.
    fn keep(&mut self, first: u64) -> io::Result<()> {
        let Ok(metadata) = self.path.symlink_metadata() else {
            return Ok(());
        };
        if metadata.is_file() && metadata.len() == 0 {
            return Ok(());
        }
        if !metadata.is_file() || !is_list(&self.path)? {
            self.place = Place::Taken;
            return Ok(());
        }
        let mut length = 0;
        let mut reader = BufReader::new(fs::File::open(&self.path)?);
        let mut row = Vec::new();
        while reader.read_until(b'\n', &mut row)? > 0 {
            let index = row.split(|byte| *byte == b'\t').next().unwrap_or_default();
            let index = std::str::from_utf8(index)
                .ok()
                .and_then(|text| text.parse().ok());
            if index.is_none_or(|index: u64| index >= first) || !row.ends_with(b"\n") {
                break;
            }
            length += row.len() as u64;
            row.clear();
        }
        if length == 0 {
            return fs::remove_file(&self.path);
        }
        fs::OpenOptions::new()
            .write(true)
            .open(&self.path)?
            .set_len(length)
    }
}

/// Whether the first line of a file is one of ours: a number, a name and a problem.
fn is_list(path: &Path) -> io::Result<bool> {
    let mut first = Vec::new();
    let file = fs::File::open(path)?.take(LONGEST_ROW);
    BufReader::new(file).read_until(b'\n', &mut first)?;
    let mut parts = first.split(|byte| *byte == b'\t');
    let index = parts.next().unwrap_or_default();
    let is_number = !index.is_empty() && index.iter().all(u8::is_ascii_digit);
    Ok(is_number && parts.count() == 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_goes_on_where_its_sheet_does() {
        let folder = tempfile::tempdir().unwrap();
        let sheet = folder.path().join("s.png");
        let mut list = BrokenList::new(&sheet, 0);
        for index in [1, 5, 9] {
            list.add(index, "a\tb", "Cut off");
        }
        list.finish().unwrap();
        let mut list = BrokenList::new(&sheet, 6);
        list.add(7, "c", "Empty");
        list.finish().unwrap();
        let text = fs::read_to_string(list.path()).unwrap();
        assert_eq!(text, "1\ta\\tb\tCut off\n5\ta\\tb\tCut off\n7\tc\tEmpty\n");
        let mut list = BrokenList::new(&sheet, 0);
        assert!(list.path().exists());
        list.finish().unwrap();
        assert!(!list.path().exists());
    }

    #[test]
    fn a_file_that_is_no_list_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let sheet = folder.path().join("s.png");
        let path = folder.path().join("s.png.broken.tsv");
        for text in [
            "name\tproblem\n",
            "1\tonly two\n",
            "-1\ta\tb\n",
            "1\ta\tb\tc\n",
        ] {
            fs::write(&path, text).unwrap();
            let mut list = BrokenList::new(&sheet, 0);
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
            list.add(3, "a", "Empty");
            let error = list.finish().unwrap_err().to_string();
            assert!(error.contains("no list of broken images"), "{error}");
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        fs::remove_file(&path).unwrap();
        let other = folder.path().join("other");
        fs::write(&other, "1\ta\tb\n").unwrap();
        std::os::unix::fs::symlink(&other, &path).unwrap();
        let mut list = BrokenList::new(&sheet, 0);
        list.add(3, "a", "Empty");
        list.finish().unwrap_err();
        assert_eq!(fs::read_to_string(&other).unwrap(), "1\ta\tb\n");
    }
}
