//! Replicas pad to different lengths.

use crate::front::{Ranged, TextRange};
use crate::model::facts::{Call, Scope};
use crate::model::{Family, File};
use crate::{Finding, Level, Note, Rule};

/// `OL701`.
pub(super) static RULE: Rule = Rule {
    code: "OL701",
    name: "uneven_padding_in_replicas",
    cause: "uneven_padding_in_replicas",
    level: Level::Warning,
    summary: "Replicas pad to different lengths",
    page: include_str!("../../../../docs/rules/uneven_padding_in_replicas.md"),
    find,
};

fn find(file: &File<'_>, found: &mut Vec<Finding>) {
    let Some(replicas) = replicas(file) else {
        return;
    };
    for scope in &file.scopes {
        let class = file.function(scope).and_then(|function| function.class);
        let class = class.and_then(|class| file.declarations.classes.get(class.0));
        if class.is_none_or(|class| class.family != Family::TorchModule) {
            continue;
        }
        let padded = scope.calls.iter().filter(|call| {
            call.path.as_deref() == Some("torch.nn.utils.rnn.pad_packed_sequence")
                && call.arguments.get(3, "total_length").is_none()
                && !call.arguments.has_more
                && is_used(file, scope, call)
        });
        found.extend(padded.map(|call| finding(file, call, replicas)));
    }
}

/// The place where a module is run in replicas of one process.
fn replicas(file: &File<'_>) -> Option<TextRange> {
    let calls = file.scopes.iter().flat_map(|scope| &scope.calls);
    let mut wrapped = calls.filter(|call| {
        matches!(
            call.path.as_deref(),
            Some("torch.nn.DataParallel" | "torch.nn.parallel.DataParallel")
        )
    });
    wrapped.next().map(|call| call.node.range())
}

/// Whether what was padded is used: often only the last state is.
fn is_used<'a>(file: &File<'a>, scope: &Scope<'a>, call: &Call<'a>) -> bool {
    let bound = scope
        .bindings
        .iter()
        .find(|binding| binding.range == call.statement && binding.key.is_some());
    let (Some(bound), Some(function)) = (bound, file.function(scope)) else {
        return true;
    };
    let name = file.text(bound.target);
    let rest = TextRange::new(call.statement.end(), function.node.range.end());
    let mut words = file
        .slice(rest)
        .split(|it: char| !it.is_alphanumeric() && it != '_' && it != '.');
    words.any(|word| word == name || word.starts_with(&format!("{name}.")))
}

fn finding(file: &File<'_>, call: &Call<'_>, replicas: TextRange) -> Finding {
    Finding {
        rule: &RULE,
        level: Level::Warning,
        range: call.node.range(),
        message: "Each replica pads to the longest sequence of its own part of the batch, and the parts do not fit together".to_owned(),
        witness: vec![Note {
            range: replicas,
            text: format!("`{}` splits each batch between replicas", file.short(replicas)),
        }],
        help: "Pass `total_length`, the padded length of the input before it was packed".to_owned(),
        fix: None,
        bytes: None,
        region: call.statement,
    }
}
