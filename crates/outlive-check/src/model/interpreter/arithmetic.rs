//! Operators: constants fold, histories are handed on.

use std::rc::Rc;

use crate::front::TextRange;
use crate::front::ast::Operator;
use crate::model::extent::{Dtype, Extent};
use crate::model::facts::Gradients;
use crate::model::value::{Array, History, Kind, Tensor, Value};

use super::Interpreter;
use super::expression::plain;

impl<'a> Interpreter<'a> {
    /// What an operator gives.
    pub(super) fn arithmetic(
        &mut self,
        operator: Operator,
        left: &Value<'a>,
        right: &Value<'a>,
        range: TextRange,
    ) -> Value<'a> {
        if let Some(kind) = folded(operator, &left.kind, &right.kind) {
            return plain(kind);
        }
        if left.is_plain() && right.is_plain() {
            return plain(Kind::Number);
        }
        // What is divided is what the result is made of; a factor may be anything.
        let is_division = matches!(operator, Operator::Div | Operator::FloorDiv);
        self.frame
            .derive_by_operator(range, left, right.is_plain() || is_division);
        self.frame
            .derive_by_operator(range, right, left.is_plain() && !is_division);
        let kind = self.combined(operator, left, right);
        let made = Value::made(kind, range);
        self.note_operation(left, right, &made);
        made
    }

    fn combined(&self, operator: Operator, left: &Value<'a>, right: &Value<'a>) -> Kind<'a> {
        let extent = extent_of(operator, left, right).map(Rc::new);
        let tensors = [left, right].map(|value| value.as_tensor().is_some());
        if tensors.contains(&true) {
            return Kind::Tensor(Tensor {
                history: self.history_of([left, right].into_iter()),
                extent,
                on_host: [left, right]
                    .iter()
                    .all(|it| it.is_plain() || it.as_tensor().is_some_and(|it| it.on_host)),
            });
        }
        match (&left.kind, &right.kind) {
            (Kind::Array(array), _) | (_, Kind::Array(array)) => Kind::Array(Array {
                library: array.library,
                extent,
            }),
            _ => Kind::Unknown,
        }
    }

    /// The history of what is made of these, with the gradients of here.
    pub(super) fn history_of<'v>(&self, values: impl Iterator<Item = &'v Value<'a>>) -> History
    where
        'a: 'v,
    {
        if self.frame.gradients == Gradients::Off {
            return History::None;
        }
        let mut combined = History::None;
        for value in values {
            let own = value.members().iter().map(Value::history);
            for history in std::iter::once(value.history()).chain(own) {
                match history {
                    History::Carried => return self.if_recorded(),
                    History::Unknown => combined = History::Unknown,
                    History::None => {}
                }
            }
        }
        combined
    }

    /// The history of what a module makes, with the gradients of here.
    pub(super) fn if_recorded(&self) -> History {
        match self.frame.gradients {
            Gradients::On | Gradients::Open => History::Carried,
            Gradients::Off => History::None,
            Gradients::Unknown => History::Unknown,
        }
    }
}

/// The result of an operator on known numbers, texts and lists.
fn folded<'a>(operator: Operator, left: &Kind<'a>, right: &Kind<'a>) -> Option<Kind<'a>> {
    match (left, right) {
        (Kind::Int(left), Kind::Int(right)) => integers(operator, *left, *right),
        (Kind::Int(left), Kind::Float(right)) => floats(operator, *left as f64, *right),
        (Kind::Float(left), Kind::Int(right)) => floats(operator, *left, *right as f64),
        (Kind::Float(left), Kind::Float(right)) => floats(operator, *left, *right),
        (Kind::Sequence(left), Kind::Sequence(right)) if operator == Operator::Add => Some(
            Kind::Sequence(left.iter().chain(right.iter()).cloned().collect()),
        ),
        (Kind::Sequence(members), Kind::Int(times))
        | (Kind::Int(times), Kind::Sequence(members))
            if operator == Operator::Mult && members.len() as i64 * (*times).max(0) < 64 =>
        {
            let times = usize::try_from(*times).unwrap_or(0);
            let all = std::iter::repeat_n(members.iter(), times).flatten();
            Some(Kind::Sequence(all.cloned().collect()))
        }
        _ => None,
    }
}

fn integers<'a>(operator: Operator, left: i64, right: i64) -> Option<Kind<'a>> {
    let whole = match operator {
        Operator::Add => left.checked_add(right),
        Operator::Sub => left.checked_sub(right),
        Operator::Mult => left.checked_mul(right),
        Operator::FloorDiv if right != 0 => left.checked_div_euclid(right),
        Operator::Mod if right != 0 => left.checked_rem_euclid(right),
        Operator::Pow => left.checked_pow(u32::try_from(right).ok()?),
        Operator::LShift => left.checked_mul(1_i64.checked_shl(u32::try_from(right).ok()?)?),
        Operator::RShift => left.checked_shr(u32::try_from(right).ok()?),
        Operator::Div => return floats(operator, left as f64, right as f64),
        _ => None,
    };
    whole.map(Kind::Int)
}

fn floats<'a>(operator: Operator, left: f64, right: f64) -> Option<Kind<'a>> {
    let value = match operator {
        Operator::Add => left + right,
        Operator::Sub => left - right,
        Operator::Mult => left * right,
        Operator::Div if right != 0.0 => left / right,
        Operator::FloorDiv if right != 0.0 => (left / right).floor(),
        Operator::Pow => left.powf(right),
        _ => return None,
    };
    value.is_finite().then_some(Kind::Float(value))
}

/// The size of the result: of a matrix product, of an operation with a number, or of two arrays of
/// one shape.
fn extent_of(operator: Operator, left: &Value<'_>, right: &Value<'_>) -> Option<Extent> {
    let extent = match (left.extent(), right.extent()) {
        (Some(one), Some(two)) if operator == Operator::MatMult => one.product(two),
        (Some(one), None) if right.is_plain() => Some(one.clone()),
        (None, Some(two)) if left.is_plain() => Some(two.clone()),
        (Some(one), Some(two)) => one.broadcast(two),
        _ => None,
    }?;
    let is_float = |value: &Value<'_>| matches!(value.kind, Kind::Float(_));
    let has_float = operator == Operator::Div || is_float(left) || is_float(right);
    if !has_float || !extent.dtype.is_whole() {
        return Some(extent);
    }
    // Bytes divided by 255 become floats.
    let is_numpy =
        |value: &Value<'_>| matches!(&value.kind, Kind::Array(array) if array.library == "numpy");
    let wide = if is_numpy(left) || is_numpy(right) {
        Dtype::FLOAT64
    } else {
        Dtype::FLOAT32
    };
    Some(extent.with_dtype(wide))
}
