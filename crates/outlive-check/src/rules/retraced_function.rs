//! A `tf.function` is traced again for each Python value.

use crate::front::ast::{Expr, ExprCall};
use crate::front::{Ranged, TextRange};
use crate::model::File;
use crate::model::facts::{Call, Key, Loop, Scope};
use crate::model::value::{FunctionId, Kind, Value};
use crate::{Applicability, Edit, Finding, Fix, Level, Note, Rule};

use super::rounds::{counts_in_python, is_many, loops_around};
use super::traced::{Traced, traced_functions};

/// `OL503`.
pub(super) static RULE: Rule = Rule {
    code: "OL503",
    name: "retraced_function",
    cause: "variables_created_in_loop",
    level: Level::Warning,
    summary: "A `tf.function` is traced again for each Python value",
    page: include_str!("../../../../docs/rules/retraced_function.md"),
    find,
};

fn find(file: &File<'_>, found: &mut Vec<Finding>) {
    let traced = traced_functions(file);
    found.extend(traced.iter().filter_map(|it| defined_in_loop(file, it)));
    for scope in &file.scopes {
        for call in &scope.calls {
            found.extend(made_in_loop(file, scope, call));
            let callee = traced.iter().find(|it| Some(it.id) == call.function);
            if let Some(callee) = callee.filter(|callee| !callee.is_bounded) {
                found.extend(called_with_python(file, scope, call, callee));
            }
        }
    }
}

/// `@tf.function` on a function that a loop defines anew in each round.
fn defined_in_loop(file: &File<'_>, traced: &Traced<'_, '_>) -> Option<Finding> {
    let function = file.declarations.functions.get(traced.id.0)?;
    let scope = match function.parent {
        Some(parent) => file.scope_of(parent)?,
        None => file.scopes.first()?,
    };
    let inside = |it: &&Loop<'_>| it.range.contains_range(traced.node.range());
    let loops: Vec<&Loop<'_>> = scope.loops.iter().filter(inside).collect();
    if function.class.is_some() || !is_many(&loops) {
        return None;
    }
    let name = traced.node.name.as_str();
    Some(finding(
        traced.node.name.range(),
        format!("Each round defines `{name}` anew, so TensorFlow traces it again each time"),
        loops.last()?,
        Vec::new(),
        format!("Define `{name}` before the loop, and hand it what changes as a tensor"),
    ))
}

/// `tf.function(f)` in a loop.
fn made_in_loop(file: &File<'_>, scope: &Scope<'_>, call: &Call<'_>) -> Option<Finding> {
    if call.path.as_deref() != Some("tensorflow.function") {
        return None;
    }
    let is_decorator = file.declarations.functions.iter().any(|function| {
        let mut decorators = function.node.decorator_list.iter();
        decorators.any(|decorator| decorator.expression.range() == call.node.range())
    });
    if is_decorator {
        return None;
    }
    let loops = loops_around(scope, &call.context);
    if !is_many(&loops) {
        return None;
    }
    Some(finding(
        call.node.range(),
        format!(
            "Each round makes a new `{}`, which TensorFlow traces again",
            file.short(call.node)
        ),
        loops.last()?,
        Vec::new(),
        "Make it once, before the loop".to_owned(),
    ))
}

/// A call in a loop with a number of Python that changes, or with a new function.
fn called_with_python(
    file: &File<'_>,
    scope: &Scope<'_>,
    call: &Call<'_>,
    callee: &Traced<'_, '_>,
) -> Option<Finding> {
    let arguments = written_arguments(call);
    let loops = loops_around(scope, &call.context);
    let name = callee.node.name.as_str();
    let traced = Note {
        range: callee.decorator.range(),
        text: format!("`{name}` is traced once for each Python value"),
    };
    for (value, text) in arguments {
        if matches!(value.kind, Kind::Lambda(_)) && text.is_lambda_expr() && is_many(&loops) {
            return Some(finding(
                call.node.range(),
                format!(
                    "Each call hands `{name}` a new `lambda`, so it is traced again and the graph is kept"
                ),
                loops.last()?,
                vec![traced],
                "Make the function once, before the loop".to_owned(),
            ));
        }
        let Some(changing) = changing(file, scope, call, value, text) else {
            continue;
        };
        let mut finding = finding(
            call.node.range(),
            format!(
                "`{name}` is traced again for each value of `{}`, and keeps about 160 KB each time",
                file.short(text)
            ),
            changing,
            vec![
                traced,
                Note {
                    range: changing.header,
                    text: format!(
                        "`{}` is a number of Python that changes here",
                        file.short(text)
                    ),
                },
            ],
            format!("Hand it a tensor: `tf.constant({})`", file.short(text)),
        );
        finding.fix = fix(file, text);
        return Some(finding);
    }
    None
}

/// The arguments of a call, evaluated and as written.
fn written_arguments<'s, 'a>(call: &'s Call<'a>) -> Vec<(&'s Value<'a>, &'a Expr)> {
    let node: &'a ExprCall = call.node;
    let positional = call.arguments.positional.iter();
    let plain = node
        .arguments
        .args
        .iter()
        .filter(|it| !it.is_starred_expr());
    let keywords = node.arguments.keywords.iter().filter(|it| it.arg.is_some());
    let named = call.arguments.named.iter().map(|(_, value)| value);
    let mut all: Vec<(&'s Value<'a>, &'a Expr)> = positional.zip(plain).collect();
    all.extend(named.zip(keywords.map(|keyword| &keyword.value)));
    all
}

/// The loop that changes a number of Python in each round.
fn changing<'s, 'a>(
    file: &'s File<'a>,
    scope: &'s Scope<'a>,
    call: &Call<'a>,
    value: &Value<'a>,
    text: &Expr,
) -> Option<&'s Loop<'a>> {
    if let Kind::Sequence(members) = &value.kind {
        let parts = match text {
            Expr::List(list) => &list.elts[..],
            Expr::Tuple(tuple) => &tuple.elts[..],
            _ => &[],
        };
        let mut pairs = members.iter().zip(parts);
        return pairs.find_map(|(value, text)| changing(file, scope, call, value, text));
    }
    if !matches!(value.kind, Kind::Number | Kind::Int(_) | Kind::Float(_)) {
        return None;
    }
    let names = names_in(text);
    let around = loops_around(scope, &call.context);
    if let Some(own) = changed_by(file, scope, &around, &names) {
        return is_many(&[own]).then_some(own);
    }
    let function = scope.function?;
    let name = names.first()?;
    if names.len() > 1 || is_rebound(scope, name) {
        return None;
    }
    changed_by_caller(file, function, name)
}

/// The innermost of these loops that counts with one of these names.
fn changed_by<'s, 'a>(
    file: &File<'a>,
    scope: &Scope<'a>,
    around: &[&'s Loop<'a>],
    names: &[&str],
) -> Option<&'s Loop<'a>> {
    around.iter().rev().copied().find(|one| {
        let binds = one.targets.iter().any(|target| names.contains(target));
        let is_imported = |callee: &Expr| file.declarations.path(callee).is_some();
        (binds && counts_in_python(one, is_imported)) || counts_up(scope, one, names)
    })
}

/// `step += 1` in a loop.
fn counts_up(scope: &Scope<'_>, within: &Loop<'_>, names: &[&str]) -> bool {
    scope.keeps.iter().any(|keep| {
        let is_named = keep.key.is_some_and(|key| is_one_of(key, names));
        let is_number = keep.before.is_plain() && keep.value.is_plain();
        is_named && is_number && within.range.contains_range(keep.range)
    })
}

/// The loop of a caller that changes this parameter of a function.
fn changed_by_caller<'s, 'a>(
    file: &'s File<'a>,
    function: FunctionId,
    name: &str,
) -> Option<&'s Loop<'a>> {
    let declared = file.declarations.functions.get(function.0)?;
    let parameters = declared.node.parameters.iter();
    let skipped = usize::from(declared.class.is_some());
    let mut parameters = parameters.skip(skipped);
    let position = parameters.position(|it| it.name().as_str() == name)?;
    for scope in &file.scopes {
        let calls = scope.calls.iter();
        for call in calls.filter(|call| call.function == Some(function)) {
            let keywords = call.node.arguments.keywords.iter();
            let by_name = keywords
                .filter(|it| it.arg.as_ref().is_some_and(|arg| arg.as_str() == name))
                .map(|it| &it.value);
            let text = by_name.chain(call.node.arguments.args.get(position)).next();
            let Some(text) = text else { continue };
            let around = loops_around(scope, &call.context);
            let changed = changed_by(file, scope, &around, &names_in(text));
            if let Some(own) = changed.filter(|own| is_many(&[own])) {
                return Some(own);
            }
        }
    }
    None
}

fn is_rebound(scope: &Scope<'_>, name: &str) -> bool {
    let mut bindings = scope.bindings.iter();
    bindings.any(|binding| binding.key.is_some_and(|key| is_one_of(key, &[name])))
}

fn is_one_of(key: Key<'_>, names: &[&str]) -> bool {
    key.attribute.is_none() && names.contains(&key.name)
}

/// The names that a number is computed of.
fn names_in(text: &Expr) -> Vec<&str> {
    match text {
        Expr::Name(name) => vec![name.id.as_str()],
        Expr::BinOp(node) => {
            let mut names = names_in(&node.left);
            names.extend(names_in(&node.right));
            names
        }
        Expr::UnaryOp(node) => names_in(&node.operand),
        Expr::Call(call) if call.func.is_name_expr() => {
            call.arguments.args.iter().flat_map(names_in).collect()
        }
        _ => Vec::new(),
    }
}

fn finding(
    range: TextRange,
    message: String,
    within: &Loop<'_>,
    witness: Vec<Note>,
    help: String,
) -> Finding {
    Finding {
        rule: &RULE,
        level: Level::Warning,
        range,
        message,
        witness,
        help,
        fix: None,
        bytes: None,
        region: within.range,
    }
}

/// Makes a tensor of the number, by the name that the file has for TensorFlow.
fn fix(file: &File<'_>, text: &Expr) -> Option<Fix> {
    let mut imports = file.declarations.imports.iter();
    let (alias, _) = imports.find(|(_, path)| &***path == "tensorflow")?;
    if !text.is_name_expr() {
        return None;
    }
    Some(Fix {
        title: format!("Hand it a tensor instead of `{}`", file.text(text)),
        applicability: Applicability::Unsafe,
        edits: vec![Edit {
            range: text.range(),
            content: format!("{alias}.constant({})", file.text(text)),
        }],
    })
}
