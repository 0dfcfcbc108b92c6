//! The images in a tar archive: names, offsets and sizes from its headers. Nothing is unpacked and
//! no image is read here.
//!
//! Understood are the old format, ustar, GNU's long names and pax. An archive that breaks off gives
//! what is before the break.

use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::error::ListingError;
use super::gather::Gatherer;
use super::input::is_image_name;
use super::item::{Item, Kind};
use super::problem::Origin;

/// Said of archives that would have to be unpacked.
pub(super) const COMPRESSED: &str = "Compressed archive: decompress it first";
/// Everything in an archive starts at a multiple of this.
const BLOCK: u64 = 512;
/// Longer names and pax headers are skipped.
const LONGEST_HEADER: u64 = 256 << 10;
/// No file has a longer path; thousands of names are in memory at a time.
const LONGEST_NAME: usize = 4096;
/// How compressed data begins: gzip, zstd, xz, bzip2.
const MAGIC: [&[u8]; 4] = [b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\xfd7zXZ", b"BZh"];

/// Takes in the images of an archive.
pub(super) fn read(
    path: &[u8],
    origin: Origin,
    gatherer: &mut Gatherer<'_>,
) -> Result<(), ListingError> {
    let opened = File::open(Path::new(OsStr::from_bytes(path)));
    let opened = opened.and_then(|file| Ok((file.metadata()?.len(), file)));
    let (length, file) = match opened {
        Ok(opened) => opened,
        Err(error) => {
            let reason = format!("Archive cannot be read: {error}");
            return gatherer.problem(path, reason, origin);
        }
    };
    let mut archive = Archive {
        path,
        file,
        length,
        offset: 0,
        long: Long::default(),
    };
    loop {
        gatherer.tick()?;
        match archive.step(gatherer) {
            Ok(true) => {}
            Ok(false) => return Ok(()),
            Err(Trouble::Listing(error)) => return Err(error),
            Err(Trouble::Archive(reason)) => {
                return gatherer.problem(path, reason, Origin::Found);
            }
        }
    }
}

/// Why a walk through an archive ends early.
enum Trouble {
    Archive(String),
    Listing(ListingError),
}

impl From<ListingError> for Trouble {
    fn from(error: ListingError) -> Self {
        Self::Listing(error)
    }
}

struct Archive<'a> {
    path: &'a [u8],
    file: File,
    length: u64,
    offset: u64,
    long: Long,
}

/// What headers before a header say of it.
#[derive(Default)]
struct Long {
    name: Option<Vec<u8>>,
    size: Option<u64>,
}

impl Archive<'_> {
    /// Goes over one header and what follows it; `false` at the end.
    fn step(&mut self, gatherer: &mut Gatherer<'_>) -> Result<bool, Trouble> {
        let header = self.block()?;
        let is_empty = |block: &[u8; 512]| block.iter().all(|byte| *byte == 0);
        let Some(header) = header.filter(|header| !is_empty(header)) else {
            return Ok(false);
        };
        if !has_right_sum(&header) {
            return Err(self.damage(&header));
        }
        let kind = header.get(156).copied().unwrap_or_default();
        let is_about_next = matches!(kind, b'L' | b'K' | b'x' | b'g');
        let own_size = number(header.get(124..136).unwrap_or_default());
        let size = match self.long.size {
            Some(size) if !is_about_next => Some(size),
            _ => own_size,
        };
        let data = self.offset + BLOCK;
        let end = size.and_then(|size| data.checked_add(size));
        let (Some(size), Some(end)) = (size, end) else {
            return Err(self.damage(&header));
        };
        let next = end.checked_next_multiple_of(BLOCK);
        if end > self.length {
            return Err(Trouble::Archive(format!(
                "Archive is cut off: byte {} of at least {end} is its last",
                self.length
            )));
        }
        match kind {
            b'L' => self.long.name = Some(until_zero(&self.bytes(data, size)).to_vec()),
            b'x' => {
                let records = self.bytes(data, size);
                self.long.read_pax(&records);
            }
            b'K' | b'g' => {}
            _ => {
                let long = std::mem::take(&mut self.long);
                let name = long.name.unwrap_or_else(|| name(&header));
                self.member(kind, &name, (data, size), &header, gatherer)?;
            }
        }
        self.offset = next.unwrap_or(u64::MAX);
        Ok(true)
    }

    fn member(
        &self,
        kind: u8,
        name: &[u8],
        (offset, size): (u64, u64),
        header: &[u8; 512],
        gatherer: &mut Gatherer<'_>,
    ) -> Result<(), ListingError> {
        let mut name = name;
        while let Some(shorter) = name.strip_prefix(b"./").or_else(|| name.strip_prefix(b"/")) {
            name = shorter;
        }
        let is_hidden = |part: &[u8]| part.starts_with(b".") && part != b"." && part != b"..";
        if !is_image_name(name) || name.split(|byte| *byte == b'/').any(is_hidden) {
            return Ok(());
        }
        if name.len() > LONGEST_NAME {
            let start = name.get(..60).unwrap_or_default();
            let reason = format!("Its name has {} bytes", name.len());
            return gatherer.problem(&[start, b"..."].concat(), reason, Origin::Found);
        }
        let seconds = number(header.get(136..148).unwrap_or_default());
        let modified =
            seconds.and_then(|time| i64::try_from(time).ok()?.checked_mul(1_000_000_000));
        let item = Item {
            path: name.to_vec(),
            kind: Kind::Member {
                archive: self.path.to_vec(),
                offset,
                size,
            },
            bytes: Some(size),
            modified,
        };
        match kind {
            b'0' | b'7' | 0 => gatherer.item(&item),
            b'1' | b'2' => {
                let reason = "Link inside an archive";
                gatherer.problem(&item.full_path(), reason, Origin::Found)
            }
            b'S' => {
                let reason = "Sparse file inside an archive";
                gatherer.problem(&item.full_path(), reason, Origin::Found)
            }
            _ => Ok(()),
        }
    }

    /// The next header; `None` at the end of the file.
    fn block(&self) -> Result<Option<[u8; 512]>, Trouble> {
        let left = self.length.saturating_sub(self.offset);
        if left == 0 {
            return Ok(None);
        }
        let mut block = [0; 512];
        let room = block
            .get_mut(..left.min(BLOCK) as usize)
            .unwrap_or_default();
        let read = self.file.read_exact_at(room, self.offset);
        read.map_err(|error| Trouble::Archive(format!("Archive cannot be read: {error}")))?;
        if left < BLOCK && self.offset > 0 {
            let reason = format!("Archive is cut off at byte {}", self.length);
            return Err(Trouble::Archive(reason));
        }
        Ok(Some(block))
    }

    /// The data of a header that is about the next one; empty if there is too much of it.
    fn bytes(&self, offset: u64, size: u64) -> Vec<u8> {
        if size > LONGEST_HEADER {
            return Vec::new();
        }
        let mut bytes = vec![0; size as usize];
        match self.file.read_exact_at(&mut bytes, offset) {
            Ok(()) => bytes,
            Err(_) => Vec::new(),
        }
    }

    fn damage(&self, header: &[u8]) -> Trouble {
        let is_compressed = MAGIC.iter().any(|magic| header.starts_with(magic));
        Trouble::Archive(match self.offset {
            0 if is_compressed => COMPRESSED.to_owned(),
            0 => "Not a tar archive".to_owned(),
            offset => format!("Archive is damaged at byte {offset}"),
        })
    }
}

impl Long {
    /// Records such as `30 path=a name that is longer\n`.
    fn read_pax(&mut self, mut records: &[u8]) {
        while let Some(space) = records.iter().position(|byte| *byte == b' ') {
            let length = records.get(..space).and_then(decimal);
            let Some(length) = length.filter(|length| *length > space as u64) else {
                return;
            };
            let length = usize::try_from(length).unwrap_or(usize::MAX);
            let Some((record, rest)) = records.split_at_checked(length) else {
                return;
            };
            let record = record.get(space + 1..).unwrap_or_default();
            let record = record.strip_suffix(b"\n").unwrap_or(record);
            if let Some(path) = record.strip_prefix(b"path=") {
                self.name = Some(until_zero(path).to_vec());
            } else if let Some(size) = record.strip_prefix(b"size=") {
                self.size = decimal(size);
            }
            records = rest;
        }
    }
}

fn name(header: &[u8; 512]) -> Vec<u8> {
    let field = |range| until_zero(header.get(range).unwrap_or_default());
    let (short, prefix) = (field(0..100), field(345..500));
    // GNU's own format has other things where ustar has the first part of a name.
    let is_ustar = header.get(257..263) == Some(b"ustar\0");
    if is_ustar && !prefix.is_empty() {
        return [prefix, short].join(&b'/');
    }
    short.to_vec()
}

fn until_zero(bytes: &[u8]) -> &[u8] {
    bytes.split(|byte| *byte == 0).next().unwrap_or_default()
}

fn decimal(digits: &[u8]) -> Option<u64> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// A number of a header: octal digits, or with the highest bit set the bytes of the number.
fn number(field: &[u8]) -> Option<u64> {
    let (&first, rest) = field.split_first()?;
    if first & 0x80 != 0 {
        let start = u64::from(first & 0x7f);
        return rest.iter().try_fold(start, |value, byte| {
            value.checked_mul(256)?.checked_add(u64::from(*byte))
        });
    }
    let text = std::str::from_utf8(until_zero(field)).ok()?.trim();
    if text.is_empty() {
        return Some(0);
    }
    u64::from_str_radix(text, 8).ok()
}

/// A header has the sum of its bytes in it, with spaces where the sum stands.
fn has_right_sum(header: &[u8; 512]) -> bool {
    let bytes = header.iter().enumerate();
    let sum: u64 = bytes
        .map(|(at, byte)| {
            if (148..156).contains(&at) {
                32
            } else {
                u64::from(*byte)
            }
        })
        .sum();
    number(header.get(148..156).unwrap_or_default()) == Some(sum)
}
