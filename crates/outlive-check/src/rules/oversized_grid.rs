//! A whole data set is joined into one tensor, or a grid of pictures takes several times their
//! size.

use crate::front::Ranged;
use crate::front::ast::Expr;
use crate::model::extent::bytes_text;
use crate::model::facts::{Call, How, Keep, Key, Loop, Scope};
use crate::model::library::{LOADER, PICTURES};
use crate::model::value::{Kind, Value};
use crate::model::{Family, File};
use crate::{Finding, Level, Note, Rule};

use super::repetition::{is_left_early, rounds};

/// `OL403`.
pub(super) static RULE: Rule = Rule {
    code: "OL403",
    name: "oversized_grid",
    cause: "oversized_grid",
    level: Level::Error,
    summary: "A whole data set is joined into one tensor or grid",
    page: include_str!("../../../../docs/rules/oversized_grid.md"),
    find,
};

fn find(file: &File<'_>, found: &mut Vec<Finding>) {
    for scope in &file.scopes {
        for call in scope.calls.iter().filter(|call| joins(call)) {
            if let Some((within, level)) = whole_set(file, scope, call) {
                found.push(whole(file, call, within, level));
            } else if call.name == "make_grid" {
                found.extend(large_grid(file, call));
            }
        }
    }
}

/// Whether a call makes one array of many.
fn joins(call: &Call<'_>) -> bool {
    let path = call.path.as_deref().unwrap_or_default();
    matches!(
        path,
        "torch.stack"
            | "torch.cat"
            | "torch.concat"
            | "torch.vstack"
            | "numpy.stack"
            | "numpy.array"
            | "numpy.asarray"
            | "numpy.concatenate"
            | "numpy.vstack"
            | "torchvision.utils.make_grid"
            | "torchvision.utils.save_image"
    )
}

/// The loop over all of a data set whose pictures the call joins.
fn whole_set<'s, 'a>(
    file: &File<'a>,
    scope: &'s Scope<'a>,
    call: &Call<'a>,
) -> Option<(&'s Loop<'a>, Level)> {
    let list = call.node.arguments.args.first()?;
    let mut kept = scope.keeps.iter().filter(|keep| {
        if list.is_list_comp_expr() {
            keep.how == How::Comprehended && keep.range == list.range()
        } else {
            let key = Key::of(list);
            keep.how == How::Appended && key.is_some() && keep.key == key
        }
    });
    kept.find_map(|keep| {
        let id = keep.context.loops.last()?;
        let within = scope.loop_at(*id)?;
        let level = set_level(file, within)?;
        let is_all = rounds(file, within).is_none()
            && !is_left_early(file, within)
            && !is_filtered(list)
            && !file.slice(within.header).contains("islice");
        (is_all && is_picture(keep, within)).then_some((within, level))
    })
}

/// A comprehension with a condition takes some of them.
fn is_filtered(list: &Expr) -> bool {
    list.as_list_comp_expr()
        .is_some_and(|it| it.generators.iter().any(|one| !one.ifs.is_empty()))
}

/// How sure it is that a loop runs over all pictures of a set.
fn set_level(file: &File<'_>, within: &Loop<'_>) -> Option<Level> {
    let [over] = within.over.as_slice() else {
        return None;
    };
    if is_set(file, over) {
        return Some(Level::Warning);
    }
    let loader = over.as_object().filter(|it| &*it.class == LOADER)?;
    let dataset = loader.arguments.get(0, "dataset")?;
    let is_known = is_set(file, dataset);
    // Tensors that are in memory already, and data sets of which nothing is known.
    let is_other = !is_known && !dataset.is_unknown();
    match (is_known, is_other) {
        (true, _) => Some(Level::Warning),
        (_, true) => None,
        _ => Some(Level::Info),
    }
}

fn is_set(file: &File<'_>, value: &Value<'_>) -> bool {
    match &value.kind {
        Kind::Object(object) => &*object.class == PICTURES,
        Kind::Instance(class) => file
            .declarations
            .classes
            .get(class.0)
            .is_some_and(|it| it.family == Family::TorchDataset),
        _ => false,
    }
}

/// Whether what is kept of an element is its picture: the element, or the first of its parts.
fn is_picture(keep: &Keep<'_>, within: &Loop<'_>) -> bool {
    let mut kept = keep.kept;
    // `picture.unsqueeze(0)`, `pair[0]`.
    loop {
        kept = match kept {
            Expr::Call(call) => match call.func.as_ref() {
                Expr::Attribute(method)
                    if matches!(
                        method.attr.as_str(),
                        "unsqueeze" | "numpy" | "cpu" | "to" | "cuda" | "float" | "permute"
                    ) =>
                {
                    &method.value
                }
                _ => return false,
            },
            Expr::Subscript(item) => match item.slice.as_ref() {
                Expr::NumberLiteral(index) if index.value.as_int().is_some_and(|it| *it == 0) => {
                    &item.value
                }
                _ => return false,
            },
            Expr::Name(name) => {
                let name = name.id.as_str();
                let counter = counter_of(within);
                let pictures = within
                    .targets
                    .iter()
                    .copied()
                    .filter(|it| Some(*it) != counter);
                return pictures.take(1).any(|it| it == name) && !is_label(name);
            }
            _ => return false,
        }
    }
}

/// The name that counts: `i` in `for i, (x, y) in enumerate(loader)`.
fn counter_of<'a>(within: &Loop<'a>) -> Option<&'a str> {
    let is_counted = within.targets.len() > 1
        && within.targets.first().is_some_and(|it| {
            matches!(*it, "i" | "j" | "k" | "idx" | "index" | "step" | "n" | "_")
        });
    within.targets.first().copied().filter(|_| is_counted)
}

fn is_label(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    matches!(name.as_str(), "y" | "_") || name.contains("label") || name.contains("target")
}

fn whole(file: &File<'_>, call: &Call<'_>, within: &Loop<'_>, level: Level) -> Finding {
    let range = call.node.range();
    let set = within
        .over_text
        .first()
        .map_or_else(String::new, |it| file.short(*it));
    Finding {
        rule: &RULE,
        level,
        range,
        message: format!(
            "`{}` joins every picture of `{set}` in one piece, and needs twice their size for it",
            call.name
        ),
        witness: vec![Note {
            range: within.header,
            text: format!("runs over all of `{set}`"),
        }],
        help: "Join a batch at a time, or only those that are shown: `[:64]`".to_owned(),
        fix: None,
        bytes: None,
        region: within.range.cover(range),
    }
}

/// A grid of known size: one channel becomes three, and the grid is a copy of them.
fn large_grid(file: &File<'_>, call: &Call<'_>) -> Option<Finding> {
    let budget = file.settings.budget();
    let extent = call.arguments.positional.first()?.extent()?;
    let is_grey = matches!(extent.shape.as_slice(), [_, 1, _, _]);
    let normalizes = call.arguments.named("normalize").and_then(Value::as_bool) == Some(true);
    let times = match (is_grey, normalizes) {
        (true, _) => 6,
        (false, false) => 1,
        (false, true) => 2,
    };
    let bytes = extent.bytes().saturating_mul(times);
    let level = match bytes {
        _ if bytes >= budget => Level::Error,
        _ if bytes >= budget / 2 => Level::Warning,
        _ => return None,
    };
    let range = call.node.range();
    Some(Finding {
        rule: &RULE,
        level,
        range,
        message: format!(
            "The grid takes {} besides the {} of its pictures; there are {}",
            bytes_text(bytes),
            bytes_text(extent.bytes()),
            bytes_text(budget)
        ),
        witness: vec![Note {
            range,
            text: format!("pictures of shape {}, {times} times", extent.shape_text()),
        }],
        help: "Show fewer pictures, or use `outlive.make_grid`, which makes no copies".to_owned(),
        fix: None,
        bytes: Some(bytes),
        region: call.statement,
    })
}
