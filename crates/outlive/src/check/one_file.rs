//! One file: read, checked, fixed or compared, and dropped. Only what is to be said of it stays.

use std::path::Path;
use std::sync::Arc;

use outlive_check::{Applicability, ProblemKind, Report, Source, fix};

use super::difference::difference;
use super::found::Found;
use super::gap::{Gap, GapKind};
use super::read::read;
use super::replace::replace;
use super::scope::Scope;
use super::walk::Target;

/// What is to be done with findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    /// Tell them.
    Report,
    /// Make the fixes that are at least this applicable, and tell the rest.
    Fix(Applicability),
    /// Tell what that would change.
    Compare(Applicability),
}

/// What is to be said of one file.
#[derive(Clone, Debug, Default)]
pub struct Checked {
    /// What is found in it, after fixes.
    pub findings: Vec<Found>,
    /// What could not be checked.
    pub gaps: Vec<Gap>,
    /// Fixes that were made, or would be.
    pub fixed: usize,
    /// What fixes would change, as a unified diff.
    pub difference: Option<String>,
}

impl Checked {
    pub(super) fn gap(path: &Path, kind: GapKind, message: String) -> Self {
        Self {
            gaps: vec![Gap {
                path: path.to_owned(),
                position: None,
                kind,
                message,
            }],
            ..Self::default()
        }
    }
}

/// Checks a file of the disk.
pub fn check_file(target: &Target, scope: &Scope, deed: Deed) -> Checked {
    let contents = match read(&target.path) {
        Ok(contents) => contents,
        Err(message) => {
            let kind = if target.is_named {
                GapKind::Failed
            } else {
                GapKind::Unreadable
            };
            return Checked::gap(&target.shown, kind, message);
        }
    };
    let (checked, fixed) = check_bytes(target, contents.bytes, scope, deed);
    if let Some(bytes) = fixed
        && let Err(message) = replace(&target.path, &contents.metadata, &bytes)
    {
        // What was to be fixed is still in the file, so that it is told.
        let mut unfixed = check_file(target, scope, Deed::Report);
        let failed = Checked::gap(&target.shown, GapKind::Failed, message);
        unfixed.gaps.extend(failed.gaps);
        return unfixed;
    }
    checked
}

/// Checks these bytes as if they were the file's; gives those that fixes make of them.
pub fn check_bytes(
    target: &Target,
    bytes: Vec<u8>,
    scope: &Scope,
    deed: Deed,
) -> (Checked, Option<Vec<u8>>) {
    let source = match Source::owning(&target.shown.to_string_lossy(), bytes) {
        Ok(source) => source,
        Err(error) => {
            let checked = Checked::gap(&target.shown, GapKind::Syntax, error.message);
            return (checked, None);
        }
    };
    let check = |source: &Source| scope.check(source, &target.absolute);
    match deed {
        Deed::Report => {
            let report = check(&source);
            (told(target, &source, report), None)
        }
        Deed::Fix(least) => {
            let fixed = fix(source, least, check);
            let mut checked = told(target, &fixed.source, fixed.report);
            checked.fixed = fixed.count;
            (checked, fixed.bytes)
        }
        Deed::Compare(least) => {
            let fixed = fix(source.clone(), least, check);
            let mut checked = told(target, &fixed.source, fixed.report);
            checked.findings.clear();
            checked.fixed = fixed.count;
            if fixed.bytes.is_some() {
                checked.difference = Some(difference(&target.shown, &source, &fixed.source));
            }
            (checked, None)
        }
    }
}

fn told(target: &Target, source: &Source, report: Report) -> Checked {
    let path: Arc<Path> = Arc::from(target.shown.as_path());
    let findings = report.findings.into_iter();
    // One broken line breaks many after it: the first says enough.
    let mut is_broken = false;
    let problems = report.problems.into_iter().filter(|problem| {
        let is_syntax = problem.kind == ProblemKind::Syntax;
        !(is_syntax && std::mem::replace(&mut is_broken, true))
    });
    let gaps = problems.map(|problem| {
        let place = source.position(problem.range.start());
        let (kind, position, message) = match problem.kind {
            ProblemKind::Syntax => {
                let message = format!("Not valid Python: {}", problem.message);
                (GapKind::Syntax, Some(place), message)
            }
            // What is not in the text has no place in it; the message names the cell.
            ProblemKind::Skipped => (GapKind::Skipped, None, problem.message),
        };
        Gap {
            path: target.shown.clone(),
            position,
            kind,
            message,
        }
    });
    Checked {
        gaps: gaps.collect(),
        findings: findings
            .map(|finding| Found::new(&path, source, finding))
            .collect(),
        ..Checked::default()
    }
}
