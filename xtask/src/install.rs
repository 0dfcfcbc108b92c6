//! `cargo xtask install`: the wheel, into the Python environment one works in.

use std::process::Command;

use anyhow::Result;

use crate::{python, step, wheel};

/// Builds the wheel and installs it.
pub(crate) fn main() -> Result<()> {
    let python = python::current()?;
    let wheel = wheel::build()?;
    step::run(
        Command::new(&python)
            .args([
                "-m",
                "pip",
                "--disable-pip-version-check",
                "install",
                "--quiet",
            ])
            .args(["--force-reinstall", "--no-deps", "--no-index"])
            .arg(&wheel.path),
    )?;
    println!(
        "Installed into the environment of {}. Now: outlive run -- python yours.py",
        python.display()
    );
    Ok(())
}
