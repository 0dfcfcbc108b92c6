//! Whether something that is kept over a loop holds on to the autograd history of every round.
//!
//! Two proofs, and two prices. A value whose own backward pass is in sight carried a history, and
//! that pass freed the activations: what stays are the nodes of the graph. A value that came out of
//! a module with gradients on, and on which nothing runs a backward pass, keeps the activations.

use std::cell::OnceCell;
use std::collections::HashSet;

use crate::front::ast::Expr;
use crate::front::{Ranged, TextRange, TextSize};
use crate::model::File;
use crate::model::facts::{Destination, Gradients, How, Keep, Key, Loop, Scope};
use crate::model::lineage::Lineage;
use crate::model::value::{ContainerShape, History, Kind, Value, ValueId};
use crate::{Applicability, Level, Note};

use super::evaluation;
use super::kept_history::KeptHistory;

/// Loops of fewer rounds cannot grow far.
const FEW_ROUNDS: u64 = 10;

/// Everything in a scope that is kept with its history, in these ways.
pub(super) fn kept_histories<'s, 'a>(
    file: &File<'a>,
    scope: &'s Scope<'a>,
    ways: &[How],
) -> Vec<KeptHistory<'s, 'a>> {
    if !file.declarations.uses_torch() || scope.keeps.is_empty() {
        return Vec::new();
    }
    let judge = Judge {
        file,
        scope,
        lineage: Lineage::new(scope),
        kept: OnceCell::new(),
    };
    let keeps = scope.keeps.iter().filter(|keep| ways.contains(&keep.how));
    keeps.filter_map(|keep| judge.judge(keep)).collect()
}

struct Judge<'s, 'f, 'a> {
    file: &'f File<'a>,
    scope: &'s Scope<'a>,
    lineage: Lineage<'s, 'a>,
    /// Where something is kept.
    kept: OnceCell<HashSet<(TextSize, TextSize)>>,
}

fn ends(range: TextRange) -> (TextSize, TextSize) {
    (range.start(), range.end())
}

impl<'s, 'a> Judge<'s, '_, 'a> {
    fn judge(&self, keep: &'s Keep<'a>) -> Option<KeptHistory<'s, 'a>> {
        if keep.context.is_deferred || is_bounded(&keep.before) || is_slice(keep.keeper) {
            return None;
        }
        let function = self.file.function(self.scope);
        if function.is_some_and(|function| self.file.declarations.is_unit_test(function)) {
            return None;
        }
        let Some(within) = self.growing_loop(keep) else {
            let region = self.growing_method(keep)?;
            return candidates(keep).find_map(|it| self.freed_by_backward(keep, region, &it));
        };
        candidates(keep).find_map(|candidate| {
            self.freed_by_backward(keep, within.range, &candidate)
                .or_else(|| self.never_freed(keep, within, &candidate))
        })
    }

    /// The method around `self.total += loss`, if nothing but `__init__` ever sets that anew: it is
    /// called once for each batch.
    fn growing_method(&self, keep: &Keep<'a>) -> Option<TextRange> {
        let function = self.file.function(self.scope)?;
        let class = function.class?;
        let key = keep.key.filter(|key| key.attribute.is_some())?;
        let name = function.node.name.as_str();
        if !keep.context.loops.is_empty() || matches!(name, "__init__" | "forward") {
            return None;
        }
        let is_set = self.file.scopes.iter().any(|scope| {
            let owner = self.file.function(scope);
            let is_sibling = owner.is_none_or(|it| it.class == Some(class));
            let is_birth = owner.is_some_and(|it| it.node.name.as_str() == "__init__");
            is_sibling
                && !is_birth
                && scope.bindings.iter().any(|binding| {
                    binding.key.and_then(|it| it.attribute) == key.attribute
                        && !scope.keeps.iter().any(|keep| keep.range == binding.range)
                })
        });
        let is_emptied = self
            .file
            .scopes
            .iter()
            .flat_map(|scope| &scope.calls)
            .any(|call| {
                is_emptying(call.name)
                    && receiver_key(call.node.func.as_ref()).and_then(|it| it.attribute)
                        == key.attribute
            });
        (!is_set && !is_emptied).then_some(function.node.range)
    }

    /// The innermost loop around the keep, unless the keeper is made anew or emptied in it.
    fn growing_loop(&self, keep: &'s Keep<'a>) -> Option<&'s Loop<'a>> {
        let within = self.scope.loop_at(*keep.context.loops.last()?)?;
        if within.rounds.is_some_and(|rounds| rounds < FEW_ROUNDS) {
            return None;
        }
        if keep.how == How::Comprehended {
            return Some(within);
        }
        let key = keep.key?;
        if within.targets.contains(&key.name) {
            return None;
        }
        let is_reset = self.scope.bindings.iter().any(|binding| {
            binding.key == Some(key)
                && binding.range != keep.range
                && within.range.contains_range(binding.range)
                && !self.is_accumulation(binding.range)
        });
        let is_emptied = self.scope.calls.iter().any(|call| {
            is_emptying(call.name) && receiver_key(call.node.func.as_ref()) == Some(key)
        });
        (!is_reset && !is_emptied).then_some(within)
    }

    fn is_accumulation(&self, range: TextRange) -> bool {
        let keeps = || self.scope.keeps.iter();
        let kept = self
            .kept
            .get_or_init(|| keeps().map(|keep| ends(keep.range)).collect());
        kept.contains(&ends(range))
    }

    /// `loss.backward()`, and `total += loss`, or `total += loss * n`, or a part of the loss.
    fn freed_by_backward(
        &self,
        keep: &'s Keep<'a>,
        region: TextRange,
        candidate: &Candidate<'_, 'a>,
    ) -> Option<KeptHistory<'s, 'a>> {
        let id = candidate.value.id?;
        // A sum that is made with gradients off has no history; what is appended keeps its own.
        let is_new = keep.how == How::Added && keep.context.gradients == Gradients::Off;
        if is_new
            || self.scope.backwards.is_empty()
            || candidate.value.is_plain()
            || candidate.value.history() == History::None && candidate.value.as_tensor().is_some()
        {
            return None;
        }
        let carrier = self.file.short(candidate.part);
        let source = self.lineage.backwarded_source(id).or_else(|| {
            let is_loss = carrier.to_ascii_lowercase().contains("loss");
            let of_sum = self.lineage.backward_of_sum(id).filter(|_| is_loss);
            of_sum.map(|backward| (id, backward))
        });
        let (source, backward) = source?;
        if !region.contains_range(backward.range)
            || backward.range == keep.range
            || self.is_used_for_training(keep)
        {
            return None;
        }
        let is_retained = backward.retains && self.lineage.has_one_backward(source);
        let mut witness = self.origin(source, &carrier);
        witness.push(Note {
            range: backward.range,
            text: if is_retained {
                "the backward pass keeps the graph, and nothing else frees it".to_owned()
            } else {
                let pass = self.file.short(backward.range);
                format!("`{pass}` frees the activations, not the nodes of the graph")
            },
        });
        // Only a pass that ran before is sure to have run on what is kept.
        let is_before = backward.range.end() <= keep.range.start();
        Some(KeptHistory {
            keep,
            region,
            level: if is_retained {
                Level::Error
            } else {
                Level::Warning
            },
            keeps_activations: is_retained,
            witness,
            carrier: candidate.part,
            can_detach: if is_before && !is_retained {
                Applicability::Safe
            } else {
                Applicability::Unsafe
            },
        })
    }

    /// `outputs.append(model(x))` with gradients on.
    fn never_freed(
        &self,
        keep: &'s Keep<'a>,
        within: &'s Loop<'a>,
        candidate: &Candidate<'_, 'a>,
    ) -> Option<KeptHistory<'s, 'a>> {
        let id = candidate.value.id?;
        let is_on = matches!(keep.context.gradients, Gradients::On | Gradients::Open);
        let is_carried = candidate.value.history() == History::Carried;
        if !is_carried || !is_on || self.is_used_for_training(keep) {
            return None;
        }
        let carrier = self.file.short(candidate.part);
        let mut witness = self.origin(id, &carrier);
        let backward = self.lineage.backward_through(id);
        let level = if let Some(backward) = backward {
            let text = format!(
                "a backward pass runs through `{carrier}` and frees the activations, not the nodes of the graph"
            );
            witness.push(Note {
                range: backward.range,
                text,
            });
            Level::Warning
        } else {
            let text = format!("gradients are on here, and nothing runs backward on `{carrier}`");
            witness.push(Note {
                range: within.header,
                text,
            });
            self.level_if_left_alone(keep, within)?
        };
        Some(KeptHistory {
            keep,
            region: within.range,
            level,
            keeps_activations: backward.is_none(),
            witness,
            carrier: candidate.part,
            can_detach: Applicability::Unsafe,
        })
    }

    /// Whether a backward pass starts from what was added up: then it has to keep the history.
    fn is_used_for_training(&self, keep: &Keep<'a>) -> bool {
        keep.after
            .is_some_and(|after| self.lineage.backward_through(after).is_some())
    }

    /// How bad it is, if what was added up stays where nobody can train with it.
    fn level_if_left_alone(&self, keep: &Keep<'a>, within: &Loop<'a>) -> Option<Level> {
        if is_over_modules(keep, within) {
            return None;
        }
        if evaluation::is_evaluation(self.file, self.scope, within) {
            return Some(Level::Error);
        }
        let is_trained_here = !self.scope.backwards.is_empty();
        let is_data = evaluation::is_over_data(within);
        if is_data && !is_trained_here {
            return Some(Level::Error);
        }
        let is_local =
            keep.key.is_some_and(|key| key.attribute.is_none()) || keep.how == How::Comprehended;
        let after = keep.after?;
        let went = |to| self.lineage.went(after, to);
        let goes_nowhere = !went(Destination::Returned)
            && !went(Destination::Stored)
            && !went(Destination::Passed);
        let is_trained = self
            .file
            .scopes
            .iter()
            .any(|scope| !scope.backwards.is_empty());
        let level = if is_trained {
            Level::Warning
        } else {
            Level::Error
        };
        (is_local && goes_nowhere).then_some(level)
    }

    fn origin(&self, id: ValueId, carrier: &str) -> Vec<Note> {
        let made = self.file.short(id.range());
        if made == carrier || made.is_empty() {
            return Vec::new();
        }
        let text = format!("`{carrier}` comes from `{made}`");
        vec![Note {
            range: id.range(),
            text,
        }]
    }
}

/// A value in what is kept, and its text.
struct Candidate<'k, 'a> {
    value: &'k Value<'a>,
    part: TextRange,
}

/// The values in what is kept: itself, or the members of a tuple or dict.
fn candidates<'k, 'a>(keep: &'k Keep<'a>) -> impl Iterator<Item = Candidate<'k, 'a>> {
    let parts: Vec<TextRange> = match keep.kept {
        Expr::Tuple(node) => node.elts.iter().map(Ranged::range).collect(),
        Expr::List(node) => node.elts.iter().map(Ranged::range).collect(),
        Expr::Dict(node) => node.items.iter().map(|item| item.value.range()).collect(),
        _ => Vec::new(),
    };
    let members = keep.value.members().iter().zip(parts);
    std::iter::once((&keep.value, keep.kept.range()))
        .chain(members)
        .map(|(value, part)| Candidate { value, part })
}

/// `state[:, 1] = x` changes a tensor that is there; it does not grow.
fn is_slice(keeper: &Expr) -> bool {
    match keeper {
        Expr::Subscript(node) => matches!(node.slice.as_ref(), Expr::Slice(_) | Expr::Tuple(_)),
        _ => false,
    }
}

fn is_emptying(name: &str) -> bool {
    matches!(
        name,
        "clear" | "pop" | "popleft" | "popitem" | "remove" | "reset" | "zero_"
    )
}

fn is_bounded(keeper: &Value<'_>) -> bool {
    match &keeper.kind {
        Kind::Container(container) => container.shape == ContainerShape::Bounded,
        Kind::Text(_) => true,
        _ => false,
    }
}

/// `for model in models`: an ensemble has few members, and they are there anyway.
fn is_over_modules(keep: &Keep<'_>, within: &Loop<'_>) -> bool {
    let callee = match keep.kept {
        Expr::Call(call) => call.func.as_ref(),
        _ => return false,
    };
    let behind = Key::behind(callee).map(|key| key.name);
    behind.is_some_and(|name| within.targets.contains(&name))
}

fn receiver_key(callee: &Expr) -> Option<Key<'_>> {
    match callee {
        Expr::Attribute(attribute) => Key::behind(&attribute.value),
        _ => None,
    }
}
