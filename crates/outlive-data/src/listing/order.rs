//! In which order images stand: a key for each, so that comparing bytes compares images.

/// The orders that can be asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// By path as people read it: `img2` before `img10`, upper and lower case alike.
    #[default]
    Name,
    /// By the bytes of the path.
    Path,
    /// Oldest first.
    Time,
    /// Smallest first.
    Size,
    /// As given; what is found in a folder by name.
    List,
}

/// From the first to the last, or the other way round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// As the order says.
    #[default]
    Forward,
    /// Last first.
    Reverse,
}

/// Digits that are compared as one number; a longer run is several.
const LONGEST_NUMBER: usize = 200;

impl Order {
    /// Whether size and time of every file must be known.
    pub(super) fn needs_details(self) -> bool {
        matches!(self, Self::Time | Self::Size)
    }
}

/// Appends a key that sorts paths as people do. Paths with the same key differ in case or in
/// leading zeros only.
pub(super) fn push_natural(path: &[u8], key: &mut Vec<u8>) {
    let mut rest = path;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        match byte {
            // What lies in a folder stands together, before `folder-2` and `folder.jpg`.
            b'/' => key.push(1),
            b'0'..=b'9' => rest = push_number(byte, after, key),
            0..=2 => key.push(2),
            0x80.. => rest = push_wide(byte, after, key),
            _ => key.push(byte.to_ascii_lowercase()),
        }
    }
}

/// A number: how many digits it has, then these. Gives what follows it.
fn push_number<'a>(first: u8, after: &'a [u8], key: &mut Vec<u8>) -> &'a [u8] {
    let count = after.iter().take(LONGEST_NUMBER - 1);
    let count = count.take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, rest) = after.split_at(count);
    let digits = std::iter::once(first).chain(digits.iter().copied());
    let value = digits.skip_while(|digit| *digit == b'0');
    key.push(b'0');
    let at = key.len();
    key.push(0);
    key.extend(value);
    let length = key.len() - at;
    if let Some(place) = key.get_mut(at) {
        *place = length as u8;
    }
    rest
}

/// A character beyond ASCII in lower case, or a byte that is none.
fn push_wide<'a>(first: u8, after: &'a [u8], key: &mut Vec<u8>) -> &'a [u8] {
    let mut bytes = [first, 0, 0, 0];
    let length = match first {
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => 1,
    };
    let taken = after.iter().take(length - 1);
    for (place, byte) in bytes.iter_mut().skip(1).zip(taken) {
        *place = *byte;
    }
    let character = bytes
        .get(..length)
        .and_then(|bytes| std::str::from_utf8(bytes).ok());
    let Some(character) = character.and_then(|text| text.chars().next()) else {
        key.push(first);
        return after;
    };
    for lower in character.to_lowercase() {
        key.extend_from_slice(lower.encode_utf8(&mut [0; 4]).as_bytes());
    }
    after.get(length - 1..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::push_natural;

    fn key(path: &[u8]) -> Vec<u8> {
        let mut key = Vec::new();
        push_natural(path, &mut key);
        key
    }

    #[test]
    fn numbers_count_and_case_does_not() {
        let sorted: [&[u8]; 14] = [
            b"a/z.jpg",
            b"a-2/z.jpg",
            b"a.jpg",
            b"a1b",
            b"a01c",
            b"a2",
            b"A3",
            b"a10",
            b"a99999999999999999999998",
            b"a99999999999999999999999",
            b"img2.png",
            b"IMG10.png",
            "é1".as_bytes(),
            "É2".as_bytes(),
        ];
        for pair in sorted.windows(2) {
            assert!(
                key(pair[0]) < key(pair[1]),
                "{:?}",
                pair.iter()
                    .map(|path| String::from_utf8_lossy(path))
                    .collect::<Vec<_>>()
            );
        }
        assert_eq!(key(b"Img007"), key(b"imG7"));
    }

    #[test]
    fn bytes_that_are_no_text_have_a_place_too() {
        assert!(key(b"\xff\xfe1") < key(b"\xff\xfe02"));
        assert!(key(b"\xc3") < key(b"\xc3\xc3"));
        assert!(key(b"a\n1") < key(b"a\n10"));
        let long = vec![b'7'; 1000];
        assert!(key(&long[..999]) < key(&long));
    }
}
