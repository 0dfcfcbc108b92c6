//! An out-of-memory handler tries again while the exception holds the memory.

use std::collections::HashSet;

use crate::front::ast::{Expr, ExprCall, Stmt};
use crate::front::{Ranged, TextRange};
use crate::model::value::{Kind, ModuleRole};
use crate::model::{File, blocks};
use crate::{Finding, Level, Note, Rule};

use super::oom_handler::{OomHandler, calls_in, oom_handlers};

/// `OL201`.
pub(super) static RULE: Rule = Rule {
    code: "OL201",
    name: "recovery_inside_except",
    cause: "recovery_inside_except",
    level: Level::Error,
    summary: "An out-of-memory handler tries again while the exception holds the memory",
    page: include_str!("../../../../docs/rules/recovery_inside_except.md"),
    find,
};

/// Libraries whose functions are compiled, and leave no frames with tensors behind, or do not
/// compute at all.
const WITHOUT_FRAMES: [&str; 25] = [
    "numpy",
    "cupy",
    "torch",
    "tensorflow",
    "jax",
    "os",
    "sys",
    "gc",
    "time",
    "datetime",
    "json",
    "pickle",
    "logging",
    "math",
    "random",
    "shutil",
    "subprocess",
    "re",
    "pathlib",
    "tqdm",
    "warnings",
    "traceback",
    "collections",
    "psutil",
    "copy",
];

/// Python's own functions.
const BUILT_IN: [&str; 31] = [
    "abs",
    "bool",
    "dict",
    "enumerate",
    "exit",
    "float",
    "format",
    "getattr",
    "hasattr",
    "int",
    "isinstance",
    "iter",
    "len",
    "list",
    "max",
    "min",
    "next",
    "open",
    "print",
    "range",
    "repr",
    "round",
    "set",
    "setattr",
    "sorted",
    "str",
    "sum",
    "super",
    "tuple",
    "type",
    "zip",
];

/// Methods that keep books, talk or tidy up.
const LIGHT_METHODS: [&str; 68] = [
    "add",
    "add_scalar",
    "append",
    "clear",
    "close",
    "collect",
    "copy",
    "count",
    "cpu",
    "cuda",
    "debug",
    "detach",
    "echo",
    "empty_cache",
    "error",
    "eval",
    "exception",
    "exit",
    "extend",
    "flush",
    "format",
    "get",
    "info",
    "insert",
    "item",
    "items",
    "join",
    "keys",
    "load_state_dict",
    "log",
    "lower",
    "max",
    "mean",
    "min",
    "now",
    "numel",
    "numpy",
    "open",
    "parameters",
    "perf_counter",
    "pop",
    "put",
    "read",
    "remove",
    "replace",
    "reshape",
    "set",
    "set_description",
    "set_postfix",
    "size",
    "split",
    "start",
    "startswith",
    "state_dict",
    "step",
    "stop",
    "strip",
    "sum",
    "synchronize",
    "time",
    "to",
    "tolist",
    "train",
    "update",
    "values",
    "view",
    "warning",
    "write",
];

/// Parts of the names of functions that keep books, talk or tidy up.
const LIGHT_PARTS: [&str; 30] = [
    "log",
    "print",
    "clean",
    "clear",
    "free",
    "release",
    "reset",
    "status",
    "notify",
    "progress",
    "memory",
    "save",
    "record",
    "report",
    "zero_grad",
    "barrier",
    "seed",
    "close",
    "delete",
    "time",
    "cache",
    "message",
    "metric",
    "send",
    "emit",
    "result",
    "stat",
    "get_",
    "is_",
    "set_",
];

fn find(file: &File<'_>, found: &mut Vec<Finding>) {
    let handlers = oom_handlers(file);
    if handlers.is_empty() {
        return;
    }
    let models = models_called(file);
    for handler in handlers.iter().filter(|it| !it.lets_go(file)) {
        let guarded = guarded(file, handler);
        for call in handler.blocks.iter().flat_map(|block| calls_in(block)) {
            let again = Again::of(file, handler, call, &guarded, &models);
            if let Some(again) = again.filter(|_| !is_on_host(file, handler, call)) {
                found.push(finding(file, handler, call, &again));
            }
        }
    }
}

/// How a call in a handler tries again.
enum Again {
    /// It calls what failed, at this place.
    SameCallee(TextRange),
    /// It calls the function it stands in.
    Recursion,
    /// It runs a model.
    Model,
}

impl Again {
    fn of(
        file: &File<'_>,
        handler: &OomHandler<'_>,
        call: &ExprCall,
        guarded: &[&ExprCall],
        models: &HashSet<TextRange>,
    ) -> Option<Self> {
        if is_recursion(handler, &call.func) {
            return Some(Self::Recursion);
        }
        let callee = without_space(file.text(call.func.as_ref()));
        let same = guarded
            .iter()
            .find(|it| without_space(file.text(it.func.as_ref())) == callee);
        if let Some(same) = same {
            return Some(Self::SameCallee(same.range()));
        }
        models.contains(&call.range()).then_some(Self::Model)
    }
}

/// The calls that are guarded and may hold memory when they fail: those of the first statement that
/// does any work, and those that are given a model. What else stands there may be bookkeeping.
fn guarded<'a>(file: &File<'_>, handler: &OomHandler<'a>) -> Vec<&'a ExprCall> {
    let mut calls = calls_in(&handler.attempt.body);
    calls.retain(|call| is_work(file, call));
    let first = first_working(file, &handler.attempt.body);
    calls.retain(|call| {
        let is_first = first.is_some_and(|first| first.contains_range(call.range()));
        is_first || is_given_model(call)
    });
    calls
}

/// The first statement, in whatever block, that does work.
fn first_working(file: &File<'_>, body: &[Stmt]) -> Option<TextRange> {
    let working = body.iter().find(|statement| {
        let calls = calls_in(std::slice::from_ref(*statement));
        calls.iter().any(|call| is_work(file, call))
    })?;
    let inner = blocks(working)
        .into_iter()
        .find_map(|block| first_working(file, block));
    inner.or(Some(working.range()))
}

/// `evaluate(model, batch)`, `model.score(batch)`.
fn is_given_model(call: &ExprCall) -> bool {
    let is_model = |it: &Expr| {
        let name = super::last_name(it).to_ascii_lowercase();
        name.contains("model") || name == "net" || name == "network"
    };
    let receiver = match call.func.as_ref() {
        Expr::Attribute(callee) => Some(callee.value.as_ref()),
        other => Some(other),
    };
    let given = call.arguments.args.iter();
    let named = call.arguments.keywords.iter().map(|it| &it.value);
    given.chain(named).chain(receiver).any(is_model)
}

fn is_work(file: &File<'_>, call: &ExprCall) -> bool {
    let name = super::last_name(&call.func);
    let is_class = name.starts_with(|first: char| first.is_ascii_uppercase());
    let lower = name.to_ascii_lowercase();
    let is_light = LIGHT_PARTS.iter().any(|part| lower.contains(part))
        || match call.func.as_ref() {
            Expr::Name(_) => BUILT_IN.binary_search(&name).is_ok(),
            // `trainer.train()` is the work, `model.train()` a switch.
            Expr::Attribute(callee) if name == "train" => {
                !super::last_name(&callee.value).contains("trainer")
            }
            Expr::Attribute(_) => LIGHT_METHODS.binary_search(&name).is_ok(),
            _ => true,
        };
    let path = file.declarations.path(&call.func);
    let has_no_frames = path.is_some_and(|path| {
        let root = path.split('.').next().unwrap_or_default();
        WITHOUT_FRAMES.contains(&root)
    });
    !name.is_empty() && !is_class && !is_light && !has_no_frames
}

/// The calls of models in handlers.
fn models_called(file: &File<'_>) -> HashSet<TextRange> {
    let calls = file.scopes.iter().flat_map(|scope| &scope.calls);
    calls
        .filter(|call| call.context.handler.is_some() && !call.context.is_deferred)
        .filter(
            |call| matches!(&call.callee, Kind::Module(module) if module.role != ModuleRole::Loss),
        )
        .map(|call| call.node.range())
        .collect()
}

/// `self.run(…)` in `run`.
fn is_recursion(handler: &OomHandler<'_>, callee: &Expr) -> bool {
    let Some(function) = handler.function else {
        return false;
    };
    match callee {
        Expr::Name(name) => name.id == function.name.id,
        Expr::Attribute(attribute) => {
            let of_self = matches!(
                attribute.value.as_ref(),
                Expr::Name(name) if matches!(name.id.as_str(), "self" | "cls")
            );
            of_self && attribute.attr.id == function.name.id
        }
        _ => false,
    }
}

/// Whether the second attempt is made in other memory: after `.cpu()`, or with `device="cpu"`.
fn is_on_host(file: &File<'_>, handler: &OomHandler<'_>, call: &ExprCall) -> bool {
    let before = TextRange::new(handler.clause.range.start(), call.range().end());
    let text = file.slice(before);
    ["\"cpu\"", "'cpu'", ".cpu()"]
        .iter()
        .any(|it| text.contains(it))
}

fn without_space(text: &str) -> String {
    text.split_whitespace().collect()
}

fn finding(file: &File<'_>, handler: &OomHandler<'_>, call: &ExprCall, again: &Again) -> Finding {
    let callee = file.short(call.func.as_ref());
    let mut witness = Vec::new();
    let what = match again {
        Again::SameCallee(place) => {
            witness.push(Note {
                range: *place,
                text: format!(
                    "`{callee}` failed here, with its tensors in the frames of its functions"
                ),
            });
            format!("`{callee}(…)` runs again")
        }
        Again::Recursion => format!("`{callee}(…)` calls itself"),
        Again::Model => format!("`{callee}(…)` runs"),
    };
    let clause = handler.clause;
    let header = clause
        .type_
        .as_ref()
        .map_or(clause.range.start(), |it| it.range().end());
    witness.push(Note {
        range: TextRange::new(clause.range.start(), header.max(clause.range.start())),
        text: "until this clause ends the exception holds those frames; `gc.collect()` and `empty_cache()` free nothing of them".to_owned(),
    });
    Finding {
        rule: &RULE,
        level: Level::Error,
        range: call.range(),
        message: format!(
            "{what} while the exception still holds the memory of the attempt that failed"
        ),
        witness,
        help: "Only set a flag in the `except` clause, and try again after it".to_owned(),
        fix: None,
        bytes: None,
        region: clause.range,
    }
}
