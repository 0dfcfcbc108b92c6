//! Arrays of known size, or decoded files, pile up in a list over a loop.

use crate::front::ast::Expr;
use crate::front::{Ranged, TextRange};
use crate::model::File;
use crate::model::extent::bytes_text;
use crate::model::facts::{Allocation, Call, How, Keep, Loop, Scope};
use crate::model::lineage::Lineage;
use crate::model::value::{ContainerShape, Kind, ValueId};
use crate::{Finding, Level, Note, Rule};

use super::deliberate::Deliberate;
use super::reader::is_reader;
use super::repetition::{is_left_early, rounds_of};

/// `OL107`.
pub(super) static RULE: Rule = Rule {
    code: "OL107",
    name: "results_kept_in_loop",
    cause: "results_kept_in_loop",
    level: Level::Error,
    summary: "Arrays kept in every round of a loop come to more than memory",
    page: include_str!("../../../../docs/rules/results_kept_in_loop.md"),
    find,
};

fn find(file: &File<'_>, found: &mut Vec<Finding>) {
    for scope in &file.scopes {
        for keep in scope.keeps.iter().filter(|keep| piles_up(scope, keep)) {
            found.extend(finding(file, scope, keep));
        }
    }
}

/// Whether a list, dict or set that is older than the loop gets a new member in each round.
fn piles_up(scope: &Scope<'_>, keep: &Keep<'_>) -> bool {
    let is_growing = match (&keep.before.kind, keep.how) {
        (Kind::Container(container), How::Appended | How::Comprehended) => {
            container.shape != ContainerShape::Bounded
        }
        (Kind::Container(_), How::Stored) => match keep.keeper {
            Expr::Subscript(item) => !item.slice.is_literal_expr(),
            _ => false,
        },
        _ => false,
    };
    let within = keep.context.loops.last().and_then(|id| scope.loop_at(*id));
    let is_emptied = within.is_some_and(|within| is_emptied(scope, keep, within.range));
    is_growing && within.is_some() && !is_emptied && !keep.context.is_deferred
}

/// Whether the keeper is bound anew or emptied in the loop.
fn is_emptied(scope: &Scope<'_>, keep: &Keep<'_>, within: TextRange) -> bool {
    let is_bound = scope
        .bindings
        .iter()
        .any(|it| keep.key.is_some() && it.key == keep.key && within.contains_range(it.range));
    let is_cleared = scope.calls.iter().any(|call| {
        matches!(
            call.name,
            "clear" | "pop" | "popleft" | "popitem" | "remove"
        ) && within.contains_range(call.node.range())
            && call
                .receiver
                .as_ref()
                .is_some_and(|it| it.id == keep.before.id)
    });
    is_bound || is_cleared
}

fn finding(file: &File<'_>, scope: &Scope<'_>, keep: &Keep<'_>) -> Option<Finding> {
    let loops = multiplying(scope, keep);
    let outermost = *loops.first()?;
    if loops.iter().any(|it| is_left_early(file, it)) {
        return None;
    }
    let id = keep.value.id?;
    let rounds = rounds_of(file, loops.iter().copied());
    let made = scope
        .allocations
        .iter()
        .find(|it| ValueId::at(it.range) == id && !it.is_lazy);
    match (made, rounds) {
        (Some(made), Some(rounds)) => {
            let is_new = loops.iter().all(|it| it.range.contains_range(made.range));
            let found = is_new.then(|| counted(file, keep, made, rounds, outermost))?;
            found.filter(|it| !Deliberate::read(file).covers(it.range))
        }
        (None, None) => decoded(file, scope, keep, outermost),
        _ => None,
    }
}

/// The loops that run while the keeper lives, outermost first.
fn multiplying<'s, 'a>(scope: &'s Scope<'a>, keep: &Keep<'a>) -> Vec<&'s Loop<'a>> {
    let made = keep.before.id.map(ValueId::range);
    let loops = keep
        .context
        .loops
        .iter()
        .filter_map(|id| scope.loop_at(*id));
    loops
        .filter(|within| {
            made.is_none_or(|made| within.range == made || !within.range.contains_range(made))
        })
        .collect()
}

/// Known bytes in each of known rounds.
fn counted(
    file: &File<'_>,
    keep: &Keep<'_>,
    made: &Allocation,
    rounds: u64,
    within: &Loop<'_>,
) -> Option<Finding> {
    let budget = file.settings.budget();
    let bytes = made.extent.bytes().saturating_mul(rounds);
    let level = match bytes {
        _ if bytes >= budget => Level::Error,
        _ if bytes >= budget / 2 => Level::Warning,
        _ => return None,
    };
    let one = bytes_text(made.extent.bytes());
    Some(Finding {
        rule: &RULE,
        level,
        range: keep.range,
        message: format!(
            "{} keeps {} after {rounds} rounds; there are {}",
            keeper_text(file, keep),
            bytes_text(bytes),
            bytes_text(budget)
        ),
        witness: vec![
            Note {
                range: made.range,
                text: format!("{one} in each round, shape {}", made.extent.shape_text()),
            },
            Note {
                range: within.header,
                text: format!("{rounds} rounds in all"),
            },
        ],
        help: "Keep a number or a summary of each, or write each one to disk".to_owned(),
        fix: None,
        bytes: Some(bytes),
        region: within.range,
    })
}

/// Decoded files in each of unknown rounds.
fn decoded(
    file: &File<'_>,
    scope: &Scope<'_>,
    keep: &Keep<'_>,
    within: &Loop<'_>,
) -> Option<Finding> {
    let id = keep.value.id?;
    // A mean or a matrix of co-occurrences of a picture is no picture.
    let is_less = |value: ValueId| {
        let made = scope
            .calls
            .iter()
            .find(|it| ValueId::at(it.node.range()) == value);
        let text = file.slice(value.range());
        let is_fact = [".shape", ".size", ".ndim", ".dtype"]
            .iter()
            .any(|it| text.ends_with(it));
        is_fact || made.is_some_and(|call| !is_reader(call) && !keeps_size(call.name))
    };
    let whole = Lineage::new(scope).ancestors(id, is_less);
    let read = scope.calls.iter().find(|call| {
        let range = call.node.range();
        is_reader(call)
            && !is_table(call)
            && within.range.contains_range(range)
            && whole.contains(&ValueId::at(range))
    })?;
    if keep.value.is_plain() {
        return None;
    }
    Some(Finding {
        rule: &RULE,
        level: Level::Info,
        range: keep.range,
        message: format!(
            "{} keeps every file of the loop decoded",
            keeper_text(file, keep)
        ),
        witness: vec![Note {
            range: read.node.range(),
            text: format!("`{}` is read in each round", file.short(read.node.range())),
        }],
        help: "Read each one when it is needed: a `Dataset`, or `np.memmap`".to_owned(),
        fix: None,
        bytes: None,
        region: within.range,
    })
}

/// Whether what a function of this name makes of a picture is as large as it.
fn keeps_size(name: &str) -> bool {
    const WORDS: [&str; 22] = [
        "resize",
        "cvtcolor",
        "array",
        "astype",
        "convert",
        "transform",
        "process",
        "normal",
        "reshape",
        "expand",
        "transpose",
        "flip",
        "crop",
        "pad",
        "tensor",
        "copy",
        "float",
        "gray",
        "rot",
        "to",
        "cuda",
        "stack",
    ];
    let name = name.to_ascii_lowercase();
    WORDS.iter().any(|word| match *word {
        "to" => name == "to",
        "gray" => name.contains("gray") && !name.contains("co"),
        word => name.contains(word),
    })
}

/// Tables are kept to be joined.
fn is_table(call: &Call<'_>) -> bool {
    let path = call.path.as_deref();
    path.is_some_and(|path| path.starts_with("pandas."))
}

fn keeper_text(file: &File<'_>, keep: &Keep<'_>) -> String {
    if keep.how == How::Comprehended {
        "The list".to_owned()
    } else {
        format!("`{}`", file.short(keep.keeper))
    }
}
