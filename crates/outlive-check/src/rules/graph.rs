//! The autograd graph of a scope: which values a backward pass runs through.
//!
//! It ends where the history does: at `.detach()`, at numbers, at modules and data. What may be in
//! it counts as in it, so that a rule that needs a value to be outside is silent.

use std::collections::{BTreeMap, BTreeSet};

use crate::front::ast::Expr;
use crate::front::{Ranged, TextRange};
use crate::model::facts::{Call, Destination, Scope};
use crate::model::lineage::Lineage;
use crate::model::value::{History, Kind, ModuleRole, ValueId};
use crate::model::{File, library};

/// The graph of a scope.
pub(super) struct Graph<'s, 'f, 'a> {
    file: &'f File<'a>,
    lineage: Lineage<'s, 'a>,
    calls: BTreeMap<ValueId, &'s Call<'a>>,
    /// Values without a history.
    cut: BTreeSet<ValueId>,
}

/// Ends of expressions that leave the graph.
const LEAVES: [&str; 10] = [
    ".detach()",
    ".data",
    ".item()",
    ".numpy()",
    ".tolist()",
    ".grad",
    ".shape",
    ".size()",
    ".dtype",
    ".device",
];

impl<'s, 'f, 'a> Graph<'s, 'f, 'a> {
    /// Draws the graph of a scope.
    pub(super) fn new(file: &'f File<'a>, scope: &'s Scope<'a>) -> Self {
        let mut graph = Self {
            file,
            lineage: Lineage::new(scope),
            calls: BTreeMap::new(),
            cut: BTreeSet::new(),
        };
        for call in &scope.calls {
            graph.calls.insert(ValueId::at(call.node.range()), call);
            graph.learn(call.result.id, &call.result.kind);
            graph.learn_module(call);
        }
        for binding in &scope.bindings {
            graph.learn(binding.value.id, &binding.value.kind);
        }
        graph
    }

    fn learn(&mut self, id: Option<ValueId>, kind: &Kind<'_>) {
        let is_cut = match kind {
            Kind::Tensor(tensor) => tensor.history == History::None,
            Kind::Unknown | Kind::Sequence(_) | Kind::Container(_) | Kind::Instance(_) => false,
            _ => true,
        };
        if let Some(id) = id.filter(|_| is_cut) {
            self.cut.insert(id);
        }
    }

    /// What is called as a module has no history, whatever is known of how it was made.
    fn learn_module(&mut self, call: &Call<'a>) {
        let is_module = |kind: &Kind<'_>| matches!(kind, Kind::Module(_));
        if let Some(receiver) = call.receiver.as_ref().filter(|it| is_module(&it.kind)) {
            self.cut.extend(receiver.id);
        }
        if !is_module(&call.callee) {
            return;
        }
        let given: BTreeSet<ValueId> = call
            .arguments
            .all()
            .flat_map(|it| std::iter::once(it).chain(it.members()))
            .filter_map(|it| it.id)
            .collect();
        let made = ValueId::at(call.node.range());
        let callee = self.lineage.parents(made).filter(|it| !given.contains(it));
        self.cut.extend(callee.collect::<Vec<_>>());
    }

    /// Whether a value has no history, by its kind or by how it is written.
    pub(super) fn is_cut(&self, value: ValueId) -> bool {
        let text = self.file.slice(value.range());
        self.cut.contains(&value) || LEAVES.iter().any(|leave| text.ends_with(leave))
    }

    /// The values that a backward pass from here may run through.
    pub(super) fn through(&self, value: ValueId) -> BTreeSet<ValueId> {
        self.lineage.ancestors(value, |it| self.is_cut(it))
    }

    /// Whether something with the history of this value went to one of these places.
    pub(super) fn went(&self, value: ValueId, places: &[Destination]) -> bool {
        let escapes = self.lineage.escapes();
        escapes.into_iter().any(|(escaped, to)| {
            places.contains(&to) && !self.is_cut(escaped) && self.through(escaped).contains(&value)
        })
    }

    /// The call that made a value.
    pub(super) fn call(&self, value: ValueId) -> Option<&'s Call<'a>> {
        self.calls.get(&value).copied()
    }

    /// Whether a value is the result of an operation, and not only another name or a part.
    pub(super) fn is_operation(&self, value: ValueId) -> bool {
        let text = self.file.slice(value.range());
        let is_name = text
            .chars()
            .all(|it| it.is_alphanumeric() || it == '_' || it == '.');
        !is_name
    }

    /// Whether a value is made of itself, as it was in the round before.
    pub(super) fn is_carried_over(&self, value: ValueId) -> bool {
        let mut parents = self.lineage.parents(value).filter(|it| *it != value);
        parents.any(|parent| !self.is_cut(parent) && self.through(parent).contains(&value))
    }

    /// Whether a value came out of a module in this place: a forward pass.
    pub(super) fn is_forward(&self, value: ValueId, within: TextRange) -> bool {
        let Some(call) = self.call(value) else {
            return false;
        };
        let is_module =
            matches!(&call.callee, Kind::Module(module) if module.role != ModuleRole::Loss);
        let of_module = call
            .receiver
            .as_ref()
            .is_some_and(|it| matches!(it.kind, Kind::Module(_)));
        let of_file = call.function.is_some() && call.result.history() == History::Carried;
        let is_like_module = matches!(call.callee, Kind::Unknown)
            && call.arguments.all().next().is_some()
            && !library::is_loss_name(call.name)
            && match call.node.func.as_ref() {
                Expr::Name(_) => true,
                Expr::Attribute(it) => {
                    matches!(it.value.as_ref(), Expr::Name(name) if name.id.as_str() == "self")
                }
                _ => false,
            };
        let is_pass = is_module || of_module || of_file || is_like_module;
        within.contains_range(value.range()) && is_pass
    }
}
