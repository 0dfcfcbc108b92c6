//! `--limit`: how much of the machine, or of its container, a run may use, as the user asked.

use std::fmt;

use outlive_diagnose::size::Size;

use crate::cli::parse_size;

/// Less than this a Python interpreter cannot start in.
pub const SMALLEST: u64 = 16 << 20;

/// What the user asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Limit {
    /// Whatever limits there are, and no other.
    #[default]
    Auto,
    /// Bytes.
    Bytes(u64),
    /// A share of the smallest limit there is, in per cent.
    Percent(u64),
}

impl Limit {
    /// Bytes, where `whole` is the smallest limit there is; `None` for no limit of its own.
    pub fn bytes(self, whole: u64) -> Option<u64> {
        match self {
            Self::Auto => None,
            Self::Bytes(bytes) => Some(bytes),
            Self::Percent(share) => Some((u128::from(whole) * u128::from(share) / 100) as u64),
        }
    }

    /// Why a share of `whole` makes no sense, if it does not.
    pub fn objection(self, whole: u64) -> Option<String> {
        let bytes = self.bytes(whole).filter(|bytes| *bytes < SMALLEST)?;
        Some(format!(
            "`--limit {self}` is {} here, below the {} that an interpreter needs",
            Size(bytes),
            Size(SMALLEST)
        ))
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => formatter.write_str("auto"),
            Self::Bytes(bytes) => write!(formatter, "{}", Size(*bytes)),
            Self::Percent(share) => write!(formatter, "{share}%"),
        }
    }
}

/// Reads `8GiB`, `80%` or `auto`.
pub fn parse(text: &str) -> Result<Limit, String> {
    if text == "auto" {
        return Ok(Limit::Auto);
    }
    if let Some(share) = text.strip_suffix('%') {
        return match share.trim().parse::<u64>() {
            Ok(share @ 1..=100) => Ok(Limit::Percent(share)),
            _ => Err("a share is from `1%` to `100%`".to_owned()),
        };
    }
    let bytes =
        parse_size(text).ok_or("not a limit, such as `8GiB`, `80%` or `auto`".to_owned())?;
    if bytes < SMALLEST {
        return Err(format!(
            "below the {} that an interpreter needs",
            Size(SMALLEST)
        ));
    }
    Ok(Limit::Bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::{Limit, parse};

    #[test]
    fn sizes_shares_and_auto_are_read() {
        assert_eq!(parse("8GiB"), Ok(Limit::Bytes(8 << 30)));
        assert_eq!(parse("500M"), Ok(Limit::Bytes(500 << 20)));
        assert_eq!(parse("80%"), Ok(Limit::Percent(80)));
        assert_eq!(parse("100 %"), Ok(Limit::Percent(100)));
        assert_eq!(parse("auto"), Ok(Limit::Auto));
    }

    #[test]
    fn what_makes_no_sense_is_told_with_what_would() {
        for (text, words) in [
            ("0", "below the 16 MiB"),
            ("15MiB", "below the 16 MiB"),
            ("-1", "not a limit"),
            ("12XB", "not a limit"),
            ("", "not a limit"),
            ("all", "not a limit"),
            ("99999999999TiB", "not a limit"),
            ("0%", "from `1%` to `100%`"),
            ("150%", "from `1%` to `100%`"),
            ("-5%", "from `1%` to `100%`"),
            ("%", "from `1%` to `100%`"),
        ] {
            let message = parse(text).unwrap_err();
            assert!(message.contains(words), "{text}: {message}");
        }
    }

    #[test]
    fn a_share_is_of_the_smallest_limit_and_must_be_enough() {
        let limit = Limit::Percent(80);
        assert_eq!(limit.bytes(10 << 30), Some(8 << 30));
        assert_eq!(limit.objection(10 << 30), None);
        assert_eq!(
            Limit::Percent(1).objection(1 << 30).as_deref(),
            Some("`--limit 1%` is 10 MiB here, below the 16 MiB that an interpreter needs")
        );
        assert_eq!(Limit::Auto.bytes(1), None);
        assert_eq!(Limit::Auto.objection(1), None);
    }
}
