//! The platform tag of a wheel: the oldest glibc that all its ELF files run with.
//!
//! Maturin looks at the extension alone. The hook library and the command line tool are in the
//! wheel too, so the tag must follow from what is really inside.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use super::elf::Needs;
use crate::python::Environment;
use crate::step;

/// Libraries that every manylinux system has.
const GIVEN: [&str; 7] = [
    "ld-linux-x86-64.so.2",
    "libc.so.6",
    "libdl.so.2",
    "libgcc_s.so.1",
    "libm.so.6",
    "libpthread.so.0",
    "librt.so.1",
];
/// How many ELF files the wheel holds: extension, hook library, command line tool.
const ELF_FILES: usize = 3;

/// The tag that is true for the ELF files of this wheel.
pub(super) fn for_wheel(tools: &Environment, wheel: &Path) -> Result<String> {
    let folder = wheel.with_extension("unpacked");
    step::run(
        tools
            .python()
            .args(["-m", "zipfile", "-e"])
            .arg(wheel)
            .arg(&folder),
    )?;
    let mut files = Vec::new();
    elf_files(&folder, &mut files)?;
    if files.len() != ELF_FILES {
        let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
        bail!(
            "Expected {ELF_FILES} ELF files in the wheel, found {}: {}",
            files.len(),
            names.join(", ")
        );
    }
    let needs: Vec<Needs> = files.into_iter().map(|(_, needs)| needs).collect();
    Ok(choose(&needs))
}

/// `manylinux_2_N` for the highest N needed; plain `linux` when a library is needed that other
/// systems may not have.
fn choose(needs: &[Needs]) -> String {
    let given = needs
        .iter()
        .flat_map(|needs| &needs.libraries)
        .all(|library| GIVEN.contains(&library.as_str()));
    // 2.17 is the oldest that the manylinux names with a number begin at.
    let minor = needs
        .iter()
        .filter_map(Needs::glibc_minor)
        .max()
        .unwrap_or(0)
        .max(17);
    if given {
        format!("manylinux_2_{minor}")
    } else {
        "linux".to_owned()
    }
}

fn elf_files(folder: &Path, found: &mut Vec<(String, Needs)>) -> Result<()> {
    let entries =
        fs::read_dir(folder).with_context(|| format!("Cannot list `{}`", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            elf_files(&path, found)?;
        } else if let Some(needs) = Needs::of(&fs::read(&path)?) {
            let name = path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            found.push((name, needs));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn needs(library: &str, version: &str) -> Needs {
        Needs {
            libraries: vec![library.to_owned()],
            versions: vec![version.to_owned()],
        }
    }

    #[test]
    fn the_neediest_file_decides() {
        let files = [
            needs("libc.so.6", "GLIBC_2.17"),
            needs("libc.so.6", "GLIBC_2.34"),
        ];
        assert_eq!(choose(&files), "manylinux_2_34");
    }

    #[test]
    fn an_old_need_still_gets_a_tag_that_exists() {
        assert_eq!(
            choose(&[needs("libc.so.6", "GLIBC_2.2.5")]),
            "manylinux_2_17"
        );
    }

    #[test]
    fn a_library_of_this_system_alone_forbids_manylinux() {
        assert_eq!(choose(&[needs("libssl.so.3", "GLIBC_2.17")]), "linux");
    }
}
