//! A cache without a bound keeps an array for every argument it has seen.

use crate::front::Ranged;
use crate::front::ast::{Decorator, Expr};
use crate::model::facts::{Call, Return, Scope};
use crate::model::library::FRAME;
use crate::model::lineage::Lineage;
use crate::model::value::{Kind, Value, ValueId};
use crate::model::{Family, File, Function};
use crate::{Finding, Level, Note, Rule};

use super::reader::is_reader;

/// `OL605`.
pub(super) static RULE: Rule = Rule {
    code: "OL605",
    name: "unbounded_array_cache",
    cause: "results_kept_in_loop",
    level: Level::Warning,
    summary: "A cache without a bound keeps an array for every argument it has seen",
    page: include_str!("../../../../docs/rules/unbounded_array_cache.md"),
    find,
};

fn find(file: &File<'_>, found: &mut Vec<Finding>) {
    for scope in &file.scopes {
        let Some(function) = file.function(scope) else {
            continue;
        };
        let mut decorators = function.node.decorator_list.iter();
        let unbounded = decorators.find(|it| is_unbounded(file, it));
        if let Some(decorator) = unbounded
            && has_arguments(function)
            && let Some(kept) = kept_array(scope)
        {
            found.push(finding(file, scope, function, decorator, kept));
        }
    }
}

/// `@cache`, `@lru_cache(maxsize=None)`.
fn is_unbounded(file: &File<'_>, decorator: &Decorator) -> bool {
    match &decorator.expression {
        Expr::Call(call) => {
            let path = file.declarations.path(&call.func);
            let size = call.arguments.find_argument_value("maxsize", 0);
            path.as_deref() == Some("functools.lru_cache")
                && size.is_some_and(Expr::is_none_literal_expr)
        }
        other => file.declarations.path(other).as_deref() == Some("functools.cache"),
    }
}

/// Without arguments there is one result.
fn has_arguments(function: &Function<'_>) -> bool {
    let own = usize::from(function.class.is_some());
    function.node.parameters.iter().count() > own
}

/// What the function returns that is an array, or was read from a file.
fn kept_array<'s, 'a>(scope: &'s Scope<'a>) -> Option<&'s Return<'a>> {
    let lineage = Lineage::new(scope);
    scope.returns.iter().find(|it| {
        let is_read = |call: &&Call<'a>| {
            let made = ValueId::at(call.node.range());
            let id = it.value.id;
            id.is_some_and(|id| lineage.is_made_of(id, made))
        };
        let mut readers = scope.calls.iter().filter(|call| is_reader(call));
        let mut inside = scope
            .calls
            .iter()
            .filter(|call| it.range.contains_range(call.node.range()));
        is_array(&it.value)
            || (matches!(it.value.kind, Kind::Unknown) && readers.any(|call| is_read(&call)))
            || (matches!(it.value.kind, Kind::Container(_))
                && inside.any(|call| is_array(&call.result)))
    })
}

fn is_array(value: &Value<'_>) -> bool {
    match &value.kind {
        Kind::Tensor(_) | Kind::Array(_) => true,
        Kind::Object(object) => {
            &*object.class == FRAME || object.class.starts_with("tensorflow.image.")
        }
        Kind::Sequence(members) => members.iter().any(is_array),
        _ => false,
    }
}

fn finding(
    file: &File<'_>,
    scope: &Scope<'_>,
    function: &Function<'_>,
    decorator: &Decorator,
    kept: &Return<'_>,
) -> Finding {
    let name = function.node.name.as_str();
    let class = function
        .class
        .and_then(|id| file.declarations.classes.get(id.0));
    let is_item =
        name == "__getitem__" && class.is_some_and(|it| it.family == Family::TorchDataset);
    let reader = scope.calls.iter().find(|call| is_reader(call));
    let level = if is_item || reader.is_some() {
        Level::Warning
    } else {
        Level::Info
    };
    let mut witness = vec![Note {
        range: kept.range,
        text: "an array for every different argument".to_owned(),
    }];
    witness.extend(reader.map(|call| Note {
        range: call.node.range(),
        text: "as large as the file it is read from, decoded".to_owned(),
    }));
    Finding {
        rule: &RULE,
        level,
        range: decorator.range(),
        message: format!("`{name}` keeps every array that it has returned, without a bound"),
        witness,
        help: "Give the cache a bound that fits: `@lru_cache(maxsize=64)`".to_owned(),
        fix: None,
        bytes: None,
        region: function.node.range(),
    }
}
