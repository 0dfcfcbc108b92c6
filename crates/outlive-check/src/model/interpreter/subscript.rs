//! Parts of arrays: `x[0]`, `x[:, None]`.

use std::rc::Rc;

use crate::front::ast::{Expr, ExprSlice};
use crate::model::size::{self, Index};
use crate::model::value::{Array, Kind, Tensor, Value};

use super::Interpreter;

impl<'a> Interpreter<'a> {
    /// What an item of an array or tensor is; of anything else nothing is known.
    pub(super) fn part_of_array(&mut self, base: &Value<'a>, index: &'a Expr) -> Kind<'a> {
        let extent = base.extent().cloned().and_then(|extent| {
            let indices = match index {
                Expr::Tuple(tuple) => tuple.elts.iter().map(|it| self.index(it)).collect(),
                other => self.index(other).map(|index| vec![index]),
            };
            let indices: Vec<Index> = indices?;
            size::of_items(&extent, &indices).map(Rc::new)
        });
        match &base.kind {
            Kind::Tensor(tensor) => Kind::Tensor(Tensor {
                extent,
                ..tensor.clone()
            }),
            Kind::Array(array) if extent.is_some() => Kind::Array(Array {
                library: array.library,
                extent,
            }),
            _ => Kind::Unknown,
        }
    }

    fn index(&mut self, index: &'a Expr) -> Option<Index> {
        match index {
            Expr::Slice(slice) => self.slice(slice),
            Expr::EllipsisLiteral(_) => Some(Index::Ellipsis),
            other => {
                let value = self.value_quietly(other);
                match &value.kind {
                    Kind::None => Some(Index::New),
                    Kind::Path(path) if path.ends_with("newaxis") => Some(Index::New),
                    Kind::Int(_) | Kind::Number => Some(Index::At),
                    _ => None,
                }
            }
        }
    }

    fn slice(&mut self, slice: &'a ExprSlice) -> Option<Index> {
        if slice.step.is_some() {
            return None;
        }
        let mut end = |end: Option<&'a Expr>| match end {
            None => Some(None),
            Some(end) => Some(Some(self.value_quietly(end).as_int()?)),
        };
        Some(Index::Slice(
            end(slice.lower.as_deref())?,
            end(slice.upper.as_deref())?,
        ))
    }
}
