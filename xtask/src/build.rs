//! `cargo xtask build`: the command line tool and, beside it, the library it puts into processes.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::step;
use crate::turbo::Turbo;
use crate::workspace::{cargo, target_directory};

/// File name of the hook library, the same in `target/release` and in the wheel.
pub(crate) const HOOK_NAME: &str = "liboutlive_hook.so";

/// What a build leaves behind.
#[derive(Debug)]
pub(crate) struct Products {
    /// The command line tool.
    pub(crate) outlive: PathBuf,
    /// The hook library, in the same folder, where the tool looks for it.
    pub(crate) hook: PathBuf,
}

/// Builds and says where.
pub(crate) fn main() -> Result<()> {
    let products = build()?;
    println!(
        "{}\n{}",
        products.outlive.display(),
        products.hook.display()
    );
    Ok(())
}

/// Builds both in release form.
pub(crate) fn build() -> Result<Products> {
    let mut command = cargo();
    command.args(["build", "--release", "--package", "outlive"]);
    Turbo::ensure().apply(&mut command, &["outlive"]);
    step::run(&mut command)?;
    // Its own profile and a crate type of its own: as a cdylib with `preload` it defines `malloc`,
    // which no test binary and no tool must ever link.
    step::run(cargo().args([
        "rustc",
        "--package=outlive-hook",
        "--lib",
        "--profile=hook",
        "--features=preload",
        "--crate-type=cdylib",
        "--",
        // Profilers that walk by frame pointers see through it to the program's own callers.
        "-Cforce-frame-pointers=yes",
    ]))?;
    let products = products();
    replace(
        &target_directory().join("hook").join(HOOK_NAME),
        &products.hook,
    )?;
    Ok(products)
}

/// Where a build leaves its products.
pub(crate) fn products() -> Products {
    let release = target_directory().join("release");
    Products {
        outlive: release.join("outlive"),
        hook: release.join(HOOK_NAME),
    }
}

/// Copies by way of a new file and a rename: a process that runs with the old library keeps it.
fn replace(source: &PathBuf, destination: &PathBuf) -> Result<()> {
    let fresh = destination.with_extension("new");
    fs::copy(source, &fresh)
        .and_then(|_| fs::rename(&fresh, destination))
        .with_context(|| format!("Cannot copy `{}`", source.display()))
}
