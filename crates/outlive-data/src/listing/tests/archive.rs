//! Archives as `tar` programs write them, whole and broken.

use std::ops::ControlFlow;
use std::path::Path;

use super::super::*;

/// A header with the right sum.
fn header(name: &[u8], size: &str, kind: u8) -> Vec<u8> {
    let mut block = vec![0; 512];
    block[..name.len()].copy_from_slice(name);
    block[124..124 + size.len()].copy_from_slice(size.as_bytes());
    block[136..147].copy_from_slice(b"00000000012");
    block[156] = kind;
    block[257..265].copy_from_slice(b"ustar\x0000");
    with_sum(block)
}

fn with_sum(mut block: Vec<u8>) -> Vec<u8> {
    block[148..156].fill(b' ');
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    block[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    block
}

fn member(name: &[u8], data: &[u8], kind: u8) -> Vec<u8> {
    let mut bytes = header(name, &format!("{:011o}", data.len()), kind);
    bytes.extend_from_slice(data);
    bytes.resize(bytes.len().next_multiple_of(512), 0);
    bytes
}

fn pax(records: &[(&str, &str)]) -> Vec<u8> {
    let mut data = Vec::new();
    for (name, value) in records {
        let rest = format!(" {name}={value}\n");
        let length = (1..9_999)
            .find(|length| rest.len() + length.to_string().len() == *length)
            .unwrap();
        data.extend_from_slice(format!("{length}{rest}").as_bytes());
    }
    member(b"PaxHeader", &data, b'x')
}

fn listing(bytes: &[u8], name: &str) -> (Listing, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs_err::write(&path, bytes).unwrap();
    let options = Options {
        order: Order::List,
        direction: Direction::Forward,
        details: Details::Names,
        excluded: Exclusion::default(),
        folder: &std::env::temp_dir(),
        observer: &mut |_| ControlFlow::Continue(()),
    };
    let listing = Listing::new(vec![Input::Path(path.clone().into())], options).unwrap();
    for index in 0..listing.len() {
        let item = listing.item(index).unwrap().unwrap();
        let Kind::Member { offset, size, .. } = item.kind else {
            panic!("{item:?}");
        };
        // Every test member holds its own name.
        let data = &bytes[offset as usize..(offset + size) as usize];
        assert_eq!(
            data,
            &item.path[item.path.len().saturating_sub(data.len())..]
        );
        assert_eq!(item.file_path(), Path::new(&path));
    }
    let names = (0..listing.len())
        .map(|index| String::from_utf8(listing.item(index).unwrap().unwrap().path).unwrap());
    let names = names.collect();
    (listing, names)
}

fn reason(listing: &Listing) -> &str {
    listing
        .problems()
        .first()
        .first()
        .map_or("", |problem| problem.reason.as_str())
}

#[test]
fn a_name_that_no_file_can_have_is_a_problem() {
    let long = |length: usize| "x".repeat(length - 4) + ".png\0";
    let [most, more] = [4096, 4097].map(|length| {
        let name = member(b"././@LongLink", long(length).as_bytes(), b'L');
        [name, member(b"short.png", b".png", b'0')].concat()
    });
    let (listing, names) = listing(&[most, more].concat(), "a.tar");
    assert_eq!(names, [long(4096).trim_end_matches('\0')]);
    assert_eq!(listing.problems().count(), 1);
}

#[test]
fn long_names_of_both_kinds_are_read() {
    let long = format!("{}/b.png", "long".repeat(60));
    let mut prefixed = header(b"c.png", "00000000005", b'0');
    prefixed[345..351].copy_from_slice(b"folder");
    let mut prefixed = with_sum(prefixed);
    prefixed.extend_from_slice(b"c.png");
    prefixed.resize(1024, 0);
    let bytes = [
        member(b"./a.jpg", b"a.jpg", b'0'),
        member(b"a.cls", b"7", b'0'),
        member(b"././@LongLink", format!("{long}\0").as_bytes(), b'L'),
        member(b"cut", b"b.png", b'0'),
        pax(&[("mtime", "1.5"), ("path", "d/é\u{fffd}.gif"), ("size", "4")]),
        // The size of the header is not the one that counts.
        {
            let mut bytes = header(b"short.gif", "00000000000", b'0');
            bytes.extend_from_slice(b".gif");
            bytes.resize(1024, 0);
            bytes
        },
        prefixed,
        member(b".hidden/x.jpg", b"x", b'0'),
        member(b"dir.jpg/", b"", b'5'),
        vec![0; 1024],
    ];
    let (listing, names) = listing(&bytes.concat(), "x.tar");
    assert_eq!(names, ["a.jpg", "d/é\u{fffd}.gif", "folder/c.png", &long]);
    assert_eq!(listing.problems().count(), 0);
    assert_eq!(
        listing.item(0).unwrap().unwrap().modified,
        Some(10_000_000_000)
    );
}

#[test]
fn what_is_before_the_break_is_listed() {
    let one = member(b"1.jpg", b"1.jpg", b'0');
    let two = member(b"2.jpg", &b"2.jpg".repeat(200)[..5], b'0');
    let whole = [one.clone(), two].concat();
    for cut in 1..whole.len() {
        let (broken, names) = listing(&whole[..cut], "x.TAR");
        let expected: &[&str] = match cut {
            ..517 => &[],
            517..1541 => &["1.jpg"],
            _ => &["1.jpg", "2.jpg"],
        };
        assert_eq!(names, expected, "{cut}");
        let is_at_an_end = (517..=1024).contains(&cut) || cut >= 1541;
        assert_eq!(
            broken.problems().count() == 0,
            is_at_an_end,
            "{cut}: {}",
            reason(&broken)
        );
    }
    let damaged = [one, vec![b'x'; 600]].concat();
    let (listing, names) = listing(&damaged, "x.tar");
    assert_eq!(names, ["1.jpg"]);
    assert_eq!(reason(&listing), "Archive is damaged at byte 1024");
}

#[test]
fn what_is_no_archive_is_told() {
    let of = |bytes: &[u8]| reason(&listing(bytes, "x.tar").0).to_owned();
    assert_eq!(
        of(b"\x1f\x8b\x08 and more"),
        "Compressed archive: decompress it first"
    );
    assert_eq!(of(b"plain text"), "Not a tar archive");
    assert_eq!(of(b""), "");
}

#[test]
fn sizes_that_cannot_be_are_no_harm() {
    for size in ["77777777777", "-0000000001", "99999999999", "\u{7f}"] {
        let (listing, names) = listing(&header(b"x.jpg", size, b'0'), "x.tar");
        assert_eq!(names.len(), 0);
        assert_eq!(listing.problems().count(), 1, "{size}");
    }
    let mut huge = header(b"x.jpg", "", b'0');
    huge[124..136].fill(0xff);
    assert_eq!(listing(&with_sum(huge), "x.tar").0.problems().count(), 1);
    let endless = [
        member(b"x", b"9999999999999999999 path=x\n", b'x'),
        member(b"1.jpg", b"1.jpg", b'0'),
    ];
    assert_eq!(listing(&endless.concat(), "x.tar").1, ["1.jpg"]);
}

#[test]
fn links_in_archives_are_told() {
    let (listing, names) = listing(&member(b"l.jpg", b"", b'2'), "x.tar");
    assert_eq!(names.len(), 0);
    assert_eq!(reason(&listing), "Link inside an archive");
}
