//! Listings of real files.

mod archive;
mod inputs;

use std::ffi::OsStr;
use std::io::Cursor;
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tempfile::TempDir;

use super::*;

/// A folder for one test.
struct Folder(TempDir);

impl Folder {
    fn new(files: &[&str]) -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        for file in files {
            folder.write(file, b"x");
        }
        folder
    }

    fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        self.0.path().join(path)
    }

    fn write(&self, path: impl AsRef<Path>, bytes: &[u8]) {
        let path = self.path(path);
        fs_err::create_dir_all(path.parent().unwrap()).unwrap();
        fs_err::write(path, bytes).unwrap();
    }

    /// Names of a listing of these paths, relative to the folder.
    fn names(&self, paths: &[&str], order: Order) -> Vec<String> {
        let inputs = paths.iter().map(|path| Input::Path(self.path(path).into()));
        let listing = listing(inputs.collect(), order);
        self.names_of(&listing)
    }

    fn names_of(&self, listing: &Listing) -> Vec<String> {
        let place = Place {
            base: self.0.path().as_os_str().as_bytes().to_vec(),
            ..Place::default()
        };
        items(listing).iter().map(|item| place.name(item)).collect()
    }
}

fn listing(inputs: Vec<Input>, order: Order) -> Listing {
    let options = Options {
        order,
        direction: Direction::Forward,
        details: Details::Names,
        excluded: Exclusion::default(),
        folder: &std::env::temp_dir(),
        observer: &mut |_| ControlFlow::Continue(()),
    };
    Listing::new(inputs, options).unwrap()
}

fn items(listing: &Listing) -> Vec<Item> {
    (0..listing.len())
        .map(|i| listing.item(i).unwrap().unwrap())
        .collect()
}

fn list(bytes: &[u8]) -> Input {
    Input::List {
        name: "-".to_owned(),
        reader: Box::new(Cursor::new(bytes.to_vec())),
        separator: Separator::Detect,
    }
}

fn reasons(listing: &Listing) -> Vec<&str> {
    let problems = listing.problems().first().iter();
    problems.map(|problem| problem.reason.as_str()).collect()
}

#[test]
fn folders_are_listed_as_people_read_them() {
    let folder = Folder::new(&[
        "a/img10.jpg",
        "a/IMG2.JPG",
        "a/b/1.png",
        "a.jpeg",
        "a/notes.txt",
        "a/.hidden.jpg",
        ".git/x.jpg",
        "a/jpg",
        "a/x.jpg.part",
    ]);
    let expected = ["a/b/1.png", "a/IMG2.JPG", "a/img10.jpg", "a.jpeg"];
    assert_eq!(folder.names(&[""], Order::Name), expected);
    assert_eq!(
        folder.names(&[""], Order::Path),
        ["a.jpeg", "a/IMG2.JPG", "a/b/1.png", "a/img10.jpg"]
    );
    assert_eq!(
        folder.names(&[".git", "a/notes.txt"], Order::List),
        [".git/x.jpg", "a/notes.txt"]
    );
}

#[test]
fn files_are_ordered_by_time_and_by_size() {
    let folder = Folder::new(&[]);
    for (name, size, age) in [("b.png", 3, 1), ("a.png", 20, 3), ("c.png", 1, 2)] {
        folder.write(name, &vec![0; size]);
        let file = fs_err::File::options()
            .write(true)
            .open(folder.path(name))
            .unwrap();
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000 - age);
        file.set_modified(time).unwrap();
    }
    assert_eq!(
        folder.names(&[""], Order::Time),
        ["a.png", "c.png", "b.png"]
    );
    assert_eq!(
        folder.names(&[""], Order::Size),
        ["c.png", "b.png", "a.png"]
    );
    let listing = listing(vec![Input::Path(folder.path("").into())], Order::Time);
    let item = listing.item(0).unwrap().unwrap();
    assert_eq!(item.bytes, Some(20));
    assert_eq!(item.modified, Some((1_000_000 - 3) * 1_000_000_000));
}

#[test]
fn reverse_is_the_same_from_the_other_end() {
    let folder = Folder::new(&["1.jpg", "2.jpg", "10.jpg"]);
    let temporary = std::env::temp_dir();
    let make = |direction| {
        let options = Options {
            order: Order::Name,
            direction,
            details: Details::All,
            excluded: Exclusion::default(),
            folder: &temporary,
            observer: &mut |_| ControlFlow::Continue(()),
        };
        Listing::new(vec![Input::Path(folder.path("").into())], options).unwrap()
    };
    let (forward, reverse) = (make(Direction::Forward), make(Direction::Reverse));
    assert_eq!(folder.names_of(&reverse), ["10.jpg", "2.jpg", "1.jpg"]);
    assert_ne!(forward.fingerprint(), reverse.fingerprint());
    assert_eq!(
        forward.fingerprint(),
        make(Direction::Forward).fingerprint()
    );
    folder.write("2.jpg", b"longer");
    assert_ne!(
        forward.fingerprint(),
        make(Direction::Forward).fingerprint()
    );
    assert_eq!(reverse.item(3).unwrap(), None);
    assert_eq!(reverse.item(u64::MAX).unwrap(), None);
}

#[test]
fn links_are_followed_once_and_loops_are_told() {
    let folder = Folder::new(&["in/a.jpg", "in/deep/b.jpg", "out/c.jpg", "out/more/d.jpg"]);
    let link = |from: &str, to: &str| symlink(to, folder.path(from)).unwrap();
    link("in/deep/up", "..");
    link("in/l.jpg", "../out/c.jpg");
    link("in/one", "../out");
    link("in/two", "../out/more");
    link("in/gone.jpg", "nowhere");
    link("in/self.png", "self.png");
    link("in/note.txt", "nowhere");
    link("out/back", "../in");
    let listing = listing(vec![Input::Path(folder.path("in").into())], Order::Name);
    let names = folder.names_of(&listing);
    let expected = [
        "in/a.jpg",
        "in/deep/b.jpg",
        "in/l.jpg",
        "in/one/c.jpg",
        "in/one/more/d.jpg",
    ];
    assert_eq!(names, expected);
    let mut reasons = reasons(&listing);
    reasons.sort_unstable();
    let expected = [
        "Link that leads back to itself",
        "Link to a folder that it lies in",
        "Link to a folder that it lies in",
        "Link to nothing",
    ];
    assert_eq!(reasons, expected);
}

#[test]
fn a_net_of_links_ends() {
    let folder = Folder::new(&[]);
    // Every folder links twice to the next: more than a million ways, twenty folders.
    for i in 0..20 {
        folder.write(format!("{i}/x.jpg"), b"");
        for way in ["left", "right"] {
            symlink(
                format!("../{}", (i + 1) % 20),
                folder.path(format!("{i}/{way}")),
            )
            .unwrap();
        }
    }
    assert_eq!(folder.names(&["0"], Order::Name).len(), 20);
}

#[test]
fn names_may_be_anything() {
    let folder = Folder::new(&[]);
    let names: [&[u8]; 5] = [
        b"a\nb.jpg",
        b"\xff\xfe.png",
        b"\"quoted'.jpg",
        b"-rf.jpg",
        b"\x1b[31m.gif",
    ];
    for name in names {
        folder.write(OsStr::from_bytes(name), b"x");
    }
    let walked = listing(vec![Input::Path(folder.path("").into())], Order::Path);
    let mut found: Vec<Vec<u8>> = items(&walked).into_iter().map(|item| item.path).collect();
    let zeros = found.join(&0);
    for item in items(&listing(vec![list(&zeros)], Order::List)) {
        assert!(fs_err::read(item.file_path()).is_ok());
    }
    for path in &mut found {
        *path = path.rsplit(|byte| *byte == b'/').next().unwrap().to_vec();
    }
    let mut names = names.map(<[u8]>::to_vec).to_vec();
    names.sort();
    assert_eq!(found, names);
}

#[test]
fn what_cannot_be_read_is_told_and_the_rest_is_listed() {
    let folder = Folder::new(&["a.jpg", "sub/b.jpg", "x.tar.gz"]);
    let gone = folder.path("gone.jpg");
    let inputs = ["", "gone.jpg", "a.jpg/below", "*.nothing", "[", "x.tar.gz"];
    let inputs = inputs
        .iter()
        .map(|path| Input::Path(folder.path(path).into()));
    let listing = listing(inputs.collect(), Order::Name);
    assert_eq!(folder.names_of(&listing), ["a.jpg", "sub/b.jpg"]);
    let problems = listing.problems().first();
    assert_eq!(problems[0].path, gone.as_os_str().as_bytes());
    assert!(
        problems
            .iter()
            .all(|problem| problem.origin == Origin::Named)
    );
    let reasons: Vec<&str> = problems
        .iter()
        .map(|problem| problem.reason.as_str())
        .collect();
    assert_eq!(reasons[0], "No such file or directory");
    assert_eq!(reasons[1], "Not a directory");
    assert_eq!(reasons[2], "Pattern that matches no image");
    assert!(reasons[3].starts_with("Not a pattern"), "{reasons:?}");
    assert_eq!(reasons[4], "Compressed archive: decompress it first");
}

#[test]
fn the_page_of_an_earlier_grid_is_left_out_unless_it_is_named() {
    let tile = "page/grid_files/8/0_0.jpg";
    let folder = Folder::new(&["a.jpg", "other/b.jpg", tile, "page/.outlive/grid.json"]);
    symlink(folder.path("page"), folder.path("link")).unwrap();
    assert_eq!(folder.names(&[""], Order::Name), ["a.jpg", "other/b.jpg"]);
    assert_eq!(
        folder.names(&["**/*.jpg"], Order::Name),
        ["a.jpg", "other/b.jpg"]
    );
    assert_eq!(folder.names(&["page"], Order::Name), [tile]);
    assert_eq!(folder.names(&["page/grid_files"], Order::Name), [tile]);
    let named = listing(
        vec![list(folder.path("page").as_os_str().as_bytes())],
        Order::Name,
    );
    assert_eq!(folder.names_of(&named), [tile]);
}

#[test]
fn a_folder_that_may_not_be_read_is_told() {
    use std::os::unix::fs::PermissionsExt;
    if rustix::process::geteuid().is_root() {
        // Root may read everything.
        return;
    }
    let folder = Folder::new(&["a.jpg", "closed/b.jpg"]);
    let closed = folder.path("closed");
    fs_err::set_permissions(&closed, PermissionsExt::from_mode(0o000)).unwrap();
    let listing = listing(vec![Input::Path(folder.path("").into())], Order::Name);
    fs_err::set_permissions(&closed, PermissionsExt::from_mode(0o700)).unwrap();
    assert_eq!(folder.names_of(&listing), ["a.jpg"]);
    assert_eq!(
        reasons(&listing),
        ["Folder cannot be read: Permission denied"]
    );
}

#[test]
fn a_path_that_is_too_long_is_told() {
    let folder = Folder::new(&["a.jpg"]);
    // Deeper than a path can say: made step by step, as `mkdir` and `cd` do.
    let mut fd = rustix::fs::open(
        folder.path(""),
        rustix::fs::OFlags::DIRECTORY,
        rustix::fs::Mode::empty(),
    )
    .unwrap();
    let name = "d".repeat(250);
    for _ in 0..20 {
        rustix::fs::mkdirat(&fd, &name, rustix::fs::Mode::RWXU).unwrap();
        fd = rustix::fs::openat(
            &fd,
            &name,
            rustix::fs::OFlags::DIRECTORY,
            rustix::fs::Mode::empty(),
        )
        .unwrap();
    }
    let listing = listing(vec![Input::Path(folder.path("").into())], Order::Name);
    assert_eq!(folder.names_of(&listing), ["a.jpg"]);
    assert_eq!(
        reasons(&listing),
        ["Folder cannot be read: File name too long"]
    );
}

#[test]
fn the_grid_itself_is_left_out() {
    let folder = Folder::new(&["a.jpg", "sheet.png", "out/1.png", "sub/sheet.png"]);
    let names = |excluded: &str| {
        let temporary = std::env::temp_dir();
        let options = Options {
            order: Order::Name,
            direction: Direction::Forward,
            details: Details::Names,
            excluded: Exclusion::of(&folder.path(excluded)),
            folder: &temporary,
            observer: &mut |_| ControlFlow::Continue(()),
        };
        let inputs = vec![Input::Path(folder.path("").into())];
        folder.names_of(&Listing::new(inputs, options).unwrap())
    };
    let all = ["a.jpg", "out/1.png", "sheet.png", "sub/sheet.png"];
    assert_eq!(
        names("out/../sheet.png"),
        ["a.jpg", "out/1.png", "sub/sheet.png"]
    );
    assert_eq!(names("sub/../out"), ["a.jpg", "sheet.png", "sub/sheet.png"]);
    assert_eq!(names("new.png"), all);
    assert_eq!(names("none/new.png"), all);
}
