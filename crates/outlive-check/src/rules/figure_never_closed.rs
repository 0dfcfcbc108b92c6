//! A figure is made in every round of a loop and never closed.

use crate::front::ast::Expr;
use crate::front::{Ranged, TextRange};
use crate::model::File;
use crate::model::facts::{Call, Key, Loop, Scope};
use crate::model::value::{FunctionId, Kind};
use crate::{Finding, Level, Note, Rule, SourceKind};

use super::repetition::{is_left_early, loops_around, rounds_of};

/// `OL603`.
pub(super) static RULE: Rule = Rule {
    code: "OL603",
    name: "figure_never_closed",
    cause: "results_kept_in_loop",
    level: Level::Warning,
    summary: "A figure is made in every round of a loop and never closed",
    page: include_str!("../../../../docs/rules/figure_never_closed.md"),
    find,
};

/// matplotlib itself warns above this.
const MANY: u64 = 20;

fn find(file: &File<'_>, found: &mut Vec<Finding>) {
    for scope in &file.scopes {
        for call in scope.calls.iter().filter(|call| makes_figure(call)) {
            if let Some((within, caller)) = unclosed(file, scope, call) {
                found.push(finding(file, call, within, caller));
            }
        }
    }
}

/// Whether a call makes a new figure that pyplot remembers. A number or name finds an old one.
fn makes_figure(call: &Call<'_>) -> bool {
    let Some((package, name)) = call.path.as_deref().and_then(|it| it.rsplit_once('.')) else {
        return false;
    };
    let is_pyplot = matches!(package, "matplotlib.pyplot" | "pylab" | "matplotlib.pylab");
    let number = match name {
        "figure" => call.arguments.get(0, "num"),
        "subplots" | "subplot_mosaic" => call.arguments.named("num"),
        _ => return false,
    };
    is_pyplot
        && number.is_none_or(|it| matches!(it.kind, Kind::None))
        && !call.arguments.has_more
        && !call.context.is_deferred
}

/// The loop in which figures pile up, and the call in it if they are made in a function.
fn unclosed<'s, 'a>(
    file: &'s File<'a>,
    scope: &'s Scope<'a>,
    call: &'s Call<'a>,
) -> Option<(&'s Loop<'a>, Option<&'s Call<'a>>)> {
    let place = call.node.range();
    if loops_around(scope, place).next().is_some() {
        return piling_loop(file, scope, place, call, scope).map(|it| (it, None));
    }
    let function = scope.function?;
    let whole = file.function(scope)?.node.range();
    if closes(file, scope, whole) || is_handed_on(scope, call, whole) {
        return None;
    }
    file.scopes.iter().find_map(|other| {
        other
            .calls
            .iter()
            .filter(|it| it.function == Some(function) && !it.context.is_deferred)
            .find_map(|caller| {
                let place = caller.node.range();
                let within = piling_loop(file, other, place, call, scope)?;
                Some((within, Some(caller)))
            })
    })
}

/// The outermost loop around a place, if no loop around it closes figures, and they are many.
fn piling_loop<'s, 'a>(
    file: &File<'a>,
    scope: &'s Scope<'a>,
    place: TextRange,
    figure: &Call<'a>,
    made_in: &Scope<'a>,
) -> Option<&'s Loop<'a>> {
    let around: Vec<&Loop<'a>> = loops_around(scope, place).collect();
    let innermost = around.first()?;
    let outermost = around.last()?;
    let rounds = rounds_of(file, around.iter().copied());
    let is_saved = saves(scope, innermost.range)
        || saves(made_in, figure_region(file, made_in, innermost.range));
    // What is not saved is shown: by a notebook at the end of the cell, or by whoever runs this.
    let is_notebook = file.source.kind() == SourceKind::Notebook;
    let is_shown = !is_saved && (is_notebook || rounds.is_none());
    let is_few = rounds.is_some_and(|rounds| rounds <= MANY);
    let is_same = std::ptr::eq(scope, made_in);
    if is_few
        || is_shown
        || around.iter().any(|it| is_left_early(file, it))
        || closes(file, scope, outermost.range)
        || (is_same && is_handed_on(scope, figure, innermost.range))
    {
        return None;
    }
    Some(outermost)
}

/// The text in which a figure is used: its function, or the loop.
fn figure_region(file: &File<'_>, scope: &Scope<'_>, within: TextRange) -> TextRange {
    file.function(scope).map_or(within, |it| it.node.range())
}

fn saves(scope: &Scope<'_>, within: TextRange) -> bool {
    let mut calls = scope.calls.iter();
    calls.any(|call| call.name == "savefig" && within.contains_range(call.node.range()))
}

/// Whether figures are closed, shown or cleared there, directly or by a function of this file.
fn closes(file: &File<'_>, scope: &Scope<'_>, within: TextRange) -> bool {
    let calls = scope.calls.iter();
    calls
        .filter(|call| within.contains_range(call.node.range()))
        .any(|call| is_closing(call) || call.function.is_some_and(|id| function_closes(file, id)))
}

fn function_closes(file: &File<'_>, id: FunctionId) -> bool {
    let scope = file.scopes.iter().find(|it| it.function == Some(id));
    scope.is_some_and(|scope| scope.calls.iter().any(is_closing))
}

fn is_closing(call: &Call<'_>) -> bool {
    matches!(
        call.name,
        "close"
            | "show"
            | "clf"
            | "clear"
            | "pause"
            | "close_all"
            | "switch_backend"
            | "add_figure"
    ) || call.name.contains("close_fig")
        || call.name.contains("close_plot")
}

/// Whether the figure goes somewhere that may close it: it is returned, stored, or given to a
/// function.
fn is_handed_on(scope: &Scope<'_>, figure: &Call<'_>, within: TextRange) -> bool {
    let bound = scope
        .bindings
        .iter()
        .find(|it| it.range == figure.statement);
    let Some(key) = bound.and_then(|it| it.key) else {
        // `return plt.figure()`, `draw(plt.figure())`.
        return figure.statement != figure.node.range() && bound.is_none();
    };
    let is_figure = |expression: &Expr| Key::of(expression) == Some(key);
    let is_given = scope.calls.iter().any(|call| {
        let arguments = &call.node.arguments;
        within.contains_range(call.node.range())
            && call.name != "savefig"
            && (arguments.args.iter().any(is_figure)
                || arguments.keywords.iter().any(|it| is_figure(&it.value)))
    });
    let is_returned = scope.returns.iter().any(|it| {
        it.value.id.is_some_and(|id| {
            let made = bound.and_then(|bound| bound.value.id);
            made == Some(id) || it.value.members().iter().any(|member| member.id == made)
        })
    });
    key.attribute.is_some() || is_given || is_returned
}

fn finding(
    file: &File<'_>,
    call: &Call<'_>,
    within: &Loop<'_>,
    caller: Option<&Call<'_>>,
) -> Finding {
    let range = call.node.range();
    let mut witness = Vec::new();
    witness.extend(caller.map(|caller| Note {
        range: caller.node.range(),
        text: format!("`{}` is called here, in a loop", caller.name),
    }));
    witness.push(Note {
        range: within.header,
        text: "nothing in this loop closes it".to_owned(),
    });
    Finding {
        rule: &RULE,
        level: Level::Warning,
        range,
        message: format!(
            "`{}` makes a figure in a loop, and pyplot keeps every one of them",
            file.short(range)
        ),
        witness,
        help: "Call `plt.close(fig)` when it is saved".to_owned(),
        fix: None,
        bytes: None,
        region: within.range,
    }
}
