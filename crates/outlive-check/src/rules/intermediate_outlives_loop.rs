//! A large result of a loop's last round stays alive into the next large step.

use crate::front::ast::Expr;
use crate::front::{Ranged, TextRange, TextSize};
use crate::model::extent::{Extent, bytes_text};
use crate::model::facts::{Binding, Loop, LoopKind, Scope};
use crate::model::value::{ModuleRole, ValueId};
use crate::model::{Family, File};
use crate::{Applicability, Edit, Finding, Fix, Level, Note, Rule, SourceKind};

/// `OL601`.
pub(super) static RULE: Rule = Rule {
    code: "OL601",
    name: "intermediate_outlives_loop",
    cause: "intermediate_outlives_loop",
    level: Level::Warning,
    summary: "A large result of a loop's last round stays alive into the next large step",
    page: include_str!("../../../../docs/rules/intermediate_outlives_loop.md"),
    find,
};

fn find(file: &File<'_>, found: &mut Vec<Finding>) {
    for scope in &file.scopes {
        let is_script = scope.function.is_none() && file.source.kind() == SourceKind::Python;
        if is_script || is_of_model(file, scope) || scope.loops.is_empty() {
            continue;
        }
        let end = match file.function(scope) {
            Some(function) => function.node.range().end(),
            None => TextSize::of(file.source.text()),
        };
        let outermost = scope
            .loops
            .iter()
            .filter(|it| it.kind == LoopKind::For && it.parent.is_none());
        for within in outermost {
            let rest = TextRange::new(within.range.end(), end.max(within.range.end()));
            found.extend(outlives(file, scope, within, rest));
        }
    }
}

/// What a layer makes in `forward` is kept for the backward pass anyway.
fn is_of_model(file: &File<'_>, scope: &Scope<'_>) -> bool {
    let class = file.function(scope).and_then(|it| it.class);
    let class = class.and_then(|id| file.declarations.classes.get(id.0));
    class.is_some_and(|it| it.family == Family::TorchModule)
}

/// The last assignment of the loop whose value is large and not used again.
fn outlives(
    file: &File<'_>,
    scope: &Scope<'_>,
    within: &Loop<'_>,
    rest: TextRange,
) -> Option<Finding> {
    let next = next_step(file, scope, rest)?;
    let mut bindings = scope.bindings.iter().filter(|it| {
        within.range.contains_range(it.range) && it.key.is_some_and(|key| key.attribute.is_none())
    });
    let large = bindings.find_map(|binding| {
        let bytes = binding.value.extent().map(Extent::bytes);
        let is_large = bytes.is_some_and(|bytes| bytes >= file.settings.budget() / 10);
        let is_output = bytes.is_none() && is_output(scope, binding);
        let name = binding.key?.name;
        let is_free = !mentions(file.slice(rest), name);
        ((is_large || is_output) && is_free).then_some((binding, bytes))
    });
    let (binding, bytes) = large?;
    Some(finding(file, scope, within, binding, bytes, next))
}

/// Whether a value is what a model made.
fn is_output(scope: &Scope<'_>, binding: &Binding<'_>) -> bool {
    let id = binding.value.id;
    scope.calls.iter().any(|call| {
        call.is_of_module(ModuleRole::Layer) && id == Some(ValueId::at(call.node.range()))
    })
}

/// The next thing that needs much memory: a model runs, or a large array is made.
fn next_step(file: &File<'_>, scope: &Scope<'_>, rest: TextRange) -> Option<TextRange> {
    let models = scope
        .calls
        .iter()
        .filter(|call| call.is_of_module(ModuleRole::Layer))
        .map(|call| call.node.range());
    let arrays = scope
        .allocations
        .iter()
        .filter(|it| it.extent.bytes() >= file.settings.budget() / 10)
        .map(|it| it.range);
    let later = models.chain(arrays).filter(|it| rest.contains_range(*it));
    later.min_by_key(Ranged::start)
}

/// Whether a text has this name as a word.
fn mentions(text: &str, name: &str) -> bool {
    let is_part = |it: char| it.is_alphanumeric() || it == '_';
    text.match_indices(name).any(|(start, _)| {
        let before = text.get(..start).and_then(|it| it.chars().next_back());
        let after = text
            .get(start + name.len()..)
            .and_then(|it| it.chars().next());
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

fn finding(
    file: &File<'_>,
    scope: &Scope<'_>,
    within: &Loop<'_>,
    binding: &Binding<'_>,
    bytes: Option<u64>,
    next: TextRange,
) -> Finding {
    let name = match binding.target {
        Expr::Name(name) => name.id.as_str(),
        other => file.text(other),
    };
    let level = if scope.function.is_none() && bytes.is_some() {
        Level::Warning
    } else {
        Level::Info
    };
    let size = bytes.map_or_else(String::new, |it| format!(" of {}", bytes_text(it)));
    Finding {
        rule: &RULE,
        level,
        range: binding.range,
        message: format!("The last `{name}`{size} is still there when the loop is done"),
        witness: vec![Note {
            range: next,
            text: format!("`{}` runs while `{name}` is still there", file.short(next)),
        }],
        help: format!("Write `del {name}` after the loop, or put the loop into a function"),
        fix: deletion(file, within, name),
        bytes,
        region: within.range,
    }
}

/// `del name` below the loop. It fails if the loop never ran, so it is not made unasked.
fn deletion(file: &File<'_>, within: &Loop<'_>, name: &str) -> Option<Fix> {
    let text = file.source.text();
    let start = within.range.start().to_usize();
    let line = text.get(..start)?.rfind('\n').map_or(0, |at| at + 1);
    let indent = text.get(line..start)?;
    let is_plain = indent.chars().all(char::is_whitespace);
    let content = format!("\n{indent}del {name}");
    is_plain.then(|| Fix {
        title: format!("Delete `{name}` after the loop"),
        applicability: Applicability::Unsafe,
        edits: vec![Edit {
            range: TextRange::empty(within.range.end()),
            content,
        }],
    })
}
