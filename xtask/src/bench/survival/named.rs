//! Which line each tool blames, asked of what it left behind.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::super::stage::Stage;
use super::guardian::Guardian;
use super::outing::dress;
use super::run::Answer;
use super::scenario::Scenario;
use crate::step;

const EXPLAINED: [&str; 2] = ["allocation_refused", "growth_stopped"];

/// What the tool says about a run whose files lie in `folder`; nothing if it leaves nothing.
pub(super) fn answer(
    guardian: Guardian,
    stage: &Stage,
    scenario: &Scenario,
    folder: &Path,
) -> Result<Option<Answer>> {
    let file = match guardian {
        Guardian::Bare | Guardian::Earlyoom => return Ok(None),
        Guardian::Outlive => {
            let told = why(stage, folder)?;
            return Ok(Some(of_explanation(&told, scenario)));
        }
        Guardian::Memray => folder.join("memray.bin"),
        Guardian::Fil => match fil_profile(&folder.join("fil"))? {
            Some(file) => file,
            None => return Ok(None),
        },
    };
    let mut asked = Command::new(&stage.python);
    asked
        .arg(stage.benches.join("survival/largest_line.py"))
        .args([&file, &scenario.path]);
    // A file that was cut off too early to be read is an answer too: none.
    let Ok(printed) = step::output(&mut asked) else {
        return Ok(None);
    };
    let lines: Vec<u64> = printed.trim().parse().into_iter().collect();
    Ok(Some(Answer {
        right: lines.iter().any(|line| scenario.guilty.contains(line)),
        lines,
        verdict: None,
    }))
}

/// What `outlive why` says about the last run of `folder`.
pub(super) fn why(stage: &Stage, folder: &Path) -> Result<Value> {
    let mut command = Command::new(&stage.outlive);
    command.args(["why", "last", "--format", "json"]);
    dress(&mut command, folder);
    let output = command.output().context("Cannot start `outlive why`")?;
    // 1 is how it says that the program ended badly.
    if !matches!(output.status.code(), Some(0 | 1)) {
        bail!(
            "`outlive why` failed: {}",
            String::from_utf8_lossy(&output.stderr).trim_end()
        );
    }
    serde_json::from_slice(&output.stdout).context("Cannot read what `outlive why` printed")
}

/// The lines that an explanation names: where it was raised, who was refused or stopped, who asked
/// last, who holds most.
fn of_explanation(told: &Value, scenario: &Scenario) -> Answer {
    let script = scenario.path.to_string_lossy();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let mut lines: Vec<u64> = list(&told["exceptions"])
        .iter()
        .flat_map(|exception| list(&exception["traceback"]))
        .filter_map(|entry| line_in(entry.as_str()?, &script))
        .collect();
    let places = [
        &told["intervention"]["place"],
        &told["growth"]["last_large"]["place"],
        &told["holders"][0],
    ];
    let places = places.into_iter().filter(|place| place["file"] == *script);
    lines.extend(places.filter_map(|place| place["line"].as_u64()));
    lines.sort_unstable();
    lines.dedup();
    let verdict = told["verdict"]["id"].as_str().unwrap_or_default();
    Answer {
        right: EXPLAINED.contains(&verdict)
            && lines.iter().any(|line| scenario.guilty.contains(line)),
        lines,
        verdict: Some(verdict.to_owned()),
    }
}

/// The line in `path:7 in work`, if the path is this one.
fn line_in(entry: &str, path: &str) -> Option<u64> {
    let rest = entry.strip_prefix(path)?.strip_prefix(':')?;
    rest.split(' ').next()?.parse().ok()
}

/// The stacks of Fil's report: of the moment it ran out, or else of the peak.
fn fil_profile(folder: &Path) -> Result<Option<PathBuf>> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Ok(None);
    };
    for entry in entries {
        let report = entry?.path();
        let names = ["out-of-memory.prof", "peak-memory.prof"];
        let mut files = names.iter().map(|name| report.join(name));
        if let Some(file) = files.find(|file| file.exists()) {
            return Ok(Some(file));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;

    use super::*;

    fn scenario() -> Scenario {
        Scenario {
            name: "a".into(),
            path: "/s/a.py".into(),
            needs: Vec::new(),
            smallest: 0,
            guilty: BTreeSet::from([7]),
        }
    }

    #[test]
    fn a_line_of_the_traceback_is_named_and_one_of_another_file_is_not() {
        let told = json!({
            "verdict": {"id": "allocation_refused"},
            "exceptions": [{"traceback": ["/s/a.py:12 in <module>", "/s/a.py:7 in work"]}],
            "growth": {"last_large": null},
            "holders": [{"file": "/s/b.py", "line": 3}],
        });
        let answer = of_explanation(&told, &scenario());
        assert_eq!((answer.right, answer.lines), (true, vec![7, 12]));
    }

    #[test]
    fn the_right_line_with_another_verdict_is_no_right_answer() {
        let told = json!({
            "verdict": {"id": "killed_by_kernel"},
            "holders": [{"file": "/s/a.py", "line": 7}],
        });
        let answer = of_explanation(&told, &scenario());
        assert_eq!((answer.right, answer.lines), (false, vec![7]));
    }
}
