//! An evaluation loop runs with gradients on.

use crate::front::ast::{Expr, Stmt, StmtFor};
use crate::front::{Ranged, TextRange, TextSize};
use crate::model::facts::{Call, Gradients, Loop, LoopKind, Scope};
use crate::model::lineage::Lineage;
use crate::model::value::{Kind, ModuleRole, Value, ValueId};
use crate::model::{File, blocks};
use crate::{Applicability, Edit, Finding, Fix, Level, Note, Rule};

use super::evaluation;

/// `OL103`.
pub(super) static RULE: Rule = Rule {
    code: "OL103",
    name: "inference_with_gradients",
    cause: "inference_with_gradients",
    level: Level::Warning,
    summary: "An evaluation loop runs with gradients on",
    page: include_str!("../../../../docs/rules/inference_with_gradients.md"),
    find,
};

fn find(file: &File<'_>, found: &mut Vec<Finding>) {
    if !file.declarations.uses_torch() {
        return;
    }
    for scope in &file.scopes {
        let function = file.function(scope);
        if function.is_some_and(|function| file.declarations.is_unit_test(function)) {
            continue;
        }
        for within in &scope.loops {
            found.extend(finding(file, scope, within));
        }
    }
}

fn finding(file: &File<'_>, scope: &Scope<'_>, within: &Loop<'_>) -> Option<Finding> {
    let is_on = matches!(within.gradients, Gradients::On | Gradients::Open);
    if !is_on || within.kind != LoopKind::For || is_no_data(file, scope, within) {
        return None;
    }
    if !evaluation::is_evaluation(file, scope, within)
        || uses_gradients(scope, within)
        || is_frozen(file, scope, within)
    {
        return None;
    }
    // Of nested loops the one over the data is meant, or else the innermost.
    let is_outer = scope.loops.iter().any(|it| {
        let is_inner = it.range != within.range && within.range.contains_range(it.range);
        is_inner && it.kind == LoopKind::For && model_called(file, scope, it).is_some()
    });
    if is_outer && !evaluation::is_over_data(within) {
        return None;
    }
    let is_inner = scope.loops.iter().any(|it| {
        it.range != within.range
            && it.range.contains_range(within.range)
            && evaluation::is_over_data(it)
    });
    if is_inner && !evaluation::is_over_data(within) {
        return None;
    }
    let (model, name) = model_called(file, scope, within)?;
    let lineage = Lineage::new(scope);
    if lineage.backward_through(ValueId::at(model)).is_some() {
        return None;
    }
    let mut witness = vec![Note {
        range: model,
        text: format!("`{name}(…)` records every operation for a backward pass that never comes"),
    }];
    if let Some(switch) = evaluation::switch_to_evaluation(scope, within) {
        witness.push(Note {
            range: switch,
            text: "`eval()` changes dropout and batch norm; it does not turn gradients off"
                .to_owned(),
        });
    }
    witness.sort_by_key(|note| note.range.start());
    Some(Finding {
        rule: &RULE,
        level: Level::Warning,
        range: within.header,
        message: "This evaluation loop runs with gradients on: each batch keeps its activations until the next".to_owned(),
        witness,
        help: "Put the loop under `with torch.inference_mode():`, or the decorator `@torch.inference_mode()` on the function".to_owned(),
        fix: fix(file, within),
        bytes: None,
        region: within.range,
    })
}

/// The first call of a model in the loop that records operations.
fn model_called<'a>(
    file: &File<'a>,
    scope: &Scope<'a>,
    within: &Loop<'a>,
) -> Option<(TextRange, String)> {
    let call = scope.calls.iter().find(|call| {
        let is_on = matches!(call.context.gradients, Gradients::On | Gradients::Open);
        is_on
            && !call.context.is_deferred
            && within.range.contains_range(call.node.range())
            && (call.is_of_module(ModuleRole::Layer) || is_forward(call) || runs_model(file, call))
    })?;
    Some((call.node.range(), file.short(call.node.func.as_ref())))
}

/// `self.forward(x)`.
fn is_forward(call: &Call<'_>) -> bool {
    let receiver = call.receiver.as_ref().map(|it| &it.kind);
    call.name == "forward" && matches!(receiver, Some(Kind::Module(_)))
}

/// Whether a function of the file is called that runs a model, and has gradients on.
fn runs_model(file: &File<'_>, call: &Call<'_>) -> bool {
    let scope = file
        .scopes
        .iter()
        .find(|scope| scope.function == call.function);
    let Some(scope) = scope.filter(|_| call.function.is_some()) else {
        return false;
    };
    scope.backwards.is_empty()
        && scope.calls.iter().any(|call| {
            let is_on = matches!(call.context.gradients, Gradients::On | Gradients::Open);
            is_on && call.is_of_module(ModuleRole::Layer)
        })
}

/// A few rounds, or rounds that are only counted: what is generated step by step is no data.
fn is_no_data(file: &File<'_>, scope: &Scope<'_>, within: &Loop<'_>) -> bool {
    let body = TextRange::new(within.header.end(), within.range.end());
    let is_used = |name: &&str| {
        if *name == "_" {
            return false;
        }
        let words = file
            .slice(body)
            .split(|it: char| !it.is_alphanumeric() && it != '_');
        words.into_iter().any(|word| word == *name)
    };
    let is_counted = within
        .over_text
        .iter()
        .any(|it| super::last_name(it) == "range")
        && !within.targets.iter().any(is_used);
    // `for node in model.graph.nodes` takes the model apart.
    let is_over_parts = within
        .over_text
        .iter()
        .any(|it| is_part(super::last_name(it)));
    is_counted
        || is_over_text(file, scope, within)
        || within.rounds.is_some_and(|rounds| rounds <= 10)
        || is_over_parts
}

/// `for ch in prompt` where the prompt is a text unless the caller gives another.
fn is_over_text(file: &File<'_>, scope: &Scope<'_>, within: &Loop<'_>) -> bool {
    let over = within.over_text.iter().filter_map(|it| it.as_name_expr());
    let parameters = || {
        let function = file.function(scope).into_iter();
        function.flat_map(|it| it.node.parameters.iter())
    };
    let is_text = |name: &str| {
        let mut named = parameters().filter(|it| it.name().as_str() == name);
        named.any(|it| it.default().is_some_and(Expr::is_string_literal_expr))
    };
    over.into_iter().any(|name| is_text(name.id.as_str()))
}

fn is_part(name: &str) -> bool {
    matches!(
        name,
        "nodes" | "modules" | "named_modules" | "children" | "named_children" | "parameters"
    )
}

/// Attacks and explanations need gradients in evaluation mode.
fn uses_gradients(scope: &Scope<'_>, within: &Loop<'_>) -> bool {
    scope.calls.iter().any(|call| {
        let named = matches!(
            call.name,
            "backward"
                | "grad"
                | "requires_grad_"
                | "attack"
                | "perturb"
                | "attribute"
                | "register_hook"
        );
        // Before torch 0.4 this switched gradients off.
        let is_volatile = call.arguments.named("volatile").is_some();
        // Of an optimizer it is often left over from the training loop.
        let receiver = call.receiver.as_ref().map(|it| &it.kind);
        let is_cleared = call.name == "zero_grad" && matches!(receiver, Some(Kind::Module(_)));
        let is_within = within.range.contains_range(call.statement);
        is_within && (named || is_volatile || is_cleared) || call.name == "enable_grad"
    })
}

/// Whether the weights were told before that they need no gradients: nothing is recorded then. Where
/// something is trained, only a part of them is frozen.
fn is_frozen(file: &File<'_>, scope: &Scope<'_>, within: &Loop<'_>) -> bool {
    if file.scopes.iter().any(|it| !it.backwards.is_empty()) {
        return false;
    }
    let is_before = |range: TextRange| range.start() < within.range.start();
    let is_no = |value: &Value<'_>| value.as_bool() == Some(false);
    let is_told = scope.calls.iter().any(|call| {
        let is_call = match call.name {
            "freeze" => true,
            "requires_grad_" => call.arguments.positional.first().is_some_and(is_no),
            _ => false,
        };
        is_call && is_before(call.statement)
    });
    let is_set = scope.bindings.iter().any(|binding| {
        let attribute = binding.key.and_then(|key| key.attribute);
        attribute == Some("requires_grad") && is_no(&binding.value) && is_before(binding.range)
    });
    is_told || is_set
}

/// Wraps the loop.
fn fix(file: &File<'_>, within: &Loop<'_>) -> Option<Fix> {
    let torch = torch_name(file)?;
    let node = find_for(file.tree.body(), within.range.start())?;
    let text = file.source.text();
    let start = node.range.start();
    let line_start = text
        .get(..start.to_usize())?
        .rfind('\n')
        .map_or(0, |at| at + 1);
    let indent = text.get(line_start..start.to_usize())?;
    if !indent.chars().all(|it| it == ' ' || it == '\t') {
        return None;
    }
    let body = file.slice(node.range);
    // Strings over several lines would change with the indentation.
    if body.contains("\"\"\"") || body.contains("'''") {
        return None;
    }
    let unit = if indent.contains('\t') { "\t" } else { "    " };
    let mut edits = vec![Edit {
        range: TextRange::empty(TextSize::new(line_start as u32)),
        content: format!("{indent}with {torch}.no_grad():\n{unit}"),
    }];
    for (at, _) in body.match_indices('\n') {
        let next = start.to_usize() + at + 1;
        let is_blank = text
            .get(next..)
            .is_none_or(|rest| rest.starts_with(['\n', '\r']));
        if !is_blank {
            edits.push(Edit {
                range: TextRange::empty(TextSize::new(next as u32)),
                content: unit.to_owned(),
            });
        }
    }
    Some(Fix {
        title: format!("Run the loop under `{torch}.no_grad()`"),
        applicability: Applicability::Unsafe,
        edits,
    })
}

/// What the file calls torch.
fn torch_name<'a>(file: &File<'a>) -> Option<&'a str> {
    let mut names: Vec<&str> = file
        .declarations
        .imports
        .iter()
        .filter(|(_, path)| &***path == "torch")
        .map(|(name, _)| *name)
        .collect();
    names.sort_unstable();
    names.first().copied()
}

fn find_for(body: &[Stmt], start: TextSize) -> Option<&StmtFor> {
    let statement = body
        .iter()
        .find(|it| it.range().contains_inclusive(start))?;
    match statement {
        Stmt::For(node) if node.range.start() == start => Some(node),
        Stmt::FunctionDef(node) => find_for(&node.body, start),
        Stmt::ClassDef(node) => find_for(&node.body, start),
        other => blocks(other)
            .into_iter()
            .find_map(|block| find_for(block, start)),
    }
}
