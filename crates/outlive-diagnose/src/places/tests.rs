//! Patience with damaged boxes.

use super::Places;
use crate::cells::Cells;
use outlive_record::kind::{Attribution, StackKind};
use outlive_record::layout::MIN_BOX_SIZE;
use outlive_record::read::Recording;
use outlive_record::region::Region;
use outlive_record::write::{BoxWriter, CodeFacts, Identity, StackFacts, StackId, StringId};

/// Places at these instructions of one function with a table of a thousand entries.
fn black_box(offsets: &[u32]) -> Vec<u8> {
    let region = Region::leaked(MIN_BOX_SIZE);
    let writer = BoxWriter::create(region, &Identity::default());
    writer.set_python(0x030C_0100, Attribution::On);
    // Each entry covers one instruction and steps one line.
    let table = writer.add_string(&[0xD8, 0x00].repeat(1000)).unwrap();
    let file = writer.add_string(b"train.py").unwrap();
    let code = writer
        .add_code(&CodeFacts {
            file,
            name: file,
            first_line: 1,
            table,
            format: 12,
            fingerprint: 1,
            address: 1,
        })
        .unwrap();
    let facts = StackFacts {
        kind: StackKind::Python,
        thread: StringId(0),
        library: StringId(0),
        creator: StackId(0),
        flags: 0,
    };
    for &offset in offsets {
        writer
            .add_stack(&facts, [(code, offset)].into_iter())
            .unwrap();
    }
    region.to_bytes()
}

#[test]
fn patience_with_a_damaged_box_ends_lines_first_and_names_after_them() {
    let bytes = black_box(&[0, 2, 4, 6]);
    let recording = Recording::read(&bytes).unwrap();
    let cells = Cells::default();
    let mut places = Places::new(Some(&recording), &cells);
    places.patience = 3000;
    let shown: Vec<String> = recording
        .stacks()
        .filter(|stack| stack.kind == Some(StackKind::Python))
        .map(|stack| places.of_stack(&stack, 0).describe())
        .collect();
    let other = "other: the box had no room for these lines";
    assert_eq!(
        shown,
        [
            "train.py:2 in train.py",
            "train.py:1 in train.py",
            other,
            other
        ]
    );
    let again = recording.stacks().nth(1).unwrap();
    let again = places.of_stack(&again, 0).describe();
    assert_eq!(again, "train.py:2 in train.py");
}
