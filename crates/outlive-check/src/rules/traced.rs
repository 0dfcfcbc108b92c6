//! The functions of a file that TensorFlow traces.

use crate::front::Ranged;
use crate::front::ast::{Expr, StmtFunctionDef};
use crate::model::File;
use crate::model::value::FunctionId;

/// Arguments of `tf.function` that say for what it is traced.
const BOUNDS_TRACES: [&str; 3] = [
    "input_signature",
    "reduce_retracing",
    "experimental_relax_shapes",
];

/// A function under `@tf.function`.
pub(super) struct Traced<'s, 'a> {
    /// Which.
    pub id: FunctionId,
    /// Its definition.
    pub node: &'s StmtFunctionDef,
    /// The decorator.
    pub decorator: &'a Expr,
    /// Whether it says for what it is traced.
    pub is_bounded: bool,
}

/// All of them; none, if the file has tracing switched off.
pub(super) fn traced_functions<'s, 'a>(file: &'s File<'a>) -> Vec<Traced<'s, 'a>> {
    if file.source.text().contains("run_functions_eagerly(True)") {
        return Vec::new();
    }
    let functions = file.declarations.functions.iter().enumerate();
    functions
        .filter_map(|(index, function)| {
            let node = function.node;
            let mut decorators = node.decorator_list.iter().map(|it| &it.expression);
            let (decorator, is_bounded) =
                decorators.find_map(|it| Some((it, traces(file, it)?)))?;
            Some(Traced {
                id: FunctionId(index),
                node,
                decorator,
                is_bounded,
            })
        })
        .collect()
}

/// Whether a decorator is `tf.function`, and if so, whether it bounds the traces.
fn traces(file: &File<'_>, decorator: &Expr) -> Option<bool> {
    let (callee, keywords) = match decorator {
        Expr::Call(call) => (call.func.as_ref(), &call.arguments.keywords[..]),
        other => (other, &[][..]),
    };
    let path = file.declarations.path(callee)?;
    let is_bounded = keywords.iter().any(|keyword| {
        let name = keyword.arg.as_ref().map_or("", |name| name.as_str());
        BOUNDS_TRACES.contains(&name) && file.text(keyword.value.range()) != "None"
    });
    let is_traced = matches!(
        &*path,
        "tensorflow.function" | "tensorflow.compat.v1.function"
    );
    is_traced.then_some(is_bounded)
}
