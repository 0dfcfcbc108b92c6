//! Which values were made of which, and what became of them.

use std::cell::OnceCell;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use super::facts::{Backward, Destination, Edge, Scope};
use super::value::ValueId;

/// The family of the values of one scope. Each question about all backward passes or all escapes
/// is answered for all values at once: a notebook may have hundreds of both.
#[derive(Debug)]
pub struct Lineage<'s, 'a> {
    scope: &'s Scope<'a>,
    /// What each value was made of.
    of: OnceCell<BTreeMap<ValueId, Vec<Edge>>>,
    /// By way of which edges: the first backward pass that runs through a value.
    whole: OnceCell<BTreeMap<ValueId, usize>>,
    handed_on: OnceCell<BTreeMap<ValueId, usize>>,
    any: OnceCell<BTreeMap<ValueId, usize>>,
    /// What more than one backward pass runs through.
    shared: OnceCell<BTreeSet<ValueId>>,
    /// What went where, itself or as a part of something.
    gone: [OnceCell<BTreeSet<ValueId>>; 3],
}

impl<'s, 'a> Lineage<'s, 'a> {
    /// Reads the family of a scope.
    pub fn new(scope: &'s Scope<'a>) -> Self {
        Self {
            scope,
            of: OnceCell::new(),
            whole: OnceCell::new(),
            handed_on: OnceCell::new(),
            any: OnceCell::new(),
            shared: OnceCell::new(),
            gone: [const { OnceCell::new() }; 3],
        }
    }

    /// What a value was made of. The family is only drawn when somebody asks: most scopes have no
    /// backward pass, and nothing to ask for.
    fn edges(&self, value: ValueId) -> &[Edge] {
        let family = self.of.get_or_init(|| {
            let mut of: BTreeMap<ValueId, Vec<Edge>> = BTreeMap::new();
            for edge in &self.scope.edges {
                let parents = of.entry(edge.made).or_default();
                if !parents.contains(edge) {
                    parents.push(*edge);
                }
            }
            of
        });
        family.get(&value).map_or(&[], Vec::as_slice)
    }

    /// The backward pass that starts from this very value, or from it in another form
    /// (`loss.mean()`): proof that it carried a history, which that pass frees.
    pub fn own_backward(&self, value: ValueId) -> Option<&'s Backward> {
        self.first_backward(&self.whole, |edge| edge.is_whole, value)
    }

    /// The backward pass that runs through this value: it starts from something made of it.
    pub fn backward_through(&self, value: ValueId) -> Option<&'s Backward> {
        self.first_backward(&self.any, |_| true, value)
    }

    /// Whether there is one backward pass that runs through this value, and no other.
    pub fn has_one_backward(&self, value: ValueId) -> bool {
        let shared = self.shared.get_or_init(|| {
            let mut once = BTreeSet::new();
            let mut more = BTreeSet::new();
            for from in self.scope.backwards.iter().filter_map(|one| one.from) {
                let mut seen = BTreeSet::new();
                // What is made of something shared is passed over: all before it is shared too.
                self.visit_ancestors(
                    [from],
                    |_| true,
                    |value| seen.insert(value) && (once.insert(value) || more.insert(value)),
                );
            }
            more
        });
        self.backward_through(value).is_some() && !shared.contains(&value)
    }

    /// Whether this value, or something made of it, went there.
    pub fn went(&self, value: ValueId, to: Destination) -> bool {
        let gone = self.gone[to as usize].get_or_init(|| {
            let escapes = self.scope.escapes.iter().filter(|escape| escape.to == to);
            let mut gone = BTreeSet::new();
            let values = escapes.map(|escape| escape.value);
            self.visit_ancestors(values, |_| true, |value| gone.insert(value));
            gone
        });
        gone.contains(&value)
    }

    /// A value on which a backward pass runs, and whose history this value has taken over:
    /// `loss` of `loss * n`.
    pub fn backwarded_source(&self, value: ValueId) -> Option<(ValueId, &'s Backward)> {
        let mut found = None;
        self.walk(
            value,
            |edge| edge.hands_on,
            |source| {
                found = self.own_backward(source).map(|backward| (source, backward));
                found.is_some()
            },
        );
        found
    }

    /// The backward pass that starts from something that operators made of this value: `a` of
    /// `(a + 2 * b).backward()`.
    pub fn backward_of_sum(&self, value: ValueId) -> Option<&'s Backward> {
        self.first_backward(&self.handed_on, |edge| edge.hands_on, value)
    }

    /// Whether `made` is `of` after operators and methods that only change its form.
    pub fn is_form_of(&self, made: ValueId, of: ValueId) -> bool {
        self.walk(made, |edge| edge.is_form, |value| value == of)
    }

    /// Whether `made` was made of `of`, at whatever distance.
    pub fn is_made_of(&self, made: ValueId, of: ValueId) -> bool {
        self.walk(made, |_| true, |value| value == of)
    }

    /// The values that this one was made of, itself among them, without what lies behind values
    /// that are cut off.
    pub fn ancestors(&self, value: ValueId, is_cut: impl Fn(ValueId) -> bool) -> BTreeSet<ValueId> {
        let mut seen = BTreeSet::new();
        let mut next = vec![value];
        while let Some(value) = next.pop() {
            if !is_cut(value) && seen.insert(value) {
                next.extend(self.edges(value).iter().map(|edge| edge.of));
            }
        }
        seen
    }

    /// The values that went out of sight, and where.
    pub fn escapes(&self) -> impl Iterator<Item = (ValueId, Destination)> {
        let escapes = self.scope.escapes.iter();
        escapes.map(|escape| (escape.value, escape.to))
    }

    /// What a value was made of directly.
    pub fn parents(&self, value: ValueId) -> impl Iterator<Item = ValueId> {
        self.edges(value).iter().map(|edge| edge.of)
    }

    /// Walks from a value to those it was made of, until one is found.
    fn walk(
        &self,
        from: ValueId,
        follow: impl Fn(&Edge) -> bool,
        mut is_found: impl FnMut(ValueId) -> bool,
    ) -> bool {
        let mut seen = BTreeSet::new();
        let mut next = vec![from];
        while let Some(value) = next.pop() {
            if !seen.insert(value) {
                continue;
            }
            if is_found(value) {
                return true;
            }
            next.extend(
                self.edges(value)
                    .iter()
                    .filter(|edge| follow(edge))
                    .map(|edge| edge.of),
            );
        }
        false
    }

    /// The first backward pass that comes to a value by way of these edges.
    fn first_backward(
        &self,
        table: &OnceCell<BTreeMap<ValueId, usize>>,
        follow: fn(&Edge) -> bool,
        value: ValueId,
    ) -> Option<&'s Backward> {
        let table = table.get_or_init(|| {
            let mut first = BTreeMap::new();
            for (index, backward) in self.scope.backwards.iter().enumerate() {
                let from = backward.from;
                self.visit_ancestors(from, follow, |value| match first.entry(value) {
                    Entry::Vacant(entry) => {
                        entry.insert(index);
                        true
                    }
                    Entry::Occupied(_) => false,
                });
            }
            first
        });
        self.scope.backwards.get(*table.get(&value)?)
    }

    /// Visits values and what they were made of; does not go on where `visit` says so.
    fn visit_ancestors(
        &self,
        from: impl IntoIterator<Item = ValueId>,
        follow: fn(&Edge) -> bool,
        mut visit: impl FnMut(ValueId) -> bool,
    ) {
        let mut next: Vec<ValueId> = from.into_iter().collect();
        while let Some(value) = next.pop() {
            if visit(value) {
                let edges = self.edges(value).iter().filter(|edge| follow(edge));
                next.extend(edges.map(|edge| edge.of));
            }
        }
    }
}
