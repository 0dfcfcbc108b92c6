//! One broken file ends the whole pipeline.

use std::collections::HashSet;

use crate::front::TextRange;
use crate::model::File;
use crate::model::pipeline;
use crate::{Finding, Level, Rule};

use super::decoding::decoding;
use super::pipelines::{Step, followed_by, steps};

/// `OL305`.
pub(super) static RULE: Rule = Rule {
    code: "OL305",
    name: "unguarded_decode",
    cause: "corrupt_record",
    level: Level::Info,
    summary: "One broken file ends the whole pipeline",
    page: include_str!("../../../../docs/rules/unguarded_decode.md"),
    find,
};

fn find(file: &File<'_>, found: &mut Vec<Finding>) {
    let mut guarded = None;
    for step in steps(file).filter(|step| matches!(step.name(), "map" | "map_and_batch")) {
        let guarded = guarded.get_or_insert_with(|| followed_by(file, &["ignore_errors"]));
        found.extend(finding(file, &step, guarded));
    }
}

fn finding(file: &File<'_>, step: &Step<'_, '_>, guarded: &HashSet<TextRange>) -> Option<Finding> {
    let own = decoding(file, step.argument("map_func")?);
    if !own.decodes || guarded.contains(&step.made.range) {
        return None;
    }
    let reads_before = || {
        let mut before = step.before.into_iter().flat_map(pipeline::steps);
        before.any(|step| {
            let function = pipeline::step_arguments(&step).get(0, "map_func");
            function.is_some_and(|function| decoding(file, function).reads)
        })
    };
    if !own.reads && !reads_before() {
        return None;
    }
    let range = step.range();
    Some(Finding {
        rule: &RULE,
        level: Level::Info,
        range,
        message: format!(
            "One broken or empty file in `{}` ends the whole pipeline",
            file.short(range)
        ),
        witness: Vec::new(),
        help: "Check the files first (`outlive scan`), or drop what cannot be read: `.ignore_errors()`"
            .to_owned(),
        fix: None,
        bytes: None,
        region: step.call.statement,
    })
}
