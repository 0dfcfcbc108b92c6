//! A table or array is joined with one more part in every round of a loop.

use crate::front::ast::{Expr, ExprCall};
use crate::front::{Ranged, TextRange};
use crate::model::File;
use crate::model::facts::{Binding, Call, Key, Loop, LoopKind, Scope};
use crate::model::library::{self, FRAME, LOADER, TF_DATASET};
use crate::model::value::{Kind, Value};
use crate::{Finding, Level, Note, Rule};

use super::reader::is_reader;
use super::repetition::{are_alternatives, loops_around, rounds_of};
use super::rounds::is_over_folds;

/// `OL604`.
pub(super) static RULE: Rule = Rule {
    code: "OL604",
    name: "frame_grown_in_loop",
    cause: "results_kept_in_loop",
    level: Level::Warning,
    summary: "A table or array is copied whole in every round to add one part",
    page: include_str!("../../../../docs/rules/frame_grown_in_loop.md"),
    find,
};

/// So few rounds copy little.
const FEW: u64 = 100;

fn find(file: &File<'_>, found: &mut Vec<Finding>) {
    for scope in &file.scopes {
        let grown: Vec<Growth<'_, '_>> = scope
            .calls
            .iter()
            .filter(|call| !call.context.loops.is_empty() && !call.context.is_deferred)
            .filter_map(|call| growth(file, scope, call))
            .collect();
        let mut told: Vec<(Key<'_>, TextRange)> = Vec::new();
        for growth in &grown {
            if let Some(within) = growing_loop(file, scope, growth, &grown)
                && !told.contains(&(growth.key, within.range))
            {
                // The other branch of an `if` grows the same.
                told.push((growth.key, within.range));
                let level = level(file, scope, growth);
                found.push(finding(file, growth, within, level));
            }
        }
    }
}

/// `name = join([name, part])`.
struct Growth<'s, 'a> {
    call: &'s Call<'a>,
    binding: &'s Binding<'a>,
    key: Key<'a>,
    library: &'static str,
}

fn growth<'s, 'a>(
    file: &File<'a>,
    scope: &'s Scope<'a>,
    call: &'s Call<'a>,
) -> Option<Growth<'s, 'a>> {
    let range = call.node.range();
    let (library, joined) = match call.path.as_deref() {
        Some(path) => joins(path, call)?,
        None => ("pandas", vec![appended(file, scope, call)?]),
    };
    let binding = scope
        .bindings
        .iter()
        .find(|it| it.range == call.statement && it.range.end() == range.end())?;
    let key = binding.key.filter(|key| joined.contains(key))?;
    Some(Growth {
        call,
        binding,
        key,
        library,
    })
}

/// The library of a function that joins along the first axis, and the names that it joins.
fn joins<'a>(path: &str, call: &Call<'a>) -> Option<(&'static str, Vec<Key<'a>>)> {
    let library = match path {
        "pandas.concat" => "pandas",
        "numpy.concatenate" | "numpy.vstack" | "numpy.hstack" | "numpy.append"
        | "numpy.row_stack" => "numpy",
        "torch.cat" | "torch.concat" | "torch.vstack" => "torch",
        "tensorflow.concat" => "tensorflow",
        _ => return None,
    };
    let axis = ["axis", "dim"]
        .iter()
        .find_map(|it| call.arguments.named(it));
    let place = if path == "numpy.append" { 2 } else { 1 };
    let axis = axis.or_else(|| call.arguments.positional.get(place));
    let is_first = axis.is_none_or(|axis| match &axis.kind {
        Kind::Int(axis) => *axis == 0,
        Kind::Text(axis) => matches!(*axis, "index" | "rows"),
        _ => false,
    });
    let node: &'a ExprCall = call.node;
    let first = node.arguments.args.first().filter(|_| is_first)?;
    let parts: &[Expr] = match first {
        Expr::List(list) => &list.elts,
        Expr::Tuple(tuple) => &tuple.elts,
        _ if path == "numpy.append" => std::slice::from_ref(first),
        _ => return None,
    };
    Some((library, parts.iter().filter_map(Key::of).collect()))
}

/// `df = df.append(row)`: of what is known to be a table somewhere, or is called so.
fn appended<'a>(file: &File<'a>, scope: &Scope<'a>, call: &Call<'a>) -> Option<Key<'a>> {
    let Expr::Attribute(callee) = call.node.func.as_ref() else {
        return None;
    };
    let key = Key::of(&callee.value).filter(|_| call.name == "append")?;
    let uses_pandas = file
        .declarations
        .imports
        .values()
        .any(|it| &**it == "pandas");
    let is_frame = |value: &Value<'_>| value.as_object().is_some_and(|it| &*it.class == FRAME);
    let was_frame = scope
        .bindings
        .iter()
        .any(|it| it.key == Some(key) && is_frame(&it.value));
    let last = key.attribute.unwrap_or(key.name).to_ascii_lowercase();
    let is_called_so = last.starts_with("df") || last.ends_with("df") || last.contains("frame");
    (uses_pandas && (was_frame || is_called_so)).then_some(key)
}

/// The outermost loop over which a name grows, unless it runs only a few times.
fn growing_loop<'s, 'a>(
    file: &File<'a>,
    scope: &'s Scope<'a>,
    growth: &Growth<'s, 'a>,
    all: &[Growth<'s, 'a>],
) -> Option<&'s Loop<'a>> {
    let place = growth.call.node.range();
    let is_growth = |binding: &Binding<'a>| all.iter().any(|it| it.binding.range == binding.range);
    let is_reset = |within: &Loop<'a>| {
        scope.bindings.iter().any(|binding| {
            binding.key == Some(growth.key)
                && within.range.contains_range(binding.range)
                && !is_growth(binding)
                && !are_alternatives(file.tree.body(), binding.range, place)
        }) || within.targets.contains(&growth.key.name)
    };
    let around = loops_around(scope, place).take_while(|within| !is_reset(within));
    let grows: Vec<&Loop<'a>> = around.collect();
    let innermost = grows.first()?;
    let is_few = rounds_of(file, grows.iter().copied()).is_some_and(|rounds| rounds < FEW);
    let is_tensor = matches!(growth.library, "torch" | "tensorflow");
    if is_few
        || grows.iter().any(|it| is_over_folds(it))
        || is_until_long_enough(file, innermost, growth.key)
        || (is_tensor && !grows.iter().any(|it| is_over_data(it)))
        || is_used(scope, growth, innermost.range)
    {
        return None;
    }
    grows.last().copied()
}

/// `while len(numbers) < wanted`: it ends when there are enough, mostly after a few rounds.
fn is_until_long_enough(file: &File<'_>, within: &Loop<'_>, key: Key<'_>) -> bool {
    within.kind == LoopKind::While && file.slice(within.header).contains(key.name)
}

/// Whether a loop runs over a loader or pipeline.
fn is_over_data(within: &Loop<'_>) -> bool {
    let is_object = within.over.iter().any(|over| {
        let object = over.as_object();
        object.is_some_and(|it| &*it.class == LOADER || &*it.class == TF_DATASET)
    });
    is_object
        || within.over_text.iter().any(|over| {
            Key::of(over)
                .is_some_and(|key| library::is_loader_name(key.attribute.unwrap_or(key.name)))
        })
}

/// Whether the grown array is given to something in each round: a model that writes its own next
/// input needs it whole.
fn is_used(scope: &Scope<'_>, growth: &Growth<'_, '_>, within: TextRange) -> bool {
    let is_table = growth.library == "pandas";
    scope.calls.iter().any(|call| {
        let range = call.node.range();
        let is_here = within.contains_range(range) && !growth.binding.range.contains_range(range);
        let mut given = call.node.arguments.args.iter();
        let is_given = !is_table
            && !matches!(call.name, "len" | "print")
            && call.path.as_deref() != Some("numpy.append")
            && given.any(|argument| Key::behind(argument) == Some(growth.key));
        let asked = call.node.func.as_attribute_expr();
        let is_asked = is_table
            && matches!(
                call.name,
                "groupby" | "rolling" | "merge" | "resample" | "pivot_table"
            )
            && asked.and_then(|it| Key::of(&it.value)) == Some(growth.key);
        is_here && (is_given || is_asked)
    })
}

/// How sure it is that there are many rounds, or large parts: a loop over whatever may have three.
fn level(file: &File<'_>, scope: &Scope<'_>, growth: &Growth<'_, '_>) -> Level {
    let place = growth.call.node.range();
    let Some(within) = loops_around(scope, place).next() else {
        return Level::Info;
    };
    let mut all = loops_around(scope, place);
    let is_read = || {
        let mut calls = scope.calls.iter();
        calls.any(|call| within.range.contains_range(call.node.range()) && is_reader(call))
    };
    let is_many = all.any(|it| {
        let rounds = rounds_of(file, std::iter::once(it));
        is_over_data(it) || rounds.is_some_and(|rounds| rounds >= FEW) || is_over_much(it)
    });
    let is_table = growth.library == "pandas" && !is_over_few(within);
    if is_table || is_many || is_read() {
        Level::Warning
    } else {
        Level::Info
    }
}

/// Whether a loop runs over the rows of a table, over files, over the indices of something, or over
/// what is called after data.
fn is_over_much(within: &Loop<'_>) -> bool {
    const WORDS: [&str; 17] = [
        "batch", "loader", "window", "chunk", "file", "path", "line", "row", "image", "img",
        "frame", "sample", "record", "doc", "sentence", "video", "page",
    ];
    let is_data = |name: &str| {
        let name = name.to_ascii_lowercase();
        let is_all = name.ends_with("data") || name.ends_with("dataset");
        is_all || WORDS.iter().any(|word| name.contains(word))
    };
    let over = within.over_text.iter().map(|over| super::last_name(over));
    let mut names = over.chain(within.targets.iter().copied());
    names.any(is_data) || is_over_rows(within)
}

fn is_over_rows(within: &Loop<'_>) -> bool {
    within.over_text.iter().any(|over| {
        let Expr::Call(call) = over else {
            return false;
        };
        let counts = |it: &Expr| matches!(it, Expr::Call(_) if super::last_name(it) == "len");
        match super::last_name(over) {
            "iterrows" | "itertuples" | "glob" | "iglob" | "rglob" | "walk" | "scandir" => true,
            "range" | "trange" => call.arguments.args.iter().any(counts),
            _ => false,
        }
    })
}

/// Whether a loop runs over groups, columns, models or the like: mostly few.
fn is_over_few(within: &Loop<'_>) -> bool {
    const WORDS: [&str; 10] = [
        "groupby", "items", "keys", "col", "model", "clf", "class", "categor", "scale", "dataset",
    ];
    within.over_text.iter().any(|over| {
        let name = super::last_name(over).to_ascii_lowercase();
        WORDS.iter().any(|word| name.contains(word))
    })
}

fn finding(file: &File<'_>, growth: &Growth<'_, '_>, within: &Loop<'_>, level: Level) -> Finding {
    let name = file.short(growth.binding.target);
    let joins = file.short(growth.call.node.func.as_ref());
    let once = match (growth.library, growth.call.name) {
        ("pandas", "append") => "pd.concat(parts)".to_owned(),
        ("numpy", "append") => "np.hstack(parts)".to_owned(),
        ("tensorflow", _) => format!("{joins}(parts, axis=0)"),
        _ => format!("{joins}(parts)"),
    };
    Finding {
        rule: &RULE,
        level,
        range: growth.binding.range,
        message: format!("`{joins}` copies all of `{name}` in every round to add one part"),
        witness: vec![Note {
            range: within.header,
            text: format!("`{name}` is older than this loop, and grows in it"),
        }],
        help: format!("Append the parts to a list, and join them once after the loop: `{once}`"),
        fix: None,
        bytes: None,
        region: within.range,
    }
}
