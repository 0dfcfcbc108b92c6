//! `cargo xtask fuzz [--minutes N]`: damages black boxes without end and reads them; see
//! `crates/outlive-record/tests/fuzz.rs`. The golden recordings are damaged as well.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::workspace::{cache_directory, cargo, root};
use crate::{python, step};

/// Long enough to find what is easy to find.
const DEFAULT_MINUTES: u64 = 10;
/// Unpacks the recordings named by its arguments after the first, into the folder that one names.
const UNPACK: &str = "\
import lzma, pathlib, sys
target = pathlib.Path(sys.argv[1])
for path in map(pathlib.Path, sys.argv[2:]):
    (target / path.stem).write_bytes(lzma.decompress(path.read_bytes()))
";

/// Fuzzes for as long as asked.
pub(crate) fn main(arguments: &[String]) -> Result<()> {
    let minutes = minutes(arguments)?;
    let corpus = cache_directory().join("fuzz-corpus");
    fs::create_dir_all(&corpus).with_context(|| format!("Cannot make `{}`", corpus.display()))?;
    let recordings = recordings(&root().join("tests/recordings"))?;
    step::run(
        Command::new(python::current()?)
            .args(["-c", UNPACK])
            .arg(&corpus)
            .args(&recordings),
    )?;
    step::run(
        cargo()
            .args(["test", "--quiet", "--release", "--package=outlive-record"])
            .args(["--test=fuzz", "--", "--nocapture"])
            .env("OUTLIVE_FUZZ_SECONDS", (minutes * 60).to_string())
            .env("OUTLIVE_FUZZ_CORPUS", &corpus),
    )
}

fn minutes(arguments: &[String]) -> Result<u64> {
    match arguments {
        [] => Ok(DEFAULT_MINUTES),
        [flag, number] if flag == "--minutes" => number
            .parse()
            .with_context(|| format!("Not a number of minutes: `{number}`")),
        _ => bail!(
            "Unknown words `{}`\nhint: cargo xtask fuzz --minutes 10",
            arguments.join(" ")
        ),
    }
}

/// All packed boxes below a folder, in order.
fn recordings(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries =
        fs::read_dir(folder).with_context(|| format!("Cannot list `{}`", folder.display()))?;
    let mut found = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(recordings(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "xz") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minutes_are_a_number_or_the_default() {
        let words = |text: &str| {
            text.split_whitespace()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        assert_eq!(minutes(&[]).unwrap(), DEFAULT_MINUTES);
        assert_eq!(minutes(&words("--minutes 3")).unwrap(), 3);
        assert!(minutes(&words("--minutes soon")).is_err());
        assert!(minutes(&words("for ever")).is_err());
    }

    #[test]
    fn there_are_recordings_to_damage() {
        let found = recordings(&root().join("tests/recordings")).unwrap();
        assert!(!found.is_empty());
    }
}
