//! The arguments of a call.

use super::value::Value;

/// The arguments of a call, evaluated.
#[derive(Clone, Debug, Default)]
pub struct Arguments<'a> {
    /// Without a name.
    pub positional: Vec<Value<'a>>,
    /// With a name.
    pub named: Vec<(&'a str, Value<'a>)>,
    /// Whether there are more, in `*args` or `**kwargs`.
    pub has_more: bool,
}

impl<'a> Arguments<'a> {
    /// The argument of this name, or else at this position.
    pub fn get(&self, position: usize, name: &str) -> Option<&Value<'a>> {
        self.named(name).or_else(|| self.positional.get(position))
    }

    /// The argument of this name.
    pub fn named(&self, name: &str) -> Option<&Value<'a>> {
        self.named
            .iter()
            .find(|(it, _)| *it == name)
            .map(|(_, value)| value)
    }

    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = &Value<'a>> {
        self.positional
            .iter()
            .chain(self.named.iter().map(|(_, value)| value))
    }
}
