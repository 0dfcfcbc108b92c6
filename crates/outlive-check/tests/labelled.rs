//! How often the rules are right on code that people wrote, rewritten in short and labelled by hand.
//!
//! The set is in `tests/labelled`. A finding is right if rule and line are; its level is counted
//! apart. `cargo nextest run -p outlive-check --test labelled --no-capture` prints the table.

#![expect(clippy::unwrap_used, reason = "a panic is how a test reports failure")]

mod markdown;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;

use markdown::{Block, Expected, Found};

/// The share of errors that must be right.
const PRECISION_OF_ERRORS: f64 = 0.97;
/// The share of warnings that must be right.
const PRECISION_OF_WARNINGS: f64 = 0.90;
/// The share of labelled errors and warnings that must be found.
const RECALL: f64 = 0.85;

/// What happened to the findings of one rule and level.
#[derive(Clone, Copy, Default)]
struct Count {
    /// Found and labelled, of the level found.
    right: usize,
    /// Found and not labelled.
    wrong: usize,
    /// Labelled with this level.
    labelled: usize,
    /// Labelled with this level, and not found.
    missed: usize,
    /// Labelled with this level, and found with another.
    other_level: usize,
}

impl Count {
    fn precision(self) -> f64 {
        share(self.right, self.right + self.wrong)
    }

    fn recall(self) -> f64 {
        share(self.labelled - self.missed, self.labelled)
    }

    fn add(&mut self, other: Self) {
        self.right += other.right;
        self.wrong += other.wrong;
        self.labelled += other.labelled;
        self.missed += other.missed;
        self.other_level += other.other_level;
    }
}

fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 {
        1.0
    } else {
        part as f64 / whole as f64
    }
}

type Counts = BTreeMap<(String, &'static str), Count>;

#[test]
fn findings_are_right_and_few_are_missed() {
    let mut counts = Counts::new();
    let mut details = String::new();
    for path in markdown::files("tests/labelled") {
        for block in markdown::blocks(&path) {
            count(&block, &mut counts, &mut details);
        }
    }
    let table = table(&counts);
    println!("{details}\n{table}");
    let errors = total(&counts, &["error"]);
    let warnings = total(&counts, &["warning"]);
    let both = total(&counts, &["error", "warning"]);
    assert!(
        errors.precision() >= PRECISION_OF_ERRORS,
        "{details}\n{table}"
    );
    assert!(
        warnings.precision() >= PRECISION_OF_WARNINGS,
        "{details}\n{table}"
    );
    assert!(both.recall() >= RECALL, "{details}\n{table}");
}

#[test]
fn every_case_says_where_it_comes_from() {
    for path in markdown::files("tests/labelled") {
        let text = fs::read_to_string(&path).unwrap();
        for case in text.split("\n## ").skip(1) {
            let name = case.lines().next().unwrap();
            let has_source = case.lines().any(|line| line.starts_with("Source: "));
            assert!(
                has_source,
                "{}: `{name}` has no line `Source: …`",
                path.display()
            );
            assert!(
                case.contains("```python"),
                "{}: `{name}` has no code",
                path.display()
            );
        }
    }
}

#[test]
fn every_case_is_python_and_names_rules() {
    let is_rule = |name: &str| outlive_check::rule_named(name).is_some();
    let mut failures = String::new();
    for block in markdown::files("tests/labelled")
        .iter()
        .flat_map(|path| markdown::blocks(path))
    {
        let path = &block.path;
        for one in block.expected.iter().filter(|one| !is_rule(&one.rule)) {
            let _ = writeln!(
                failures,
                "{path}:{}: No rule is called `{}`",
                one.line, one.rule
            );
        }
        for one in block.found().iter().filter(|one| one.rule == "syntax") {
            let _ = writeln!(failures, "{path}:{}: {}", one.line, one.message);
        }
    }
    assert!(failures.is_empty(), "\n{failures}");
}

fn count(block: &Block, counts: &mut Counts, details: &mut String) {
    let mut found = block.found();
    found.retain(|found| found.rule != "syntax");
    let path = &block.path;
    for Expected {
        line,
        level,
        rule,
        piece,
    } in &block.expected
    {
        counts.entry((rule.clone(), level)).or_default().labelled += 1;
        let here = |found: &Found| found.line == *line && found.rule == *rule;
        let Some(index) = found.iter().position(here) else {
            counts.entry((rule.clone(), level)).or_default().missed += 1;
            let _ = writeln!(details, "{path}:{line}: Missed {level}: [{rule}] {piece}");
            continue;
        };
        let found = found.remove(index);
        counts.entry((rule.clone(), found.level)).or_default().right += 1;
        if found.level != *level {
            counts.entry((rule.clone(), level)).or_default().other_level += 1;
            let _ = writeln!(
                details,
                "{path}:{line}: {level} found as {}: [{rule}]",
                found.level
            );
        }
    }
    for Found {
        line,
        level,
        rule,
        message,
    } in found
    {
        counts.entry((rule.to_owned(), level)).or_default().wrong += 1;
        let _ = writeln!(
            details,
            "{path}:{line}: Wrong {level}: [{rule}] \"{message}\""
        );
    }
}

fn total(counts: &Counts, levels: &[&str]) -> Count {
    let mut total = Count::default();
    for ((_, level), count) in counts {
        if levels.contains(level) {
            total.add(*count);
        }
    }
    total
}

fn table(counts: &Counts) -> String {
    let mut table = String::new();
    let columns = "right  wrong  missed  other level  precision  recall";
    let _ = writeln!(table, "{:<44}{columns}", "rule and level");
    let totals = ["error", "warning", "info"].map(|level| {
        let key = ("all".to_owned(), level);
        (key, total(counts, &[level]))
    });
    let rows = counts
        .iter()
        .map(|(key, count)| (key.clone(), *count))
        .chain(totals);
    for ((rule, level), count) in rows {
        let name = format!("{rule} {level}");
        let Count {
            right,
            wrong,
            missed,
            other_level,
            ..
        } = count;
        let (precision, recall) = (count.precision(), count.recall());
        let _ = writeln!(
            table,
            "{name:<44}{right:>5}  {wrong:>5}  {missed:>6}  {other_level:>11}  {precision:>9.2}  {recall:>6.2}"
        );
    }
    table
}
