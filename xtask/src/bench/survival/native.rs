//! The small C library of `benches/survival`, compiled once a session.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use super::super::stage::Stage;
use crate::step;
use crate::workspace::target_directory;

/// Compiles it and says where it lies.
pub(super) fn library(stage: &Stage) -> Result<PathBuf> {
    let made = target_directory().join("libsurvival.so");
    step::run(
        Command::new("cc")
            .args(["-O2", "-Wall", "-Wextra", "-fPIC", "-shared", "-o"])
            .args([&made, &stage.benches.join("survival/pieces.c")]),
    )?;
    Ok(made)
}
