//! One tensor or array is larger than memory.

use crate::front::{Ranged, TextRange};
use crate::model::File;
use crate::model::extent::{Dtype, Extent, bytes_text};
use crate::model::facts::{Allocation, How};
use crate::model::value::ValueId;
use crate::{Finding, Level, Note, Rule};

use super::deliberate::Deliberate;

/// `OL401`.
pub(super) static RULE: Rule = Rule {
    code: "OL401",
    name: "oversized_tensor",
    cause: "oversized_tensor",
    level: Level::Error,
    summary: "One tensor or array is larger than memory",
    page: include_str!("../../../../docs/rules/oversized_tensor.md"),
    find,
};

fn find(file: &File<'_>, found: &mut Vec<Finding>) {
    let budget = file.settings.budget();
    let all = file.scopes.iter().flat_map(|scope| &scope.allocations);
    let mut large = all
        .filter(|made| made.extent.bytes() >= budget / 2)
        .filter(|made| made.extent.bytes() > made.largest_input)
        .filter(|made| !made.context.is_deferred)
        .peekable();
    if large.peek().is_none() {
        return;
    }
    let deliberate = Deliberate::read(file);
    for made in large.filter(|made| !deliberate.covers(made.range)) {
        let written = first_write(file, ValueId::at(made.range));
        if !made.is_lazy || written.is_some() {
            found.push(finding(file, made, written));
        }
    }
}

fn finding(file: &File<'_>, made: &Allocation, written: Option<TextRange>) -> Finding {
    let budget = file.settings.budget();
    let extent = &made.extent;
    let bytes = extent.bytes();
    let level = if bytes >= budget {
        Level::Error
    } else {
        Level::Warning
    };
    let what = file.short(made.range);
    let compared = if level == Level::Error {
        format!("; there are {}", bytes_text(budget))
    } else {
        format!(" of the {} there are", bytes_text(budget))
    };
    let mut witness = vec![Note {
        range: made.range,
        text: format!(
            "shape {}, {} bytes for each {}",
            extent.shape_text(),
            extent.dtype.size,
            extent.dtype.name
        ),
    }];
    witness.extend(written.filter(|_| made.is_lazy).map(|range| Note {
        range,
        text: "written here, which takes the memory".to_owned(),
    }));
    Finding {
        rule: &RULE,
        level,
        range: made.range,
        message: format!("`{what}` takes {}{compared}", bytes_text(bytes)),
        witness,
        help: help(extent, budget),
        fix: None,
        bytes: Some(bytes),
        region: made.statement,
    }
}

/// What else would fit, in figures.
fn help(extent: &Extent, budget: u64) -> String {
    let smaller = match extent.dtype.size {
        8 | 16 => Some(Dtype::FLOAT32),
        4 => Dtype::named("float16"),
        _ => None,
    };
    let mut ways: Vec<String> = Vec::new();
    if let Some(dtype) = smaller {
        let bytes = extent.with_dtype(dtype).bytes();
        ways.push(format!("As {} it takes {}", dtype.name, bytes_text(bytes)));
    }
    let rows = extent.shape.first().copied().unwrap_or(1).max(1);
    let row = extent.bytes() / rows;
    let fit = (budget / 8).checked_div(row).unwrap_or(0);
    if (1..rows).contains(&fit) {
        let bytes = bytes_text(fit.saturating_mul(row));
        ways.push(format!("chunks of {fit} rows take {bytes} each"));
    }
    ways.push("`np.memmap` keeps it on disk".to_owned());
    ways.join("; ")
}

/// Where an array is filled: items are set in a loop or by a slice, or a function fills it.
fn first_write(file: &File<'_>, array: ValueId) -> Option<TextRange> {
    file.scopes.iter().find_map(|scope| {
        let stored = scope.keeps.iter().find(|keep| {
            let is_write = match keep.how {
                How::Stored => {
                    !keep.context.loops.is_empty() || file.text(keep.keeper).contains(':')
                }
                How::Added => true,
                How::Appended | How::Comprehended => false,
            };
            is_write && keep.before.id == Some(array)
        });
        stored.map(|keep| keep.range).or_else(|| {
            let filled = scope.calls.iter().find(|call| {
                let is_receiver = call
                    .receiver
                    .as_ref()
                    .is_some_and(|it| it.id == Some(array));
                let fills = (call.name.ends_with('_') && !call.name.starts_with('_'))
                    || call.name == "fill";
                let is_argument = call.arguments.all().any(|it| it.id == Some(array));
                let takes = call.path.as_deref().is_some_and(|path| {
                    path.starts_with("torch.nn.init.") || path == "torch.nn.Parameter"
                });
                (is_receiver && fills && call.name != "requires_grad_") || (is_argument && takes)
            });
            filled.map(|call| call.node.range())
        })
    })
}
