//! The items of a listing as a page shows them: name, link, size, caption.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, PathBuf};
use std::sync::Arc;

use super::Listing;
use super::captions::Captions;
use super::item::{Item, Kind};
use crate::grid::cells::{Entries, Entry};

/// A listing, seen from the place where its grid will be.
#[derive(Debug)]
pub struct ListedEntries {
    /// The images.
    pub listing: Arc<Listing>,
    /// From where they are seen.
    pub place: Place,
    /// What stands below them.
    pub labels: Labels,
}

/// From where paths are shown, and from where links lead.
#[derive(Clone, Debug, Default)]
pub struct Place {
    /// Names are shown relative to this folder, as far as they lie in it.
    pub base: Vec<u8>,
    /// The folder that relative paths of the listing start at, absolute.
    pub current: PathBuf,
    /// The folder of the page, absolute; `None` if no links are wanted.
    pub page: Option<PathBuf>,
}

/// The text below a picture.
#[derive(Debug, Default)]
pub enum Labels {
    /// None.
    #[default]
    Nothing,
    /// The name of the file without its folder.
    Name,
    /// The path, as far as it is shown.
    Path,
    /// From a file.
    Captions(Captions),
}

impl ListedEntries {
    /// What is written below a picture.
    pub fn label(&self, index: u64) -> Option<String> {
        if matches!(self.labels, Labels::Nothing) {
            return None;
        }
        let item = self.listing.item(index).ok()??;
        match &self.labels {
            Labels::Nothing => None,
            Labels::Name => {
                let name = item.path.rsplit(|byte| *byte == b'/').next();
                Some(String::from_utf8_lossy(name.unwrap_or_default()).into_owned())
            }
            Labels::Path => Some(self.place.name(&item)),
            Labels::Captions(captions) => self.caption(captions, &item),
        }
    }

    /// A caption is found by the path as it was given, or as it is shown.
    fn caption(&self, captions: &Captions, item: &Item) -> Option<String> {
        let path = item.full_path();
        let shown = self.place.below_base(&path);
        captions.caption(&path).or_else(|| captions.caption(shown))
    }
}

impl Entries for ListedEntries {
    fn entry(&self, index: u64) -> Entry<'_> {
        let Ok(Some(item)) = self.listing.item(index) else {
            return Entry::default();
        };
        let caption = match &self.labels {
            Labels::Captions(captions) => self.caption(captions, &item),
            _ => None,
        };
        Entry {
            name: Cow::Owned(self.place.name(&item)),
            link: Cow::Owned(self.place.link(&item)),
            bytes: item.bytes.or_else(|| length(&item)).unwrap_or_default(),
            caption: caption.map(Cow::Owned),
        }
    }
}

impl Place {
    /// A path as it is shown, in text that is always valid.
    pub fn name(&self, item: &Item) -> String {
        let path = item.full_path();
        String::from_utf8_lossy(self.below_base(&path)).into_owned()
    }

    fn below_base<'a>(&self, path: &'a [u8]) -> &'a [u8] {
        let base = self.base.strip_suffix(b"/").unwrap_or(&self.base);
        let below = path.strip_prefix(base);
        let below = below.and_then(|below| below.strip_prefix(b"/"));
        below
            .filter(|below| !below.is_empty() && !base.is_empty())
            .unwrap_or(path)
    }

    /// The address of a file, relative to the page; empty for a member of an archive.
    pub fn link(&self, item: &Item) -> String {
        let (Some(page), Kind::File) = (&self.page, &item.kind) else {
            return String::new();
        };
        let file = self.current.join(OsStr::from_bytes(&item.path));
        let shared = page.components().zip(file.components());
        let shared = shared
            .take_while(|(one, other)| one == other && *one != Component::ParentDir)
            .count();
        let mut link = "../".repeat(page.components().count() - shared);
        let rest: PathBuf = file.components().skip(shared).collect();
        push_encoded(rest.as_os_str().as_bytes(), &mut link);
        link
    }
}

fn length(item: &Item) -> Option<u64> {
    Some(std::fs::metadata(item.file_path()).ok()?.len())
}

/// Bytes that mean something else in an address, or nothing, are written as numbers.
fn push_encoded(path: &[u8], link: &mut String) {
    for &byte in path {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                link.push(char::from(byte));
            }
            _ => {
                let digit = |value: u8| char::from(b"0123456789ABCDEF"[usize::from(value & 15)]);
                link.extend(['%', digit(byte >> 4), digit(byte)]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(base: &str, page: &str) -> Place {
        Place {
            base: base.as_bytes().to_vec(),
            current: PathBuf::from("/home/a"),
            page: Some(PathBuf::from(page)),
        }
    }

    #[test]
    fn links_lead_from_the_page_to_the_file() {
        let link = |page: &str, path: &[u8]| place("", page).link(&Item::file(path.to_vec()));
        assert_eq!(link("/home/a/out", b"in/x.jpg"), "../in/x.jpg");
        assert_eq!(link("/home/a", b"./in/x.jpg"), "in/x.jpg");
        assert_eq!(link("/home/a/out", b"/data/x.jpg"), "../../../data/x.jpg");
        assert_eq!(link("/home/a/out", b"../b/x.jpg"), "../../b/x.jpg");
        assert_eq!(
            link("/home/a", b"a b\n\"<%#?:\xff.jpg"),
            "a%20b%0A%22%3C%25%23%3F%3A%FF.jpg"
        );
    }

    #[test]
    fn names_are_shown_from_the_base_on() {
        let name = |base: &str, path: &[u8]| place(base, "/").name(&Item::file(path.to_vec()));
        assert_eq!(name("in/", b"in/x.jpg"), "x.jpg");
        assert_eq!(name(".", b"./x.jpg"), "x.jpg");
        assert_eq!(name("in", b"inner/x.jpg"), "inner/x.jpg");
        assert_eq!(name("", b"/x/\xff.jpg"), "/x/\u{fffd}.jpg");
    }

    #[test]
    fn members_have_names_and_no_links() {
        let item = Item {
            kind: Kind::Member {
                archive: b"in/a.tar".to_vec(),
                offset: 0,
                size: 1,
            },
            ..Item::file(b"x.jpg".to_vec())
        };
        assert_eq!(place("in", "/").name(&item), "a.tar/x.jpg");
        assert_eq!(place("in", "/").link(&item), "");
    }
}
