//! How often something in a loop happens.

use crate::front::ast::Expr;
use crate::model::facts::{Context, Loop, LoopKind, Scope};

/// Rounds below which what grows by megabytes does not matter.
pub(super) const FEW: u64 = 10;

/// The folds of a cross-validation: few, whatever their number.
const FOLDS: u64 = 5;

/// The loops around a place, outermost first; what runs at another time is in none.
pub(super) fn loops_around<'s, 'a>(scope: &'s Scope<'a>, context: &Context) -> Vec<&'s Loop<'a>> {
    if context.is_deferred {
        return Vec::new();
    }
    let ids = context.loops.iter();
    ids.filter_map(|id| scope.loop_at(*id)).collect()
}

/// How many rounds these loops make together, if that folds.
pub(super) fn rounds(loops: &[&Loop<'_>]) -> Option<u64> {
    loops.iter().try_fold(1_u64, |all, one| {
        let own = one.rounds.or_else(|| folds(one))?;
        Some(all.saturating_mul(own))
    })
}

/// Whether something in these loops happens again and again.
pub(super) fn is_many(loops: &[&Loop<'_>]) -> bool {
    !loops.is_empty() && rounds(loops).is_none_or(|rounds| is_more(rounds, loops))
}

/// Twice the folds of a cross-validation are still few: an ensemble.
fn is_more(rounds: u64, loops: &[&Loop<'_>]) -> bool {
    let most = if loops.iter().any(|one| folds(one).is_some()) {
        2 * FOLDS + 1
    } else {
        FEW
    };
    rounds >= most
}

/// Whether something in these loops surely happens again and again: the number folds, the loop
/// counts, or there are two of them. A list of unknown length may have three members.
pub(super) fn is_surely_many(loops: &[&Loop<'_>]) -> bool {
    if let Some(rounds) = rounds(loops) {
        return is_more(rounds, loops) && !loops.is_empty();
    }
    let open = loops
        .iter()
        .filter(|one| one.rounds.or(folds(one)).is_none());
    let open: Vec<_> = open.collect();
    open.len() > 1
        || open
            .iter()
            .any(|one| one.kind == LoopKind::While || counts(one))
}

/// `for i in range(n)`, `for a, b in product(…)`.
fn counts(one: &Loop<'_>) -> bool {
    let mut calls = one.over_text.iter().filter_map(|over| over.as_call_expr());
    calls.any(|call| {
        let name = match call.func.as_ref() {
            Expr::Name(name) => name.id.as_str(),
            Expr::Attribute(callee) => callee.attr.as_str(),
            _ => "",
        };
        matches!(
            name,
            "range" | "trange" | "arange" | "product" | "ParameterGrid" | "count"
        )
    })
}

/// `for fit, check in folds.split(data)`, `for fold in range(config["n_splits"])`.
fn folds(one: &Loop<'_>) -> Option<u64> {
    (one.kind == LoopKind::For && is_over_folds(one)).then_some(FOLDS)
}

/// Whether a loop runs over the folds of a cross-validation.
pub(super) fn is_over_folds(one: &Loop<'_>) -> bool {
    let is_fold = |name: &str| {
        let name = name.to_ascii_lowercase();
        name.contains("fold") && !name.contains("folder")
    };
    // Unlike that of a text it is given data.
    let is_split = one.over_text.iter().any(|over| {
        let call = over.as_call_expr();
        let first = call.and_then(|call| call.arguments.args.first());
        let callee = call.and_then(|call| call.func.as_attribute_expr());
        first.is_some_and(|first| !first.is_literal_expr())
            && callee.is_some_and(|callee| callee.attr.as_str() == "split")
    });
    let mut over = one.over_text.iter().map(|over| super::last_name(over));
    is_split || one.targets.iter().any(|it| is_fold(it)) || over.any(is_fold)
}

/// Whether a loop runs over numbers of Python, and not over those of a library (`tf.range`).
pub(super) fn counts_in_python(one: &Loop<'_>, is_imported: impl Fn(&Expr) -> bool) -> bool {
    let mut calls = one.over_text.iter().filter_map(|over| over.as_call_expr());
    one.kind == LoopKind::For && !calls.any(|call| is_imported(&call.func))
}
