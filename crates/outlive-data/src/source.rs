//! Where the bytes of a picture are, and how they are read within a budget.

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;

use crate::budget::{Budget, Grant};
use crate::decode::{self, Cost, DecodeError, Decoder, Header, Scale};
use crate::picture::{Colour, Picture};
use crate::window::Window;

/// Bytes of a file that are read for its header: at first, where a camera put much before it, and at
/// most.
const STARTS: [usize; 3] = [32 << 10, 256 << 10, 2 << 20];

/// Chunks that are passed in search of one, and bytes of it: it is small, and says early what matters.
const MOST_CHUNKS: usize = 4096;
const MOST_OF_CHUNK: u64 = 16 << 10;

/// `O_NONBLOCK` of Linux: opening a named pipe must not wait for its other end.
const NO_WAITING: i32 = 0o4000;

/// A picture that was found and opened: a file, or a part of an archive.
#[derive(Debug)]
pub struct Opened {
    /// The file.
    pub file: File,
    /// Where the picture begins in it.
    pub offset: u64,
    /// How long it is.
    pub bytes: u64,
}

impl Opened {
    /// Opens a whole file. Only regular files are pictures: a device or a pipe has no end.
    pub fn whole(path: &Path) -> io::Result<Self> {
        let (file, bytes) = open(path)?;
        Ok(Self {
            file,
            offset: 0,
            bytes,
        })
    }

    /// Opens a part of a file.
    pub fn part(path: &Path, offset: u64, bytes: u64) -> io::Result<Self> {
        let (file, _) = open(path)?;
        Ok(Self {
            file,
            offset,
            bytes,
        })
    }

    /// The first bytes of a chunk of a RIFF file, looked for from the chunk at `at` on.
    fn riff_chunk(&self, mut at: u64, name: [u8; 4]) -> Option<Vec<u8>> {
        for _ in 0..MOST_CHUNKS {
            let [a, b, c, d, length @ ..] = {
                let mut head = [0; 8];
                self.read_exact(at, &mut head)?;
                head
            };
            let length = u32::from_le_bytes(length);
            at += 8;
            if [a, b, c, d] == name {
                let left = self.bytes.saturating_sub(at);
                let mut data = vec![0; left.min(length.into()).min(MOST_OF_CHUNK) as usize];
                self.read_exact(at, &mut data)?;
                return Some(data);
            }
            at += u64::from(length) + u64::from(length & 1);
        }
        None
    }

    fn read_exact(&self, at: u64, room: &mut [u8]) -> Option<()> {
        let is_there = at.saturating_add(room.len() as u64) <= self.bytes;
        let place = self.offset.saturating_add(at);
        (is_there && self.file.read_exact_at(room, place).is_ok()).then_some(())
    }
}

/// A file and its length.
fn open(path: &Path) -> io::Result<(File, u64)> {
    // Some devices do something as soon as they are opened: a tape rewinds.
    check_kind(&path.metadata()?)?;
    let file = File::options()
        .read(true)
        .custom_flags(NO_WAITING)
        .open(path)?;
    // It may be another one by now.
    let facts = file.metadata()?;
    check_kind(&facts)?;
    Ok((file, facts.len()))
}

fn check_kind(facts: &Metadata) -> io::Result<()> {
    if facts.is_file() {
        return Ok(());
    }
    let kind = if facts.is_dir() {
        "a folder"
    } else {
        "no regular file"
    };
    Err(io::Error::other(format!("It is {kind}")))
}

/// Reads and decodes one picture after another; a thread has its own.
#[derive(Debug)]
pub struct PictureReader {
    decoder: Decoder,
    buffer: Vec<u8>,
    budget: Arc<Budget>,
}

/// A picture and what is known of the file behind it.
#[derive(Debug)]
pub struct Read {
    /// The picture, at the size that was asked for.
    pub picture: Picture,
    /// Width of the original as it is shown.
    pub width: u32,
    /// Height of the original as it is shown.
    pub height: u32,
}

impl PictureReader {
    /// A reader that asks `budget` before it takes memory.
    pub fn new(budget: Arc<Budget>) -> Self {
        Self {
            decoder: Decoder::default(),
            buffer: Vec::new(),
            budget,
        }
    }

    /// Reads and decodes. All memory that depends on the file is taken from the budget first, and
    /// given back before this returns; only the picture itself is left.
    pub fn read(
        &mut self,
        opened: &Opened,
        scale: Scale,
        ground: Colour,
    ) -> Result<Read, DecodeError> {
        let (header, start) = self.header(opened, scale)?;
        let passing = |reader: &mut Self| reader.decode_in_passing(opened, &header, start, scale);
        let whole = |reader: &mut Self, limit| {
            reader.fill(opened, opened.bytes)?;
            let Self {
                decoder, buffer, ..
            } = reader;
            decoder.decode(buffer, &header, scale, ground, limit)
        };
        let needed = self.needed(opened, &header);
        let mut decoded = self.within(needed, |reader, limit| match passing(reader) {
            Some(picture) => Ok((header, picture)),
            None => whole(reader, limit),
        });
        if let Err(DecodeError::OverBudget { needed: more, .. }) = decoded
            && more > needed
        {
            // The file says more than its header did; what was taken is given back by now.
            decoded = self.within(more, whole);
        }
        let (header, picture) = decoded?;
        Ok(Read {
            picture,
            width: header.width,
            height: header.height,
        })
    }

    /// Does something that takes so many bytes.
    fn within<T>(
        &mut self,
        needed: u64,
        work: impl FnOnce(&mut Self, u64) -> Result<T, DecodeError>,
    ) -> Result<T, DecodeError> {
        let grant = self.take(needed)?;
        let done = work(self, grant.bytes());
        self.let_go();
        drop(grant);
        done
    }

    /// Decodes while it reads, in a buffer of at most `size` bytes, in which the header is.
    fn decode_in_passing(
        &mut self,
        opened: &Opened,
        header: &Header,
        size: usize,
        scale: Scale,
    ) -> Option<Picture> {
        if !header.may_pass() {
            return None;
        }
        let mut rest = Rest { opened, at: 0 };
        let size = opened.bytes.min(size as u64) as usize;
        let window = Window::new(size, &mut self.buffer, &mut rest)?;
        let picture = self.decoder.decode_in_passing(window, header, scale);
        if picture.is_none() {
            // A buffer that grows takes more than it needs.
            self.let_go();
        }
        picture
    }

    /// The header, and how many bytes from the start on it was looked for in.
    fn header(&mut self, opened: &Opened, scale: Scale) -> Result<(Header, usize), DecodeError> {
        for start in STARTS {
            let length = opened.bytes.min(start as u64);
            let grant = self.take_start(length)?;
            let header = self.fill(opened, length).and_then(|()| {
                let exif =
                    decode::late_exif(&self.buffer).and_then(|at| opened.riff_chunk(at, *b"EXIF"));
                decode::header_with(&self.buffer, exif.as_deref(), scale)
            });
            self.let_go();
            drop(grant);
            match header {
                Err(DecodeError::CutOff { .. }) if length < opened.bytes => {}
                answer => return answer.map(|header| (header, start)),
            }
        }
        Err(DecodeError::Unreadable {
            reason: "No size in its first 2 MiB".to_owned(),
        })
    }

    /// The first bytes of most files are few enough to be nobody's. Long ones count, and so does
    /// what is made of them: a copy that grows.
    fn take_start(&self, length: u64) -> Result<Option<Grant>, DecodeError> {
        if length <= STARTS[0] as u64 {
            return Ok(None);
        }
        let bytes = (length * 4).min(self.budget.total());
        self.take(bytes).map(Some)
    }

    /// Only what no grant stands for may stay: there may be many threads.
    fn let_go(&mut self) {
        if self.buffer.capacity() > STARTS[0] {
            self.buffer = Vec::new();
        }
    }

    fn needed(&self, opened: &Opened, header: &Header) -> u64 {
        match header.cost {
            Cost::Bytes(bytes) => bytes.saturating_add(opened.bytes),
            // The decoder itself learns on the way what it needs: it gets all there is, alone.
            Cost::Unknown if opened.bytes < self.budget.total() => self.budget.total(),
            Cost::Unknown => opened.bytes,
        }
    }

    fn take(&self, needed: u64) -> Result<Grant, DecodeError> {
        let grant = self.budget.take(needed);
        grant.map_err(|refused| DecodeError::OverBudget {
            needed: refused.needed,
            budget: refused.total,
        })
    }

    /// Reads the first `length` bytes into the buffer; fewer are a file that changed meanwhile.
    fn fill(&mut self, opened: &Opened, length: u64) -> Result<(), DecodeError> {
        self.buffer.resize(length as usize, 0);
        let failed = |reason: String| DecodeError::Unreadable { reason };
        let read = opened.file.read_exact_at(&mut self.buffer, opened.offset);
        match read {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                Err(failed("It became shorter while it was read".to_owned()))
            }
            Err(error) => Err(failed(error.to_string())),
        }
    }
}

/// What is still to be read of a picture.
struct Rest<'opened> {
    opened: &'opened Opened,
    at: u64,
}

impl io::Read for Rest<'_> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let left = self.opened.bytes.saturating_sub(self.at);
        let length = left.min(room.len() as u64) as usize;
        let room = room.get_mut(..length).unwrap_or_default();
        let place = self.opened.offset.saturating_add(self.at);
        let count = self.opened.file.read_at(room, place)?;
        self.at += count as u64;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::decode::vp8l::tests::{bomb, file_of};
    use crate::fit::Fit;

    #[test]
    fn a_long_start_counts_and_is_not_kept() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"\xff\xd8").unwrap();
        file.write_all(&vec![0xff; 3 << 20]).unwrap();
        let opened = Opened {
            bytes: file.metadata().unwrap().len(),
            file,
            offset: 0,
        };
        let budget = Budget::new(64 << 20);
        let mut reader = PictureReader::new(Arc::clone(&budget));
        let scale = Scale::Box(Fit::Contain, 8, 8);
        let error = reader.read(&opened, scale, Colour([0; 3])).unwrap_err();
        assert_eq!(error.to_string(), "No size in its first 2 MiB");
        assert!(budget.peak() >= 2 << 20, "{}", budget.peak());
        assert!(reader.buffer.capacity() <= STARTS[0]);
    }

    #[test]
    fn what_has_no_end_is_not_opened_as_a_part_either() {
        for path in ["/dev/zero", "/"] {
            let error = Opened::part(Path::new(path), 512, 10).unwrap_err();
            assert!(error.to_string().starts_with("It is "), "{error}");
        }
    }

    fn opened(bytes: &[u8]) -> Opened {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        Opened {
            file,
            offset: 0,
            bytes: bytes.len() as u64,
        }
    }

    #[test]
    fn tables_that_the_header_does_not_tell_of_count() {
        let scale = Scale::Box(Fit::Contain, 8, 8);
        let budget = Budget::new(64 << 20);
        let mut reader = PictureReader::new(Arc::clone(&budget));
        let small = opened(&file_of(&[&bomb(128)]));
        let picture = reader.read(&small, scale, Colour([9; 3])).unwrap().picture;
        assert_eq!(picture.pixels(), [0; 8 * 8 * 3]);
        assert!(budget.peak() > 12 << 20, "{}", budget.peak());
        let plain = file_of(&[&bomb(1024)]);
        // Behind a chunk that nobody knows, whose name begins as a picture without a chunk does.
        let extended = [&b"VP8X\x0a\0\0\0"[..], &[0; 4], &[0xff, 3, 0, 0xff, 3, 0]].concat();
        let hidden = file_of(&[&extended, b"/abc\x04\0\0\0....", &bomb(1024)]);
        let expected = 65_536 * (2954 * 4 + 568);
        for large in [plain, hidden] {
            let error = reader.read(&opened(&large), scale, Colour([9; 3]));
            let error = error.unwrap_err();
            assert!(
                matches!(error, DecodeError::OverBudget { needed, budget }
                    if needed > expected && budget == 64 << 20),
                "{error}"
            );
        }
        assert!(reader.read(&small, scale, Colour([9; 3])).is_ok());
    }

    #[test]
    fn a_picture_is_turned_by_what_comes_behind_its_pixels() {
        let picture = bomb(16);
        let facts = [8, 0, 0, 0, 15, 0, 0, 15, 0, 0];
        let chunk = |name: &[u8; 4], data: &[u8]| {
            [&name[..], &(data.len() as u32).to_le_bytes(), data].concat()
        };
        let head = chunk(b"VP8X", &facts);
        // One entry: the picture is turned by a quarter.
        let exif = chunk(
            b"EXIF",
            b"II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0",
        );
        for filling in [0, 30 << 10, (32 << 10) - 100, 40 << 10, 3 << 20] {
            let filling = chunk(b"JUNK", &vec![0; filling]);
            let found = |exif: &[u8]| {
                let file = file_of(&[&head, &picture, &filling, exif]);
                let mut reader = PictureReader::new(Budget::new(64 << 20));
                let (header, _) = reader.header(&opened(&file), Scale::Full).unwrap();
                format!("{header:?}").contains("Rotate90")
            };
            assert!(found(&exif));
            assert!(!found(&exif[..12]));
        }
    }
}
