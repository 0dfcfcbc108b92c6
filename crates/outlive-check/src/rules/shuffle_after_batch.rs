//! A shuffle buffer counts batches instead of elements.

use crate::front::{Ranged, TextRange};
use crate::model::File;
use crate::model::extent::bytes_text;
use crate::model::pipeline;
use crate::model::value::Object;
use crate::{Applicability, Edit, Finding, Fix, Level, Note, Rule};

use super::pipelines::{MAKES_BATCHES, Step, batch_before, followed_by, steps};

/// `OL301`.
pub(super) static RULE: Rule = Rule {
    code: "OL301",
    name: "shuffle_after_batch",
    cause: "unbounded_prefetch",
    level: Level::Warning,
    summary: "A shuffle buffer counts batches instead of elements",
    page: include_str!("../../../../docs/rules/shuffle_after_batch.md"),
    find,
};

/// So few batches nobody notices, whatever is in them.
const FEW: u64 = 64;

/// The share of the budget below which a buffer of known size is not worth a word.
const WORTH_A_WORD: u64 = 64;

fn find(file: &File<'_>, found: &mut Vec<Finding>) {
    let mut batched_later = None;
    for step in steps(file).filter(|step| step.name().starts_with("shuffle")) {
        let later = batched_later.get_or_insert_with(|| followed_by(file, &MAKES_BATCHES));
        if let Some(batch) = batch_before(&step, later) {
            found.extend(finding(file, &step, &batch));
        }
    }
}

fn finding(file: &File<'_>, step: &Step<'_, '_>, batch: &Object<'_>) -> Option<Finding> {
    let size = pipeline::batch_size(batch);
    let window = step.argument("buffer_size");
    let window = window.and_then(|window| u64::try_from(window.as_int()?).ok());
    let before = step.before?;
    let held = match (window, pipeline::length(before)) {
        (Some(window), Some(length)) => Some(window.min(length)),
        (window, length) => window.or(length),
    };
    let each = pipeline::bytes(before);
    let bytes = held.zip(each).map(|(held, each)| held.saturating_mul(each));
    let budget = file.settings.budget();
    let is_small = match bytes {
        Some(bytes) => bytes < budget / WORTH_A_WORD,
        None => held.is_some_and(|held| held <= FEW),
    };
    if size == Some(1) || is_small {
        return None;
    }
    let shuffle = file.short(step.range());
    let after = batch_text(file, batch);
    let holds = match (held, bytes) {
        (Some(held), Some(bytes)) => {
            format!(
                "its buffer holds {held} batches, up to {}",
                bytes_text(bytes)
            )
        }
        (Some(held), None) => format!("its buffer holds {held} batches, not elements"),
        _ => "its buffer counts batches, not elements".to_owned(),
    };
    Some(Finding {
        rule: &RULE,
        level: if bytes.is_none() && is_of_lines(before) {
            Level::Info
        } else {
            Level::Warning
        },
        range: step.range(),
        message: format!("`{shuffle}` shuffles what `{after}` has batched, so {holds}"),
        witness: witness(file, batch, size, each),
        help: help(batch),
        fix: fix(file, step, batch),
        bytes,
        region: step.call.statement,
    })
}

/// Whether the elements are lines of text or rows of a table: small, as long as nobody knows better.
fn is_of_lines(pipeline: &Object<'_>) -> bool {
    const LINES: [&str; 4] = [
        "TextLineDataset",
        "CsvDataset",
        "make_csv_dataset",
        "text_dataset_from_directory",
    ];
    let mut next = Some(pipeline);
    while let Some(object) = next {
        if LINES.iter().any(|it| object.made_by.ends_with(it)) {
            return true;
        }
        let receiver = object.receiver.as_ref();
        next = receiver.and_then(|it| it.as_object()).map(|it| &**it);
    }
    false
}

/// The call that makes the batches, without what it is called on.
fn batch_text(file: &File<'_>, batch: &Object<'_>) -> String {
    if batch.receiver.is_none() {
        return format!("{}(…)", batch.made_by);
    }
    let receiver = batch.receiver.as_ref().and_then(|it| it.as_object());
    let range = match receiver {
        Some(receiver) if batch.range.contains_range(receiver.range) => {
            TextRange::new(receiver.range.end(), batch.range.end())
        }
        _ => batch.range,
    };
    let text = file.short(range);
    if text.ends_with('…') {
        return format!("{}(…)", batch.made_by);
    }
    text.trim_start_matches([' ', '.']).to_owned()
}

fn witness(file: &File<'_>, batch: &Object<'_>, size: Option<u64>, each: Option<u64>) -> Vec<Note> {
    let call = file.short(batch.range);
    let each = each.map_or_else(String::new, |each| format!(", {} each", bytes_text(each)));
    let text = match size {
        Some(size) => format!("`{call}` gives batches of {size}{each}"),
        None => format!("`{call}` gives batches{each}"),
    };
    let range = batch.range;
    vec![Note { range, text }]
}

fn help(batch: &Object<'_>) -> String {
    if batch.receiver.is_none() && batch.made_by.ends_with("_from_directory") {
        return format!(
            "`{}` has shuffled the files already: drop this step, or count batches in its buffer",
            batch.made_by
        );
    }
    "Shuffle before the batch: the buffer is smaller, and the members of a batch change".to_owned()
}

/// Swaps the two, if the one is called on the other.
fn fix(file: &File<'_>, step: &Step<'_, '_>, batch: &Object<'_>) -> Option<Fix> {
    let callee = step.call.node.func.as_attribute_expr()?;
    let inner = callee.value.as_call_expr()?;
    let inner_callee = inner.func.as_attribute_expr()?;
    if inner.range() != batch.range || inner_callee.attr.as_str() != "batch" {
        return None;
    }
    let one = TextRange::new(inner_callee.attr.range().start(), inner.range().end());
    let other = step.range();
    let edit = |range: TextRange, from: TextRange| Edit {
        range,
        content: file.slice(from).to_owned(),
    };
    Some(Fix {
        title: "Shuffle before the batch".to_owned(),
        applicability: Applicability::Unsafe,
        edits: vec![edit(one, other), edit(other, one)],
    })
}
