//! A zip archive as a stream: files are stored as they come, and the directory at its end is
//! gathered in a file without a name, so that a million entries need no memory. Always in the
//! form for large archives (zip64) where a count or a place could be too large for the small one.

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use fs_err as fs;

use super::store::Store;
use crate::grid::own_file::{self, Claim, PARTIAL, beside};

const LOCAL_HEADER: u32 = 0x0403_4b50;
const CENTRAL_HEADER: u32 = 0x0201_4b50;
const END: u32 = 0x0605_4b50;
const END_64: u32 = 0x0606_4b50;
const LOCATOR_64: u32 = 0x0706_4b50;
/// Version 4.5 of the specification, the first with zip64.
const VERSION: u16 = 45;
/// Names are UTF-8.
const FLAGS: u16 = 1 << 11;
const STORED: u16 = 0;
/// Midnight of 1 January 1980, so that equal grids are equal archives.
const DATE: u16 = 0x21;
/// In place of a number that is in the extra field.
const ELSEWHERE: u32 = u32::MAX;
/// Tag of the extra field with the long numbers.
const EXTRA_64: u16 = 1;
const BUFFER: usize = 64 * 1024;

/// An archive that is being written to `NAME.outlive-partial`.
#[derive(Debug)]
pub struct Zip {
    output: PathBuf,
    partial: PathBuf,
    file: BufWriter<fs::File>,
    directory: BufWriter<File>,
    entries: u64,
    offset: u64,
    directory_length: u64,
    /// Whether there was nothing at the output.
    is_new: bool,
    is_finished: bool,
    _claim: Claim,
}

impl Zip {
    /// An archive that will be at `output`.
    pub fn create(output: &Path) -> io::Result<Self> {
        let partial = beside(output, PARTIAL);
        let (file, claim) = own_file::create(&partial)?;
        let directory = tempfile::tempfile_in(folder_of(output))?;
        Ok(Self {
            output: output.to_owned(),
            partial,
            file: BufWriter::with_capacity(BUFFER, file),
            directory: BufWriter::with_capacity(BUFFER, directory),
            entries: 0,
            offset: 0,
            directory_length: 0,
            is_new: output.symlink_metadata().is_err(),
            is_finished: false,
            _claim: claim,
        })
    }

    /// Appends the header of a file, and its line of the directory.
    fn begin(&mut self, name: &str, sum: u32, length: u64) -> io::Result<()> {
        let too_long = |_| io::Error::from(io::ErrorKind::InvalidFilename);
        let name_length = u16::try_from(name.len()).map_err(too_long)?;
        let mut start = Vec::new();
        start.extend(VERSION.to_le_bytes());
        start.extend(FLAGS.to_le_bytes());
        start.extend(STORED.to_le_bytes());
        start.extend(0_u16.to_le_bytes());
        start.extend(DATE.to_le_bytes());
        start.extend(sum.to_le_bytes());
        start.extend(ELSEWHERE.to_le_bytes());
        start.extend(ELSEWHERE.to_le_bytes());
        start.extend(name_length.to_le_bytes());

        let mut local = LOCAL_HEADER.to_le_bytes().to_vec();
        local.extend(&start);
        local.extend(20_u16.to_le_bytes());
        local.extend(name.as_bytes());
        local.extend(extra(&[length, length]));

        let mut central = CENTRAL_HEADER.to_le_bytes().to_vec();
        central.extend(VERSION.to_le_bytes());
        central.extend(&start);
        central.extend(28_u16.to_le_bytes());
        // No comment, first disk, no attributes.
        central.extend([0; 10]);
        central.extend(ELSEWHERE.to_le_bytes());
        central.extend(name.as_bytes());
        central.extend(extra(&[length, length, self.offset]));

        self.file.write_all(&local)?;
        self.directory.write_all(&central)?;
        self.entries += 1;
        self.offset += local.len() as u64 + length;
        self.directory_length += central.len() as u64;
        Ok(())
    }

    fn write_end(&mut self) -> io::Result<()> {
        let mut end = END_64.to_le_bytes().to_vec();
        end.extend(44_u64.to_le_bytes());
        end.extend(VERSION.to_le_bytes());
        end.extend(VERSION.to_le_bytes());
        end.extend([0; 8]);
        end.extend(self.entries.to_le_bytes());
        end.extend(self.entries.to_le_bytes());
        end.extend(self.directory_length.to_le_bytes());
        end.extend(self.offset.to_le_bytes());

        end.extend(LOCATOR_64.to_le_bytes());
        end.extend(0_u32.to_le_bytes());
        end.extend((self.offset + self.directory_length).to_le_bytes());
        end.extend(1_u32.to_le_bytes());

        end.extend(END.to_le_bytes());
        end.extend([0; 4]);
        let entries = u16::try_from(self.entries).unwrap_or(u16::MAX);
        end.extend(entries.to_le_bytes());
        end.extend(entries.to_le_bytes());
        let length = u32::try_from(self.directory_length).unwrap_or(ELSEWHERE);
        end.extend(length.to_le_bytes());
        end.extend(
            u32::try_from(self.offset)
                .unwrap_or(ELSEWHERE)
                .to_le_bytes(),
        );
        end.extend([0; 2]);
        self.file.write_all(&end)
    }
}

impl Store for Zip {
    fn put(&mut self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.begin(name, crc32fast::hash(bytes), bytes.len() as u64)?;
        self.file.write_all(bytes)
    }

    fn put_file(&mut self, name: &str, file: &mut File) -> io::Result<()> {
        // Twice: the sum stands before the bytes.
        let mut sum = crc32fast::Hasher::new();
        let mut buffer = vec![0; BUFFER];
        let mut length = 0;
        file.rewind()?;
        loop {
            let read = file.read(&mut buffer)?;
            let Some(part) = buffer.get(..read).filter(|part| !part.is_empty()) else {
                break;
            };
            sum.update(part);
            length += part.len() as u64;
        }
        self.begin(name, sum.finalize(), length)?;
        file.rewind()?;
        io::copy(&mut file.take(length), &mut self.file)?;
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        self.directory.flush()?;
        let directory = self.directory.get_mut();
        directory.seek(SeekFrom::Start(0))?;
        io::copy(directory, &mut self.file)?;
        self.write_end()?;
        self.file.flush()?;
        // From here on it is an archive, whatever its name.
        self.is_finished = true;
        if self.is_new {
            return own_file::rename_to_new(&self.partial, &self.output);
        }
        fs::rename(&self.partial, &self.output)
    }
}

impl Drop for Zip {
    /// An archive without its directory is of no use.
    fn drop(&mut self) {
        if !self.is_finished {
            // It may be gone; nobody is left to tell.
            let _ = fs::remove_file(&self.partial);
        }
    }
}

fn extra(numbers: &[u64]) -> Vec<u8> {
    let mut bytes = EXTRA_64.to_le_bytes().to_vec();
    bytes.extend((numbers.len() as u16 * 8).to_le_bytes());
    bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
    bytes
}

/// The folder in which a file lies.
pub(super) fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    }
}
