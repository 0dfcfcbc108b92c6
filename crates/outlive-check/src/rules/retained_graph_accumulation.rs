//! A loss with its autograd history is added up over a loop.

use crate::model::File;
use crate::model::facts::How;
use crate::{Finding, Level, Rule};

use super::history::kept_histories;
use super::kept_history::{KeptHistory, detached};

/// `OL101`.
pub(super) static RULE: Rule = Rule {
    code: "OL101",
    name: "retained_graph_accumulation",
    cause: "autograd_history_kept",
    level: Level::Error,
    summary: "A loss with its autograd history is added up over a loop",
    page: include_str!("../../../../docs/rules/retained_graph_accumulation.md"),
    find,
};

fn find(file: &File<'_>, found: &mut Vec<Finding>) {
    for scope in &file.scopes {
        let kept = kept_histories(file, scope, &[How::Added]);
        found.extend(kept.iter().map(|kept| finding(file, kept)));
    }
}

fn finding(file: &File<'_>, kept: &KeptHistory<'_, '_>) -> Finding {
    let keeper = file.short(kept.keep.keeper);
    let carrier = file.short(kept.carrier);
    Finding {
        rule: &RULE,
        level: kept.level,
        range: kept.carrier,
        message: format!("`{keeper}` {}", kept.price(file)),
        witness: kept.witness.clone(),
        help: format!(
            "Add `float({carrier})`, or `{}` to stay on the device",
            detached(&carrier)
        ),
        fix: Some(kept.fix(file)),
        bytes: None,
        region: kept.region,
    }
}
