//! Parts of a file, as a browser asks for them: one range of bytes.

/// What to send of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// All of it.
    Whole,
    /// Bytes from the first to the last, both included.
    Range(u64, u64),
    /// There are no such bytes.
    Beyond,
}

impl Part {
    /// What the field `Range` means for a body of this length. What is not understood is as if it
    /// were not there.
    pub(super) fn of(range: Option<&str>, length: u64) -> Self {
        let Some(bytes) = range.and_then(|range| range.strip_prefix("bytes=")) else {
            return Self::Whole;
        };
        let Some((first, last)) = bytes.split_once('-') else {
            return Self::Whole;
        };
        match (number(first), number(last)) {
            (Some(first), Some(last)) if first <= last => Self::between(first, last, length),
            (Some(first), None) if last.is_empty() => Self::between(first, u64::MAX, length),
            (None, Some(0)) if first.is_empty() => Self::Beyond,
            (None, Some(count)) if first.is_empty() => {
                Self::between(length.saturating_sub(count), u64::MAX, length)
            }
            _ => Self::Whole,
        }
    }

    fn between(first: u64, last: u64, length: u64) -> Self {
        if first >= length {
            return Self::Beyond;
        }
        Self::Range(first, last.min(length - 1))
    }
}

fn number(text: &str) -> Option<u64> {
    let is_number = !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit());
    is_number.then(|| text.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_cut_to_what_is_there() {
        let part = |range| Part::of(Some(range), 100);
        assert_eq!(part("bytes=0-"), Part::Range(0, 99));
        assert_eq!(part("bytes=10-19"), Part::Range(10, 19));
        assert_eq!(part("bytes=90-200"), Part::Range(90, 99));
        assert_eq!(part("bytes=-5"), Part::Range(95, 99));
        assert_eq!(part("bytes=-500"), Part::Range(0, 99));
        assert_eq!(part("bytes=99999999999999999999-"), Part::Beyond);
        assert_eq!(part("bytes=100-"), Part::Beyond);
        assert_eq!(part("bytes=-0"), Part::Beyond);
        for range in [
            "bytes=5-3",
            "bytes=1-2,4-5",
            "lines=1-2",
            "bytes=-",
            "bytes=+1-2",
        ] {
            assert_eq!(part(range), Part::Whole, "{range}");
        }
        assert_eq!(Part::of(Some("bytes=0-"), 0), Part::Beyond);
    }
}
