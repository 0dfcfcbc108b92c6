//! Ways to damage a file, drawn from a seed: the same seed does the same damage.

use outlive_record::layout::{Layout, MIN_BOX_SIZE, SECTION_COUNT, SECTION_HEADER, header};

/// Numbers at which arithmetic tends to break.
const EDGES: [u64; 14] = [
    0,
    1,
    2,
    0x7f,
    0xff,
    0xffff,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x1_0000_0000,
    0x7fff_ffff_ffff_ffff,
    0x8000_0000_0000_0000,
    0xffff_ffff_ffff_fff0,
    0xffff_ffff_ffff_ffff,
];

/// A generator of random words (splitmix).
#[derive(Clone, Debug)]
pub(crate) struct Chance(pub(crate) u64);

impl Chance {
    pub(crate) fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        if bound == 0 {
            0
        } else {
            (self.word() % bound as u64) as usize
        }
    }

    fn edge(&mut self) -> u64 {
        EDGES[self.below(EDGES.len())].wrapping_add(self.word() % 3)
    }
}

/// One to eight kinds of damage, one after another.
pub(crate) fn damage(file: &mut Vec<u8>, chance: &mut Chance) {
    for _ in 0..=chance.below(8) {
        match chance.below(8) {
            0 => flip_bits(file, chance),
            1 => put_edge(file, chance),
            2 => damage_table(file, chance),
            3 => damage_cursor(file, chance),
            4 => damage_record(file, chance),
            5 => splice(file, chance),
            6 => fill(file, chance),
            _ => cut(file, chance),
        }
    }
}

fn flip_bits(file: &mut [u8], chance: &mut Chance) {
    for _ in 0..=chance.below(64) {
        let place = chance.below(file.len());
        let bit = chance.below(8);
        if let Some(byte) = file.get_mut(place) {
            *byte ^= 1 << bit;
        }
    }
}

fn put_edge(file: &mut [u8], chance: &mut Chance) {
    let place = chance.below(file.len()) & !3;
    let value = chance.edge();
    put(file, place, value);
}

/// Offsets and lengths of sections: where a reader trusts most.
fn damage_table(file: &mut [u8], chance: &mut Chance) {
    let entry = header::TABLE as usize + chance.below(SECTION_COUNT) * header::TABLE_ENTRY as usize;
    let place = entry + 8 * chance.below(4);
    let length = file.len() as u64;
    let value = match chance.below(4) {
        0 => chance.edge(),
        1 => 0,
        2 => length.wrapping_sub(chance.word() % 200),
        _ => chance.word() % length.max(1),
    };
    put(file, place, value);
}

/// How many records a section says it has.
fn damage_cursor(file: &mut [u8], chance: &mut Chance) {
    let section = section(chance);
    let value = chance.edge();
    put(file, section.0, value);
}

/// A word near the start of a section, where the records that are in use lie.
fn damage_record(file: &mut [u8], chance: &mut Chance) {
    let (offset, length) = section(chance);
    let place = offset + SECTION_HEADER as usize + chance.below(length.min(4096));
    let value = chance.edge();
    put(file, place & !3, value);
}

fn splice(file: &mut [u8], chance: &mut Chance) {
    let length = chance.below(8192).min(file.len());
    let from = chance.below(file.len() - length + 1);
    let to = chance.below(file.len() - length + 1);
    file.copy_within(from..from + length, to);
}

fn fill(file: &mut [u8], chance: &mut Chance) {
    let start = chance.below(file.len());
    let end = start + chance.below((file.len() - start).min(1 << 16));
    let byte = [0, 0xff, 0x01, b'\n'][chance.below(4)];
    if let Some(part) = file.get_mut(start..end) {
        part.fill(byte);
    }
}

fn cut(file: &mut Vec<u8>, chance: &mut Chance) {
    if chance.below(4) == 0 {
        file.truncate(chance.below(file.len() + 1));
    }
}

fn section(chance: &mut Chance) -> (usize, usize) {
    let layout = Layout::for_size(MIN_BOX_SIZE);
    let section = layout.sections[chance.below(SECTION_COUNT)];
    (section.offset as usize, section.length as usize)
}

fn put(file: &mut [u8], place: usize, value: u64) {
    let end = place.saturating_add(8);
    if let Some(bytes) = file.get_mut(place..end) {
        bytes.copy_from_slice(&value.to_le_bytes());
    }
}
