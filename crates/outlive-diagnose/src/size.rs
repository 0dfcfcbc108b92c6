//! Byte counts and spans of time as a person reads them.

use std::fmt;

const UNITS: [(u64, &str); 6] = [
    (1 << 60, "EiB"),
    (1 << 50, "PiB"),
    (1 << 40, "TiB"),
    (1 << 30, "GiB"),
    (1 << 20, "MiB"),
    (1 << 10, "KiB"),
];

/// A number of bytes, shown as `16.0 GiB`, `512 MiB`, `17 bytes`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size(pub u64);

impl fmt::Display for Size {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // 1000 rather than 1024: `1010 MiB` reads worse than `0.99 GiB` is wrong.
        let unit = UNITS
            .iter()
            .find(|(bytes, _)| self.0 >= bytes / 1024 * 1000);
        let Some(&(bytes, name)) = unit else {
            return write!(formatter, "{} bytes", self.0);
        };
        let value = self.0 as f64 / bytes as f64;
        // GiB and above decide between machines, so they keep a digit behind the point.
        if bytes >= 1 << 30 || value < 9.95 {
            write!(formatter, "{value:.1} {name}")
        } else {
            write!(formatter, "{value:.0} {name}")
        }
    }
}

/// A span of time in nanoseconds, shown as `0.02 s`, `12 s`, `3 min 20 s`, `2 h 5 min`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span(pub u64);

impl fmt::Display for Span {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0 as f64 / 1e9;
        let whole = self.0 / 1_000_000_000;
        match whole {
            0 => write!(formatter, "{seconds:.2} s"),
            1..10 => write!(formatter, "{seconds:.1} s"),
            10..120 => write!(formatter, "{whole} s"),
            120..7200 => write!(formatter, "{} min {} s", whole / 60, whole % 60),
            7200..172_800 => write!(formatter, "{} h {} min", whole / 3600, whole / 60 % 60),
            _ => write!(formatter, "{} days", whole / 86_400),
        }
    }
}

/// How much `part` is of `whole`, in whole per cent.
pub(crate) fn percent(part: u64, whole: u64) -> u64 {
    if whole == 0 {
        0
    } else {
        (u128::from(part) * 100 / u128::from(whole)) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::{Size, Span};

    #[test]
    fn sizes_change_unit_before_four_digits() {
        let cases = [
            (17, "17 bytes"),
            (1024, "1.0 KiB"),
            (512 << 20, "512 MiB"),
            (1010 << 20, "1.0 GiB"),
            (16 << 30, "16.0 GiB"),
            (3 << 40, "3.0 TiB"),
            (1_500_000, "1.4 MiB"),
        ];
        for (bytes, expected) in cases {
            assert_eq!(Size(bytes).to_string(), expected);
        }
    }

    #[test]
    fn spans_are_short() {
        assert_eq!(Span(20_000_000).to_string(), "0.02 s");
        assert_eq!(Span(3_100_000_000).to_string(), "3.1 s");
        assert_eq!(Span(200_000_000_000).to_string(), "3 min 20 s");
        assert_eq!(Span(7_500_000_000_000).to_string(), "2 h 5 min");
    }
}
