//! A backward pass in a loop keeps the graph, and no other backward pass uses it.

use std::collections::BTreeSet;

use crate::front::ast::{Expr, ExprCall};
use crate::front::{Ranged, TextRange};
use crate::model::facts::{Backward, Loop, Scope};
use crate::model::value::ValueId;
use crate::model::{Family, File};
use crate::{Applicability, Edit, Finding, Fix, Level, Note, Rule};

use super::graph::Graph;

/// `OL104`.
pub(super) static RULE: Rule = Rule {
    code: "OL104",
    name: "retain_graph_in_loop",
    cause: "autograd_history_kept",
    level: Level::Warning,
    summary: "A backward pass in a loop keeps the graph, and no other pass uses it",
    page: include_str!("../../../../docs/rules/retain_graph_in_loop.md"),
    find,
};

/// Parts of names of what may come into a function with a history.
const WITH_HISTORY: [&str; 9] = [
    "loss", "logit", "logp", "log_prob", "pred", "output", "hidden", "cost", "energy",
];

fn find(file: &File<'_>, found: &mut Vec<Finding>) {
    if !file.source.text().contains("retain_graph") || has_module_with_state(file) {
        return;
    }
    for scope in &file.scopes {
        let retaining = scope.backwards.iter().filter(|it| it.retains);
        let mut graph = None;
        for backward in retaining {
            let graph = graph.get_or_insert_with(|| Graph::new(file, scope));
            found.extend(finding(file, scope, graph, backward));
        }
    }
}

fn finding(
    file: &File<'_>,
    scope: &Scope<'_>,
    graph: &Graph<'_, '_, '_>,
    backward: &Backward,
) -> Option<Finding> {
    let within = scope.loop_at(*backward.context.loops.last()?)?;
    let call = scope
        .calls
        .iter()
        .find(|it| it.node.range() == backward.range)?
        .node;
    let argument = retain_graph(call)?;
    let from = backward.from?;
    let through = graph.through(from);
    let body = TextRange::new(within.header.end(), within.range.end());
    let forward = *through.iter().find(|it| graph.is_forward(**it, body))?;
    let is_alone = is_made_in(file, scope, backward, within, &through)
        && !is_shared(scope, graph, backward, &through)
        && !through.iter().any(|it| graph.is_carried_over(*it));
    if !is_alone || backward.context.is_deferred {
        return None;
    }
    let text = file.short(backward.range);
    Some(Finding {
        rule: &RULE,
        level: Level::Warning,
        range: backward.range,
        message: format!(
            "`{text}` keeps the activations of this round, and no other backward pass uses them"
        ),
        witness: vec![Note {
            range: forward.range(),
            text: format!(
                "the graph is made here in every round: `{}`",
                file.short(forward.range())
            ),
        }],
        help: "Leave `retain_graph=True` out".to_owned(),
        fix: Some(Fix {
            title: "Leave `retain_graph=True` out".to_owned(),
            applicability: Applicability::Unsafe,
            edits: vec![Edit {
                range: argument,
                content: String::new(),
            }],
        }),
        bytes: None,
        region: within.range,
    })
}

/// The argument `retain_graph=True` with its comma, if no graph of gradients is wanted too.
fn retain_graph(call: &ExprCall) -> Option<TextRange> {
    let keywords = &call.arguments.keywords;
    let named = |name: &str| {
        let mut found = keywords.iter();
        found.find(|it| it.arg.as_ref().is_some_and(|arg| arg.as_str() == name))
    };
    if named("create_graph").is_some() || super::last_name(&call.func) != "backward" {
        return None;
    }
    let keyword = named("retain_graph")?;
    let is_true = matches!(&keyword.value, Expr::BooleanLiteral(it) if it.value);
    let arguments = call.arguments.iter_source_order();
    let ranges: Vec<TextRange> = arguments.map(|it| it.range()).collect();
    let index = ranges.iter().position(|it| *it == keyword.range())?;
    let before = index
        .checked_sub(1)
        .and_then(|it| ranges.get(it))
        .map(Ranged::end);
    let after = ranges.get(index + 1).map(Ranged::start);
    let range = match (before, after) {
        (Some(before), _) => TextRange::new(before, keyword.range().end()),
        (None, Some(after)) => TextRange::new(keyword.range().start(), after),
        (None, None) => keyword.range(),
    };
    is_true.then_some(range)
}

/// Whether everything that the pass runs through is made in this round of the loop, or is data.
fn is_made_in(
    file: &File<'_>,
    scope: &Scope<'_>,
    backward: &Backward,
    within: &Loop<'_>,
    through: &BTreeSet<ValueId>,
) -> bool {
    let around = backward
        .context
        .loops
        .iter()
        .filter_map(|id| scope.loop_at(*id));
    let headers: Vec<TextRange> = around.map(|it| it.header).collect();
    let function = file.function(scope).map(|it| it.node.range);
    through.iter().all(|value| {
        let range = value.range();
        let is_iterated = headers.iter().any(|header| header.contains_range(range));
        let is_of_elsewhere = function.is_some_and(|function| !function.contains_range(range));
        let name = file.slice(range).to_ascii_lowercase();
        // Parameters are data, unless they are called otherwise.
        let is_name = name.chars().all(|it| it.is_alphanumeric() || it == '_');
        let is_data = is_name && !WITH_HISTORY.iter().any(|it| name.contains(it));
        within.range.contains_range(range) || is_iterated || is_of_elsewhere || is_data
    })
}

/// Whether another backward pass, or a function that asks for gradients, may use the same graph.
fn is_shared(
    scope: &Scope<'_>,
    graph: &Graph<'_, '_, '_>,
    backward: &Backward,
    through: &BTreeSet<ValueId>,
) -> bool {
    let made = |value: &ValueId| graph.is_operation(*value);
    let others = scope
        .backwards
        .iter()
        .filter(|it| it.range != backward.range);
    let by_pass = others.into_iter().any(|other| match other.from {
        Some(from) => graph.through(from).intersection(through).any(made),
        None => true,
    });
    let by_call = scope.calls.iter().any(|call| {
        let asks = call.name.contains("grad")
            && !matches!(
                call.name,
                "zero_grad" | "no_grad" | "enable_grad" | "set_grad_enabled"
            )
            && !call.name.starts_with("clip_grad");
        asks && call
            .arguments
            .all()
            .chain(&call.receiver)
            .filter_map(|it| it.id)
            .any(|it| graph.through(it).intersection(through).any(made))
    });
    by_pass || by_call
}

/// Whether a module of the file keeps something from one call to the next: then a round may need
/// the graph of the round before.
fn has_module_with_state(file: &File<'_>) -> bool {
    file.scopes.iter().any(|scope| {
        let Some(function) = file.function(scope) else {
            return false;
        };
        let family = function
            .class
            .and_then(|id| file.declarations.classes.get(id.0));
        let is_module = family.is_some_and(|class| {
            matches!(class.family, Family::TorchModule | Family::LightningModule)
        });
        is_module
            && function.node.name.as_str() == "forward"
            && scope.bindings.iter().any(|binding| {
                let key = binding.key;
                key.is_some_and(|key| key.name == "self" && key.attribute.is_some())
                    && !binding.value.is_plain()
            })
    })
}
