//! libjpeg-turbo: the one piece of C that needs more than a C compiler to build. Where `cmake` is
//! missing it is installed, if we may; where it cannot be had, JPEG is decoded in Rust.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

use crate::debian::{self, is_root};
use crate::python::Environment;
use crate::step;
use crate::workspace::{cache_directory, root};

/// How JPEG will be decoded by what is built.
#[derive(Clone, Debug)]
pub(crate) struct Turbo {
    tools: Tools,
}

#[derive(Clone, Debug)]
enum Tools {
    /// `cmake` is on the path, or in a folder of ours.
    Cmake { folder: Option<PathBuf> },
    /// It cannot be had.
    Missing,
}

impl Turbo {
    /// Looks for the tools, installs what is missing where that is allowed, and says the outcome if
    /// it is not the fast one.
    pub(crate) fn ensure() -> Self {
        if is_root() {
            let wanted = [("cmake", "cmake"), ("nasm", "nasm")];
            let missing: Vec<&str> = wanted
                .into_iter()
                .filter(|(program, _)| !works(program))
                .map(|(_, package)| package)
                .collect();
            debian::install(&missing);
        }
        let tools = if works("cmake") {
            Tools::Cmake { folder: None }
        } else {
            from_python()
        };
        let found = matches!(tools, Tools::Cmake { .. });
        if !found {
            println!("    cmake is missing: JPEG will be decoded by zune-jpeg, in Rust, slower");
        } else if !works("nasm") {
            println!("    nasm is missing: libjpeg-turbo is built without its fastest code");
        }
        Self { tools }
    }

    /// Adds what a cargo command needs to build with libjpeg-turbo, if it can. `packages` are those
    /// of the command that have the feature.
    pub(crate) fn apply(&self, command: &mut Command, packages: &[&str]) {
        let Tools::Cmake { folder } = &self.tools else {
            return;
        };
        let features: Vec<String> = packages
            .iter()
            .map(|package| format!("{package}/turbo"))
            .collect();
        command.arg("--features").arg(features.join(","));
        if let Some(path) = folder.as_deref().map(path_with) {
            command.env("PATH", path);
        }
    }
}

/// A program that can be started.
fn works(program: &str) -> bool {
    step::succeeds(Command::new(program).arg("--version"))
}

/// Python's packages hold `cmake` as a program, which needs no rights on this machine.
fn from_python() -> Tools {
    let place = cache_directory().join("cmake");
    let requirements = root().join("tests/requirements-cmake.txt");
    match Environment::with_requirements(&place, &requirements) {
        Ok(_) => Tools::Cmake {
            folder: Some(place.join("bin")),
        },
        Err(_) => Tools::Missing,
    }
}

fn path_with(folder: &std::path::Path) -> OsString {
    let mut path = folder.as_os_str().to_owned();
    if let Some(rest) = std::env::var_os("PATH") {
        path.push(":");
        path.push(rest);
    }
    path
}
