//! What an ELF file needs from the system it runs on: libraries, and versions of the C library.
//!
//! Reads 64-bit little-endian files by their section headers, which every linker here writes.

/// Section type of the table of needed symbol versions.
const VERSION_NEEDS: u32 = 0x6fff_fffe;
/// Section type of the dynamic table.
const DYNAMIC: u32 = 6;
/// Entry of the dynamic table that names a library.
const NEEDED: u64 = 1;

/// What one file needs.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Needs {
    /// Libraries, by the name the loader looks for.
    pub(crate) libraries: Vec<String>,
    /// Symbol versions, such as `GLIBC_2.34`.
    pub(crate) versions: Vec<String>,
}

impl Needs {
    /// Reads the needs of a file, or `None` when it is not a 64-bit little-endian ELF file.
    pub(crate) fn of(file: &[u8]) -> Option<Self> {
        if file.get(..6)? != b"\x7fELF\x02\x01" {
            return None;
        }
        let sections = sections(file)?;
        let mut needs = Self::default();
        for section in &sections {
            let strings = sections.get(section.link as usize);
            match (section.kind, strings) {
                (DYNAMIC, Some(strings)) => needs.libraries = libraries(file, section, strings),
                (VERSION_NEEDS, Some(strings)) => {
                    needs.versions = versions(file, section, strings);
                }
                _ => {}
            }
        }
        Some(needs)
    }

    /// The highest `GLIBC_2.N`, as N.
    pub(crate) fn glibc_minor(&self) -> Option<u32> {
        self.versions
            .iter()
            .filter_map(|version| version.strip_prefix("GLIBC_2."))
            .filter_map(|rest| rest.split('.').next()?.parse().ok())
            .max()
    }
}

#[derive(Debug)]
struct Section {
    kind: u32,
    link: u32,
    offset: u64,
    size: u64,
}

fn sections(file: &[u8]) -> Option<Vec<Section>> {
    let table = word64(file, 40)?;
    let entry = u64::from(word16(file, 58)?);
    let count = u64::from(word16(file, 60)?);
    (0..count)
        .map(|index| {
            let at = table.checked_add(index * entry)?;
            Some(Section {
                kind: word32(file, at + 4)?,
                offset: word64(file, at + 24)?,
                size: word64(file, at + 32)?,
                link: word32(file, at + 40)?,
            })
        })
        .collect()
}

fn libraries(file: &[u8], section: &Section, strings: &Section) -> Vec<String> {
    (0..section.size / 16)
        .map(|index| section.offset + index * 16)
        .filter(|&at| word64(file, at) == Some(NEEDED))
        .filter_map(|at| text(file, strings.offset + word64(file, at + 8)?))
        .collect()
}

/// A chain of files, each with a chain of versions; both by relative offsets, 0 at the end.
fn versions(file: &[u8], section: &Section, strings: &Section) -> Vec<String> {
    let mut found = Vec::new();
    let mut need = section.offset;
    while let (Some(first), Some(next)) = (word32(file, need + 8), word32(file, need + 12)) {
        let mut version = need + u64::from(first);
        while let (Some(name), Some(step)) = (word32(file, version + 8), word32(file, version + 12))
        {
            found.extend(text(file, strings.offset + u64::from(name)));
            if step == 0 {
                break;
            }
            version += u64::from(step);
        }
        if next == 0 {
            break;
        }
        need += u64::from(next);
    }
    found
}

fn text(file: &[u8], offset: u64) -> Option<String> {
    let bytes = file.get(offset as usize..)?;
    let end = bytes.iter().position(|&byte| byte == 0)?;
    Some(String::from_utf8_lossy(bytes.get(..end)?).into_owned())
}

fn bytes<const N: usize>(file: &[u8], offset: u64) -> Option<[u8; N]> {
    let start = usize::try_from(offset).ok()?;
    file.get(start..start.checked_add(N)?)?.try_into().ok()
}

fn word16(file: &[u8], offset: u64) -> Option<u16> {
    bytes(file, offset).map(u16::from_le_bytes)
}

fn word32(file: &[u8], offset: u64) -> Option<u32> {
    bytes(file, offset).map(u32::from_le_bytes)
}

fn word64(file: &[u8], offset: u64) -> Option<u64> {
    bytes(file, offset).map(u64::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_of_this_machine_needs_its_c_library() {
        let program = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let needs = Needs::of(&program).unwrap();
        assert!(
            needs.libraries.iter().any(|name| name == "libc.so.6"),
            "{needs:?}"
        );
        assert!(
            needs.glibc_minor().is_some_and(|minor| minor >= 2),
            "{needs:?}"
        );
    }

    #[test]
    fn a_cut_program_gives_less_and_no_panic() {
        let program = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        assert_eq!(Needs::of(&program[..5]), None);
        assert_eq!(Needs::of(&program[..4096]), None);
        assert_eq!(Needs::of(b"#!/bin/sh\n"), None);
    }

    #[test]
    fn the_highest_version_counts_by_number() {
        let versions = ["GLIBC_2.9", "GLIBC_2.34", "GLIBC_2.2.5", "GCC_3.0"];
        let needs = Needs {
            versions: versions.map(str::to_owned).to_vec(),
            ..Needs::default()
        };
        assert_eq!(needs.glibc_minor(), Some(34));
    }
}
