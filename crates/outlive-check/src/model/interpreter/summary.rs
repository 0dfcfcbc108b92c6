//! What a caller learns of a function of the same file, and what a function learns of its callers.

use std::rc::Rc;

use crate::front::TextRange;
use crate::front::ast::{AnyParameterRef, Expr, Identifier, StmtFunctionDef};
use crate::model::facts::{Backward, Gradients, Key, Scope};
use crate::model::lineage::Lineage;
use crate::model::value::{Arguments, FunctionId, History, Kind, Tensor, Value, ValueId};

use super::Interpreter;

/// What a caller learns.
#[derive(Clone, Debug)]
pub(super) struct Summary<'a> {
    pub is_known: bool,
    /// What it returns, with gradients on.
    pub returns: Value<'a>,
    /// Whether it ran a backward pass on what it returns.
    pub backward_on_result: bool,
    /// The members of a returned tuple on which it ran one.
    pub backward_on_members: Vec<usize>,
    /// The parameters on which it runs a backward pass.
    pub backward_on: Vec<&'a str>,
    /// The parameters of which it makes something on which it runs one.
    pub backward_through: Vec<&'a str>,
    /// Functions that call it.
    pub callers: Vec<FunctionId>,
}

impl Default for Summary<'_> {
    fn default() -> Self {
        Self {
            is_known: false,
            returns: Value::UNKNOWN,
            backward_on_result: false,
            backward_on_members: Vec::new(),
            backward_on: Vec::new(),
            backward_through: Vec::new(),
            callers: Vec::new(),
        }
    }
}

/// What a function learns of its callers.
#[derive(Clone, Debug, Default)]
pub(super) struct Sites<'a> {
    /// Whether gradients are on where it is called; `None` if nobody calls it.
    pub gradients: Option<Gradients>,
    /// Its arguments, where they are of a kind that every caller agrees on.
    pub parameters: Vec<(&'a str, Value<'a>)>,
}

impl<'a> Interpreter<'a> {
    /// Runs a function for what it returns, unless that is known or it is running.
    pub(super) fn summarise(&mut self, id: FunctionId) {
        let is_known = self.summaries.get(id.0).is_none_or(|it| it.is_known);
        if is_known || self.running.contains(&id) || self.running.len() > 12 {
            return;
        }
        let known = self
            .sites
            .get(id.0)
            .map(|site| site.parameters.clone())
            .unwrap_or_default();
        let scope = self.run_function(id, &known);
        let Some(summary) = self.summaries.get_mut(id.0) else {
            return;
        };
        summary.is_known = true;
        let Some(function) = self.declarations.functions.get(id.0) else {
            return;
        };
        let lineage = Lineage::new(&scope);
        summary.returns = returned(&scope);
        summary.backward_on_result = scope.returns.iter().any(|it| {
            let value = it.value.id;
            value.is_some_and(|value| lineage.own_backward(value).is_some())
        });
        summary.backward_on_members = backward_on_members(&scope, &lineage);
        if !scope.backwards.is_empty() {
            summary.backward_on =
                parameters_that(function.node, |id| lineage.own_backward(id).is_some());
            summary.backward_through =
                parameters_that(function.node, |id| lineage.backward_through(id).is_some());
        }
    }

    /// Notes that a function of this file is called, and gives what it returns.
    pub(super) fn call_function(
        &mut self,
        id: FunctionId,
        arguments: &Arguments<'a>,
        range: TextRange,
        has_self: bool,
    ) -> Value<'a> {
        self.note_site(id, arguments, has_self);
        self.summarise(id);
        let summary = self.summaries.get(id.0).cloned().unwrap_or_default();
        let mut value = Value::made(self.in_this_mode(&summary.returns.kind), range);
        if let Kind::Sequence(members) = &value.kind {
            // What a function returns was made by this call, not where its text stands.
            let members: Rc<[Value<'a>]> = members
                .iter()
                .enumerate()
                .map(|(index, member)| Value {
                    kind: self.in_this_mode(&member.kind),
                    id: Some(ValueId::member(range, index)),
                })
                .collect();
            value.kind = Kind::Sequence(members);
        }
        for argument in arguments.all() {
            self.frame.derive(range, argument, false);
        }
        if summary.backward_on_result {
            self.note_backward(range, value.id, false);
        }
        for index in summary.backward_on_members {
            let from = value.members().get(index).and_then(|member| member.id);
            self.note_backward(range, from, false);
        }
        for name in &summary.backward_on {
            let argument = self.argument_of(id, arguments, name, has_self);
            let from = argument.and_then(|value| value.id);
            self.note_backward(range, from, false);
        }
        self.note_backward_within(id, arguments, range, has_self, &summary.backward_through);
        value
    }

    /// Writes down that a function runs a backward pass on something that it makes of these.
    fn note_backward_within(
        &mut self,
        id: FunctionId,
        arguments: &Arguments<'a>,
        range: TextRange,
        has_self: bool,
        names: &[&'a str],
    ) {
        let hidden = ValueId::within(range);
        for name in names {
            if let Some(argument) = self.argument_of(id, arguments, name, has_self) {
                self.frame.derive(hidden.range(), &argument, false);
            }
        }
        if !names.is_empty() {
            self.note_backward(range, Some(hidden), false);
        }
    }

    /// Writes down that a backward pass starts.
    pub(super) fn note_backward(&mut self, range: TextRange, from: Option<ValueId>, retains: bool) {
        if self.frame.is_recording() {
            let context = self.frame.context();
            self.frame.scope.backwards.push(Backward {
                range,
                from,
                retains,
                context,
            });
        }
    }

    /// A kind as it is with the gradients of here.
    fn in_this_mode(&self, kind: &Kind<'a>) -> Kind<'a> {
        match kind {
            Kind::Tensor(tensor) => Kind::Tensor(Tensor {
                history: match self.frame.gradients {
                    Gradients::On | Gradients::Open => tensor.history,
                    Gradients::Off => History::None,
                    Gradients::Unknown if tensor.history == History::None => History::None,
                    Gradients::Unknown => History::Unknown,
                },
                ..tensor.clone()
            }),
            other => other.clone(),
        }
    }

    fn note_site(&mut self, id: FunctionId, arguments: &Arguments<'a>, has_self: bool) {
        let gradients = self.frame.gradients;
        let caller = self.frame.function;
        let names = self.parameter_names(id, has_self);
        if let (Some(caller), Some(summary)) = (caller, self.summaries.get_mut(id.0))
            && !summary.callers.contains(&caller)
        {
            summary.callers.push(caller);
        }
        let defaults = if arguments.has_more {
            Vec::new()
        } else {
            self.defaults(id)
        };
        let Some(site) = self.sites.get_mut(id.0) else {
            return;
        };
        let is_first = site.gradients.is_none();
        site.gradients = Some(site.gradients.map_or(gradients, |old| both(old, gradients)));
        for (position, name) in names.iter().enumerate() {
            let value = arguments
                .get(position, name)
                .or_else(|| defaults.iter().find(|(it, _)| it == name).map(|it| &it.1))
                .cloned()
                .unwrap_or(Value::UNKNOWN);
            // Who gives a module shows what the parameter is for; who gives something unknown says
            // nothing against it.
            let is_module = matches!(value.kind, Kind::Module(_));
            match site.parameters.iter_mut().find(|(it, _)| it == name) {
                Some((_, old)) if value.is_unknown() && matches!(old.kind, Kind::Module(_)) => {}
                Some((_, old)) => *old = old.joined(&value),
                None if is_first && is_telling(&value.kind) || is_module => {
                    site.parameters.push((name, value));
                }
                None => {}
            }
        }
        if !is_first {
            site.parameters.retain(|(_, value)| is_telling(&value.kind));
        }
    }

    /// Notes that a function may be called from here, with what is not known.
    pub(super) fn note_mode(&mut self, id: FunctionId) {
        let gradients = self.frame.gradients;
        let caller = self.frame.function;
        if let (Some(caller), Some(summary)) = (caller, self.summaries.get_mut(id.0))
            && !summary.callers.contains(&caller)
        {
            summary.callers.push(caller);
        }
        if let Some(site) = self.sites.get_mut(id.0) {
            site.gradients = Some(site.gradients.map_or(gradients, |old| both(old, gradients)));
            site.parameters.clear();
        }
    }

    fn parameter_names(&self, id: FunctionId, has_self: bool) -> Vec<&'a str> {
        let function = self.declarations.functions.get(id.0);
        let node = function.map(|function| function.node);
        let parameters = node
            .map(|node| node.parameters.iter())
            .into_iter()
            .flatten();
        parameters
            .skip(usize::from(has_self))
            .map(|parameter| parameter.name().as_str())
            .collect()
    }

    /// The numbers that parameters are unless the caller says otherwise.
    fn defaults(&self, id: FunctionId) -> Vec<(&'a str, Value<'a>)> {
        let function = self.declarations.functions.get(id.0);
        let parameters = function
            .into_iter()
            .flat_map(|function| function.node.parameters.iter());
        parameters
            .filter_map(|parameter| {
                let value = match parameter.default()? {
                    Expr::NumberLiteral(number) => super::expression::number(&number.value),
                    Expr::Name(name) => self.constant(name.id.as_str())?,
                    _ => return None,
                };
                Some((parameter.name().as_str(), value))
            })
            .collect()
    }

    /// The number or shape that a name of the module stands for.
    fn constant(&self, name: &'a str) -> Option<Value<'a>> {
        let names = match self.frame.function {
            Some(_) => &self.globals,
            None => &self.frame.environment,
        };
        let value = names.get(Key::name(name))?;
        let is_shape = |value: &Value<'a>| {
            let mut members = value.members().iter();
            !value.members().is_empty() && members.all(|it| it.as_int().is_some())
        };
        let is_constant = value.as_int().is_some() || is_shape(value);
        is_constant.then(|| value.clone())
    }

    fn argument_of(
        &self,
        id: FunctionId,
        arguments: &Arguments<'a>,
        name: &str,
        has_self: bool,
    ) -> Option<Value<'a>> {
        let names = self.parameter_names(id, has_self);
        let position = names.iter().position(|it| *it == name)?;
        arguments.get(position, name).cloned()
    }
}

/// Whether knowing this of an argument is worth anything, and true for the whole function.
fn is_telling(kind: &Kind<'_>) -> bool {
    !matches!(kind, Kind::Unknown | Kind::None | Kind::Exception)
}

/// One caller has gradients on and another not: the function may run with them.
fn both(one: Gradients, two: Gradients) -> Gradients {
    match (one, two) {
        (Gradients::On, _) | (_, Gradients::On) => Gradients::On,
        (Gradients::Open, _) | (_, Gradients::Open) => Gradients::Open,
        (Gradients::Unknown, _) | (_, Gradients::Unknown) => Gradients::Unknown,
        (Gradients::Off, Gradients::Off) => Gradients::Off,
    }
}

fn returned<'a>(scope: &Scope<'a>) -> Value<'a> {
    let mut values = scope.returns.iter().map(|it| &it.value);
    let Some(first) = values.next() else {
        return Value {
            kind: Kind::None,
            id: None,
        };
    };
    let joined = values.fold(first.clone(), |joined, value| joined.joined(value));
    Value {
        kind: joined.kind,
        id: None,
    }
}

/// The parameters whose values are such.
fn parameters_that(node: &StmtFunctionDef, is_such: impl Fn(ValueId) -> bool) -> Vec<&str> {
    use crate::front::Ranged;
    let names = node.parameters.iter().map(AnyParameterRef::name);
    names
        .filter(|name| is_such(ValueId::at(name.range())))
        .map(Identifier::as_str)
        .collect()
}

fn backward_on_members(scope: &Scope<'_>, lineage: &Lineage<'_, '_>) -> Vec<usize> {
    let members = scope
        .returns
        .iter()
        .flat_map(|it| it.value.members().iter().enumerate());
    members
        .filter(|(_, member)| {
            member
                .id
                .is_some_and(|id| lineage.own_backward(id).is_some())
        })
        .map(|(index, _)| index)
        .collect()
}
