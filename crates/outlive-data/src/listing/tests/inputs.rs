//! Patterns and lists, and listings that end early.

use std::ffi::OsString;
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

use proptest::prelude::*;

use super::super::gather::Gatherer;
use super::super::{
    Details, Direction, Exclusion, Input, Item, Listing, ListingError, Options, Order, order,
};
use super::{Folder, list, listing};

#[test]
fn patterns_match_files_and_folders() {
    let folder = Folder::new(&[
        "run1/a.jpg",
        "run1/b.dat",
        "run2/a.jpg",
        "run2/deep/c.jpg",
        "other/a.jpg",
        ".dot/a.jpg",
        "lit[1].jpg",
    ]);
    let names = |pattern| folder.names(&[pattern], Order::Name);
    assert_eq!(
        names("run*"),
        ["run1/a.jpg", "run2/a.jpg", "run2/deep/c.jpg"]
    );
    assert_eq!(
        names("run*/"),
        ["run1/a.jpg", "run2/a.jpg", "run2/deep/c.jpg"]
    );
    assert_eq!(
        names("*/a.jpg"),
        ["other/a.jpg", "run1/a.jpg", "run2/a.jpg"]
    );
    assert_eq!(names("run?/*.dat"), ["run1/b.dat"]);
    assert_eq!(names("**/c.*"), ["run2/deep/c.jpg"]);
    assert_eq!(names(".d*/*"), [".dot/a.jpg"]);
    assert_eq!(names("lit[1].jpg"), ["lit[1].jpg"]);
}

#[test]
fn a_list_keeps_its_order_and_its_gaps() {
    let folder = Folder::new(&["10.jpg", "2.dat", "sub/x.png"]);
    let lines = ["10.jpg", "gone.jpg", "sub", "2.dat", "10.jpg"];
    let text = lines
        .map(|line| folder.path(line).display().to_string())
        .join("\n");
    let listing = listing(vec![list(text.as_bytes())], Order::List);
    let expected = ["10.jpg", "gone.jpg", "sub/x.png", "2.dat", "10.jpg"];
    assert_eq!(folder.names_of(&listing), expected);
    assert_eq!(listing.problems().count(), 0);
}

#[test]
fn an_observer_can_stop_it() {
    let text = (0..5_000)
        .map(|i| format!("{i}.jpg\n"))
        .collect::<Vec<_>>()
        .concat();
    let mut asked = 0;
    let options = Options {
        order: Order::Name,
        direction: Direction::Forward,
        details: Details::Names,
        excluded: Exclusion::default(),
        folder: &std::env::temp_dir(),
        observer: &mut |_| {
            asked += 1;
            if asked == 2 {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        },
    };
    let error = Listing::new(vec![list(text.as_bytes())], options).unwrap_err();
    assert!(matches!(error, ListingError::Stopped));
}

#[test]
fn a_work_folder_that_is_no_folder_is_named() {
    let text = (0..200_000)
        .map(|i| format!("{i:040}.jpg\n"))
        .collect::<Vec<_>>()
        .concat();
    let options = Options {
        order: Order::Name,
        direction: Direction::Forward,
        details: Details::Names,
        excluded: Exclusion::default(),
        folder: Path::new("/dev/null"),
        observer: &mut |_| ControlFlow::Continue(()),
    };
    let error = Listing::new(vec![list(text.as_bytes())], options).unwrap_err();
    assert!(error.to_string().contains("`/dev/null`"), "{error}");
    assert!(error.to_string().contains("TMPDIR"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn runs_of_any_size_give_the_same_listing(
        paths in prop::collection::vec("[aA/.0-9é\n]{1,12}", 0..80),
        run_bytes in 1_usize..600,
    ) {
        let temporary = std::env::temp_dir();
        let gather = |run_bytes| {
            let options = Options {
                order: Order::Name,
                direction: Direction::Forward,
                details: Details::Names,
                excluded: Exclusion::default(),
                folder: &temporary,
                observer: &mut |_| ControlFlow::Continue(()),
            };
            let mut gatherer = Gatherer::with_runs_of(run_bytes, options);
            for path in &paths {
                gatherer.file(path.as_bytes(), None).unwrap();
            }
            let mut records = Vec::new();
            gatherer.finish(&mut |record| {
                records.push(record.to_vec());
                Ok(())
            }).unwrap();
            records
        };
        let plain = gather(1 << 20);
        prop_assert_eq!(&gather(run_bytes), &plain);
        let mut expected: Vec<(Vec<u8>, &str)> = paths.iter().map(|path| {
            let mut key = Vec::new();
            order::push_natural(path.as_bytes(), &mut key);
            (key, path.as_str())
        }).collect();
        expected.sort();
        let found: Vec<Vec<u8>> = plain.iter().map(|record| Item::decode(record).unwrap().path).collect();
        let expected: Vec<Vec<u8>> = expected.into_iter().map(|(_, path)| path.as_bytes().to_vec()).collect();
        prop_assert_eq!(found, expected);
    }
}

#[test]
fn paths_from_the_system_are_taken_as_bytes() {
    let path = OsString::from_vec(b"/nowhere/\xff.jpg".to_vec());
    let listing = listing(vec![Input::Path(path)], Order::Name);
    assert_eq!(listing.problems().first()[0].path, b"/nowhere/\xff.jpg");
}
