//! A data set is kept in memory as it is after decoding.

use crate::model::File;
use crate::model::extent::bytes_text;
use crate::model::pipeline;
use crate::{Finding, Level, Note, Rule};

use super::decoding::decoding;
use super::pipelines::{Step, steps};

/// `OL302`.
pub(super) static RULE: Rule = Rule {
    code: "OL302",
    name: "in_memory_cache",
    cause: "unbounded_prefetch",
    level: Level::Error,
    summary: "A data set is kept in memory as it is after decoding",
    page: include_str!("../../../../docs/rules/in_memory_cache.md"),
    find,
};

fn find(file: &File<'_>, found: &mut Vec<Finding>) {
    let caches = steps(file).filter(|step| step.name() == "cache");
    found.extend(caches.filter_map(|step| finding(file, &step)));
}

fn finding(file: &File<'_>, step: &Step<'_, '_>) -> Option<Finding> {
    let before = step.before?;
    let name = step.argument("filename");
    if name.is_some_and(|name| name.as_text() != Some("")) {
        return None;
    }
    let each = pipeline::bytes(before);
    let bytes = pipeline::length(before)
        .zip(each)
        .map(|(length, each)| length.saturating_mul(each));
    let budget = file.settings.budget();
    let level = match bytes {
        Some(bytes) if bytes >= budget => Level::Error,
        Some(bytes) if bytes >= budget / 4 => Level::Warning,
        Some(_) => return None,
        None => Level::Info,
    };
    let decoded = decoded_by(file, step);
    if level == Level::Info && decoded.is_none() {
        return None;
    }
    let message = match bytes {
        Some(bytes) => format!(
            "`cache()` keeps the whole data set in memory: {}, and the budget is {}",
            bytes_text(bytes),
            bytes_text(budget)
        ),
        None => "`cache()` keeps the whole data set in memory, decoded".to_owned(),
    };
    Some(Finding {
        rule: &RULE,
        level,
        range: step.range(),
        message,
        witness: decoded.into_iter().collect(),
        help: "Cache before decoding, or on disk: `cache(\"file\")`".to_owned(),
        fix: None,
        bytes,
        region: step.call.statement,
    })
}

/// The step that turned files into arrays.
fn decoded_by(file: &File<'_>, step: &Step<'_, '_>) -> Option<Note> {
    let mut before = step.before.into_iter().flat_map(pipeline::steps);
    let by = before.find(|step| {
        let name = pipeline::step_name(step);
        if matches!(
            name,
            "image_dataset_from_directory" | "audio_dataset_from_directory"
        ) {
            return true;
        }
        let function = pipeline::step_arguments(step).get(0, "map_func");
        let does = function.map(|function| decoding(file, function));
        does.is_some_and(|does| does.decodes || does.resizes)
    })?;
    Some(Note {
        range: by.range,
        text: "from here on its elements are decoded".to_owned(),
    })
}
