//! Whether a loop evaluates a model rather than training it.

use crate::front::TextRange;
use crate::model::facts::{Loop, Scope};
use crate::model::value::{Kind, Value};
use crate::model::{File, library};

/// Names of functions that evaluate.
const WORDS: [&str; 14] = [
    "eval",
    "valid",
    "test",
    "infer",
    "predict",
    "score",
    "accuracy",
    "extract",
    "embed",
    "encode",
    "measure",
    "confusion",
    "metric",
    "visuali",
];

/// What people call the data that they evaluate on.
const HELD_OUT: [&str; 6] = ["val_", "valid", "test_", "eval_", "held_out", "dev_"];

/// Whether a loop evaluates: `.eval()` was called before it in the same scope, or the function is
/// called so; and no backward pass, optimizer step or `.train()` is in it.
pub(super) fn is_evaluation(file: &File<'_>, scope: &Scope<'_>, within: &Loop<'_>) -> bool {
    let trains = scope
        .backwards
        .iter()
        .any(|backward| within.range.contains_range(backward.range))
        || scope.calls.iter().any(|call| {
            call.name == "step"
                && within.range.contains_range(call.statement)
                && call.arguments.positional.len() < 2
        });
    if trains {
        return false;
    }
    match last_switch(scope, within.range) {
        Some("eval") => true,
        Some(_) => false,
        None => {
            is_called_so(file, scope) || is_over_held_out(within) || switches_within(scope, within)
        }
    }
}

/// Whether a loop runs over a loader, or over something that is called like one.
pub(super) fn is_over_data(within: &Loop<'_>) -> bool {
    let is_loader = |over: &Value<'_>| {
        let class = over.as_object().map(|object| &*object.class);
        class == Some(library::LOADER)
    };
    within.over.iter().any(is_loader)
        || within
            .over_text
            .iter()
            .any(|it| library::is_loader_name(super::last_name(it)))
}

/// Whether a loop runs over data that is called after evaluation: `val_batches`.
fn is_over_held_out(within: &Loop<'_>) -> bool {
    within.over_text.iter().any(|it| {
        let name = super::last_name(it).to_ascii_lowercase();
        HELD_OUT
            .iter()
            .any(|word| name.starts_with(word) || name == word.trim_end_matches('_'))
    })
}

/// The call of `eval()`, before or in the loop, that puts the model into evaluation mode.
pub(super) fn switch_to_evaluation(scope: &Scope<'_>, within: &Loop<'_>) -> Option<TextRange> {
    let before = scope
        .calls
        .iter()
        .filter(|call| is_switch(call) && call.statement.start() < within.range.end());
    let last = before.max_by_key(|call| call.statement.start())?;
    (last.name == "eval").then_some(last.statement)
}

/// Whether the loop itself puts the model into evaluation mode, and not back.
fn switches_within(scope: &Scope<'_>, within: &Loop<'_>) -> bool {
    let mut switches = scope
        .calls
        .iter()
        .filter(|call| is_switch(call) && within.range.contains_range(call.statement))
        .peekable();
    switches.peek().is_some() && switches.all(|call| call.name == "eval")
}

fn last_switch<'a>(scope: &Scope<'a>, within: TextRange) -> Option<&'a str> {
    scope
        .calls
        .iter()
        .filter(|call| is_switch(call) && call.statement.start() < within.start())
        .max_by_key(|call| call.statement.start())
        .map(
            |call| match call.arguments.positional.first().and_then(Value::as_bool) {
                Some(false) => "eval",
                _ => call.name,
            },
        )
}

/// `model.eval()`, `model.train()`, `model.train(False)`.
fn is_switch(call: &crate::model::facts::Call<'_>) -> bool {
    let is_module = call
        .receiver
        .as_ref()
        .is_some_and(|it| matches!(it.kind, Kind::Module(_) | Kind::Unknown | Kind::Instance(_)));
    let plain = call
        .arguments
        .positional
        .iter()
        .all(|it| it.as_bool().is_some());
    matches!(call.name, "eval" | "train") && is_module && plain && !call.arguments.has_more
}

/// Whether the function's name says that it evaluates.
fn is_called_so(file: &File<'_>, scope: &Scope<'_>) -> bool {
    let Some(function) = file.function(scope) else {
        return false;
    };
    let name = function.node.name.as_str().to_ascii_lowercase();
    !name.contains("train") && WORDS.iter().any(|word| name.contains(word))
}
