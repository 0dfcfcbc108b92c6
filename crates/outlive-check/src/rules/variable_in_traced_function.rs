//! A variable or layer is created inside a traced function.

use crate::front::ast::Stmt;
use crate::front::{Ranged, TextRange};
use crate::model::facts::Call;
use crate::model::{File, blocks};
use crate::{Finding, Level, Note, Rule};

use super::traced::{Traced, traced_functions};

/// `OL504`.
pub(super) static RULE: Rule = Rule {
    code: "OL504",
    name: "variable_in_traced_function",
    cause: "variables_created_in_loop",
    level: Level::Error,
    summary: "A variable or layer is created inside a traced function",
    page: include_str!("../../../../docs/rules/variable_in_traced_function.md"),
    find,
};

/// Layers of Keras that have weights.
const HAS_WEIGHTS: [&str; 18] = [
    "BatchNormalization",
    "Bidirectional",
    "Conv1D",
    "Conv1DTranspose",
    "Conv2D",
    "Conv2DTranspose",
    "Conv3D",
    "Conv3DTranspose",
    "Dense",
    "DepthwiseConv2D",
    "EinsumDense",
    "Embedding",
    "GRU",
    "LSTM",
    "LayerNormalization",
    "MultiHeadAttention",
    "SeparableConv2D",
    "SimpleRNN",
];

fn find(file: &File<'_>, found: &mut Vec<Finding>) {
    let all = traced_functions(file);
    for traced in &all {
        let Some(scope) = file.scope_of(traced.id) else {
            continue;
        };
        let mut made = scope
            .calls
            .iter()
            .filter(|call| makes_weights(call))
            .peekable();
        if made.peek().is_none() {
            continue;
        }
        let mut guarded = Vec::new();
        guarded_blocks(file, &traced.node.body, &mut guarded);
        let first = made.find(|call| {
            let range = call.node.range();
            let is_guarded = guarded.iter().any(|block| block.contains_range(range));
            // Layers are also how a model is put together of symbols, and then nothing is traced.
            let is_certain = call.name == "Variable" || is_called(file, traced, &all);
            !is_guarded && is_certain
        });
        found.extend(first.map(|call| finding(file, call, traced)));
    }
}

/// Whether something of the file that is not traced itself calls the function.
fn is_called(file: &File<'_>, traced: &Traced<'_, '_>, all: &[Traced<'_, '_>]) -> bool {
    let plain = file.scopes.iter().filter(|scope| {
        let mut others = all.iter();
        !others.any(|other| scope.function == Some(other.id))
    });
    let mut calls = plain.flat_map(|scope| &scope.calls);
    calls.any(|call| call.function == Some(traced.id))
}

fn makes_weights(call: &Call<'_>) -> bool {
    let Some((package, name)) = call.path.as_deref().and_then(|path| path.rsplit_once('.')) else {
        return false;
    };
    let makes = match package {
        "tensorflow" => name == "Variable",
        "keras.layers" => HAS_WEIGHTS.contains(&name),
        _ => false,
    };
    makes && !call.context.is_deferred
}

/// What runs under a condition, or outside the trace: there a variable may be made once.
fn guarded_blocks(file: &File<'_>, body: &[Stmt], guarded: &mut Vec<TextRange>) {
    for statement in body {
        let is_guard = match statement {
            Stmt::If(_) | Stmt::Try(_) | Stmt::Match(_) => true,
            Stmt::With(with) => {
                let mut items = with.items.iter();
                items.any(|item| file.text(&item.context_expr).contains("init_scope"))
            }
            _ => false,
        };
        if is_guard {
            guarded.push(statement.range());
            continue;
        }
        for block in blocks(statement) {
            guarded_blocks(file, block, guarded);
        }
    }
}

fn finding(file: &File<'_>, call: &Call<'_>, traced: &Traced<'_, '_>) -> Finding {
    let made = file.short(&*call.node.func);
    let name = traced.node.name.as_str();
    let what = if call.name == "Variable" {
        "a variable"
    } else {
        "a layer with weights"
    };
    Finding {
        rule: &RULE,
        level: Level::Error,
        range: call.node.range(),
        message: format!(
            "`{made}(…)` makes {what} each time `{name}` is traced, which TensorFlow refuses on the second trace"
        ),
        witness: vec![Note {
            range: traced.decorator.range(),
            text: format!("`{name}` is traced, and nothing makes sure that this runs only once"),
        }],
        help: format!("Make it once, outside `{name}`, and use it here"),
        fix: None,
        bytes: None,
        region: traced.node.range(),
    }
}
