//! What to start: a command as it is, a Python file, or a Python module.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::env;

/// Why there is nothing to start.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    /// An option Outlive does not have, where the command should be.
    #[error("Unknown option `{0}`\nhint: put `--` before a command that starts with a dash")]
    UnknownOption(String),
    /// `-m` without a module.
    #[error("No module after `-m`")]
    NoModule,
    /// A Python file that is not there.
    #[error("No such file: `{0}`")]
    NoFile(String),
    /// No interpreter for a Python file.
    #[error("No `python3` found to run `{0}`\nhint: name it: `outlive run -- PYTHON {0}`")]
    NoPython(String),
}

/// The full command for what a person typed after `outlive run`.
pub fn resolve(arguments: &[OsString]) -> Result<Vec<OsString>, TargetError> {
    let Some(first) = arguments.first() else {
        return Ok(Vec::new());
    };
    if first == "-m" {
        let module = arguments.get(1).ok_or(TargetError::NoModule)?;
        return with_python(module, arguments);
    }
    if first.to_string_lossy().starts_with('-') {
        return Err(TargetError::UnknownOption(
            first.to_string_lossy().into_owned(),
        ));
    }
    if is_python_script(Path::new(first)) {
        return with_python(first, arguments);
    }
    let path = Path::new(first);
    if is_named_python(path) && !path.exists() && !is_on_path(path) {
        return Err(TargetError::NoFile(first.to_string_lossy().into_owned()));
    }
    Ok(arguments.to_vec())
}

fn with_python(what: &OsStr, arguments: &[OsString]) -> Result<Vec<OsString>, TargetError> {
    let python =
        find_python().ok_or_else(|| TargetError::NoPython(what.to_string_lossy().into_owned()))?;
    let mut command = vec![python.into_os_string()];
    command.extend_from_slice(arguments);
    Ok(command)
}

/// The interpreter of the active environment, the one installed beside Outlive, or the first on
/// the path.
fn find_python() -> Option<PathBuf> {
    let environment = env::path("VIRTUAL_ENV").map(|folder| folder.join("bin/python"));
    let beside = std::env::current_exe()
        .ok()
        .and_then(|exe| Some(exe.parent()?.join("python3")));
    let folders = search_path();
    let on_path = ["python3", "python"]
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    environment
        .into_iter()
        .chain(beside)
        .chain(on_path)
        .find(|path| is_executable(path))
}

/// The folders that commands are looked for in.
fn search_path() -> Vec<PathBuf> {
    let search = env::text("PATH").unwrap_or_default();
    std::env::split_paths(&search).collect()
}

/// Whether a plain name is that of a command.
fn is_on_path(name: &Path) -> bool {
    let is_plain = name.components().count() == 1;
    let found = |folder: &PathBuf| is_executable(&folder.join(name));
    is_plain && search_path().iter().any(found)
}

fn is_named_python(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "py")
}

/// A file named `.py`, or one that says it is Python but may not be executed.
fn is_python_script(path: &Path) -> bool {
    if !path.is_file() {
        return false;
    }
    is_named_python(path) || !is_executable(path) && names_python(path)
}

fn is_executable(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

/// Whether the first line names Python as the interpreter.
fn names_python(path: &Path) -> bool {
    let mut head = [0; 128];
    let Ok(length) = File::open(path).and_then(|mut file| file.read(&mut head)) else {
        return false;
    };
    let head = String::from_utf8_lossy(head.get(..length).unwrap_or(&[]));
    let line = head.lines().next().unwrap_or_default();
    line.starts_with("#!") && line.contains("python")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<OsString> {
        text.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn a_command_is_left_alone() {
        assert_eq!(resolve(&words("ls -l x.py")).unwrap(), words("ls -l x.py"));
    }

    #[test]
    fn a_module_is_run_with_python() {
        let command = resolve(&words("-m http.server --help")).unwrap();
        assert!(
            command[0].to_string_lossy().contains("python"),
            "{command:?}"
        );
        assert_eq!(command[1..], words("-m http.server --help"));
        assert_eq!(resolve(&words("-m")), Err(TargetError::NoModule));
    }

    #[test]
    fn an_option_outlive_does_not_have_is_not_a_command() {
        let error = resolve(&words("--quite ls")).unwrap_err();
        assert_eq!(error, TargetError::UnknownOption("--quite".to_owned()));
    }

    #[test]
    fn a_python_file_that_is_not_there_is_not_a_command() {
        let error = resolve(&words("absent.py --epochs 3")).unwrap_err();
        assert_eq!(error.to_string(), "No such file: `absent.py`");
    }

    #[test]
    fn a_python_file_is_recognised_by_name_or_first_line() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs_err::write(&path, text).unwrap();
            path
        };
        assert!(is_python_script(&file("train.py", "")));
        assert!(is_python_script(&file("train", "#!/usr/bin/env python3\n")));
        assert!(!is_python_script(&file("train.sh", "#!/bin/sh\n")));
        assert!(!is_python_script(&folder.path().join("absent.py")));
    }
}
