//! From an instruction offset to a line, for the three encodings CPython has used since 3.9.
//!
//! Tables come from a process that may have died in any state, so every read is checked; a table
//! that ends too early gives no line.

/// The line of the instruction `offset` bytes into a code object.
///
/// `minor` is the minor version of Python, which fixes the encoding: pairs of unsigned address and
/// signed line steps up to 3.9, pairs of signed line steps over closed ranges in 3.10, and entries
/// of variable length from 3.11 on.
pub fn line_at(minor: u32, table: &[u8], first_line: u32, offset: u32) -> Option<u32> {
    let line = match minor {
        0..=9 => line_by_steps(table, i64::from(first_line), offset),
        10 => line_by_ranges(table, i64::from(first_line), offset)?,
        _ => line_by_entries(table, i64::from(first_line), offset)?,
    };
    u32::try_from(line).ok()
}

/// Up to 3.9: each pair moves the address and the line; the line holds from its address on.
fn line_by_steps(table: &[u8], first_line: i64, offset: u32) -> i64 {
    let mut address = 0_u64;
    let mut line = first_line;
    for pair in table.chunks_exact(2) {
        let [step, delta] = *pair else { break };
        address = address.wrapping_add(u64::from(step));
        if address > u64::from(offset) {
            break;
        }
        line = line.wrapping_add(i64::from(delta as i8));
    }
    line
}

/// 3.10: each pair covers a range; −128 marks a range without a line.
fn line_by_ranges(table: &[u8], first_line: i64, offset: u32) -> Option<i64> {
    let mut end = 0_u64;
    let mut line = first_line;
    for pair in table.chunks_exact(2) {
        let [step, delta] = *pair else { break };
        end = end.wrapping_add(u64::from(step));
        let known = delta as i8 != -128;
        if known {
            line = line.wrapping_add(i64::from(delta as i8));
        }
        if u64::from(offset) < end {
            return known.then_some(line);
        }
    }
    None
}

/// From 3.11: an entry starts with a byte `1 kkkk lll`, `k` its kind and `l + 1` its length in
/// code units; the bytes that follow, none with the top bit set, depend on the kind.
///
/// Worked example: `0xD8 0x02` is kind 11 (`1 1011 000`), one unit, one line further.
fn line_by_entries(table: &[u8], first_line: i64, offset: u32) -> Option<i64> {
    let mut end = 0_u64;
    let mut line = first_line;
    let mut rest = table;
    while let Some((&start, tail)) = rest.split_first() {
        let kind = (start >> 3) & 15;
        end = end.wrapping_add((u64::from(start & 7).wrapping_add(1)).wrapping_mul(2));
        line = line.wrapping_add(match kind {
            13 | 14 => signed_varint(tail),
            10..=12 => i64::from(kind).wrapping_sub(10),
            _ => 0,
        });
        if u64::from(offset) < end {
            return (kind != 15).then_some(line);
        }
        let skip = tail
            .iter()
            .position(|byte| byte & 0x80 != 0)
            .unwrap_or(tail.len());
        rest = tail.get(skip..).unwrap_or(&[]);
    }
    None
}

/// Six bits a byte, lowest first, bit 6 says that more follow; the lowest bit of all is the sign.
fn signed_varint(bytes: &[u8]) -> i64 {
    let mut value = 0_u64;
    let mut shift = 0_u32;
    for &byte in bytes {
        value |= u64::from(byte & 63).checked_shl(shift).unwrap_or(0);
        shift = shift.wrapping_add(6);
        if byte & 64 == 0 || shift > 36 {
            break;
        }
    }
    let magnitude = (value >> 1) as i64;
    if value & 1 == 1 {
        magnitude.wrapping_neg()
    } else {
        magnitude
    }
}

#[cfg(test)]
mod tests {
    use super::line_at;

    #[test]
    fn steps_hold_from_their_address_on() {
        let table = [0, 1, 8, 1, 6, 0xFF];
        assert_eq!(line_at(9, &table, 10, 0), Some(11));
        assert_eq!(line_at(9, &table, 10, 7), Some(11));
        assert_eq!(line_at(9, &table, 10, 8), Some(12));
        assert_eq!(line_at(9, &table, 10, 14), Some(11));
    }

    #[test]
    fn ranges_may_have_no_line() {
        let table = [4, 1, 4, 0x80, 4, 2];
        assert_eq!(line_at(10, &table, 10, 3), Some(11));
        assert_eq!(line_at(10, &table, 10, 4), None);
        assert_eq!(line_at(10, &table, 10, 8), Some(13));
        assert_eq!(line_at(10, &table, 10, 12), None);
    }

    #[test]
    fn entries_step_by_kind_and_by_varint() {
        // RESUME on the first line, one unit; then kind 13 with +3; then kind 15, no line.
        let table = [0x80, 0x00, 0xE9, 0x06, 0xF8];
        assert_eq!(line_at(11, &table, 5, 0), Some(5));
        assert_eq!(line_at(11, &table, 5, 2), Some(8));
        assert_eq!(line_at(11, &table, 5, 4), Some(8));
        assert_eq!(line_at(11, &table, 5, 6), None);
        assert_eq!(line_at(11, &table, 5, 600), None);
        assert_eq!(line_at(11, &[0xD8, 0x02], 7, 0), Some(8));
    }

    proptest::proptest! {
        #[test]
        fn any_table_gives_a_line_or_none(minor in 0_u32..20, table: Vec<u8>, first: u32, offset: u32) {
            let _ = line_at(minor, &table, first, offset);
        }
    }
}
