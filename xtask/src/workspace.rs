//! Where things lie: the repository, what cargo builds, and the cache that only these tasks use.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The repository's root. `cargo xtask` is compiled inside it, so the compiler knows it best.
pub(crate) fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().unwrap_or(manifest).to_path_buf()
}

/// Where cargo puts what it builds.
pub(crate) fn target_directory() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| root().join("target"), |directory| root().join(directory))
}

/// Environments and interpreters for the tests: made once, git-ignored, safe to delete.
pub(crate) fn cache_directory() -> PathBuf {
    root().join(".cache")
}

/// The cargo that runs this task, in the repository's root.
pub(crate) fn cargo() -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = Command::new(program);
    command.current_dir(root());
    command
}
