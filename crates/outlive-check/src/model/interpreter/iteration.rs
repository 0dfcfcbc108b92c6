//! What a loop runs over: without its wrappers, its elements, how many of them.

use crate::front::Ranged;
use crate::front::ast::Expr;
use crate::model::library;
use crate::model::value::{Kind, Tensor, Value};

use super::Interpreter;
use super::expression::plain;
use super::statement::callee_name;

impl<'a> Interpreter<'a> {
    /// What is iterated, without `enumerate`, `tqdm`, `zip` and the like.
    pub(super) fn unwrapped(iterable: &'a Expr) -> Vec<&'a Expr> {
        match iterable {
            Expr::Call(call) if library::WRAPPERS.contains(&callee_name(call)) => {
                let inner = call.arguments.args.iter();
                inner.flat_map(Self::unwrapped).collect()
            }
            other => vec![other],
        }
    }

    /// One element of what is iterated.
    pub(super) fn element_of(&mut self, iterated: &Value<'a>, iterable: &'a Expr) -> Value<'a> {
        let range = iterable.range();
        if let Expr::Call(call) = iterable {
            let arguments = &call.arguments.args;
            match (callee_name(call), arguments.first()) {
                ("range" | "trange" | "arange", _) => return plain(Kind::Number),
                ("enumerate", Some(first)) => {
                    let element = self.inner_element(first);
                    let parts = [plain(Kind::Number), element];
                    return Value::made(Kind::Sequence(parts.into()), range);
                }
                ("zip", Some(_)) => {
                    let parts = arguments.iter().map(|it| self.inner_element(it)).collect();
                    return Value::made(Kind::Sequence(parts), range);
                }
                (name, Some(first)) if library::WRAPPERS.contains(&name) => {
                    return self.inner_element(first);
                }
                _ => {}
            }
        }
        self.frame.derive(range, iterated, false);
        let kind = match &iterated.kind {
            Kind::Tensor(tensor) => Kind::Tensor(Tensor {
                extent: None,
                ..tensor.clone()
            }),
            Kind::Sequence(members) => match members.split_first() {
                Some((first, rest)) => {
                    rest.iter()
                        .fold(first.clone(), |joined, it| joined.joined(it))
                        .kind
                }
                None => Kind::Unknown,
            },
            _ => Kind::Unknown,
        };
        Value {
            kind,
            id: iterated.id.map(|_| crate::model::value::ValueId::at(range)),
        }
    }

    fn inner_element(&mut self, iterable: &'a Expr) -> Value<'a> {
        let value = self.value_quietly(iterable);
        self.element_of(&value, iterable)
    }

    /// How many rounds a loop over this makes, if that folds.
    pub(super) fn rounds(&mut self, iterable: &'a Expr) -> Option<u64> {
        if let Expr::Call(call) = iterable {
            let arguments: Vec<&'a Expr> = call.arguments.args.iter().collect();
            let name = callee_name(call);
            if matches!(name, "range" | "trange" | "arange") {
                let bounds: Option<Vec<i64>> = arguments
                    .iter()
                    .map(|it| self.value_quietly(it).as_int())
                    .collect();
                return range_length(&bounds?);
            }
            if library::WRAPPERS.contains(&name) {
                return arguments.iter().filter_map(|it| self.rounds(it)).min();
            }
        }
        match self.value_quietly(iterable).kind {
            Kind::Sequence(members) => Some(members.len() as u64),
            _ => None,
        }
    }
}

fn range_length(bounds: &[i64]) -> Option<u64> {
    let (start, stop, step) = match bounds {
        [stop] => (0, *stop, 1),
        [start, stop] => (*start, *stop, 1),
        [start, stop, step] => (*start, *stop, *step),
        _ => return None,
    };
    if step == 0 {
        return None;
    }
    let (low, high) = if step > 0 {
        (start, stop)
    } else {
        (stop, start)
    };
    let distance = high.checked_sub(low)?.max(0);
    Some((distance as u64).div_ceil(step.unsigned_abs()))
}
