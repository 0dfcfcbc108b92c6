//! Names and what they are bound to, at one point of the run.

use std::collections::BTreeSet;
use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::facts::Key;
use super::value::{Value, ValueId};
use crate::front::ast::Expr;

/// Names and values, in layers: where a way parts from another, what it binds lies on top of what
/// both know. So copies are cheap, and where the ways meet again only the top layers are looked at.
#[derive(Clone, Debug, Default)]
pub(super) struct Environment<'a> {
    top: Option<Rc<Layer<'a>>>,
}

/// More layers than this are made one: a name is looked for in each of them.
const MOST_LAYERS: usize = 16;

/// What was bound since the ways parted. A name without value and attributes was forgotten.
#[derive(Clone, Debug, Default)]
struct Layer<'a> {
    names: FxHashMap<&'a str, Name<'a>>,
    below: Option<Rc<Layer<'a>>>,
    /// How many layers there are, this one included.
    height: usize,
}

/// What a name is bound to, and those of its attributes that were seen.
#[derive(Clone, Debug, Default)]
struct Name<'a> {
    value: Option<Value<'a>>,
    /// Other values that it may have, by the way that was taken.
    others: Vec<ValueId>,
    attributes: Vec<(&'a str, Value<'a>)>,
}

impl<'a> Key<'a> {
    /// A plain name.
    pub fn name(name: &'a str) -> Self {
        Self {
            name,
            attribute: None,
        }
    }

    /// The key of `name` or `name.attribute`.
    pub fn of(expression: &'a Expr) -> Option<Self> {
        match expression {
            Expr::Name(name) => Some(Self::name(name.id.as_str())),
            Expr::Attribute(attribute) => match attribute.value.as_ref() {
                Expr::Name(name) => Some(Self {
                    name: name.id.as_str(),
                    attribute: Some(attribute.attr.as_str()),
                }),
                _ => None,
            },
            _ => None,
        }
    }

    /// The key of what an item is taken of: `history` in `history["loss"]["train"]`.
    pub fn behind(expression: &'a Expr) -> Option<Self> {
        match expression {
            Expr::Subscript(subscript) => Self::behind(&subscript.value),
            other => Self::of(other),
        }
    }
}

impl<'a> Environment<'a> {
    /// A copy for another way. What was bound until here is put together first, while nobody else
    /// knows it.
    pub(super) fn part(&mut self) -> Self {
        self.settle();
        self.clone()
    }

    /// What it is bound to.
    pub(super) fn get(&self, key: Key<'a>) -> Option<&Value<'a>> {
        let name = self.name(key.name)?;
        match key.attribute {
            None => name.value.as_ref(),
            Some(attribute) => name
                .attributes
                .iter()
                .find(|(it, _)| *it == attribute)
                .map(|(_, value)| value),
        }
    }

    /// Binds it. A name that is bound anew loses what was known of its attributes.
    pub(super) fn set(&mut self, key: Key<'a>, value: Value<'a>) {
        let name = self.own(key.name);
        let Some(attribute) = key.attribute else {
            name.value = Some(value);
            name.others.clear();
            name.attributes.clear();
            return;
        };
        match name.attributes.iter_mut().find(|(it, _)| *it == attribute) {
            Some((_, old)) => *old = value,
            None => name.attributes.push((attribute, value)),
        }
    }

    /// The other values that a name may have. Only who reads the name has to know: one that is
    /// bound anew before it is read does not tie the values together.
    pub(super) fn others(&self, name: &str) -> &[ValueId] {
        self.name(name).map_or(&[], |name| &name.others)
    }

    /// Forgets it.
    pub(super) fn remove(&mut self, key: Key<'a>) {
        if self.name(key.name).is_none() {
            return;
        }
        let name = self.own(key.name);
        match key.attribute {
            None => *name = Name::default(),
            Some(attribute) => name.attributes.retain(|(it, _)| *it != attribute),
        }
    }

    /// What is known where this way and another meet. A name that only one of them binds keeps
    /// its value: to use it on the other way would be an error. Gives the pairs of values of which
    /// an attribute now may be the one or the other.
    pub(super) fn join(&mut self, other: &Self) -> Vec<(ValueId, ValueId)> {
        let mut either = Vec::new();
        for key in self.differences(other) {
            if let Some(theirs) = other.name(key) {
                self.own(key).join(theirs, &mut either);
            }
        }
        either
    }

    fn name(&self, name: &str) -> Option<&Name<'a>> {
        let layers = std::iter::successors(self.top.as_deref(), |layer| layer.below.as_deref());
        layers.into_iter().find_map(|layer| layer.names.get(name))
    }

    /// The names that one of two ways has bound since they parted.
    fn differences(&self, other: &Self) -> BTreeSet<&'a str> {
        let height = |layer: Option<&Rc<Layer<'a>>>| layer.map_or(0, |layer| layer.height);
        let (mut one, mut two) = (self.top.as_ref(), other.top.as_ref());
        let mut names = BTreeSet::new();
        while !is_same(one, two) {
            let higher = if height(one) >= height(two) {
                &mut one
            } else {
                &mut two
            };
            let Some(layer) = higher.take() else {
                break;
            };
            names.extend(layer.names.keys());
            *higher = layer.below.as_ref();
        }
        names
    }

    /// A name in a layer that nobody else knows, with what is known of it so far.
    fn own(&mut self, key: &'a str) -> &mut Name<'a> {
        self.settle();
        if self.top.as_mut().and_then(Rc::get_mut).is_none() {
            self.top = Some(Rc::new(Layer::above(self.top.take())));
        }
        let known = match &self.top {
            Some(top) if !top.names.contains_key(key) => self.name(key).cloned(),
            _ => None,
        };
        // It is ours alone, so that nothing is copied.
        let layer = Rc::make_mut(self.top.get_or_insert_default());
        layer.names.entry(key).or_insert(known.unwrap_or_default())
    }

    /// Puts the top layer into the one below as long as nobody else knows either.
    fn settle(&mut self) {
        while let Some(layer) = self.top.as_mut().and_then(Rc::get_mut)
            && let Some(below) = layer.below.as_mut().and_then(Rc::get_mut)
        {
            below.names.extend(std::mem::take(&mut layer.names));
            self.top = layer.below.take();
        }
    }
}

impl Layer<'_> {
    /// An empty one above others, or one in place of too many.
    fn above(below: Option<Rc<Self>>) -> Self {
        let height = 1 + below.as_ref().map_or(0, |below| below.height);
        let mut names = FxHashMap::default();
        if height <= MOST_LAYERS {
            return Self {
                names,
                below,
                height,
            };
        }
        let layers: Vec<&Self> =
            std::iter::successors(below.as_deref(), |layer| layer.below.as_deref()).collect();
        for layer in layers.into_iter().rev() {
            names.extend(layer.names.iter().map(|(key, name)| (*key, name.clone())));
        }
        Self {
            names,
            below: None,
            height: 1,
        }
    }
}

impl Name<'_> {
    /// What it may be where two ways meet.
    fn join(&mut self, other: &Self, either: &mut Vec<(ValueId, ValueId)>) {
        self.value = match (self.value.take(), &other.value) {
            (Some(one), Some(two)) => {
                let theirs = two.id.filter(|two| one.id.is_some_and(|one| one != *two));
                for theirs in theirs.iter().chain(&other.others) {
                    if one.id != Some(*theirs) && !self.others.contains(theirs) {
                        self.others.push(*theirs);
                    }
                }
                Some(one.joined(two))
            }
            (one, two) => one.or_else(|| two.clone()),
        };
        for (attribute, value) in &other.attributes {
            match self.attributes.iter_mut().find(|(it, _)| it == attribute) {
                Some((_, own)) => {
                    either.extend(own.id.zip(value.id).filter(|(one, two)| one != two));
                    *own = own.joined(value);
                }
                None => self.attributes.push((*attribute, value.clone())),
            }
        }
    }
}

fn is_same(one: Option<&Rc<Layer<'_>>>, two: Option<&Rc<Layer<'_>>>) -> bool {
    match (one, two) {
        (Some(one), Some(two)) => Rc::ptr_eq(one, two),
        (one, two) => one.is_none() && two.is_none(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::value::Kind;

    fn int(number: i64) -> Value<'static> {
        Value {
            kind: Kind::Int(number),
            id: None,
        }
    }

    fn told(environment: &Environment<'static>, name: &'static str) -> String {
        let value = environment.get(Key::name(name));
        value.map_or("nothing".to_owned(), |value| format!("{:?}", value.kind))
    }

    #[test]
    fn a_way_sees_what_was_bound_before_and_not_what_another_binds() {
        let mut one = Environment::default();
        one.set(Key::name("a"), int(1));
        let mut two = one.clone();
        two.set(Key::name("a"), int(2));
        two.set(Key::name("b"), int(3));
        assert_eq!(
            (told(&one, "a"), told(&one, "b")),
            ("Int(1)".into(), "nothing".into())
        );
        assert_eq!(
            (told(&two, "a"), told(&two, "b")),
            ("Int(2)".into(), "Int(3)".into())
        );
    }

    #[test]
    fn where_ways_meet_a_name_is_what_both_agree_on() {
        let mut one = Environment::default();
        for name in ["same", "changed", "forgotten"] {
            one.set(Key::name(name), int(1));
        }
        let mut two = one.clone();
        two.set(Key::name("changed"), int(2));
        two.set(Key::name("new"), int(3));
        two.remove(Key::name("forgotten"));
        one.join(&two);
        assert_eq!(told(&one, "same"), "Int(1)");
        assert_eq!(told(&one, "changed"), "Number");
        assert_eq!(told(&one, "new"), "Int(3)");
        assert_eq!(told(&one, "forgotten"), "Int(1)");
    }

    #[test]
    fn a_name_that_is_bound_anew_or_forgotten_has_no_attributes() {
        let attribute = Key {
            name: "a",
            attribute: Some("b"),
        };
        let mut one = Environment::default();
        one.set(attribute, int(1));
        let mut two = one.clone();
        two.remove(Key::name("a"));
        assert!(one.get(attribute).is_some() && two.get(attribute).is_none());
        one.set(Key::name("a"), int(2));
        assert!(one.get(attribute).is_none());
    }

    #[test]
    fn however_many_ways_are_open_nothing_is_lost() {
        const NAMES: [&str; 40] = [
            "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q",
            "r", "s", "t", "u", "v", "w", "x", "y", "z", "aa", "bb", "cc", "dd", "ee", "ff", "gg",
            "hh", "ii", "jj", "kk", "ll", "mm", "nn",
        ];
        let mut open = vec![Environment::default()];
        for (index, name) in NAMES.iter().enumerate() {
            let mut next = open[index].clone();
            next.set(Key::name(name), int(index as i64));
            open.push(next);
        }
        let last = open.pop().unwrap();
        let first = &mut open[0];
        first.join(&last);
        for (index, name) in NAMES.iter().enumerate() {
            assert_eq!(told(first, name), format!("Int({index})"));
        }
    }
}
