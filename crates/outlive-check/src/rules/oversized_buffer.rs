//! A buffer of a pipeline is larger than memory.

use crate::front::{Ranged, TextRange};
use crate::model::File;
use crate::model::extent::bytes_text;
use crate::model::facts::Call;
use crate::model::library::{LOADER, TORCH_DATASET};
use crate::model::pipeline::{self, Batch};
use crate::model::value::{Kind, Value};
use crate::{Finding, Level, Note, Rule};

use super::pipelines::{MAKES_BATCHES, Step, batch_before, followed_by, steps};

/// `OL303`.
pub(super) static RULE: Rule = Rule {
    code: "OL303",
    name: "oversized_buffer",
    cause: "unbounded_prefetch",
    level: Level::Error,
    summary: "A buffer of a pipeline is larger than memory",
    page: include_str!("../../../../docs/rules/oversized_buffer.md"),
    find,
};

fn find(file: &File<'_>, found: &mut Vec<Finding>) {
    let mut batched_later = None;
    for step in steps(file) {
        let is_shuffle = matches!(step.name(), "shuffle" | "shuffle_and_repeat");
        if is_shuffle || step.name() == "prefetch" {
            let later = batched_later.get_or_insert_with(|| followed_by(file, &MAKES_BATCHES));
            // What is shuffled in batches is another rule's.
            if batch_before(&step, later).is_none() {
                found.extend(step_finding(file, &step));
            }
        }
    }
    for call in file.scopes.iter().flat_map(|scope| &scope.calls) {
        found.extend(loader_finding(file, call));
    }
}

/// The level of a buffer of so many bytes.
fn level(file: &File<'_>, bytes: u64) -> Option<Level> {
    let budget = file.settings.budget();
    if bytes >= budget {
        Some(Level::Error)
    } else {
        (bytes >= budget / 4).then_some(Level::Warning)
    }
}

fn step_finding(file: &File<'_>, step: &Step<'_, '_>) -> Option<Finding> {
    let count = u64::try_from(step.argument("buffer_size")?.as_int()?).ok()?;
    let before = step.before?;
    let length = pipeline::length(before);
    let held = length.map_or(count, |length| length.min(count));
    let each = pipeline::bytes(before)?;
    let bytes = held.saturating_mul(each);
    let level = level(file, bytes)?;
    let range = step.range();
    let what = match pipeline::batch(before) {
        Batch::By(_) => "batches",
        _ => "elements",
    };
    let verb = if step.name() == "prefetch" {
        "reads ahead"
    } else {
        "holds"
    };
    Some(Finding {
        rule: &RULE,
        level,
        range,
        message: format!(
            "`{}` {verb} up to {held} {what} of {}, {} in all, and the budget is {}",
            file.short(range),
            bytes_text(each),
            bytes_text(bytes),
            bytes_text(file.settings.budget()),
        ),
        witness: vec![Note {
            range: before.range,
            text: format!("each of its {what} takes {}", bytes_text(each)),
        }],
        help: step_help(file, step, each),
        fix: None,
        bytes: Some(bytes),
        region: step.call.statement,
    })
}

fn step_help(file: &File<'_>, step: &Step<'_, '_>, each: u64) -> String {
    if step.name() == "prefetch" {
        return "Write `prefetch(2)`: more is not faster once the next batch is ready".to_owned();
    }
    let eighth = file.settings.budget() / 8;
    match eighth.checked_div(each) {
        Some(fits) if fits > 1 => format!(
            "Shuffle file names or records before they are decoded, or write `shuffle({fits})`: {}",
            bytes_text(fits.saturating_mul(each))
        ),
        _ => "Shuffle file names or records before they are decoded".to_owned(),
    }
}

/// `DataLoader(…)`: each worker keeps `prefetch_factor` batches ready.
fn loader_finding(file: &File<'_>, call: &Call<'_>) -> Option<Finding> {
    let loader = call.result.as_object()?;
    if &*loader.class != LOADER || loader.range != call.node.range() {
        return None;
    }
    let arguments = &loader.arguments;
    let count = |value: Option<&Value<'_>>, default: u64| match value {
        Some(value) => u64::try_from(value.as_int()?).ok(),
        None => Some(default),
    };
    if arguments.has_more || arguments.get(4, "batch_sampler").is_some() {
        return None;
    }
    let size = count(arguments.get(1, "batch_size"), 1)?;
    let workers = count(arguments.get(5, "num_workers"), 0)?;
    let ahead = count(arguments.named("prefetch_factor"), 2)?;
    let (each, from) = sample(file, arguments.get(0, "dataset")?)?;
    let batches = workers.saturating_mul(ahead);
    let bytes = batches.saturating_mul(size).saturating_mul(each);
    let level = level(file, bytes)?;
    let each_batch = bytes_text(size.saturating_mul(each));
    Some(Finding {
        rule: &RULE,
        level,
        range: call.node.range(),
        message: format!(
            "{workers} workers keep {ahead} batches of {each_batch} ready each, {} in all, and the budget is {}",
            bytes_text(bytes),
            bytes_text(file.settings.budget()),
        ),
        witness: vec![Note {
            range: from,
            text: format!("one sample takes {}, a batch has {size}", bytes_text(each)),
        }],
        help: "Lower `prefetch_factor` (2 unless given) or `num_workers`".to_owned(),
        fix: None,
        bytes: Some(bytes),
        region: call.statement,
    })
}

/// The bytes of one sample of a data set of torch, and where that is written.
fn sample(file: &File<'_>, dataset: &Value<'_>) -> Option<(u64, TextRange)> {
    match &dataset.kind {
        Kind::Instance(class) => {
            let getter = file.declarations.method(*class, "__getitem__")?;
            let scope = file.scope_of(getter)?;
            let returned = scope.returns.iter();
            let bytes: Option<Vec<u64>> = returned
                .map(|it| pipeline::value_bytes(&it.value))
                .collect();
            let least = bytes?.into_iter().min()?;
            Some((least, scope.returns.first()?.range))
        }
        Kind::Object(object) if &*object.class == TORCH_DATASET => {
            let rows = object.arguments.positional.iter().map(pipeline::sliced);
            let bytes = rows.filter_map(|row| pipeline::value_bytes(&row));
            let bytes = bytes.reduce(u64::saturating_add)?;
            Some((bytes, object.range))
        }
        _ => None,
    }
}
