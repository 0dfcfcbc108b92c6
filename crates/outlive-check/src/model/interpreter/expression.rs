//! Expressions: what comes out, and what is written down on the way.

use std::rc::Rc;

use crate::front::ast::{self, Expr, Number, UnaryOp};
use crate::front::{Ranged, TextRange};
use crate::model::facts::{How, Key, LoopKind};
use crate::model::pipeline;
use crate::model::value::{ContainerShape, History, Kind, Value};

use super::Interpreter;
use super::statement::container;

/// How often a second look may be taken within a second look: each takes as long as all that is in
/// it, and a comprehension takes several, so that time would grow without bounds with the depth.
const DEEPEST_ASIDE: u32 = 2;

impl<'a> Interpreter<'a> {
    /// What an expression gives.
    pub(super) fn value(&mut self, expression: &'a Expr) -> Value<'a> {
        let range = expression.range();
        match expression {
            Expr::Name(node) => self.named(node.id.as_str()),
            Expr::Attribute(node) => self.attribute(node),
            Expr::Call(node) => self.call(node),
            Expr::NumberLiteral(node) => number(&node.value),
            Expr::BooleanLiteral(node) => plain(Kind::Bool(node.value)),
            Expr::NoneLiteral(_) => plain(Kind::None),
            Expr::StringLiteral(node) => plain(Kind::Text(node.value.to_str())),
            Expr::BytesLiteral(_) | Expr::EllipsisLiteral(_) => plain(Kind::Number),
            Expr::BinOp(node) => {
                let left = self.value(&node.left);
                let right = self.value(&node.right);
                self.arithmetic(node.op, &left, &right, range)
            }
            Expr::UnaryOp(node) => self.unary(node),
            Expr::Tuple(node) => self.sequence(&node.elts, range),
            Expr::List(node) if node.elts.is_empty() => container(ContainerShape::List, range),
            Expr::List(node) => self.sequence(&node.elts, range),
            Expr::Subscript(node) => self.item(node),
            Expr::Compare(node) => self.compare(node),
            Expr::If(node) => {
                self.value(&node.test);
                let one = self.value(&node.body);
                let other = self.value(&node.orelse);
                self.either(&[one, other], range)
            }
            Expr::BoolOp(node) => {
                let values: Vec<Value<'a>> = node.values.iter().map(|it| self.value(it)).collect();
                self.either(&values, range)
            }
            Expr::Named(node) => {
                let value = self.value(&node.value);
                self.bind(&node.target, value.clone(), range);
                value
            }
            Expr::Dict(node) => self.dict(node),
            Expr::Set(node) => {
                let set = container(ContainerShape::Set, range);
                for member in &node.elts {
                    let member = self.value(member);
                    self.frame.put_into(&set, &member);
                }
                set
            }
            _ => self.rarer(expression),
        }
    }

    fn rarer(&mut self, expression: &'a Expr) -> Value<'a> {
        let range = expression.range();
        match expression {
            Expr::ListComp(_) | Expr::SetComp(_) | Expr::DictComp(_) | Expr::Generator(_) => {
                self.any_comprehension(expression)
            }
            Expr::Lambda(node) => {
                self.deferred(node, &[]);
                Value::made(Kind::Lambda(node), range)
            }
            Expr::FString(node) => {
                for element in node.value.elements() {
                    if let ast::InterpolatedStringElement::Interpolation(part) = element {
                        self.value(&part.expression);
                    }
                }
                plain(Kind::Number)
            }
            Expr::Starred(node) => self.value(&node.value),
            Expr::Await(node) => self.value(&node.value),
            Expr::Yield(node) => {
                let ended = self.frame.has_ended;
                self.return_value(range, node.value.as_deref());
                self.frame.has_ended = ended;
                Value::UNKNOWN
            }
            Expr::YieldFrom(node) => {
                self.value(&node.value);
                Value::UNKNOWN
            }
            Expr::Slice(node) => {
                let parts = [&node.lower, &node.upper, &node.step];
                for part in parts.into_iter().flatten() {
                    self.value(part);
                }
                Value::UNKNOWN
            }
            _ => Value::UNKNOWN,
        }
    }

    fn any_comprehension(&mut self, expression: &'a Expr) -> Value<'a> {
        let (element, key, generators, shape) = match expression {
            Expr::ListComp(node) => (&node.elt, None, &node.generators, ContainerShape::List),
            Expr::SetComp(node) => (&node.elt, None, &node.generators, ContainerShape::Set),
            Expr::Generator(node) => (&node.elt, None, &node.generators, ContainerShape::Bounded),
            Expr::DictComp(node) => {
                let key = node.key.as_deref();
                (&node.value, key, &node.generators, ContainerShape::Dict)
            }
            _ => return Value::UNKNOWN,
        };
        self.comprehension(element, key, generators, expression.range(), shape)
    }

    /// What an expression gives, without writing anything down a second time.
    pub(super) fn value_quietly(&mut self, expression: &'a Expr) -> Value<'a> {
        if self.asides == DEEPEST_ASIDE {
            return plain(Kind::Unknown);
        }
        self.frame.quiet += 1;
        self.asides += 1;
        let value = self.value(expression);
        self.asides -= 1;
        self.frame.quiet -= 1;
        value
    }

    /// The body of a `lambda`: it runs at another time, and nobody knows in which mode.
    pub(super) fn deferred(
        &mut self,
        node: &'a ast::ExprLambda,
        arguments: &[Value<'a>],
    ) -> Value<'a> {
        let gradients = self.frame.gradients;
        let loops = std::mem::replace(&mut self.frame.loops, [].into());
        let was_deferred = std::mem::replace(&mut self.frame.is_deferred, true);
        let names = self.frame.environment.part();
        let parameters = node.parameters.iter().flat_map(|it| it.iter());
        for (index, parameter) in parameters.enumerate() {
            let value = arguments.get(index).cloned().unwrap_or(Value::UNKNOWN);
            let key = Key::name(parameter.name().as_str());
            self.frame.environment.set(key, value);
        }
        self.frame.gradients = crate::model::facts::Gradients::Unknown;
        let value = self.value(&node.body);
        self.frame.environment = names;
        self.frame.gradients = gradients;
        self.frame.loops = loops;
        self.frame.is_deferred = was_deferred;
        value
    }

    fn named(&mut self, name: &'a str) -> Value<'a> {
        let key = Key::name(name);
        if let Some(value) = self.frame.environment.get(key) {
            let value = value.clone();
            self.frame.note_others(name, &value);
            return value;
        }
        if let Some(value) = self.frame.outer.as_ref().and_then(|outer| outer.get(key)) {
            return value.clone();
        }
        if self.frame.function.is_some()
            && let Some(value) = self.globals.get(key)
        {
            return value.clone();
        }
        if let Some(path) = self.declarations.imports.get(name) {
            return plain(Kind::Path(Rc::clone(path)));
        }
        if let [star] = self.declarations.stars.as_slice()
            && matches!(
                star.split('.').next(),
                Some("torch" | "tensorflow" | "numpy" | "keras")
            )
        {
            return plain(Kind::Path(format!("{star}.{name}").into()));
        }
        Value::UNKNOWN
    }

    /// A new value made of another.
    pub(super) fn derived(
        &mut self,
        of: &Value<'a>,
        kind: Kind<'a>,
        range: TextRange,
    ) -> Value<'a> {
        self.frame.derive(range, of, false);
        Value::made(kind, range)
    }

    fn either(&mut self, values: &[Value<'a>], range: TextRange) -> Value<'a> {
        let Some((first, rest)) = values.split_first() else {
            return Value::UNKNOWN;
        };
        let joined = rest
            .iter()
            .fold(first.clone(), |joined, value| joined.joined(value));
        if values.iter().all(|value| value.id == first.id) {
            return joined;
        }
        for value in values {
            self.frame.derive(range, value, false);
        }
        Value::made(joined.kind, range)
    }

    fn unary(&mut self, node: &'a ast::ExprUnaryOp) -> Value<'a> {
        let value = self.value(&node.operand);
        match (node.op, &value.kind) {
            (UnaryOp::USub, Kind::Int(number)) => plain(Kind::Int(number.saturating_neg())),
            (UnaryOp::USub, Kind::Float(number)) => plain(Kind::Float(-number)),
            (UnaryOp::Not, _) => plain(Kind::Number),
            _ if value.is_plain() => plain(Kind::Number),
            (_, kind) => {
                let kind = kind.clone();
                self.frame.derive(node.range, &value, true);
                Value::made(kind, node.range)
            }
        }
    }

    fn sequence(&mut self, members: &'a [Expr], range: TextRange) -> Value<'a> {
        let mut values = Vec::with_capacity(members.len());
        for member in members {
            let value = self.value(member);
            match (member, &value.kind) {
                // `[*SIZE, 3]`
                (Expr::Starred(_), Kind::Sequence(inner)) => values.extend(inner.iter().cloned()),
                _ => values.push(value),
            }
        }
        let members: Rc<[Value<'a>]> = values.into();
        let value = Value::made(Kind::Sequence(Rc::clone(&members)), range);
        for member in members.iter() {
            self.frame.derive(range, member, false);
        }
        value
    }

    fn dict(&mut self, node: &'a ast::ExprDict) -> Value<'a> {
        let dict = container(ContainerShape::Dict, node.range);
        for item in &node.items {
            if let Some(key) = &item.key {
                self.value(key);
            }
            let value = self.value(&item.value);
            self.frame.put_into(&dict, &value);
        }
        dict
    }

    fn item(&mut self, node: &'a ast::ExprSubscript) -> Value<'a> {
        let base = self.value(&node.value);
        let index = self.value(&node.slice);
        if let (Kind::Sequence(members), Some(index)) = (&base.kind, index.as_int()) {
            let position = if index < 0 {
                members.len().checked_sub(index.unsigned_abs() as usize)
            } else {
                Some(index as usize)
            };
            if let Some(member) = position.and_then(|position| members.get(position)) {
                return member.clone();
            }
        }
        let kind = match &base.kind {
            Kind::Object(object) if pipeline::is_several(object) => base.kind.clone(),
            _ => self.part_of_array(&base, &node.slice),
        };
        self.derived(&base, kind, node.range)
    }

    fn compare(&mut self, node: &'a ast::ExprCompare) -> Value<'a> {
        let left = self.value(&node.left);
        let mut is_tensor = left.as_tensor().is_some();
        for right in &node.comparators {
            is_tensor |= self.value(right).as_tensor().is_some();
        }
        if is_tensor {
            Value::tensor(History::None, node.range)
        } else {
            plain(Kind::Number)
        }
    }

    fn comprehension(
        &mut self,
        element: &'a Expr,
        key: Option<&'a Expr>,
        generators: &'a [ast::Comprehension],
        range: TextRange,
        shape: ContainerShape,
    ) -> Value<'a> {
        let made = container(shape, range);
        let outside = self.frame.environment.part();
        let loops = Rc::clone(&self.frame.loops);
        for (index, generator) in generators.iter().enumerate() {
            let iterated = self.value(&generator.iter);
            // Each `for` of a comprehension is a loop of its own; only the first has the range of
            // the whole, so that it can be found again.
            let whole = if index == 0 { range } else { generator.range };
            let names = Some((&generator.target, &generator.iter));
            let id = self.open_loop(LoopKind::Comprehension, whole, generator.range, names, &[]);
            self.frame.enter(id);
            let item = self.element_of(&iterated, &generator.iter);
            self.bind_element(&generator.target, &item);
            for condition in &generator.ifs {
                self.value(condition);
            }
        }
        if let Some(key) = key {
            self.value(key);
        }
        let value = self.value(element);
        self.frame.put_into(&made, &value);
        self.keep(
            How::Comprehended,
            range,
            element,
            made.clone(),
            (element, value),
            made.id,
        );
        self.frame.loops = loops;
        self.frame.environment = outside;
        made
    }
}

/// A value that was made nowhere in particular.
pub(super) fn plain(kind: Kind<'_>) -> Value<'_> {
    Value { kind, id: None }
}

pub(super) fn number<'a>(number: &Number) -> Value<'a> {
    plain(match number {
        Number::Int(value) => value.as_i64().map_or(Kind::Number, Kind::Int),
        Number::Float(value) => Kind::Float(*value),
        Number::Complex { .. } => Kind::Number,
    })
}
