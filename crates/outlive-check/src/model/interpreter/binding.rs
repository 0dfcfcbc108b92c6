//! Assignments: what a name is bound to, and what is put into something older.

use crate::front::ast::{self, Expr, Operator};
use crate::front::{Ranged, TextRange};
use crate::model::facts::{Binding, Destination, How, Keep, Key};
use crate::model::library;
use crate::model::pipeline;
use crate::model::value::{History, Kind, Value, ValueId};

use super::Interpreter;

impl<'a> Interpreter<'a> {
    pub(super) fn assign(&mut self, node: &'a ast::StmtAssign) {
        let value = self.value(&node.value);
        if let [target] = node.targets.as_slice()
            && let Some(kept) = added(target, &node.value)
        {
            let before = self.value_quietly(target);
            let kept_value = self.value_quietly(kept);
            self.keep(
                How::Added,
                node.range,
                target,
                before,
                (kept, kept_value),
                value.id,
            );
        }
        self.frame.assigned = Some(&node.value);
        for target in &node.targets {
            self.bind(target, value.clone(), node.range);
        }
        self.frame.assigned = None;
    }

    pub(super) fn add_to(&mut self, node: &'a ast::StmtAugAssign) {
        let before = self.value_quietly(&node.target);
        let value = self.value(&node.value);
        let is_list = matches!(before.kind, Kind::Container(_) | Kind::Sequence(_))
            || matches!(node.value.as_ref(), Expr::List(_) | Expr::ListComp(_));
        if node.op == Operator::Add && is_list {
            self.frame.put_into(&before, &value);
            self.keep(
                How::Appended,
                node.range,
                &node.target,
                before,
                (&node.value, value),
                None,
            );
            return;
        }
        let result = self.arithmetic(node.op, &before, &value, node.range);
        if node.op == Operator::Add {
            let after = result.id;
            let kept = (node.value.as_ref(), value);
            self.keep(How::Added, node.range, &node.target, before, kept, after);
        }
        self.bind(&node.target, result, node.range);
    }

    /// Writes down that a value is kept by something older.
    pub(super) fn keep(
        &mut self,
        how: How,
        range: TextRange,
        keeper: &'a Expr,
        before: Value<'a>,
        kept: (&'a Expr, Value<'a>),
        after: Option<ValueId>,
    ) {
        if !self.notes_facts() {
            return;
        }
        let context = self.frame.context();
        let after = after.or(before.id);
        let kept = (kept.0, self.contents(kept.0, kept.1));
        self.frame.scope.keeps.push(Keep {
            how,
            range,
            keeper,
            key: Key::behind(keeper),
            before,
            kept: kept.0,
            value: kept.1,
            after,
            context,
        });
    }

    /// What is in a dict display, so that rules see it as they see the members of a tuple.
    fn contents(&mut self, kept: &'a Expr, value: Value<'a>) -> Value<'a> {
        let Expr::Dict(node) = kept else {
            return value;
        };
        let items = node.items.iter();
        let members = items.map(|item| self.value_quietly(&item.value)).collect();
        Value::made(Kind::Sequence(members), node.range)
    }

    /// Binds a target to a value.
    pub(super) fn bind(&mut self, target: &'a Expr, value: Value<'a>, range: TextRange) {
        match target {
            Expr::Tuple(node) => self.unpack(&node.elts, &value, range),
            Expr::List(node) => self.unpack(&node.elts, &value, range),
            Expr::Starred(node) => {
                let rest = Value::made(Kind::Unknown, node.range);
                self.frame.derive(node.range, &value, false);
                self.bind(&node.value, rest, range);
            }
            Expr::Subscript(node) => {
                let container = self.value(&node.value);
                self.value(&node.slice);
                self.frame.put_into(&container, &value);
                if !matches!(container.kind, Kind::Container(_)) {
                    self.frame.escape(&value, Destination::Stored);
                }
                self.note_binding(None, target, &value, range);
                if let Some(kept) = self.frame.assigned {
                    self.keep(How::Stored, range, target, container, (kept, value), None);
                }
            }
            _ => {
                let key = Key::of(target);
                self.note_binding(key, target, &value, range);
                match key {
                    Some(key) => self.bind_key(key, value),
                    None => self.frame.escape(&value, Destination::Stored),
                }
            }
        }
    }

    fn bind_key(&mut self, key: Key<'a>, value: Value<'a>) {
        if let Some(attribute) = key.attribute {
            self.frame.escape(&value, Destination::Stored);
            if let Some(class) = self.frame.class
                && self.is_self(key.name)
            {
                let known = self.attributes.get(&(class, attribute));
                let joined = known.map_or_else(|| value.clone(), |known| known.joined(&value));
                self.attributes.insert((class, attribute), joined);
            }
        }
        self.frame.environment.set(key, value);
    }

    fn note_binding(
        &mut self,
        key: Option<Key<'a>>,
        target: &'a Expr,
        value: &Value<'a>,
        range: TextRange,
    ) {
        if self.notes_facts() {
            let context = self.frame.context();
            self.frame.scope.bindings.push(Binding {
                key,
                target,
                value: value.clone(),
                range,
                context,
            });
        }
    }

    /// `a, b = value`.
    fn unpack(&mut self, targets: &'a [Expr], value: &Value<'a>, range: TextRange) {
        let members = value.members();
        for (index, target) in targets.iter().enumerate() {
            let member = members
                .get(index)
                .filter(|_| members.len() == targets.len());
            let part = match member {
                Some(member) if member.id.is_some() => member.clone(),
                Some(member) => {
                    let part = Value::made(member.kind.clone(), target.range());
                    self.frame.derive(target.range(), value, false);
                    part
                }
                None => {
                    self.frame.derive(target.range(), value, false);
                    Value::made(part_of(value, target), target.range())
                }
            };
            self.bind(target, part, range);
        }
    }

    /// Whether this name is the object of the method that runs.
    pub(super) fn is_self(&self, name: &str) -> bool {
        let function = self
            .frame
            .function
            .and_then(|id| self.declarations.functions.get(id.0));
        function.is_some_and(|function| {
            function.class.is_some()
                && function
                    .node
                    .parameters
                    .iter()
                    .next()
                    .is_some_and(|first| first.name().as_str() == name)
        })
    }
}

/// The `x` of `total = total + x`, `total = x + total`, and of a running average
/// `total = 0.9 * total + x`.
fn added<'a>(target: &'a Expr, value: &'a Expr) -> Option<&'a Expr> {
    let Expr::BinOp(sum) = value else {
        return None;
    };
    let key = Key::of(target)?;
    if sum.op != Operator::Add {
        return None;
    }
    if is_scaled(&sum.left, key) {
        Some(&sum.right)
    } else if is_scaled(&sum.right, key) {
        Some(&sum.left)
    } else {
        None
    }
}

/// Whether an expression is this name, or this name times something.
pub(super) fn is_scaled(expression: &Expr, key: Key<'_>) -> bool {
    match expression {
        Expr::BinOp(product) if product.op == Operator::Mult => {
            is_scaled(&product.left, key) || is_scaled(&product.right, key)
        }
        other => Key::of(other) == Some(key),
    }
}

/// What one of several results of a module is: a loss or an output has the history of the module,
/// anything else may be a number.
fn part_of<'a>(value: &Value<'a>, target: &Expr) -> Kind<'a> {
    let name = match target {
        Expr::Name(name) => name.id.as_str(),
        Expr::Tuple(_) | Expr::List(_) => "state",
        _ => "",
    };
    match &value.kind {
        Kind::Tensor(tensor) if tensor.history == History::Carried => {
            // A prediction may be the number of a class.
            if library::is_output_name(name) && !name.contains("pred") {
                Kind::Tensor(tensor.clone())
            } else {
                Kind::Unknown
            }
        }
        Kind::Tensor(tensor) => Kind::Tensor(tensor.clone()),
        Kind::Object(object) if pipeline::is_several(object) => value.kind.clone(),
        _ => Kind::Unknown,
    }
}
