//! All batches of a loader are held at once.

use crate::front::ast::{Expr, ExprCall};
use crate::front::{Ranged, TextRange};
use crate::model::facts::{Call, How, Key, LoopKind, Scope};
use crate::model::value::{Object, Value};
use crate::model::{File, library};
use crate::{Applicability, Edit, Finding, Fix, Level, Note, Rule};

use super::dataset::is_sized;

/// `OL306`.
pub(super) static RULE: Rule = Rule {
    code: "OL306",
    name: "materialised_loader",
    cause: "results_kept_in_loop",
    level: Level::Warning,
    summary: "All batches of a loader are held at once",
    page: include_str!("../../../../docs/rules/materialised_loader.md"),
    find,
};

fn find(file: &File<'_>, found: &mut Vec<Finding>) {
    let text = file.source.text();
    if !file.declarations.uses_torch() && !text.contains("DataLoader") {
        return;
    }
    for scope in &file.scopes {
        let function = file.function(scope);
        if function.is_some_and(|function| file.declarations.is_unit_test(function)) {
            continue;
        }
        let lists = scope.calls.iter().filter_map(|call| listed(scope, call));
        let comprehensions = scope.loops.iter().filter_map(|within| {
            let element = element_of(scope, within.range)?;
            let is_whole = within.kind == LoopKind::Comprehension
                && within.targets.len() == 1
                && Key::of(element) == within.targets.first().map(|name| Key::name(name));
            let over = within.over.first().filter(|_| is_whole)?;
            Some(Materialised {
                range: within.range,
                loader: Some(loader(over)?),
                name: within.over_text.first()?,
            })
        });
        let all: Vec<_> = lists.chain(comprehensions).collect();
        let held = all
            .iter()
            .filter(|it| !it.loader.is_some_and(|loader| is_one_batch(file, loader)));
        found.extend(held.map(|it| finding(file, scope, it)));
    }
}

/// An expression that holds all batches.
struct Materialised<'s, 'a> {
    /// The expression.
    range: TextRange,
    /// Whose batches, if more is known than its name.
    loader: Option<&'s Object<'a>>,
    /// The loader as written.
    name: &'s Expr,
}

/// `list(loader)`, `tuple(enumerate(loader))`.
fn listed<'s, 'a>(scope: &'s Scope<'a>, call: &'s Call<'a>) -> Option<Materialised<'s, 'a>> {
    let is_list = matches!(call.node.func.as_ref(), Expr::Name(_))
        && matches!(call.name, "list" | "tuple")
        && call.path.is_none()
        && !call.context.is_deferred;
    if !is_list {
        return None;
    }
    let (name, value) = behind_wrappers(scope, call)?;
    let loader = loader(value);
    let range = call.node.range();
    // A parameter of this name is taken for a loader where its batches are only counted.
    let is_called_so = value.is_unknown()
        && matches!(name, Expr::Name(_))
        && is_loader_name(super::last_name(name))
        && counted(scope, range).is_some();
    (loader.is_some() || is_called_so).then_some(Materialised {
        range,
        loader,
        name,
    })
}

/// Narrower than what loops may run over: a `group_iter` may be anything.
fn is_loader_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.ends_with("loader") || name.ends_with("_dl")
}

/// The only argument, without `enumerate`, `iter` and `tqdm` around it.
fn behind_wrappers<'s, 'a>(
    scope: &'s Scope<'a>,
    call: &'s Call<'a>,
) -> Option<(&'s Expr, &'s Value<'a>)> {
    let argument = call.node.arguments.args.first()?;
    match argument {
        Expr::Call(inner)
            if matches!(super::last_name(&inner.func), "enumerate" | "iter" | "tqdm") =>
        {
            let inner = scope
                .calls
                .iter()
                .find(|it| it.node.range() == inner.range())?;
            behind_wrappers(scope, inner)
        }
        _ => Some((argument, call.arguments.positional.first()?)),
    }
}

fn loader<'v, 'a>(value: &'v Value<'a>) -> Option<&'v Object<'a>> {
    let object = value.as_object()?;
    (&*object.class == library::LOADER).then_some(object.as_ref())
}

/// What the comprehension at this place collects.
fn element_of<'s>(scope: &'s Scope<'_>, range: TextRange) -> Option<&'s Expr> {
    let mut keeps = scope.keeps.iter();
    let keep = keeps.find(|keep| keep.how == How::Comprehended && keep.range == range)?;
    // A generator hands the batches on, one by one.
    let is_generator = matches!(&keep.before.kind, crate::model::Kind::Container(container)
        if container.shape == crate::model::value::ContainerShape::Bounded);
    (!is_generator).then_some(keep.kept)
}

/// `DataLoader(data, batch_size=len(data))` is a way to write "all of it".
fn is_one_batch(file: &File<'_>, loader: &Object<'_>) -> bool {
    let text: String = file.slice(loader.range).split_whitespace().collect();
    text.contains("batch_size=len(")
}

/// The call of `len` around the list.
fn counted<'s>(scope: &'s Scope<'_>, list: TextRange) -> Option<&'s ExprCall> {
    let mut calls = scope
        .calls
        .iter()
        .filter(|call| call.name == "len" && call.path.is_none());
    let len = calls.find(|call| {
        let argument = call.node.arguments.args.first();
        argument.is_some_and(|argument| argument.range() == list)
    });
    len.map(|call| call.node)
}

fn finding(file: &File<'_>, scope: &Scope<'_>, it: &Materialised<'_, '_>) -> Finding {
    let name = file.short(it.name);
    let counted = counted(scope, it.range);
    let range = counted.map_or(it.range, ExprCall::range);
    let is_sized = it.loader.is_some_and(|loader| is_sized(file, loader));
    let text = file.short(range);
    let (message, help) = if counted.is_some() {
        let help = if is_sized {
            format!("Write `len({name})`: a `DataLoader` knows its length")
        } else {
            format!(
                "Write `len({name})`; over an iterable data set, count the batches in the loop that uses them"
            )
        };
        (
            format!("`{text}` loads every batch of `{name}` and holds them all, to count them"),
            help,
        )
    } else {
        (
            format!("`{text}` holds every batch of `{name}` at once"),
            format!(
                "Loop over `{name}`, or take what is needed: `next(iter({name}))`, `itertools.islice({name}, n)`"
            ),
        )
    };
    let fix = counted.filter(|_| is_sized).map(|_| Fix {
        title: format!("Write `len({name})`"),
        // To iterate a loader takes numbers from torch's random generator: what is drawn later
        // with the same seed changes.
        applicability: Applicability::Unsafe,
        edits: vec![Edit {
            range: it.range,
            content: file.text(it.name).to_owned(),
        }],
    });
    Finding {
        rule: &RULE,
        level: Level::Warning,
        range,
        message,
        witness: it.loader.map_or_else(Vec::new, |loader| {
            vec![Note {
                range: loader.range,
                text: format!("`{name}` is a `DataLoader`, made to hold a few batches at a time"),
            }]
        }),
        help,
        fix,
        bytes: None,
        region: range,
    }
}
