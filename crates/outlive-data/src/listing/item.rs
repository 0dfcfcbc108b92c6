//! One image of a listing, and how it lies in a work file.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// An image: where its bytes are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// Path of the file as it is opened, or name of the member within its archive. Never holds a
    /// zero byte, and need not be text.
    pub path: Vec<u8>,
    /// A file of its own, or a part of an archive.
    pub kind: Kind,
    /// How many bytes the image has, where that was looked up.
    pub bytes: Option<u64>,
    /// When it was last written, in nanoseconds since 1970, where that was looked up.
    pub modified: Option<i64>,
}

/// What holds the bytes of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A file.
    File,
    /// A member of a tar archive.
    Member {
        /// Path of the archive.
        archive: Vec<u8>,
        /// Where its bytes start.
        offset: u64,
        /// How many there are.
        size: u64,
    },
}

impl Item {
    /// A file of which only the path is known.
    pub fn file(path: Vec<u8>) -> Self {
        Self {
            path,
            kind: Kind::File,
            bytes: None,
            modified: None,
        }
    }

    /// The file to open: the image itself, or the archive around it.
    pub fn file_path(&self) -> &Path {
        let bytes = match &self.kind {
            Kind::File => &self.path,
            Kind::Member { archive, .. } => archive,
        };
        Path::new(OsStr::from_bytes(bytes))
    }

    /// Path of the file, or `archive.tar/member`.
    pub fn full_path(&self) -> Cow<'_, [u8]> {
        match &self.kind {
            Kind::File => Cow::Borrowed(&self.path),
            Kind::Member { archive, .. } => {
                Cow::Owned([archive.as_slice(), self.path.as_slice()].join(&b'/'))
            }
        }
    }

    /// Appends it in the form of the work files. The path comes first and ends with a zero byte,
    /// so that comparing these bytes compares paths.
    pub(super) fn encode(&self, record: &mut Vec<u8>) {
        record.extend_from_slice(&self.path);
        record.push(0);
        let known = u8::from(self.bytes.is_some()) | u8::from(self.modified.is_some()) << 1;
        match &self.kind {
            Kind::File => record.push(known),
            Kind::Member {
                archive,
                offset,
                size,
            } => {
                record.push(known | 4);
                record.extend_from_slice(archive);
                record.push(0);
                record.extend_from_slice(&offset.to_le_bytes());
                record.extend_from_slice(&size.to_le_bytes());
            }
        }
        let bytes = self.bytes.iter().flat_map(|bytes| bytes.to_le_bytes());
        let modified = self.modified.iter().flat_map(|time| time.to_le_bytes());
        record.extend(bytes.chain(modified));
    }

    /// Reads what [`Item::encode`] wrote.
    pub(super) fn decode(record: &[u8]) -> Option<Self> {
        let (path, rest) = split_at_zero(record)?;
        let (&flags, mut rest) = rest.split_first()?;
        let mut kind = Kind::File;
        if flags & 4 != 0 {
            let (archive, after) = split_at_zero(rest)?;
            rest = after;
            kind = Kind::Member {
                archive: archive.to_vec(),
                offset: u64::from_le_bytes(take(&mut rest)?),
                size: u64::from_le_bytes(take(&mut rest)?),
            };
        }
        let bytes = (flags & 1 != 0).then(|| take(&mut rest).map(u64::from_le_bytes));
        let modified = (flags & 2 != 0).then(|| take(&mut rest).map(i64::from_le_bytes));
        Some(Self {
            path: path.to_vec(),
            kind,
            bytes: bytes.flatten(),
            modified: modified.flatten(),
        })
    }
}

/// What is before the first zero byte, and what is after it.
pub(super) fn split_at_zero(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = bytes.iter().position(|byte| *byte == 0)?;
    Some((bytes.get(..end)?, bytes.get(end + 1..)?))
}

fn take(rest: &mut &[u8]) -> Option<[u8; 8]> {
    let (first, after) = rest.split_first_chunk()?;
    *rest = after;
    Some(*first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_comes_back_as_it_went() {
        let member = Kind::Member {
            archive: b"a b.tar".to_vec(),
            offset: 1 << 40,
            size: 7,
        };
        for (kind, bytes, modified) in [
            (Kind::File, None, None),
            (Kind::File, Some(3), Some(-5)),
            (member.clone(), Some(7), None),
            (member, None, Some(i64::MIN)),
        ] {
            let item = Item {
                path: b"x/\xff\n\"'.jpg".to_vec(),
                kind,
                bytes,
                modified,
            };
            let mut record = Vec::new();
            item.encode(&mut record);
            assert_eq!(Item::decode(&record), Some(item));
            for end in 0..record.len() {
                // Whatever is cut off, nothing panics.
                let _ = Item::decode(&record[..end]);
            }
        }
    }
}
