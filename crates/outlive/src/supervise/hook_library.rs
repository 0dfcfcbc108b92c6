//! Finds the library that records a process.

use std::path::{Path, PathBuf};

use crate::env;

const FILE: &str = "liboutlive_hook.so";

/// The library, as an absolute path, or `None` when it is nowhere.
pub fn find() -> Option<PathBuf> {
    if let Some(named) = env::path(env::HOOK_LIBRARY) {
        return std::path::absolute(named)
            .ok()
            .filter(|path| path.is_file());
    }
    let exe = std::fs::read_link("/proc/self/exe").ok()?;
    find_beside(exe.parent()?)
}

fn find_beside(folder: &Path) -> Option<PathBuf> {
    let beside = folder.join(FILE);
    if beside.is_file() {
        return Some(beside);
    }
    let prefix = folder.parent()?;
    let candidates = ["lib", "lib64"].iter().flat_map(|library| {
        let library = prefix.join(library);
        python_folders(&library)
            .into_iter()
            .flat_map(|python| ["site-packages", "dist-packages"].map(|name| python.join(name)))
            .map(|packages| packages.join("outlive/_lib"))
            .chain([library.join("outlive")])
    });
    candidates
        .map(|folder| folder.join(FILE))
        .find(|path| path.is_file())
}

/// `lib/python3.11` and its like, newest first.
fn python_folders(library: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(library) else {
        return Vec::new();
    };
    let mut folders: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            path.file_name()
                .is_some_and(|name| name.to_string_lossy().starts_with("python3"))
        })
        .collect();
    folders.sort();
    folders.reverse();
    folders
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(place: &str) {
        let prefix = tempfile::tempdir().unwrap();
        let folder = prefix.path().join("bin");
        fs_err::create_dir_all(&folder).unwrap();
        assert_eq!(find_beside(&folder), None);
        let library = prefix.path().join(place);
        fs_err::create_dir_all(library.parent().unwrap()).unwrap();
        fs_err::write(&library, "").unwrap();
        assert_eq!(find_beside(&folder), Some(library));
    }

    #[test]
    fn the_library_is_found_wherever_it_may_be_installed() {
        check("bin/liboutlive_hook.so");
        check("lib/outlive/liboutlive_hook.so");
        check("lib/python3.11/site-packages/outlive/_lib/liboutlive_hook.so");
        check("lib64/python3.14/dist-packages/outlive/_lib/liboutlive_hook.so");
    }
}
