//! The packages that are checked: the Python files of pinned wheels, unpacked once into the cache.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use serde::Deserialize;

use super::super::stage::Stage;
use super::answer;
use super::record::{Findings, Record};
use crate::step;
use crate::workspace::cache_directory;

/// Those that must have no error, and that `--fix` must not change.
const SOUND: [&str; 7] = [
    "torch",
    "torchvision",
    "transformers",
    "keras",
    "lightning",
    "pytorch-lightning",
    "scikit-learn",
];

/// Where they lie, and which there are.
#[derive(Debug)]
pub(super) struct Packages {
    /// The folder of all of them.
    pub(super) root: PathBuf,
    pinned: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct Answer {
    files: usize,
    findings: Vec<Finding>,
}

#[derive(Deserialize)]
struct Finding {
    rule: String,
    level: String,
}

impl Packages {
    /// Downloads and unpacks them, unless exactly these are there.
    pub(super) fn prepare(stage: &Stage) -> Result<Self> {
        let root = cache_directory().join("check-packages");
        let list = stage.benches.join("check/packages.txt");
        let wanted = fs::read_to_string(&list)
            .with_context(|| format!("Cannot read `{}`", list.display()))?;
        let stamp = root.join("packages.unpacked");
        if !fs::read_to_string(&stamp).is_ok_and(|unpacked| unpacked == wanted) {
            if root.exists() {
                fs::remove_dir_all(&root)
                    .with_context(|| format!("Cannot clear `{}`", root.display()))?;
            }
            let mut unpack = stage.script("check/unpack.py");
            unpack
                .arg(&root)
                .args(requirements(&wanted).map(|(line, _, _)| line));
            step::run(&mut unpack)?;
            fs::write(&stamp, &wanted)?;
        }
        let pinned = requirements(&wanted)
            .map(|(_, name, version)| (name.to_owned(), version.to_owned()))
            .collect();
        Ok(Self { root, pinned })
    }

    /// The folder of one.
    pub(super) fn folder(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// Counts what is found in each, and fixes a copy to see whether it changes.
    pub(super) fn judge(&self, stage: &Stage, record: &mut Record) -> Result<()> {
        for (name, version) in &self.pinned {
            println!("    {name}");
            record.versions.insert(name.clone(), version.clone());
            let folder = self.folder(name);
            let text = answer(stage, &[], &folder)?;
            let answer: Answer =
                serde_json::from_str(&text).context("Cannot read what `outlive check` printed")?;
            record.packages.push(Findings {
                package: name.clone(),
                files: answer.files,
                is_sound: SOUND.contains(&name.as_str()),
                levels: levels(answer.findings),
                changed: changed(stage, &folder)?,
            });
        }
        Ok(())
    }
}

/// Scripts and notebooks below a folder, in the order of their names.
pub(super) fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let entries =
            fs::read_dir(&folder).with_context(|| format!("Cannot read `{}`", folder.display()))?;
        for entry in entries {
            let entry = entry?;
            let path = entry.path();
            let extension = path.extension().and_then(|extension| extension.to_str());
            if entry.file_type()?.is_dir() {
                folders.push(path);
            } else if matches!(extension, Some("py" | "ipynb")) {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

fn requirements(list: &str) -> impl Iterator<Item = (&str, &str, &str)> {
    list.lines().filter_map(|line| {
        let (name, version) = line.split_once("==")?;
        Some((line, name, version))
    })
}

fn levels(findings: Vec<Finding>) -> BTreeMap<String, BTreeMap<String, usize>> {
    let mut levels: BTreeMap<String, BTreeMap<String, usize>> = BTreeMap::new();
    for finding in findings {
        let rules = levels.entry(finding.level).or_default();
        *rules.entry(finding.rule).or_default() += 1;
    }
    levels
}

/// The files that `--fix` changes, found by comparing every byte of a copy.
fn changed(stage: &Stage, folder: &Path) -> Result<Vec<String>> {
    let copy = stage.fresh_folder()?.join("fixed");
    step::run(Command::new("cp").arg("-r").arg(folder).arg(&copy))?;
    answer(stage, &["--fix"], &copy)?;
    let mut changed = Vec::new();
    for original in files(folder)? {
        let name = original.strip_prefix(folder)?;
        if fs::read(&original)? != fs::read(copy.join(name))? {
            changed.push(name.display().to_string());
        }
    }
    Ok(changed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_empty_lines_are_no_packages() {
        let list = "# First those.\ntorch==2.15.0\n\n# More.\ntimm==1.0.30\n";
        let names: Vec<&str> = requirements(list).map(|(_, name, _)| name).collect();
        assert_eq!(names, ["torch", "timm"]);
    }

    #[test]
    fn every_sound_package_is_in_the_list() {
        let list = include_str!("../../../../benches/check/packages.txt");
        for name in SOUND {
            assert!(
                requirements(list).any(|(_, listed, _)| listed == name),
                "{name}"
            );
        }
    }
}
