//! A name for a finding that stays when lines move, so that services know it again.

use std::collections::HashMap;
use std::os::unix::ffi::OsStrExt;

use crate::check::Found;

/// Gives fingerprints in the order of the findings.
#[derive(Debug, Default)]
pub(super) struct Fingerprints {
    /// How often the same text was found.
    seen: HashMap<u64, u64>,
}

impl Fingerprints {
    /// From the path, the rule and the text of the line; equal ones are numbered.
    pub(super) fn next(&mut self, found: &Found) -> String {
        let marked = found
            .excerpt
            .lines
            .iter()
            .find(|line| line.marked.is_some());
        let line = marked.map_or("", |line| line.text.trim());
        let parts: [&[u8]; 3] = [
            found.path.as_os_str().as_bytes(),
            found.rule.code.as_bytes(),
            line.as_bytes(),
        ];
        let hash = hash(&parts);
        let count = self.seen.entry(hash).or_default();
        *count += 1;
        format!("{hash:016x}-{count}")
    }
}

/// FNV-1a of the parts, each ended by a byte that none contains. The standard library's hash may
/// change with its version.
fn hash(parts: &[&[u8]]) -> u64 {
    let bytes = parts.iter().flat_map(|part| part.iter().chain(&[0]));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::hash;

    #[test]
    fn the_hash_never_changes_and_parts_do_not_run_together() {
        assert_eq!(hash(&[b"a"]), 0x089b_e207_b544_f1e4);
        assert_ne!(hash(&[b"ab", b"c"]), hash(&[b"a", b"bc"]));
    }
}
