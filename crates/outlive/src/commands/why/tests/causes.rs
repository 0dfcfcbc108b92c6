//! Causes as text and as JSON.

use serde_json::Value;

use super::{text, whole_run};
use crate::commands::why::explain;
use crate::json;
use crate::store::FACTS_FILE;

/// A loop whose second line holds the 3 GiB.
const PROGRAM: &str = "for name in names:\n    row = load(name)\n    kept.append(row)\n";

#[test]
fn the_text_names_the_line_that_keeps_and_what_to_change() {
    let (_home, run) = whole_run();
    fs_err::write(run.directory.join("train.py"), PROGRAM).unwrap();
    let text = text(&run);
    for expected in [
        "  cause   The results of every turn of a loop are kept (results_kept_in_loop, confidence",
        "at train.py:3: kept.append(row)",
        "- train.py:2 in <module> held 3.0 GiB of 4.0 GiB",
        "  change  Keep a number or a small copy",
    ] {
        assert!(text.contains(expected), "no `{expected}` in\n{text}");
    }
    let place = |mark: &str| text.find(mark).unwrap();
    assert!(place("  cause ") < place("  memory "), "{text}");
}

#[test]
fn the_json_has_the_documented_fields() {
    let (_home, run) = whole_run();
    fs_err::write(run.directory.join("train.py"), PROGRAM).unwrap();
    let mut out = Vec::new();
    json::write_why(&explain(&run).unwrap(), &mut out).unwrap();
    let value: Value = serde_json::from_slice(&out).unwrap();
    assert_eq!(value["cause"], value["causes"][0]);
    for (field, expected) in [
        ("id", Value::from("results_kept_in_loop")),
        ("confidence", "medium".into()),
        ("file", "train.py".into()),
        ("line", 3.into()),
        ("cell", Value::Null),
        ("text", "kept.append(row)".into()),
        ("rule", Value::Null),
    ] {
        assert_eq!(value["cause"][field], expected, "{field}");
    }
    let documented = include_str!("../../../../../../docs/why-json.md");
    let section = documented.split("### A cause").nth(1).unwrap();
    for name in value["cause"].as_object().unwrap().keys() {
        assert!(section.contains(&format!("`{name}`")), "{name}");
    }
}

#[test]
fn a_file_that_was_changed_after_the_start_is_told_and_lowers_nothing_that_was_recorded() {
    let (_home, run) = whole_run();
    fs_err::write(run.directory.join("train.py"), PROGRAM).unwrap();
    let mut facts = run.facts().unwrap();
    facts.started_at = 1;
    let facts = serde_json::to_vec(&facts).unwrap();
    fs_err::write(run.directory.join(FACTS_FILE), facts).unwrap();
    let text = text(&run).replace("\n            ", " ");
    assert!(
        text.contains("train.py was changed after the run had started: other lines may have run"),
        "{text}"
    );
}
