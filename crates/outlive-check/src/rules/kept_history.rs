//! A value that is kept with its autograd history: what that costs, and how to let go of it.

use crate::front::TextRange;
use crate::model::File;
use crate::model::facts::Keep;
use crate::{Applicability, Edit, Fix, Level, Note};

/// A value that is kept with its history.
#[derive(Debug)]
pub(super) struct KeptHistory<'s, 'a> {
    /// The value that is kept.
    pub keep: &'s Keep<'a>,
    /// The loop, or the method that is called again and again, in which it grows.
    pub region: TextRange,
    /// How bad it is.
    pub level: Level,
    /// Whether the activations are kept too, and not only the nodes of the graph.
    pub keeps_activations: bool,
    /// Why that is sure.
    pub witness: Vec<Note>,
    /// The part of the kept expression that carries the history.
    pub carrier: TextRange,
    /// Whether to detach it changes nothing but the memory.
    pub can_detach: Applicability,
}

impl KeptHistory<'_, '_> {
    /// What the keeper holds on to, and what that was measured to cost.
    pub(super) fn price(&self, file: &File<'_>) -> String {
        let carrier = file.short(self.carrier);
        let (what, cost) = if self.keeps_activations {
            ("all activations", "13 to 54 MB")
        } else {
            ("the graph", "5 to 131 KB")
        };
        format!("keeps {what} behind every `{carrier}`: {cost} a round in our measurements")
    }

    /// `loss.detach()` in place of `loss`.
    pub(super) fn fix(&self, file: &File<'_>) -> Fix {
        let content = detached(file.slice(self.carrier));
        Fix {
            title: format!(
                "Keep `{}`",
                content.split_whitespace().collect::<Vec<_>>().join(" ")
            ),
            applicability: self.can_detach,
            edits: vec![Edit {
                range: self.carrier,
                content,
            }],
        }
    }
}

/// `loss.detach()` of `loss`, `(a / b).detach()` of `a / b`.
pub(super) fn detached(text: &str) -> String {
    let is_simple = text.chars().all(|it| {
        it.is_alphanumeric() || matches!(it, '_' | '.' | '[' | ']' | '(' | ')' | '"' | '\'')
    }) && !text.contains('\n');
    if is_simple {
        format!("{text}.detach()")
    } else {
        format!("({text}).detach()")
    }
}
