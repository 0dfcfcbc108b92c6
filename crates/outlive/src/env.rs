//! Every environment variable that the command line reads or sets. (What the injected library
//! reads is listed in its own `config.rs`.)

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

/// Where runs are kept. Default: `$XDG_STATE_HOME/outlive`, or `~/.local/state/outlive`.
pub const HOME: &str = "OUTLIVE_HOME";
/// Path of the library that records a process. Default: looked for beside the `outlive` binary
/// and in the Python package installed with it.
pub const HOOK_LIBRARY: &str = "OUTLIVE_HOOK_LIBRARY";
/// How many runs are kept, newest first. Default: 50.
pub const KEEP_RUNS: &str = "OUTLIVE_KEEP_RUNS";
/// How many bytes of disk the kept runs may take together. Default: 4 GiB.
pub const KEEP_BYTES: &str = "OUTLIVE_KEEP_BYTES";
/// Set for the recorded program: the folder of its run.
pub const RUN_DIR: &str = "OUTLIVE_RUN_DIR";
/// Set for the recorded program: size of each black box in bytes.
pub const BOX_SIZE: &str = "OUTLIVE_BOX_SIZE";
/// Libraries the dynamic loader puts into a program; Outlive puts its own in front.
pub const PRELOAD: &str = "LD_PRELOAD";
/// Set to anything: text is printed without colour.
pub const NO_COLOR: &str = "NO_COLOR";
/// Set in a shell on a machine that somebody reached through `ssh`.
pub const SSH_CONNECTION: &str = "SSH_CONNECTION";
/// The kind of terminal; `dumb` has no colours.
pub const TERM: &str = "TERM";

/// Variables that name a scheduler, a container or their limits; copied into `run.json` because
/// they tell who may have ended a run. Nothing else of the environment is stored.
pub const KEPT_FACTS: &[&str] = &[
    "SLURM_JOB_ID",
    "SLURM_JOB_NAME",
    "SLURM_JOB_PARTITION",
    "SLURM_STEP_ID",
    "SLURM_PROCID",
    "SLURM_MEM_PER_NODE",
    "SLURM_MEM_PER_CPU",
    "SLURM_JOB_END_TIME",
    "KUBERNETES_SERVICE_HOST",
    "TORCHELASTIC_RUN_ID",
    "RAY_JOB_ID",
    "RAY_ADDRESS",
    "RAY_memory_usage_threshold",
    "PBS_JOBID",
    "LSB_JOBID",
    "JOB_ID",
    "CI",
    "JPY_PARENT_PID",
];

/// The folder where everything of Outlive is kept, if the environment names one.
pub fn home() -> Option<PathBuf> {
    if let Some(home) = path(HOME) {
        return Some(home);
    }
    if let Some(state) = path("XDG_STATE_HOME").filter(|state| state.is_absolute()) {
        return Some(state.join("outlive"));
    }
    path("HOME").map(|home| home.join(".local/state/outlive"))
}

/// A variable that holds a path, if it is set and not empty.
pub fn path(name: &str) -> Option<PathBuf> {
    text(name).map(PathBuf::from)
}

/// A variable, if it is set and not empty.
pub fn text(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// A variable that holds a number, if it is set and can be read.
pub fn number(name: &str) -> Option<u64> {
    text(name)?.to_str()?.trim().parse().ok()
}

/// The variables of [`KEPT_FACTS`] that are set, with their values.
pub fn kept_facts() -> Vec<(String, String)> {
    KEPT_FACTS
        .iter()
        .filter_map(|name| {
            Some((
                (*name).to_owned(),
                text(name)?.to_string_lossy().into_owned(),
            ))
        })
        .collect()
}

/// `LD_PRELOAD` for the program: the hook in front of what the user asked for, and only once,
/// also where one run starts another.
pub fn preload_with(hook: &OsStr) -> OsString {
    let file_name = std::path::Path::new(hook).file_name().unwrap_or(hook);
    let mut value = hook.to_owned();
    let inherited = text(PRELOAD).unwrap_or_default();
    for library in split_preload(&inherited) {
        if std::path::Path::new(library).file_name() != Some(file_name) {
            value.push(":");
            value.push(library);
        }
    }
    value
}

/// The loader accepts colons and spaces between libraries.
fn split_preload(value: &OsStr) -> impl Iterator<Item = &OsStr> {
    use std::os::unix::ffi::OsStrExt;
    value
        .as_bytes()
        .split(|byte| matches!(byte, b':' | b' '))
        .filter(|part| !part.is_empty())
        .map(OsStr::from_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn preload_is_split_at_colons_and_spaces() {
        let parts: Vec<_> = split_preload(OsStr::new("/a/b.so:/c.so  d.so:")).collect();
        assert_eq!(parts, ["/a/b.so", "/c.so", "d.so"]);
    }
}
