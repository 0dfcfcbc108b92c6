//! `cargo xtask wheel`: one abi3 wheel with the Python extension, the hook library and the native
//! command line tool, under the oldest platform tag that is true for all three.

mod elf;
mod tag;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::build::{self, HOOK_NAME};
use crate::python::Environment;
use crate::step;
use crate::turbo::Turbo;
use crate::workspace::{cache_directory, root};

/// A wheel that was built and looked into.
#[derive(Debug)]
pub(crate) struct Wheel {
    /// Where it lies.
    pub(crate) path: PathBuf,
    /// Its platform tag.
    pub(crate) tag: String,
}

/// Builds the wheel and says where it is.
pub(crate) fn main() -> Result<()> {
    let wheel = build()?;
    let size = fs::metadata(&wheel.path)?.len();
    println!(
        "{} ({:.1} MiB, {})",
        wheel.path.display(),
        size as f64 / 1_048_576.0,
        wheel.tag
    );
    Ok(())
}

/// Builds the wheel, in two passes: the first shows what the files inside need, the second gives
/// the wheel the tag that follows. Cargo has nothing to do in the second.
pub(crate) fn build() -> Result<Wheel> {
    let products = build::build()?;
    place(
        &products.hook,
        &root().join("python/outlive/_lib").join(HOOK_NAME),
    )?;
    place(
        &products.outlive,
        &root().join("wheel-data/scripts/outlive"),
    )?;
    let tools = tools()?;
    let draft = run_maturin(&tools, "linux", &cache_directory().join("draft"))?;
    let tag = tag::for_wheel(&tools, &draft)?;
    let path = run_maturin(&tools, &tag, &root().join("dist"))?;
    Ok(Wheel { path, tag })
}

/// The environment with the packaging tool.
pub(crate) fn tools() -> Result<Environment> {
    Environment::with_requirements(
        &cache_directory().join("wheel-tools"),
        &root().join("tests/requirements-wheel.txt"),
    )
}

fn run_maturin(tools: &Environment, tag: &str, out: &Path) -> Result<PathBuf> {
    if out.exists() {
        fs::remove_dir_all(out).with_context(|| format!("Cannot clear `{}`", out.display()))?;
    }
    let mut command = tools.program("maturin");
    let words = [
        "build",
        "--quiet",
        "--release",
        "--locked",
        "--compatibility",
        tag,
    ];
    command
        .current_dir(root())
        .args(words)
        .arg("--out")
        .arg(out);
    // Features named here stand in place of those of `pyproject.toml`.
    command.args(["--features", "extension-module"]);
    Turbo::ensure().apply(&mut command, &["outlive-python"]);
    // Its chatter is of interest only when it fails.
    step::output(&mut command)?;
    let wheels: Vec<PathBuf> = fs::read_dir(out)?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "whl"))
        .collect();
    match wheels.as_slice() {
        [wheel] => Ok(wheel.clone()),
        _ => bail!(
            "Expected one wheel in `{}`, found {}",
            out.display(),
            wheels.len()
        ),
    }
}

fn place(source: &Path, destination: &Path) -> Result<()> {
    let folder = destination.parent().unwrap_or(destination);
    fs::create_dir_all(folder)
        .and_then(|()| fs::copy(source, destination))
        .with_context(|| format!("Cannot copy `{}`", source.display()))?;
    Ok(())
}
