//! An out-of-memory exception is kept with its traceback, and with it the frames and their tensors.

use crate::front::ast::{Expr, ExprCall, Stmt};
use crate::front::{Ranged, TextRange};
use crate::model::{File, blocks};
use crate::{Applicability, Edit, Finding, Fix, Level, Note, Rule};

use super::oom_handler::{OomHandler, calls_in, oom_handlers};

/// `OL202`.
pub(super) static RULE: Rule = Rule {
    code: "OL202",
    name: "escaping_oom_exception",
    cause: "recovery_inside_except",
    level: Level::Warning,
    summary: "An out-of-memory exception is kept with the frames that hold the tensors",
    page: include_str!("../../../../docs/rules/escaping_oom_exception.md"),
    find,
};

/// Methods that put their argument into a container.
const PUTS: [&str; 5] = ["append", "add", "insert", "put", "appendleft"];

fn find(file: &File<'_>, found: &mut Vec<Finding>) {
    for handler in oom_handlers(file).iter().filter(|it| !it.lets_go(file)) {
        let Some(name) = &handler.clause.name else {
            continue;
        };
        let kept = handler
            .blocks
            .iter()
            .flat_map(|block| kept_in(block, name.as_str()));
        found.extend(kept.map(|kept| finding(file, handler, &kept, name.as_str())));
    }
}

/// A place where the exception is put into something that lives on.
struct Kept<'a> {
    /// The exception, as written there.
    exception: TextRange,
    /// What keeps it.
    keeper: &'a Expr,
}

fn kept_in<'a>(body: &'a [Stmt], name: &str) -> Vec<Kept<'a>> {
    let mut found = Vec::new();
    for statement in body {
        if let Some((target, value)) = assignment(statement)
            && !is_local_copy(body, target)
        {
            found.extend(exception_in(value, name).map(|exception| Kept {
                exception,
                keeper: target,
            }));
        }
        if let Stmt::Expr(node) = statement
            && let Expr::Call(call) = node.value.as_ref()
        {
            found.extend(put(call, name));
        }
        for block in blocks(statement) {
            found.extend(kept_in(block, name));
        }
    }
    found
}

fn assignment(statement: &Stmt) -> Option<(&Expr, &Expr)> {
    match statement {
        Stmt::Assign(node) => match node.targets.as_slice() {
            [target] => Some((target, &node.value)),
            _ => None,
        },
        Stmt::AnnAssign(node) => Some((&node.target, node.value.as_deref()?)),
        _ => None,
    }
}

/// `errors.append((size, e))`.
fn put<'a>(call: &'a ExprCall, name: &str) -> Option<Kept<'a>> {
    let Expr::Attribute(callee) = call.func.as_ref() else {
        return None;
    };
    if !PUTS.contains(&callee.attr.as_str()) {
        return None;
    }
    let exception = call
        .arguments
        .args
        .iter()
        .find_map(|it| exception_in(it, name))?;
    Some(Kept {
        exception,
        keeper: &callee.value,
    })
}

/// The exception itself, alone or in a tuple, list or dict.
fn exception_in(value: &Expr, name: &str) -> Option<TextRange> {
    match value {
        Expr::Name(it) if it.id.as_str() == name => Some(it.range),
        Expr::Tuple(node) => node.elts.iter().find_map(|it| exception_in(it, name)),
        Expr::List(node) => node.elts.iter().find_map(|it| exception_in(it, name)),
        Expr::Dict(node) => {
            let mut values = node.items.iter().map(|item| &item.value);
            values.find_map(|it| exception_in(it, name))
        }
        _ => None,
    }
}

/// Whether a name is deleted, or only raised, in the block that binds it.
fn is_local_copy(body: &[Stmt], target: &Expr) -> bool {
    let Expr::Name(target) = target else {
        return false;
    };
    let is_it = |it: &Expr| matches!(it, Expr::Name(name) if name.id == target.id);
    body.iter().any(|statement| match statement {
        Stmt::Delete(node) => node.targets.iter().any(is_it),
        Stmt::Raise(node) => {
            let parts = [node.exc.as_deref(), node.cause.as_deref()];
            parts.into_iter().flatten().any(is_it)
        }
        _ => false,
    })
}

/// Whether nothing in the clause looks at the traceback after this place.
fn is_last_look(file: &File<'_>, handler: &OomHandler<'_>, place: TextRange) -> bool {
    let after = TextRange::new(place.end(), handler.clause.range.end());
    let text = file.slice(after);
    let looks = ["raise", "traceback", "exc_info", "print_exc"];
    let calls = calls_in(&handler.clause.body);
    let logs = calls.iter().any(|call| {
        call.range().start() > place.end() && super::last_name(&call.func) == "exception"
    });
    !logs && !looks.iter().any(|it| text.contains(it))
}

fn finding(file: &File<'_>, handler: &OomHandler<'_>, kept: &Kept<'_>, name: &str) -> Finding {
    let keeper = file.short(kept.keeper);
    let applicability = if is_last_look(file, handler, kept.exception) {
        Applicability::Safe
    } else {
        Applicability::Unsafe
    };
    let clause = handler.clause;
    Finding {
        rule: &RULE,
        level: Level::Warning,
        range: kept.exception,
        message: format!(
            "`{keeper}` keeps `{name}`, and with it every tensor of the functions that failed"
        ),
        witness: vec![Note {
            range: TextRange::new(clause.range.start(), kept.exception.start()),
            text: format!(
                "`{name}.__traceback__` holds the frames of the attempt that ran out of memory"
            ),
        }],
        help: format!("Keep `{name}.with_traceback(None)`, or only its text: `str({name})`"),
        fix: Some(Fix {
            title: format!("Keep `{name}.with_traceback(None)`"),
            applicability,
            edits: vec![Edit {
                range: TextRange::empty(kept.exception.end()),
                content: ".with_traceback(None)".to_owned(),
            }],
        }),
        bytes: None,
        region: clause.range,
    }
}
