//! `cargo xtask demo`: the main job in one command. Builds Outlive, runs a script under it that is
//! really killed, shows the explanation, and runs it again with the guard on. Needs Rust and
//! Python; keeps to `target/demo`.

mod stage;

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::build::Products;
use crate::workspace::target_directory;
use crate::{build, python};
use stage::Stage;

/// The embedded example: Python's standard library only.
const SCRIPT: &str = include_str!("train.py");
/// What the script may use before it is killed: enough for Python, too little for the data.
const LIMIT: u64 = 256 << 20;
const SIGKILL: i32 = 9;

/// Builds, kills, explains; and then the same with the guard on.
pub(crate) fn main() -> Result<()> {
    let products = build::build()?;
    // Says so in good words when there is none; the demo itself starts it as anybody would.
    python::current()?;
    let folder = target_directory().join("demo");
    fs::create_dir_all(&folder)
        .and_then(|()| fs::write(folder.join("train.py"), SCRIPT))
        .with_context(|| format!("Cannot write `{}`", folder.display()))?;
    println!(
        "\nA script that keeps every image it decodes: {}",
        folder.join("train.py").display()
    );
    unguarded(&products, &folder)?;
    guarded(&products, &folder)?;
    println!("\nNow: `cargo xtask install`, then `outlive run -- python yours.py`");
    Ok(())
}

/// The script is killed, and the black box explains it.
fn unguarded(products: &Products, folder: &Path) -> Result<()> {
    let stage = Stage::set_up(LIMIT);
    println!("What will kill it: {}", stage.describe());
    println!("\n$ outlive run --no-guard --quiet -- python3 train.py");
    let status = at(stage.command(&products.outlive), folder)
        .args(["run", "--no-guard", "--quiet", "--", "python3", "train.py"])
        .args(stage.script_arguments())
        .status()
        .context("Cannot start `outlive run`")?;
    println!("{status}");
    if status.signal() != Some(SIGKILL) && status.code() != Some(128 + SIGKILL) {
        bail!("The script was not killed: {status}");
    }
    drop(stage);

    println!("\n$ outlive why");
    let status = at(Command::new(&products.outlive), folder)
        .arg("why")
        .status()
        .context("Cannot start `outlive why`")?;
    // 0 and 1 both mean that there is an explanation; 2 is a fault of Outlive.
    if !matches!(status.code(), Some(0 | 1)) {
        bail!("`outlive why` failed: {status}");
    }
    Ok(())
}

/// With the same memory, and the guard on, it gets an exception that it can handle.
fn guarded(products: &Products, folder: &Path) -> Result<()> {
    println!("\n$ outlive run --limit 256MiB -- python3 train.py");
    let status = at(Command::new(&products.outlive), folder)
        .args(["run", "--limit", "256MiB", "--", "python3", "train.py"])
        .status()
        .context("Cannot start `outlive run`")?;
    if !status.success() {
        bail!("The script did not survive: {status}");
    }
    Ok(())
}

/// A command in the demo's folder, with the demo's own store of runs.
fn at(mut command: Command, folder: &Path) -> Command {
    command
        .current_dir(folder)
        .env("OUTLIVE_HOME", folder.join("home"))
        .stdin(Stdio::null());
    command
}
