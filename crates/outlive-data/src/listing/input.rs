//! What a user can name: files, folders, patterns, archives, and lists of all these.

use std::ffi::OsString;
use std::io::Read;
use std::os::unix::ffi::OsStringExt;

use rustix::fs::{FileType, Stat, stat};
use rustix::io::Errno;

use super::archive;
use super::error::ListingError;
use super::gather::{Gatherer, reason};
use super::path_list::each_path;
use super::pattern::Pattern;
use super::problem::Origin;
use super::walk;

/// Endings of images, as they are looked for in folders and archives.
const ENDINGS: [&[u8]; 17] = [
    b"jpg", b"jpeg", b"jpe", b"jfif", b"png", b"webp", b"gif", b"bmp", b"tif", b"tiff", b"ico",
    b"pnm", b"pbm", b"pgm", b"ppm", b"qoi", b"tga",
];
/// Endings of archives that would have to be decompressed from their start for every image.
const COMPRESSED: [&[u8]; 9] = [
    b".tar.gz",
    b".tgz",
    b".tar.bz2",
    b".tbz2",
    b".tar.xz",
    b".txz",
    b".tar.zst",
    b".tar.lz4",
    b".tzst",
];

/// Something to list.
pub enum Input {
    /// A file, a folder, an archive or a pattern.
    Path(OsString),
    /// Paths, one after another.
    List {
        /// What it is called in an error.
        name: String,
        /// Where they come from.
        reader: Box<dyn Read>,
        /// What is between them.
        separator: Separator,
    },
}

/// What stands between the paths of a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Separator {
    /// Zero bytes if there is one at its beginning, line ends otherwise.
    #[default]
    Detect,
    /// Zero bytes.
    Zero,
}

/// Whether a name ends as those of images do.
pub fn is_image_name(name: &[u8]) -> bool {
    let Some(dot) = name.iter().rposition(|byte| *byte == b'.') else {
        return false;
    };
    let ending = name.get(dot + 1..).unwrap_or_default();
    ENDINGS
        .iter()
        .any(|known| known.eq_ignore_ascii_case(ending))
}

pub(super) fn gather(input: Input, gatherer: &mut Gatherer<'_>) -> Result<(), ListingError> {
    match input {
        Input::Path(path) => {
            gatherer.next_given();
            named(&path.into_vec(), gatherer)
        }
        Input::List {
            name,
            reader,
            separator,
        } => each_path(&name, reader, separator, &mut |path| {
            gatherer.next_given();
            listed(path, gatherer)
        }),
    }
}

/// Something that was given by name must be there.
fn named(path: &[u8], gatherer: &mut Gatherer<'_>) -> Result<(), ListingError> {
    match stat(path) {
        Ok(stat) => existing(path, &stat, Origin::Named, gatherer),
        Err(Errno::NOENT) if Pattern::is_one(path) => match Pattern::new(path) {
            Ok(pattern) => {
                let before = gatherer.found();
                walk::walk_pattern(&pattern, gatherer)?;
                if gatherer.found() == before {
                    gatherer.problem(path, "Pattern that matches no image", Origin::Named)?;
                }
                Ok(())
            }
            Err(reason) => gatherer.problem(path, reason, Origin::Named),
        },
        Err(error) => gatherer.problem(path, reason(error), Origin::Named),
    }
}

/// A line of a list keeps its place in the grid, as a broken cell if need be.
fn listed(path: &[u8], gatherer: &mut Gatherer<'_>) -> Result<(), ListingError> {
    match stat(path) {
        Ok(stat) if is_readable(&stat) => existing(path, &stat, Origin::Found, gatherer),
        _ => gatherer.file(path, None),
    }
}

/// Whether it is a file or a folder, and no device.
fn is_readable(stat: &Stat) -> bool {
    let kind = FileType::from_raw_mode(stat.st_mode);
    matches!(kind, FileType::Directory | FileType::RegularFile)
}

fn existing(
    path: &[u8],
    stat: &Stat,
    origin: Origin,
    gatherer: &mut Gatherer<'_>,
) -> Result<(), ListingError> {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory => walk::walk(path, origin, gatherer),
        FileType::RegularFile => file(path, Some(stat), origin, gatherer),
        _ => gatherer.problem(path, "Neither a file nor a folder", origin),
    }
}

/// A file that was asked for, whatever its name ends with.
pub(super) fn named_file(
    path: &[u8],
    known: Option<&Stat>,
    gatherer: &mut Gatherer<'_>,
) -> Result<(), ListingError> {
    if known.is_some() || !gatherer.needs_details() {
        return file(path, known, Origin::Found, gatherer);
    }
    match stat(path) {
        Ok(stat) => file(path, Some(&stat), Origin::Found, gatherer),
        Err(error) => gatherer.problem(path, reason(error), Origin::Found),
    }
}

fn file(
    path: &[u8],
    stat: Option<&Stat>,
    origin: Origin,
    gatherer: &mut Gatherer<'_>,
) -> Result<(), ListingError> {
    let ends_with = |ending: &[u8]| {
        let start = path.len().checked_sub(ending.len());
        let end = start.and_then(|start| path.get(start..));
        end.is_some_and(|end| end.eq_ignore_ascii_case(ending))
    };
    if ends_with(b".tar") {
        archive::read(path, origin, gatherer)
    } else if COMPRESSED.iter().any(|ending| ends_with(ending)) {
        gatherer.problem(path, archive::COMPRESSED, origin)
    } else {
        gatherer.file(path, stat)
    }
}

impl std::fmt::Debug for Input {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Path(path) => formatter.debug_tuple("Path").field(path).finish(),
            Self::List { name, .. } => formatter.debug_tuple("List").field(name).finish(),
        }
    }
}
