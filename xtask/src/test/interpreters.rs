//! Pythons of other versions: what this machine has, and for the newest ones a Debian of their own
//! in a folder of the cache.
//!
//! Tests learn of them by two variables, lists of `VERSION=PATH` separated by `:`.
//! `OUTLIVE_TEST_PYTHONS` names interpreters to start. `OUTLIVE_TEST_ROOTS` names folders to
//! `chroot` into, where the interpreter is `/usr/bin/pythonVERSION` and Outlive is
//! `/opt/outlive/outlive`; `/proc` is not mounted there, a test does so in a mount namespace of its
//! own (`unshare --mount`), which leaves nothing behind.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::build::{HOOK_NAME, Products};
use crate::debian::is_root;
use crate::step;
use crate::workspace::cache_directory;

/// Minor versions that Outlive supports.
const MINORS: [u32; 6] = [9, 10, 11, 12, 13, 14];
/// Debian releases that have a version this machine may lack.
const RELEASES: [(u32, &str); 2] = [(13, "trixie"), (14, "testing")];

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Interpreters {
    pythons: Vec<(u32, PathBuf)>,
    roots: Vec<(u32, PathBuf)>,
}

impl Interpreters {
    /// Puts the built tool and its library into each Debian.
    pub(super) fn place(&self, products: &Products) -> Result<()> {
        for (_, root) in &self.roots {
            let folder = root.join("opt/outlive");
            fs::create_dir_all(&folder)
                .and_then(|()| fs::copy(&products.outlive, folder.join("outlive")))
                .and_then(|_| fs::copy(&products.hook, folder.join(HOOK_NAME)))
                .with_context(|| format!("Cannot write to `{}`", folder.display()))?;
        }
        Ok(())
    }

    /// Tells a test run of them.
    pub(super) fn export(&self, command: &mut Command) {
        command.env("OUTLIVE_TEST_PYTHONS", joined(&self.pythons));
        command.env("OUTLIVE_TEST_ROOTS", joined(&self.roots));
    }
}

/// Looks for every supported version, and makes a Debian for those that one can be made for.
pub(super) fn find() -> Interpreters {
    let mut found = Interpreters::default();
    for minor in MINORS {
        if let Some(path) = candidates(minor)
            .iter()
            .find_map(|path| interpreter(path, minor))
        {
            println!("    Python 3.{minor}: {}", path.display());
            found.pythons.push((minor, path));
        } else if let Some(root) = debian_with(minor) {
            println!("    Python 3.{minor}: in {}", root.display());
            found.roots.push((minor, root));
        } else {
            println!("    Python 3.{minor}: none");
        }
    }
    found
}

/// Places to look: the path, then the version managers' own folders, since their shims refuse
/// versions that are not switched on.
fn candidates(minor: u32) -> Vec<PathBuf> {
    let name = format!("python3.{minor}");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut places: Vec<PathBuf> = std::env::split_paths(&path)
        .map(|p| p.join(&name))
        .collect();
    let home = PathBuf::from(std::env::var_os("HOME").unwrap_or_default());
    let pyenv = std::env::var_os("PYENV_ROOT").map_or_else(|| home.join(".pyenv"), PathBuf::from);
    let mut versions: Vec<PathBuf> = fs::read_dir(pyenv.join("versions"))
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path().join("bin").join(&name)))
        .collect();
    versions.sort();
    places.extend(versions);
    places
}

/// The interpreter behind `python`, if it has this version. A shim of a version manager is not the
/// interpreter, and tests start the real one.
fn interpreter(python: &Path, minor: u32) -> Option<PathBuf> {
    if !python.exists() {
        return None;
    }
    let script = "import sys; print(sys.version_info[1], sys.executable)";
    let answer = step::output(Command::new(python).args(["-c", script])).ok()?;
    let (version, path) = answer.trim_end().split_once(' ')?;
    (version == minor.to_string()).then(|| PathBuf::from(path))
}

/// A folder with a minimal Debian that has this Python, made on the first call.
fn debian_with(minor: u32) -> Option<PathBuf> {
    let (_, release) = RELEASES.into_iter().find(|(other, _)| *other == minor)?;
    let root = cache_directory().join(format!("debian-{release}"));
    let stamp = root.join("complete");
    if stamp.exists() {
        return Some(root);
    }
    if !is_root() || !step::succeeds(Command::new("debootstrap").arg("--version")) {
        return None;
    }
    let _ = fs::remove_dir_all(&root);
    let made = step::succeeds(
        Command::new("debootstrap")
            .arg("--variant=minbase")
            .arg(format!("--include=python3.{minor}"))
            .args([release.as_ref(), root.as_os_str()]),
    );
    (made && fs::write(&stamp, "").is_ok()).then_some(root)
}

fn joined(found: &[(u32, PathBuf)]) -> String {
    let words: Vec<String> = found
        .iter()
        .map(|(minor, path)| format!("3.{minor}={}", path.display()))
        .collect();
    words.join(":")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_told_as_a_list() {
        let found = [
            (11, PathBuf::from("/usr/bin/python3.11")),
            (12, PathBuf::from("/opt/p")),
        ];
        assert_eq!(joined(&found), "3.11=/usr/bin/python3.11:3.12=/opt/p");
        assert_eq!(joined(&[]), "");
    }
}
