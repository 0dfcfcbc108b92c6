//! Any bytes give an error or a partial result: never a panic, never more memory than the file.

mod support;

use outlive_record::layout::{Layout, MAGIC, MIN_BOX_SIZE, SECTION_COUNT, header};
use outlive_record::read::{ReadError, Recording};
use proptest::prelude::*;

use support::damage::{Chance, damage};
use support::memory::highest_during;
use support::{sample_box, whole};

/// Room for what does not depend on the file: the structures of one answer. Matters only for files
/// that were cut far below the least size of a box, which is 4 MiB.
const FIXED: usize = 64 << 10;

/// Reads a file to the end and checks what that took.
fn read_within_bounds(file: &[u8]) -> Result<(), ReadError> {
    let mut result = Ok(());
    let highest = highest_during(|| result = whole::read(file));
    assert!(
        highest <= file.len() + FIXED,
        "{highest} bytes for a file of {}",
        file.len()
    );
    result
}

/// A header that promises sections, so that random bytes come further than the magic number.
fn with_header(mut file: Vec<u8>, sections: &[(u32, u64, u64)]) -> Vec<u8> {
    let table = header::TABLE as usize;
    let needed = table + sections.len() * header::TABLE_ENTRY as usize;
    file.resize(file.len().max(needed), 0);
    file[..8].copy_from_slice(&MAGIC.to_le_bytes());
    file[8..12].copy_from_slice(&1_u32.to_le_bytes());
    file[12..16].copy_from_slice(&(sections.len() as u32).to_le_bytes());
    for (index, (kind, offset, length)) in sections.iter().enumerate() {
        let entry = table + index * header::TABLE_ENTRY as usize;
        file[entry..entry + 4].copy_from_slice(&kind.to_le_bytes());
        file[entry + 8..entry + 16].copy_from_slice(&offset.to_le_bytes());
        file[entry + 16..entry + 24].copy_from_slice(&length.to_le_bytes());
    }
    file
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes_are_not_a_box(file in prop::collection::vec(any::<u8>(), 0..10_000)) {
        prop_assert!(read_within_bounds(&file).is_err());
    }

    #[test]
    fn random_bytes_behind_a_header_give_a_partial_result(
        file in prop::collection::vec(any::<u8>(), 1000..60_000),
        sections in prop::collection::vec((0_u32..20, any::<u16>(), any::<u32>()), 0..14),
    ) {
        let sections: Vec<_> =
            sections.into_iter().map(|(kind, at, len)| (kind, u64::from(at), u64::from(len))).collect();
        let file = with_header(file, &sections);
        prop_assert!(read_within_bounds(&file).is_ok());
    }

    #[test]
    fn sections_may_claim_any_place(
        sections in prop::collection::vec((1_u32..14, any::<u64>(), any::<u64>()), 1..14),
        byte in any::<u8>(),
    ) {
        let file = with_header(vec![byte; 30_000], &sections);
        prop_assert!(read_within_bounds(&file).is_ok());
    }

    #[test]
    fn a_cut_box_gives_what_is_left(length in 0..MIN_BOX_SIZE as usize) {
        let mut file = sample_box::bytes();
        file.truncate(length);
        let last = Layout::for_size(MIN_BOX_SIZE).sections[SECTION_COUNT - 1];
        let whole = length as u64 >= last.offset + last.length;
        let complete = Recording::read(&file).is_ok_and(|recording| recording.is_complete());
        prop_assert_eq!(complete, whole);
        let _ = read_within_bounds(&file);
    }

    #[test]
    fn a_damaged_box_gives_an_error_or_a_partial_result(seed in any::<u64>()) {
        let mut file = sample_box::bytes();
        damage(&mut file, &mut Chance(seed));
        let _ = read_within_bounds(&file);
    }
}

#[test]
fn the_sample_box_is_whole_and_has_everything() {
    let file = sample_box::bytes();
    assert_eq!(read_within_bounds(&file), Ok(()));
    let recording = Recording::read(&file).expect("a box");
    assert!(recording.is_complete());
    assert_eq!(recording.stacks().count(), 41);
    assert!(
        recording
            .stacks()
            .any(|stack| recording.frames(&stack).any(|it| it.line.is_some()))
    );
    assert_eq!(recording.events().len(), 40);
    assert_eq!(recording.fatal_signals().len(), 1);
    assert_eq!(recording.exceptions().len(), 64);
    assert!(recording.samples().len() > 1000);
    assert_eq!(recording.children().len(), 70);
    assert_eq!(recording.notes().len(), 63);
    assert!(recording.stderr_tail().len() > 60_000);
}

#[test]
fn memory_that_is_taken_is_counted() {
    let highest = highest_during(|| drop(std::hint::black_box(vec![1_u8; 123_456])));
    assert!((123_456..130_000).contains(&highest), "{highest}");
}

#[test]
fn text_that_is_not_utf8_does_not_multiply() {
    let everything = [
        (11, 0, u64::MAX),
        (10, 0, u64::MAX),
        (9, 0, u64::MAX),
        (1, 0, u64::MAX),
    ];
    let file = with_header(vec![0xff; 1 << 20], &everything);
    assert_eq!(read_within_bounds(&file), Ok(()));
}
