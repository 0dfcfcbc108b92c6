//! A tensor with its autograd history is put into a list or dict over a loop.

use crate::model::File;
use crate::model::facts::How;
use crate::{Finding, Level, Rule};

use super::history::kept_histories;
use super::kept_history::{KeptHistory, detached};

/// `OL102`.
pub(super) static RULE: Rule = Rule {
    code: "OL102",
    name: "retained_graph_append",
    cause: "autograd_history_kept",
    level: Level::Error,
    summary: "A tensor with its autograd history is put into a list or dict over a loop",
    page: include_str!("../../../../docs/rules/retained_graph_append.md"),
    find,
};

fn find(file: &File<'_>, found: &mut Vec<Finding>) {
    for scope in &file.scopes {
        let ways = [How::Appended, How::Stored, How::Comprehended];
        let kept = kept_histories(file, scope, &ways);
        found.extend(kept.iter().map(|kept| finding(file, kept)));
    }
}

fn finding(file: &File<'_>, kept: &KeptHistory<'_, '_>) -> Finding {
    let carrier = file.short(kept.carrier);
    let keeper = match kept.keep.how {
        How::Comprehended => "The list".to_owned(),
        _ => format!("`{}`", file.short(kept.keep.keeper)),
    };
    let help = if kept.keeps_activations {
        let detached = detached(&carrier);
        format!("Run the loop under `torch.inference_mode()`, or keep `{detached}.cpu()`")
    } else {
        format!("Keep `float({carrier})`, or `{}`", detached(&carrier))
    };
    Finding {
        rule: &RULE,
        level: kept.level,
        range: kept.carrier,
        message: format!("{keeper} {}", kept.price(file)),
        witness: kept.witness.clone(),
        help,
        fix: Some(kept.fix(file)),
        bytes: None,
        region: kept.region,
    }
}
