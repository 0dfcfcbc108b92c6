//! What lies in a folder and below it.
//!
//! Entries are taken as the kernel hands them out, with the kind of each, so that most files cost
//! no system call of their own. Links to folders are followed when everything else is done, each
//! folder once: then it does not depend on chance under which of two names it is found. A page of an
//! earlier grid is left out, unless it is named: its tiles are no images of anybody.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};
use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RawDir, Stat, fstat, openat, stat, statat};
use rustix::io::Errno;

use super::error::ListingError;
use super::exclusion::{Identity, identity};
use super::gather::{Gatherer, reason};
use super::input::is_image_name;
use super::pattern::{Pattern, Verdict};
use super::pending::{Folder, Pending};
use super::problem::Origin;
use super::work_file::WorkFile;

/// What the folder of a page holds.
const PAGE: &str = ".outlive/grid.json";
/// Bytes of entries that are taken at a time.
const ENTRIES: usize = 64 << 10;

/// Takes in the images of a folder, and those of all folders below.
pub(super) fn walk(
    root: &[u8],
    origin: Origin,
    gatherer: &mut Gatherer<'_>,
) -> Result<(), ListingError> {
    let start = Folder {
        path: root.to_vec(),
        depth: None,
    };
    Walker::new(None, gatherer).walk(&start, origin)
}

/// Takes in what a pattern matches: any file, and the images of any folder.
pub(super) fn walk_pattern(
    pattern: &Pattern,
    gatherer: &mut Gatherer<'_>,
) -> Result<(), ListingError> {
    let start = Folder {
        path: pattern.base().to_vec(),
        depth: Some(0),
    };
    Walker::new(Some(pattern), gatherer).walk(&start, Origin::Found)
}

/// What becomes of a folder that is a page of an earlier grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pages {
    Taken,
    LeftOut,
}

struct Walker<'a, 'b> {
    gatherer: &'a mut Gatherer<'b>,
    pattern: Option<&'a Pattern>,
    pending: Pending,
    /// Folders that were looked into; read back only if there is a link to a folder.
    seen: WorkFile,
    /// The same, as soon as a link was followed.
    followed: Option<HashSet<Identity>>,
    /// Links to folders, by their path.
    links: BinaryHeap<Reverse<(Vec<u8>, Option<u32>)>>,
    buffer: Vec<u8>,
}

impl<'a, 'b> Walker<'a, 'b> {
    fn new(pattern: Option<&'a Pattern>, gatherer: &'a mut Gatherer<'b>) -> Self {
        Self {
            pattern,
            pending: Pending::new(gatherer.folder()),
            seen: WorkFile::new(gatherer.folder()),
            gatherer,
            followed: None,
            links: BinaryHeap::new(),
            buffer: Vec::with_capacity(ENTRIES),
        }
    }

    fn walk(&mut self, start: &Folder, origin: Origin) -> Result<(), ListingError> {
        self.open(start, origin, Pages::Taken)?;
        loop {
            while let Some(folder) = self.pending.pop()? {
                self.open(&folder, Origin::Found, Pages::LeftOut)?;
            }
            let Some(Reverse((path, depth))) = self.links.pop() else {
                return Ok(());
            };
            self.follow(&Folder { path, depth }, &start.path)?;
        }
    }

    /// Looks into a folder.
    fn open(&mut self, folder: &Folder, origin: Origin, pages: Pages) -> Result<(), ListingError> {
        self.gatherer.tick()?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let path = if folder.path.is_empty() {
            b"."
        } else {
            folder.path.as_slice()
        };
        let opened = openat(CWD, path, flags, Mode::empty());
        let opened = opened.and_then(|fd| Ok((identity(&fstat(&fd)?), fd)));
        let (identity, fd) = match opened {
            Ok(opened) => opened,
            Err(error) => return self.gatherer.problem(path, unreadable(error), origin),
        };
        let is_left_out = pages == Pages::LeftOut && is_page(&fd);
        if is_left_out || self.gatherer.excluded().is(identity) {
            return Ok(());
        }
        match &mut self.followed {
            Some(followed) => {
                if !followed.insert(identity) {
                    return Ok(());
                }
            }
            None => self.seen.append(&identity.map(u64::to_ne_bytes).concat())?,
        }
        let mut buffer = std::mem::take(&mut self.buffer);
        let mut entries = RawDir::new(&fd, buffer.spare_capacity_mut());
        while let Some(entry) = entries.next() {
            match entry {
                Ok(entry) => {
                    let name = entry.file_name().to_bytes();
                    if !self.gatherer.leaves_out(identity, name) {
                        self.entry(folder, &fd, name, entry.file_type())?;
                    }
                }
                Err(Errno::INTR) => {}
                Err(error) => {
                    self.gatherer.problem(path, unreadable(error), origin)?;
                    break;
                }
            }
        }
        self.buffer = buffer;
        Ok(())
    }

    fn entry(
        &mut self,
        folder: &Folder,
        fd: &OwnedFd,
        name: &[u8],
        mut kind: FileType,
    ) -> Result<(), ListingError> {
        let is_hidden = name.starts_with(b".");
        let takes_hidden = folder.depth.is_some()
            && self.pattern.is_some_and(Pattern::names_hidden)
            && name != b"."
            && name != b"..";
        if is_hidden && !takes_hidden {
            return Ok(());
        }
        let path = join(&folder.path, name);
        let mut known = None;
        if kind == FileType::Unknown {
            // Some file systems do not say.
            known = statat(fd, name, AtFlags::SYMLINK_NOFOLLOW).ok();
            kind = known.map_or(kind, |stat| FileType::from_raw_mode(stat.st_mode));
        }
        let mut is_link = false;
        if kind == FileType::Symlink {
            is_link = true;
            known = match statat(fd, name, AtFlags::empty()) {
                Ok(stat) => Some(stat),
                Err(error) => return self.dangling(&path, name, error),
            };
            kind = known.map_or(kind, |stat| FileType::from_raw_mode(stat.st_mode));
        }
        match kind {
            FileType::Directory => self.folder(folder, path, is_link),
            FileType::RegularFile => self.file(folder, fd, name, &path, known),
            _ => self.device(folder, name, &path),
        }
    }

    /// A pipe, a socket or a device is of interest if it was taken for an image.
    fn device(&mut self, folder: &Folder, name: &[u8], path: &[u8]) -> Result<(), ListingError> {
        let is_asked_for = match (folder.depth, self.pattern) {
            (Some(_), Some(pattern)) => pattern.verdict(path) == Verdict::Matches,
            _ => is_image_name(name),
        };
        if !is_asked_for {
            return Ok(());
        }
        let reason = "Neither a file nor a folder";
        self.gatherer.problem(path, reason, Origin::Found)
    }

    fn file(
        &mut self,
        folder: &Folder,
        fd: &OwnedFd,
        name: &[u8],
        path: &[u8],
        mut known: Option<Stat>,
    ) -> Result<(), ListingError> {
        if let (Some(_), Some(pattern)) = (folder.depth, self.pattern) {
            return match pattern.verdict(path) {
                Verdict::Matches if !pattern.wants_folders_only() => {
                    super::input::named_file(path, known.as_ref(), self.gatherer)
                }
                _ => Ok(()),
            };
        }
        if !is_image_name(name) {
            return Ok(());
        }
        if known.is_none() && self.gatherer.needs_details() {
            known = match statat(fd, name, AtFlags::empty()) {
                Ok(stat) => Some(stat),
                Err(error) => return self.gatherer.problem(path, reason(error), Origin::Found),
            };
        }
        self.gatherer.file(path, known.as_ref())
    }

    fn folder(
        &mut self,
        parent: &Folder,
        path: Vec<u8>,
        is_link: bool,
    ) -> Result<(), ListingError> {
        let mut depth = parent.depth.map(|depth| depth + 1);
        if let (Some(steps), Some(pattern)) = (depth, self.pattern) {
            if pattern.verdict(&path) == Verdict::Matches {
                depth = None;
            } else if pattern.ends_before(steps) {
                return Ok(());
            }
        }
        if is_link {
            self.links.push(Reverse((path, depth)));
            return Ok(());
        }
        self.pending.push(&path, depth)
    }

    /// A link that leads nowhere is of interest if it might have been an image or a folder.
    fn dangling(&mut self, path: &[u8], name: &[u8], error: Errno) -> Result<(), ListingError> {
        let is_of_interest = is_image_name(name) || !name.contains(&b'.');
        if !is_of_interest {
            return Ok(());
        }
        let reason = match error {
            Errno::NOENT | Errno::NOTDIR => "Link to nothing".to_owned(),
            Errno::LOOP => "Link that leads back to itself".to_owned(),
            other => reason(other),
        };
        self.gatherer.problem(path, reason, Origin::Found)
    }

    fn follow(&mut self, link: &Folder, root: &[u8]) -> Result<(), ListingError> {
        if self.followed.is_none() {
            self.followed = Some(self.all_seen()?);
        }
        let Ok(target) = stat(link.path.as_slice()).map(|stat| identity(&stat)) else {
            return self
                .gatherer
                .problem(&link.path, "Link to nothing", Origin::Found);
        };
        let is_known = self
            .followed
            .as_ref()
            .is_some_and(|all| all.contains(&target));
        if !is_known {
            return self.open(link, Origin::Found, Pages::LeftOut);
        }
        if is_around(&link.path, root, target) {
            let reason = "Link to a folder that it lies in";
            return self.gatherer.problem(&link.path, reason, Origin::Found);
        }
        Ok(())
    }

    fn all_seen(&self) -> Result<HashSet<Identity>, ListingError> {
        let mut all = HashSet::new();
        for offset in (0..self.seen.len()).step_by(16) {
            let [mut device, mut number] = [[0; 8]; 2];
            self.seen.read(&mut device, offset)?;
            self.seen.read(&mut number, offset + 8)?;
            all.insert([device, number].map(u64::from_ne_bytes));
        }
        Ok(all)
    }
}

/// Whether a folder is one of those that a path goes through, from the root on.
fn is_around(path: &[u8], root: &[u8], target: Identity) -> bool {
    let ends = (root.len().max(1)..path.len()).filter(|end| path.get(*end) == Some(&b'/'));
    let above = ends.filter_map(|end| path.get(..end));
    let root = if root.is_empty() { b"." } else { root };
    let mut all = std::iter::once(root).chain(above);
    all.any(|folder| stat(folder).is_ok_and(|stat| identity(&stat) == target))
}

fn is_page(folder: &OwnedFd) -> bool {
    statat(folder, PAGE, AtFlags::empty()).is_ok()
}

fn unreadable(error: Errno) -> String {
    format!("Folder cannot be read: {}", reason(error))
}

/// A path below a folder; the empty one is where the process is.
fn join(folder: &[u8], name: &[u8]) -> Vec<u8> {
    let mut path = Vec::with_capacity(folder.len() + 1 + name.len());
    path.extend_from_slice(folder);
    if !folder.is_empty() && !folder.ends_with(b"/") {
        path.push(b'/');
    }
    path.extend_from_slice(name);
    path
}
