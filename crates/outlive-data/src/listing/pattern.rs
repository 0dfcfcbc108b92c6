//! Patterns that a shell did not expand: where they start, how deep they reach, what they match.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};

/// What makes a path a pattern.
const SIGNS: [u8; 4] = *b"*?[{";

/// A pattern such as `data/*/img?.jpg` or `data/**/*.png`.
#[derive(Debug)]
pub(super) struct Pattern {
    base: Vec<u8>,
    matcher: GlobMatcher,
    /// Names below the base; `None` if there may be any number.
    depth: Option<u32>,
    names_hidden: bool,
    wants_folders_only: bool,
}

/// What a pattern says of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Matches,
    Differs,
}

impl Pattern {
    /// Whether a path can be read as a pattern.
    pub(super) fn is_one(path: &[u8]) -> bool {
        path.iter().any(|byte| SIGNS.contains(byte))
    }

    /// Reads a pattern; an error is a line of text.
    pub(super) fn new(text: &[u8]) -> Result<Self, String> {
        let trimmed = text.strip_suffix(b"/").unwrap_or(text);
        let sign = trimmed.iter().position(|byte| SIGNS.contains(byte));
        let before = trimmed.get(..sign.unwrap_or_default()).unwrap_or_default();
        let start = before
            .iter()
            .rposition(|byte| *byte == b'/')
            .map_or(0, |at| at + 1);
        let (base, rest) = trimmed.split_at(start);
        let rest = std::str::from_utf8(rest).map_err(|_| "Pattern that is not text".to_owned())?;
        let glob = GlobBuilder::new(rest).literal_separator(true).build();
        let glob = glob.map_err(|error| format!("Not a pattern: {}", error.kind()))?;
        let names = rest.split('/');
        Ok(Self {
            base: base.to_vec(),
            matcher: glob.compile_matcher(),
            depth: (!rest.contains("**")).then(|| names.clone().count() as u32),
            names_hidden: names.clone().any(|name| name.starts_with('.')),
            wants_folders_only: trimmed.len() < text.len(),
        })
    }

    /// The folder it starts in, with the slash behind it; empty for the current one.
    pub(super) fn base(&self) -> &[u8] {
        &self.base
    }

    pub(super) fn verdict(&self, path: &[u8]) -> Verdict {
        let below = path.strip_prefix(self.base.as_slice()).unwrap_or(path);
        if self.matcher.is_match(Path::new(OsStr::from_bytes(below))) {
            Verdict::Matches
        } else {
            Verdict::Differs
        }
    }

    /// Whether nothing that is this many steps below the base and deeper can match.
    pub(super) fn ends_before(&self, steps: u32) -> bool {
        self.depth.is_some_and(|depth| steps >= depth)
    }

    pub(super) fn names_hidden(&self) -> bool {
        self.names_hidden
    }

    pub(super) fn wants_folders_only(&self) -> bool {
        self.wants_folders_only
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_knows_where_it_starts_and_how_far_it_goes() {
        let pattern = Pattern::new(b"./data/x/*/img?.jpg").unwrap();
        assert_eq!(pattern.base(), b"./data/x/");
        assert_eq!(pattern.verdict(b"./data/x/1/img2.jpg"), Verdict::Matches);
        assert_eq!(pattern.verdict(b"./data/x/1/2/img2.jpg"), Verdict::Differs);
        assert_eq!(
            pattern.verdict(b"./data/x/\xff/img\n.jpg"),
            Verdict::Matches
        );
        assert!(!pattern.ends_before(1));
        assert!(pattern.ends_before(2));
        let deep = Pattern::new(b"**/*.{jpg,png}").unwrap();
        assert_eq!(deep.base(), b"");
        assert_eq!(deep.verdict(b"a/b/c.png"), Verdict::Matches);
        assert_eq!(deep.verdict(b"c.png"), Verdict::Matches);
        assert!(!deep.ends_before(1000));
        assert!(Pattern::new(b"a[").is_err());
    }
}
