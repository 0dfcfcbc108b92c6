//! Every format for programs, read back by a program, with names made to break it.

use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::context::{python, text};
use crate::project::{LEAK, Project, SOUND, hostile_name, notebook, stdout};

/// A script, a notebook, and a script with a hostile name.
fn project() -> Project {
    let project = Project::new(&[("n.ipynb", &notebook(LEAK)), ("train.py", LEAK)]);
    project.write(hostile_name(), LEAK);
    project
}

/// The line of the notebook's JSON where the finding is.
fn json_line() -> usize {
    let notebook = notebook(LEAK);
    let mut lines = notebook.lines();
    lines
        .position(|line| line.contains("   total_loss += loss\\n"))
        .unwrap()
        + 1
}

fn values(format: &str) -> Value {
    let output = project().check(&["--output-format", format]);
    assert_eq!(output.status.code(), Some(1));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn json_has_the_documented_shape() {
    let value = values("json");
    assert_eq!((&value["version"], &value["files"]), (&1.into(), &3.into()));
    let found = value["findings"].as_array().unwrap();
    assert_eq!(found.len(), 3);
    let script = &found[2];
    assert_eq!(script["path"], "train.py");
    assert_eq!(script["rule"], "retained_graph_accumulation");
    assert_eq!(script["code"], "OL101");
    assert_eq!(script["cause"], "autograd_history_kept");
    assert_eq!(script["level"], "warning");
    assert_eq!(script["cell"], Value::Null);
    let place = ["line", "column", "end_line", "end_column", "file_line"];
    assert_eq!(
        place.map(|it| script[it].as_u64().unwrap()),
        [8, 23, 8, 27, 8]
    );
    assert_eq!(script["witness"][0]["line"], 6);
    assert!(
        script["witness"][0]["text"]
            .as_str()
            .unwrap()
            .contains("`loss`")
    );
    assert_eq!(script["fix"]["applicability"], "safe");
    let edit = &script["fix"]["edits"][0];
    let place = ["line", "column", "end_line", "end_column"];
    assert_eq!(place.map(|it| edit[it].as_u64().unwrap()), [8, 23, 8, 27]);
    assert_eq!(edit["content"], "loss.detach()");
    for key in ["message", "help"] {
        assert!(!script[key].as_str().unwrap().is_empty());
    }
    assert!(script.as_object().unwrap().contains_key("bytes"));
    let cell = &found[1];
    assert_eq!(
        (&cell["path"], &cell["cell"]),
        (&"n.ipynb".into(), &2.into())
    );
    assert_eq!(
        (&cell["line"], &cell["file_line"]),
        (&8.into(), &json_line().into())
    );
    assert_eq!(value["problems"][0]["kind"], "skipped");
    assert_eq!(value["problems"][0]["path"], "n.ipynb");
}

#[test]
fn problems_are_in_the_json() {
    let project = Project::new(&[("a.py", "import torch\nx = (\n")]);
    let value = project.json(&["a.py", "missing.py"]);
    let problems = value["problems"].as_array().unwrap();
    assert_eq!(problems[0]["kind"], "failed");
    assert_eq!(problems[0]["path"], "missing.py");
    assert_eq!(problems[1]["kind"], "syntax");
    assert!(problems[1]["line"].as_u64().unwrap() >= 2);
}

#[test]
fn github_gets_a_line_a_finding_whatever_the_name() {
    let output = project().check(&["--format", "github"]);
    let lines: Vec<&str> = stdout(&output).lines().collect();
    assert_eq!(lines.len(), 3, "{lines:?}");
    assert!(lines[0].starts_with(
        "::warning title=Outlive OL101 retained_graph_accumulation,\
         file=a%0A%3A%3Aerror%3A%3Ab%2Cc%3A\u{1b}[31m\"<&>%25\u{fffd}.py,line=8,endLine=8,"
    ));
    let line = json_line();
    assert!(lines[1].contains(&format!(",file=n.ipynb,line={line},endLine={line},")));
    assert!(lines[1].contains("::cell 2 line 8: "), "{}", lines[1]);
    assert!(lines[2].contains(",line=8,endLine=8,col=23,endColumn=27::`total_loss` "));
}

#[test]
fn gitlab_knows_a_finding_again_when_lines_move() {
    let value = values("gitlab");
    let entries = value.as_array().unwrap();
    assert_eq!(entries.len(), 3);
    for entry in entries {
        assert!(!entry["description"].as_str().unwrap().is_empty());
        assert_eq!(entry["check_name"], "retained_graph_accumulation");
        assert_eq!(entry["severity"], "major");
    }
    assert_eq!(entries[1]["location"]["path"], "n.ipynb");
    assert_eq!(entries[1]["location"]["lines"]["begin"], json_line());
    let fingerprints = |text: &str| {
        let project = Project::new(&[("a.py", text)]);
        let output = project.check(&["--format", "gitlab"]);
        let value: Value = serde_json::from_slice(&output.stdout).unwrap();
        let entries = value.as_array().unwrap().iter();
        entries
            .map(|entry| entry["fingerprint"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    let (first, moved) = (fingerprints(LEAK), fingerprints(&format!("# more\n{LEAK}")));
    assert_eq!(first, moved);
    let twice = fingerprints(&format!("{LEAK}{}", LEAK.replace("import torch\n", "")));
    assert_eq!(twice.len(), 2);
    assert_eq!(twice[0], first[0]);
    assert_ne!(twice[0], twice[1]);
}

#[test]
fn sarif_has_what_the_standard_requires() {
    let value = values("sarif");
    assert_eq!(value["version"], "2.1.0");
    assert!(
        value["$schema"]
            .as_str()
            .unwrap()
            .ends_with("sarif-schema-2.1.0.json")
    );
    let run = &value["runs"][0];
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    assert_eq!(run["tool"]["driver"]["name"], "outlive");
    assert_eq!(rules.len(), outlive_check::rules::ALL.len());
    assert_eq!(run["invocations"][0]["executionSuccessful"], true);
    let results = run["results"].as_array().unwrap();
    assert_eq!(results.len(), 3);
    for result in results {
        let index = result["ruleIndex"].as_u64().unwrap() as usize;
        assert_eq!(rules[index]["id"], result["ruleId"]);
        assert_eq!(result["level"], "warning");
        assert!(!result["message"]["text"].as_str().unwrap().is_empty());
        assert!(!result["relatedLocations"].as_array().unwrap().is_empty());
    }
    let place = |index: usize| &results[index]["locations"][0]["physicalLocation"];
    assert_eq!(
        place(0)["artifactLocation"]["uri"],
        "a%0A%3A%3Aerror%3A%3Ab%2Cc%3A%1B%5B31m%22%3C%26%3E%25%FF.py"
    );
    assert_eq!(place(1)["region"]["startLine"], json_line());
    let region = ["startLine", "startColumn", "endLine", "endColumn"];
    assert_eq!(
        region.map(|it| place(2)["region"][it].as_u64().unwrap()),
        [8, 23, 8, 27]
    );
    let change = &results[2]["fixes"][0]["artifactChanges"][0];
    assert_eq!(change["artifactLocation"]["uri"], "train.py");
    assert_eq!(
        change["replacements"][0]["insertedContent"]["text"],
        "loss.detach()"
    );
}

/// A program that knows nothing of Python makes the fix of a notebook from the SARIF alone.
#[test]
fn the_fix_of_a_notebook_in_sarif_is_the_fix() {
    let original = notebook(LEAK);
    let project = Project::new(&[("n.ipynb", &original)]);
    let output = project.check(&["--format", "sarif"]);
    let value: Value = serde_json::from_slice(&output.stdout).unwrap();
    let fix = &value["runs"][0]["results"][0]["fixes"][0];
    let replacement = &fix["artifactChanges"][0]["replacements"][0];
    let region = &replacement["deletedRegion"];
    let number = |key: &str| region[key].as_u64().unwrap() as usize;
    let mut lines: Vec<String> = original.lines().map(str::to_owned).collect();
    let line: Vec<char> = lines[number("startLine") - 1].chars().collect();
    let head: String = line[..number("startColumn") - 1].iter().collect();
    let tail: String = line[number("endColumn") - 1..].iter().collect();
    let middle = replacement["insertedContent"]["text"].as_str().unwrap();
    lines[number("startLine") - 1] = format!("{head}{middle}{tail}");
    project.check(&["--fix"]);
    assert_eq!(
        lines.join("\n").trim_end(),
        project.read("n.ipynb").trim_end()
    );
}

/// What a reader of XML makes of a text: suites, cases and failures.
fn junit(input: &[u8]) -> String {
    const COUNT: &str = "
import sys, xml.etree.ElementTree as tree
root = tree.parse(sys.stdin.buffer).getroot()
names = [suite.get('name') for suite in root]
cases = [case for suite in root for case in suite]
print(root.tag, len(cases), sum(len(case) for case in cases), ascii(names))
";
    let mut command = Command::new(python());
    command
        .args(["-c", COUNT])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    let output = child.wait_with_output().unwrap();
    text(&output.stdout).trim_end().to_owned()
}

#[test]
fn junit_is_well_formed_whatever_the_name() {
    let output = project().check(&["--format", "junit"]);
    assert_eq!(
        junit(&output.stdout),
        r#"testsuites 3 3 ['a\n::error::b,c:?[31m"<&>%\ufffd.py', 'n.ipynb', 'train.py']"#
    );
    let fine = Project::new(&[("a.py", SOUND)]).check(&["--format", "junit"]);
    assert_eq!(fine.status.code(), Some(0));
    assert_eq!(junit(&fine.stdout), "testsuites 1 0 ['outlive']");
}

#[test]
fn nothing_found_is_valid_in_every_format() {
    let project = Project::new(&[("a.py", SOUND)]);
    for format in ["json", "gitlab", "sarif"] {
        let output = project.check(&["--format", format]);
        assert_eq!(output.status.code(), Some(0));
        let _: Value = serde_json::from_slice(&output.stdout).unwrap();
    }
    assert_eq!(stdout(&project.check(&["--format", "github"])), "");
}
