//! How often a loop runs: its rounds where they fold, and whether it is left early.

use crate::front::ast::{Expr, Stmt};
use crate::front::{Ranged, TextRange};
use crate::model::facts::{Loop, LoopKind, Scope};
use crate::model::library::TF_DATASET;
use crate::model::value::Value;
use crate::model::{File, blocks};

/// The rounds of a loop, if they fold; also of `dataset.take(3)`, of `items[:3]`, and of
/// `range(args.runs)` where the file gives the argument a default.
pub(super) fn rounds(file: &File<'_>, within: &Loop<'_>) -> Option<u64> {
    let taken = within.over.iter().filter_map(|over| {
        let object = over.as_object()?;
        let is_take = &*object.class == TF_DATASET && &*object.made_by == "take";
        let count = object.arguments.get(0, "count").filter(|_| is_take)?;
        whole(count)
    });
    let cut = within.over_text.iter().filter_map(|over| {
        let Expr::Subscript(node) = over else {
            return None;
        };
        let Expr::Slice(slice) = node.slice.as_ref() else {
            return None;
        };
        let Some(Expr::NumberLiteral(upper)) = slice.upper.as_deref() else {
            return None;
        };
        upper.value.as_int()?.as_u64()
    });
    let given = within.over_text.iter().filter_map(|over| given(file, over));
    let folded = within.rounds.into_iter().chain(taken).chain(cut);
    folded.chain(given).min()
}

/// The default of the command-line argument in `range(args.runs)`.
fn given(file: &File<'_>, over: &Expr) -> Option<u64> {
    let call = over.as_call_expr()?;
    let count = call.arguments.args.last()?.as_attribute_expr()?;
    let is_range = call.func.as_name_expr()?.id.as_str() == "range";
    let wanted = count.attr.as_str();
    let names = |text: &str| text.trim_start_matches('-').replace('-', "_") == wanted;
    let mut calls = file.scopes.iter().flat_map(|scope| &scope.calls);
    let added = calls.find(|call| {
        let mut flags = call.arguments.positional.iter();
        call.name == "add_argument" && flags.any(|it| it.as_text().is_some_and(names))
    })?;
    whole(added.arguments.named("default").filter(|_| is_range)?)
}

/// The rounds of these loops together; `None` if one of them does not fold.
pub(super) fn rounds_of<'s, 'a: 's>(
    file: &File<'_>,
    mut loops: impl Iterator<Item = &'s Loop<'a>>,
) -> Option<u64> {
    loops.try_fold(1_u64, |product, within| {
        let rounds = rounds(file, within);
        Some(product.saturating_mul(rounds?))
    })
}

/// The `for` and `while` statements of a scope around a place, innermost first.
pub(super) fn loops_around<'s, 'a>(
    scope: &'s Scope<'a>,
    place: TextRange,
) -> impl Iterator<Item = &'s Loop<'a>> {
    let mut around: Vec<&Loop<'a>> = scope
        .loops
        .iter()
        .filter(|it| it.kind != LoopKind::Comprehension && it.range.contains_range(place))
        .collect();
    around.sort_by_key(|it| it.range.len());
    around.into_iter()
}

/// Whether a loop may be left by `break` or `return` before it is done.
pub(super) fn is_left_early(file: &File<'_>, within: &Loop<'_>) -> bool {
    body_at(file.tree.body(), within.range).is_some_and(leaves)
}

/// The body of the loop at this place.
fn body_at(body: &[Stmt], range: TextRange) -> Option<&[Stmt]> {
    let statement = body.iter().find(|it| it.range().contains_range(range))?;
    match statement {
        Stmt::For(node) if node.range == range => Some(&node.body),
        Stmt::While(node) if node.range == range => Some(&node.body),
        Stmt::FunctionDef(node) => body_at(&node.body, range),
        Stmt::ClassDef(node) => body_at(&node.body, range),
        other => blocks(other).into_iter().find_map(|it| body_at(it, range)),
    }
}

fn leaves(body: &[Stmt]) -> bool {
    body.iter().any(|statement| match statement {
        Stmt::Break(_) | Stmt::Return(_) => true,
        // Their own `break` leaves them, not this loop.
        Stmt::For(_) | Stmt::While(_) => false,
        other => blocks(other).into_iter().any(leaves),
    })
}

/// Whether two places are in different branches of one `if`: only one of them runs.
pub(super) fn are_alternatives(body: &[Stmt], one: TextRange, other: TextRange) -> bool {
    let Some(around) = body
        .iter()
        .find(|it| it.range().contains_range(one) && it.range().contains_range(other))
    else {
        return false;
    };
    let inner = match around {
        Stmt::FunctionDef(node) => vec![&node.body[..]],
        Stmt::ClassDef(node) => vec![&node.body[..]],
        around => blocks(around),
    };
    let holds =
        |block: &[Stmt], place: TextRange| block.iter().any(|it| it.range().contains_range(place));
    if matches!(around, Stmt::If(_) | Stmt::Try(_) | Stmt::Match(_))
        && !inner.iter().any(|it| holds(it, one) && holds(it, other))
    {
        return true;
    }
    inner.iter().any(|it| are_alternatives(it, one, other))
}

fn whole(value: &Value<'_>) -> Option<u64> {
    u64::try_from(value.as_int()?).ok()
}
