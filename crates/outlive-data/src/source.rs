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
        // Some devices do something as soon as they are opened: a tape rewinds.
        check_kind(&path.metadata()?)?;
        let file = File::options()
            .read(true)
            .custom_flags(NO_WAITING)
            .open(path)?;
        // It may be another one by now.
        let facts = file.metadata()?;
        check_kind(&facts)?;
        Ok(Self {
            file,
            offset: 0,
            bytes: facts.len(),
        })
    }
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
        let grant = self.take(opened, &header)?;
        let limit = grant.bytes();
        let decoded = match self.decode_in_passing(opened, &header, start, scale) {
            Some(picture) => Ok((header, picture)),
            None => self.fill(opened, opened.bytes).and_then(|()| {
                self.decoder
                    .decode(&self.buffer, &header, scale, ground, limit)
            }),
        };
        self.let_go();
        drop(grant);
        let (header, picture) = decoded?;
        Ok(Read {
            picture,
            width: header.width,
            height: header.height,
        })
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
            let header = self
                .fill(opened, length)
                .and_then(|()| decode::header(&self.buffer, scale));
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
        let grant = self.budget.take(bytes);
        grant.map(Some).map_err(|refused| DecodeError::OverBudget {
            needed: refused.needed,
            budget: refused.total,
        })
    }

    /// Only what no grant stands for may stay: there may be many threads.
    fn let_go(&mut self) {
        if self.buffer.capacity() > STARTS[0] {
            self.buffer = Vec::new();
        }
    }

    fn take(&self, opened: &Opened, header: &Header) -> Result<Grant, DecodeError> {
        let over = |needed: u64| DecodeError::OverBudget {
            needed,
            budget: self.budget.total(),
        };
        let needed = match header.cost {
            Cost::Bytes(bytes) => bytes.saturating_add(opened.bytes),
            // The decoder itself learns on the way what it needs: it gets all there is, alone.
            Cost::Unknown if opened.bytes < self.budget.total() => self.budget.total(),
            Cost::Unknown => opened.bytes,
        };
        self.budget.take(needed).map_err(|_| over(needed))
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
}
