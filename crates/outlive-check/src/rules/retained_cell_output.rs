//! A cell ends with a large value, and the notebook keeps it as its output.

use crate::front::ast::{Expr, Stmt};
use crate::front::{Ranged, TextRange};
use crate::model::File;
use crate::model::extent::{Extent, bytes_text};
use crate::model::facts::{Key, Scope};
use crate::model::value::{History, Value};
use crate::{Applicability, Edit, Finding, Fix, Level, Note, Rule, SourceKind};

/// `OL602`.
pub(super) static RULE: Rule = Rule {
    code: "OL602",
    name: "retained_cell_output",
    cause: "results_kept_in_loop",
    level: Level::Info,
    summary: "A cell ends with a large value, and the notebook keeps it as its output",
    page: include_str!("../../../../docs/rules/retained_cell_output.md"),
    find,
};

fn find(file: &File<'_>, found: &mut Vec<Finding>) {
    let Some(module) = file.scopes.first() else {
        return;
    };
    if file.source.kind() != SourceKind::Notebook {
        return;
    }
    let body = file.tree.body();
    for cell in file.source.cells() {
        let end = body.partition_point(|it| it.range().end() <= cell.range.end());
        let last = end.checked_sub(1).and_then(|index| body.get(index));
        let Some(Stmt::Expr(last)) = last.filter(|it| cell.range.contains_range(it.range())) else {
            continue;
        };
        let after = TextRange::new(last.range.end(), cell.range.end());
        // A semicolon keeps the value out of the outputs.
        if !file.slice(after).trim_start().starts_with(';')
            && let Some(value) = value_of(module, &last.value)
            && let Some(what) = large(file, value)
        {
            found.push(finding(file, &last.value, &what, value));
        }
    }
}

/// What the expression at the end of a cell gives.
fn value_of<'s, 'a>(module: &'s Scope<'a>, expression: &'a Expr) -> Option<&'s Value<'a>> {
    let range = expression.range();
    if let Expr::Call(_) = expression {
        let mut calls = module.calls.iter();
        return calls
            .find(|it| it.node.range() == range)
            .map(|it| &it.result);
    }
    let key = Key::of(expression)?;
    let bound = module.bindings.iter().rev();
    let mut before = bound.filter(|it| it.key == Some(key) && it.range.end() <= range.start());
    before.next().map(|it| &it.value)
}

/// Why a value is large, in words.
fn large(file: &File<'_>, value: &Value<'_>) -> Option<String> {
    let bytes = value.extent().map(Extent::bytes);
    if let Some(bytes) = bytes {
        let is_large = bytes >= file.settings.budget() / 100;
        return is_large.then(|| bytes_text(bytes));
    }
    let is_recorded = value
        .as_tensor()
        .is_some_and(|it| it.history == History::Carried);
    is_recorded.then(|| "the tensor with its autograd history".to_owned())
}

fn finding(file: &File<'_>, last: &Expr, what: &str, value: &Value<'_>) -> Finding {
    let range = last.range();
    let text = file.short(range);
    Finding {
        rule: &RULE,
        level: Level::Info,
        range,
        message: format!("The notebook keeps {what} as the output of this cell, also after `del`"),
        witness: vec![Note {
            range,
            text: format!("`{text}` ends the cell, so `Out` and `_` hold it"),
        }],
        help: format!("Print what you want to see of it, or end the line with `;`: `{text};`"),
        fix: Some(Fix {
            title: "End the line with `;`".to_owned(),
            applicability: Applicability::Display,
            edits: vec![Edit {
                range: TextRange::empty(range.end()),
                content: ";".to_owned(),
            }],
        }),
        bytes: value.extent().map(Extent::bytes),
        region: range,
    }
}
