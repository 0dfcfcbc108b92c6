//! One file checked: findings in the order of the text, and what could not be read.

use ruff_text_size::TextRange;

use crate::front::Tree;
use crate::model::File;
use crate::suppression::Suppressions;
use crate::{Finding, Settings, Source, rules};

/// What was found in one file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// The findings that are wanted and not suppressed, in the order of the text.
    pub findings: Vec<Finding>,
    /// What was left out, in the order of the text.
    pub problems: Vec<Problem>,
}

/// A part of a file that was not checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where; empty for what is not in the text.
    pub range: TextRange,
    /// Whether it is a mistake.
    pub kind: ProblemKind,
    /// Why, in one line.
    pub message: String,
}

/// Why a part of a file was not checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProblemKind {
    /// It is not Python, but should be.
    Syntax,
    /// It is not meant to be Python, or is out of reach: `%%bash`, a notebook in R.
    Skipped,
}

/// Checks one file.
pub fn check(source: &Source, settings: &Settings) -> Report {
    if !may_concern_us(source.text()) {
        return Report {
            findings: Vec::new(),
            problems: source.skipped().to_vec(),
        };
    }
    let tree = Tree::parse(source);
    let problems = problems(source, &tree);
    let mut found = found_by_rules(source, &tree, settings);
    let mut suppressions = Suppressions::read(source, &tree);
    found.retain(|finding| !suppressions.covers(source, finding));
    found.extend(suppressions.unused(source, settings));
    found.retain(|finding| settings.selection.wants(finding.rule, finding.level));
    found.sort_by_key(|finding| (finding.range.start(), finding.rule.code));
    leave_broken_statements(&tree, &mut found);
    Report {
        findings: found,
        problems,
    }
}

/// The findings of one file, also those that a comment silences: after a death the comment is known
/// to be wrong.
pub fn findings_despite_comments(source: &Source, settings: &Settings) -> Vec<Finding> {
    if !may_concern_us(source.text()) {
        return Vec::new();
    }
    let tree = Tree::parse(source);
    let mut found = found_by_rules(source, &tree, settings);
    found.retain(|finding| settings.selection.wants(finding.rule, finding.level));
    leave_broken_statements(&tree, &mut found);
    found
}

fn found_by_rules(source: &Source, tree: &Tree, settings: &Settings) -> Vec<Finding> {
    let mut found = Vec::new();
    let file = File::new(source, tree, settings);
    for rule in rules::ALL {
        (rule.find)(&file, &mut found);
    }
    found.sort_by_key(|finding| (finding.range.start(), finding.rule.code));
    found.dedup_by(|one, other| one.rule == other.rule && one.range == other.range);
    found
}

/// Takes back changes in statements with a syntax error: what belongs to them is a guess.
fn leave_broken_statements(tree: &Tree, found: &mut [Finding]) {
    let errors: Vec<TextRange> = tree.errors().map(|error| error.range).collect();
    if errors.is_empty() || found.iter().all(|finding| finding.fix.is_none()) {
        return;
    }
    let touches = |statement: &TextRange, range: TextRange| statement.intersect(range).is_some();
    let mut broken = tree.logical_lines();
    broken.retain(|statement| errors.iter().any(|error| touches(statement, *error)));
    for finding in found {
        let edits = finding.fix.iter().flat_map(|fix| &fix.edits);
        let mut places = edits.map(|edit| edit.range).chain([finding.range]);
        if places.any(|place| broken.iter().any(|statement| touches(statement, place))) {
            finding.fix = None;
        }
    }
}

fn problems(source: &Source, tree: &Tree) -> Vec<Problem> {
    let errors = tree.errors().map(|error| Problem {
        range: error.range,
        kind: ProblemKind::Syntax,
        message: if is_python_2(source.text(), error.range) {
            "`print` without parentheses is Python 2".to_owned()
        } else {
            error.message
        },
    });
    let mut problems: Vec<Problem> = errors.chain(source.skipped().iter().cloned()).collect();
    if tree.is_too_deep() {
        problems.push(Problem {
            range: TextRange::default(),
            kind: ProblemKind::Skipped,
            message: "Not checked: nested too deeply".to_owned(),
        });
    }
    problems.sort_by_key(|problem| problem.range.start());
    // The first error of a line is the one to mend.
    let line = |problem: &Problem| source.line(problem.range.start());
    problems.dedup_by(|one, other| one.kind == ProblemKind::Syntax && line(one) == line(other));
    problems
}

/// Whether an error is in a line such as `print "done"`.
fn is_python_2(text: &str, error: TextRange) -> bool {
    let at = error.start().to_usize();
    let start = text[..at.min(text.len())]
        .rfind('\n')
        .map_or(0, |it| it + 1);
    let line = text[start..].lines().next().unwrap_or_default();
    let printed = line.trim_start().strip_prefix("print").unwrap_or_default();
    let rest = printed.trim_start();
    printed.len() > rest.len() && !rest.starts_with(['(', '=', '.', ',', ')']) && !rest.is_empty()
}

/// Whether a text can have findings at all: it names a library that a rule knows, or it suppresses
/// one. Most files of most projects do not, and need not be parsed.
fn may_concern_us(text: &str) -> bool {
    const WORDS: [&str; 9] = [
        "torch",
        "tensorflow",
        "keras",
        "numpy",
        "pandas",
        "matplotlib",
        "jax",
        "outlive",
        "lightning",
    ];
    WORDS.iter().any(|word| text.contains(word)) || (text.contains("noqa") && text.contains("OL"))
}
