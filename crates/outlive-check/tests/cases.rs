//! Every rule does what its page and its cases say.

#![expect(clippy::unwrap_used, reason = "a panic is how a test reports failure")]

mod markdown;

use std::fmt::Write;

use markdown::{Block, Expected, Found};
use outlive_check::{Applicability, Source, SourceKind, check, fix, rules};

const HEADINGS: [&str; 5] = [
    "## What it finds",
    "## Why it kills",
    "## Measured",
    "## Instead",
    "## When it is silent",
];

const FOLDERS: [&str; 2] = ["tests/cases", "../../docs/rules"];

#[test]
fn findings_are_as_written() {
    let mut failures = String::new();
    for path in FOLDERS.iter().flat_map(|folder| markdown::files(folder)) {
        let blocks = markdown::blocks(&path);
        for block in blocks.iter().filter(|block| fix_of(block).is_none()) {
            compare(block, &mut failures);
        }
    }
    assert!(failures.is_empty(), "\n{failures}");
}

#[test]
fn fixes_are_as_written() {
    let mut failures = String::new();
    for path in FOLDERS.iter().flat_map(|folder| markdown::files(folder)) {
        let blocks = markdown::blocks(&path);
        let mut original = None;
        for block in &blocks {
            match (fix_of(block), original) {
                (None, _) => original = Some(block),
                (Some(applicability), Some(original)) => {
                    compare_fixed(original, block, applicability, &mut failures);
                }
                (Some(_), None) => {
                    let _ = writeln!(failures, "{}:{}: Fixes nothing", block.path, block.line);
                }
            }
        }
    }
    assert!(failures.is_empty(), "\n{failures}");
}

#[test]
fn every_rule_has_a_page_and_cases() {
    let mut failures = String::new();
    for rule in rules::ALL {
        let mut fail = |message: &str| {
            let _ = writeln!(failures, "{}: {message}", rule.name);
        };
        let title = format!("# {} ({})\n", rule.name, rule.code);
        if !rule.page.starts_with(&title) {
            fail("The page does not begin with the rule's name and code");
        }
        let headings = rule.page.lines().filter(|line| line.starts_with("## "));
        if !headings.eq(HEADINGS) {
            fail("The page has other headings than those of all pages");
        }
        let path = format!("tests/cases/{}.md", rule.name);
        let mut files = markdown::files("tests/cases").into_iter();
        let Some(path) = files.find(|file| file.ends_with(&path)) else {
            fail("There are no cases");
            continue;
        };
        let blocks = markdown::blocks(&path);
        let names = |one: &Expected| one.rule == rule.name;
        if !blocks.iter().any(|block| block.expected.iter().any(names)) {
            fail("No case has a finding");
        }
        if !blocks
            .iter()
            .any(|block| block.expected.is_empty() && fix_of(block).is_none())
        {
            fail("No case is silent");
        }
    }
    assert!(failures.is_empty(), "\n{failures}");
}

#[test]
fn every_file_belongs_to_a_rule() {
    for path in FOLDERS.iter().flat_map(|folder| markdown::files(folder)) {
        let name = path.file_stem().unwrap().to_str().unwrap();
        let is_known = rules::ALL.iter().any(|rule| rule.name == name);
        assert!(is_known, "No rule is called `{name}`");
    }
}

/// What kind of fixes made this block of the one above it, if it is such a block.
fn fix_of(block: &Block) -> Option<Applicability> {
    if block.has("fixed") {
        Some(Applicability::Safe)
    } else {
        block.has("fixed-unsafe").then_some(Applicability::Unsafe)
    }
}

fn compare(block: &Block, failures: &mut String) {
    let mut found = block.found();
    for expected in &block.expected {
        match found.iter().position(|found| matches(expected, found)) {
            Some(index) => drop(found.remove(index)),
            None => report_missing(block, expected, &found, failures),
        }
    }
    for Found {
        line,
        level,
        rule,
        message,
    } in found
    {
        let path = &block.path;
        let _ = writeln!(
            failures,
            "{path}:{line}: Unexpected {level}: [{rule}] \"{message}\""
        );
    }
}

fn matches(expected: &Expected, found: &Found) -> bool {
    expected.line == found.line
        && expected.level == found.level
        && expected.rule == found.rule
        && found.message.contains(&expected.piece)
}

fn report_missing(block: &Block, expected: &Expected, found: &[Found], failures: &mut String) {
    let Expected {
        line,
        level,
        rule,
        piece,
    } = expected;
    let here: Vec<String> = found
        .iter()
        .filter(|found| found.line == *line)
        .map(|found| format!("{}: [{}] \"{}\"", found.level, found.rule, found.message))
        .collect();
    let here = if here.is_empty() {
        "nothing".to_owned()
    } else {
        here.join(", ")
    };
    let path = &block.path;
    let _ = writeln!(
        failures,
        "{path}:{line}: Expected {level}: [{rule}] \"{piece}\", found {here}"
    );
}

fn compare_fixed(
    original: &Block,
    expected: &Block,
    applicability: Applicability,
    failures: &mut String,
) {
    let settings = original.settings();
    let fixed = fix(original.source(), applicability, |source| {
        check(source, &settings)
    });
    let code = code_of(&fixed.source);
    let wanted = expected.code.join("\n");
    if code.trim_end() != wanted.trim_end() {
        let Block { path, line, .. } = expected;
        let _ = writeln!(failures, "{path}:{line}: Expected\n{wanted}\nmade\n{code}");
    }
}

/// The text as it stands in a block.
fn code_of(source: &Source) -> String {
    if source.kind() == SourceKind::Python {
        return source.text().to_owned();
    }
    let cells = source.cells().iter().map(|cell| &source.text()[cell.range]);
    cells.collect::<Vec<_>>().join("\n# %%\n")
}
