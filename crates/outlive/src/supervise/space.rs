//! Disk space that was taken in advance and never written to: given back, without a change to
//! what a reader of the file sees.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

use rustix::fs::{Advice, FallocateFlags, SeekFrom, fadvise, fallocate, seek};
use rustix::io::Errno;

/// Smaller gaps are not worth a system call.
const WORTH_GIVING: u64 = 64 << 10;

/// Gives back what lies in no data, as the file system sees it. Nobody may write to the file
/// meanwhile.
pub(super) fn give_back(path: &Path) -> io::Result<()> {
    let file = OpenOptions::new().write(true).open(path)?;
    // Zeros that somebody read lie in the page cache, and count as data while they do.
    fadvise(&file, 0, None, Advice::DontNeed)?;
    punch(&file)
}

/// The same for a file that nobody has read. It begins no writing to the disk, which whoever
/// removes the file soon would have to wait for.
pub(super) fn give_back_unread(path: &Path) -> io::Result<()> {
    punch(&OpenOptions::new().write(true).open(path)?)
}

fn punch(file: &File) -> io::Result<()> {
    let length = file.metadata()?.len();
    let mut place = 0;
    while place < length {
        // From here to the next data, or to the end, nothing was ever written.
        let data = next(file, SeekFrom::Data(place), length)?;
        if data - place >= WORTH_GIVING {
            let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            fallocate(file, flags, place, data - place)?;
        }
        if data >= length {
            break;
        }
        place = next(file, SeekFrom::Hole(data), length)?;
    }
    Ok(())
}

/// The next data or hole at or after a place; the end of the file where there is none.
fn next(file: &File, from: SeekFrom, length: u64) -> io::Result<u64> {
    match seek(file, from) {
        Ok(place) => Ok(place.min(length)),
        Err(Errno::NXIO) => Ok(length),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{FileExt, MetadataExt};

    use super::*;

    #[test]
    fn untouched_space_goes_and_every_byte_stays() {
        const SIZE: u64 = 32 << 20;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("1-1.box");
        let file = File::create(&path).unwrap();
        fallocate(&file, FallocateFlags::empty(), 0, SIZE).unwrap();
        // At the start, the end, across a page, alone, and zeros that were written on purpose.
        let long = vec![7; 300_000];
        for (offset, bytes) in [
            (0, &b"head"[..]),
            (4094, b"across"),
            (5 << 20, &long),
            (9 << 20, &[0; 8192]),
            (SIZE - 4, b"tail"),
        ] {
            file.write_all_at(bytes, offset).unwrap();
        }
        let before = fs_err::read(&path).unwrap();
        let taken = fs_err::metadata(&path).unwrap().blocks() * 512;
        assert!(taken >= SIZE, "{taken} bytes taken in advance");
        give_back(&path).unwrap();
        let metadata = fs_err::metadata(&path).unwrap();
        assert_eq!(metadata.len(), SIZE);
        let left = metadata.blocks() * 512;
        assert!(left < 2 << 20, "{left} bytes still taken");
        assert!(fs_err::read(&path).unwrap() == before, "content changed");
    }

    #[test]
    fn a_file_without_gaps_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("1-1.box");
        fs_err::write(&path, vec![1; 1 << 20]).unwrap();
        give_back(&path).unwrap();
        assert!(fs_err::read(&path).unwrap() == vec![1; 1 << 20]);
        fs_err::write(&path, b"").unwrap();
        give_back(&path).unwrap();
        assert_eq!(fs_err::metadata(&path).unwrap().len(), 0);
    }
}
