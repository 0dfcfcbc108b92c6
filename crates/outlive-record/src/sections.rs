//! How a box of a given size is divided into sections: the tables share what the fixed parts leave.

use crate::layout::{
    MAX_BOX_SIZE, MIN_BOX_SIZE, PAGE, RECENT_SAMPLES, SECTION_COUNT, SECTION_HEADER, STDERR_KEPT,
    SectionKind, WHOLE_SAMPLES, child, code, event, exception, facts, fatal, frame, note, sample,
    stack,
};

/// One section: where it is and how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Section {
    /// Offset of its first byte in the file.
    pub offset: u64,
    /// Its length in bytes.
    pub length: u64,
}

impl Section {
    /// How many records of `size` bytes fit behind the section header.
    pub const fn capacity(self, size: u64) -> u64 {
        self.length.saturating_sub(SECTION_HEADER) / size
    }

    /// Offset in the file of record `index` of `size` bytes.
    pub const fn record(self, index: u64, size: u64) -> u64 {
        self.offset
            .wrapping_add(SECTION_HEADER)
            .wrapping_add(index.wrapping_mul(size))
    }
}

/// Where the sections of a box of a given size lie.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// Size of the file.
    pub box_size: u64,
    /// The sections, in the order of [`SectionKind`].
    pub sections: [Section; SECTION_COUNT],
}

/// All kinds, in file order, with the record size that the table states.
pub const SECTION_KINDS: [(SectionKind, u64); SECTION_COUNT] = [
    (SectionKind::Facts, 0),
    (SectionKind::Strings, 1),
    (SectionKind::Codes, code::SIZE),
    (SectionKind::Frames, frame::SIZE),
    (SectionKind::Stacks, stack::SIZE),
    (SectionKind::Ring, event::SIZE),
    (SectionKind::Recent, sample::SIZE),
    (SectionKind::Whole, sample::SIZE),
    (SectionKind::Fatal, fatal::SIZE),
    (SectionKind::Exceptions, exception::SIZE),
    (SectionKind::Stderr, 1),
    (SectionKind::Children, child::SIZE),
    (SectionKind::Notes, note::SIZE),
];

impl Layout {
    /// Divides a box of `box_size` bytes (rounded down to pages, clamped to the allowed range).
    pub const fn for_size(box_size: u64) -> Self {
        let clamped = if box_size < MIN_BOX_SIZE {
            MIN_BOX_SIZE
        } else if box_size > MAX_BOX_SIZE {
            MAX_BOX_SIZE
        } else {
            box_size
        };
        let box_size = clamped & !(PAGE - 1);
        // What does not grow with the box is about 1.3 MiB; the rest is shared out in 64ths.
        let fixed = PAGE
            + facts::SIZE
            + round(SECTION_HEADER + RECENT_SAMPLES * sample::SIZE)
            + round(SECTION_HEADER + 2 * WHOLE_SAMPLES * sample::SIZE)
            + round(SECTION_HEADER + fatal::RECORDS * fatal::SIZE)
            + round(SECTION_HEADER + exception::RECORDS * exception::SIZE)
            + round(SECTION_HEADER + STDERR_KEPT)
            + round(SECTION_HEADER + child::RECORDS * child::SIZE)
            + round(SECTION_HEADER + note::RECORDS * note::SIZE);
        let share = (box_size - fixed) / 64;
        let lengths = [
            facts::SIZE,
            floor(share * 16),
            floor(share * 6),
            floor(share * 20),
            floor(share * 20),
            floor(share),
            round(SECTION_HEADER + RECENT_SAMPLES * sample::SIZE),
            round(SECTION_HEADER + 2 * WHOLE_SAMPLES * sample::SIZE),
            round(SECTION_HEADER + fatal::RECORDS * fatal::SIZE),
            round(SECTION_HEADER + exception::RECORDS * exception::SIZE),
            round(SECTION_HEADER + STDERR_KEPT),
            round(SECTION_HEADER + child::RECORDS * child::SIZE),
            round(SECTION_HEADER + note::RECORDS * note::SIZE),
        ];
        let mut sections = [Section {
            offset: 0,
            length: 0,
        }; SECTION_COUNT];
        let mut offset = PAGE;
        let mut index = 0;
        while index < SECTION_COUNT {
            sections[index] = Section {
                offset,
                length: lengths[index],
            };
            offset += lengths[index];
            index += 1;
        }
        Self { box_size, sections }
    }

    /// The section of this kind.
    pub const fn section(&self, kind: SectionKind) -> Section {
        let index = kind as usize - 1;
        if index < SECTION_COUNT {
            self.sections[index]
        } else {
            Section {
                offset: 0,
                length: 0,
            }
        }
    }
}

const fn round(bytes: u64) -> u64 {
    (bytes + PAGE - 1) & !(PAGE - 1)
}

const fn floor(bytes: u64) -> u64 {
    bytes & !(PAGE - 1)
}
