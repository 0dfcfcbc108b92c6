//! What a program that runs out of memory is put under, and the command line of each.

use std::ffi::OsString;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use super::super::stage::Stage;
use super::super::tool::Tool;
use super::group::Group;
use crate::step;

/// Enters the group named first and becomes the rest.
const ENTER: &str = "echo 0 > \"$0\" && exec \"$@\"";
/// The same beside earlyoom, which lives as long as the program and sees nothing else: in a
/// process namespace of its own it reads the memory of the whole machine as always, and has only
/// this program to kill.
const ENTER_BESIDE_EARLYOOM: &str = "earlyoom >/dev/null 2>&1 & beside=$!
sh -c 'echo 0 > \"$0\" && exec \"$@\"' \"$0\" \"$@\"
status=$?
kill $beside
exit $status";

/// What is wrapped around the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Guardian {
    /// Nothing.
    Bare,
    /// earlyoom with its defaults, beside the program.
    Earlyoom,
    /// `fil-profile run`.
    Fil,
    /// `memray run`.
    Memray,
    /// `outlive run`.
    Outlive,
}

impl Guardian {
    /// All of them.
    pub(super) const ALL: [Self; 5] = [
        Self::Bare,
        Self::Earlyoom,
        Self::Fil,
        Self::Memray,
        Self::Outlive,
    ];

    /// The name on the command line and in the results.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Bare => "bare",
            Self::Earlyoom => "earlyoom",
            Self::Fil => "fil",
            Self::Memray => "memray",
            Self::Outlive => "outlive",
        }
    }

    /// The one of this name.
    pub(super) fn named(name: &str) -> Result<Self> {
        let known = Self::ALL.map(Self::name).join(", ");
        Self::ALL
            .into_iter()
            .find(|guardian| guardian.name() == name)
            .with_context(|| format!("Unknown tool `{name}`\nhint: there are {known}"))
    }

    /// Says if it cannot run here.
    pub(super) fn ensure_here(self) -> Result<()> {
        let found = self != Self::Earlyoom
            || step::succeeds(std::process::Command::new("earlyoom").arg("-v"));
        ensure!(
            found,
            "No `earlyoom` here\nhint: install it, or leave it out with `--tools`"
        );
        Ok(())
    }

    /// The words that run a script with its arguments in a group; what the tool writes goes below
    /// `output`.
    pub(super) fn command(
        self,
        stage: &Stage,
        group: &Group,
        script: &[OsString],
        output: &Path,
    ) -> Vec<OsString> {
        let python = stage.python.clone().into_os_string();
        let program = match self {
            Self::Bare | Self::Earlyoom => vec![python],
            Self::Fil => Tool::Fil.prefix(stage, output),
            Self::Memray => Tool::Memray.prefix(stage, output),
            Self::Outlive => [Tool::Outlive.prefix(stage, output), vec![python]].concat(),
        };
        let program = [program, script.to_vec()].concat();
        if self == Self::Earlyoom {
            let apart = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"];
            let apart = apart.map(OsString::from).to_vec();
            return [apart, entering(ENTER_BESIDE_EARLYOOM, group), program].concat();
        }
        [entering(ENTER, group), program].concat()
    }
}

/// A command of any kind in a group.
pub(super) fn inside(group: &Group, command: &[OsString]) -> Vec<OsString> {
    [entering(ENTER, group), command.to_vec()].concat()
}

fn entering(script: &str, group: &Group) -> Vec<OsString> {
    vec![
        "sh".into(),
        "-c".into(),
        script.into(),
        group.door().into_os_string(),
    ]
}
