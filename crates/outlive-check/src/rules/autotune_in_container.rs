//! TensorFlow sizes its buffers by the machine, not by the container.

use crate::front::Ranged;
use crate::model::File;
use crate::model::extent::bytes_text;
use crate::{Finding, Level, Note, Rule};

use super::pipelines::{Step, steps};

/// `OL304`.
pub(super) static RULE: Rule = Rule {
    code: "OL304",
    name: "autotune_in_container",
    cause: "unbounded_parallel_map",
    level: Level::Info,
    summary: "TensorFlow sizes its buffers by the machine, not by the container",
    page: include_str!("../../../../docs/rules/autotune_in_container.md"),
    find,
};

fn find(file: &File<'_>, found: &mut Vec<Finding>) {
    let Some(container) = file.settings.container else {
        return;
    };
    if file.source.text().contains("ram_budget") {
        return;
    }
    // One is enough: the budget is one for the pipeline.
    let Some(step) = steps(file).find(is_autotuned) else {
        return;
    };
    let range = step.range();
    let half = bytes_text(container.machine / 2);
    found.push(Finding {
        rule: &RULE,
        level: Level::Info,
        range,
        message: format!(
            "`AUTOTUNE` may fill {half}, half of the machine's memory, and this container has {}",
            bytes_text(container.limit)
        ),
        witness: vec![Note {
            range: step.call.node.range(),
            text: "TensorFlow asks how much memory the machine has, not the container".to_owned(),
        }],
        help: format!(
            "Set `options.autotune.ram_budget = {}` and `dataset.with_options(options)`",
            container.limit / 4
        ),
        fix: None,
        bytes: Some(container.machine / 2),
        region: step.call.statement,
    });
}

fn is_autotuned(step: &Step<'_, '_>) -> bool {
    step.call.arguments.all().any(|argument| {
        let path = argument.as_path();
        path.is_some_and(|path| path.starts_with("tensorflow.data.") && path.ends_with("AUTOTUNE"))
    })
}
