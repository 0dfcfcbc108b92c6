//! Predictions of a whole data set stay on the GPU.

use crate::model::File;
use crate::model::facts::{Gradients, How, Keep, Scope};
use crate::model::lineage::Lineage;
use crate::model::value::{History, ModuleRole};
use crate::{Applicability, Edit, Finding, Fix, Level, Note, Rule};

/// `OL106`.
pub(super) static RULE: Rule = Rule {
    code: "OL106",
    name: "predictions_kept_on_device",
    cause: "results_kept_in_loop",
    level: Level::Info,
    summary: "Predictions of a whole data set stay on the GPU",
    page: include_str!("../../../../docs/rules/predictions_kept_on_device.md"),
    find,
};

fn find(file: &File<'_>, found: &mut Vec<Finding>) {
    let text = file.source.text();
    let uses_device = text.contains("cuda") || text.contains(".to(");
    if !file.declarations.uses_torch() || !uses_device {
        return;
    }
    for scope in &file.scopes {
        let lineage = Lineage::new(scope);
        for keep in &scope.keeps {
            found.extend(finding(file, scope, &lineage, keep));
        }
    }
}

fn finding<'a>(
    file: &File<'a>,
    scope: &Scope<'a>,
    lineage: &Lineage<'_, 'a>,
    keep: &Keep<'a>,
) -> Option<Finding> {
    use crate::front::Ranged;
    let tensor = keep.value.as_tensor()?;
    let is_output = tensor.history == History::None && !tensor.on_host;
    let is_appended = keep.how == How::Appended && keep.context.gradients == Gradients::Off;
    let within = scope.loop_at(*keep.context.loops.last()?)?;
    if !is_output || !is_appended || within.rounds.is_some_and(|rounds| rounds < 10) {
        return None;
    }
    let value = keep.value.id?;
    let model = scope.calls.iter().find(|call| {
        call.is_of_module(ModuleRole::Layer)
            && within.range.contains_range(call.node.range())
            && call
                .result
                .id
                .is_some_and(|made| lineage.is_form_of(value, made))
    })?;
    let kept = file.short(keep.kept);
    Some(Finding {
        rule: &RULE,
        level: Level::Info,
        range: keep.kept.range(),
        message: format!(
            "`{}` keeps `{kept}` of every batch on the device until the end",
            file.short(keep.keeper)
        ),
        witness: vec![Note {
            range: model.node.range(),
            text: format!(
                "`{kept}` comes from `{}` and is nowhere brought to the host",
                file.short(model.node)
            ),
        }],
        help: format!("Keep `{kept}.cpu()`"),
        fix: Some(Fix {
            title: format!("Keep `{kept}.cpu()`"),
            applicability: Applicability::Unsafe,
            edits: vec![Edit {
                range: keep.kept.range(),
                content: format!("({}).cpu()", file.text(keep.kept)),
            }],
        }),
        bytes: None,
        region: within.range,
    })
}
