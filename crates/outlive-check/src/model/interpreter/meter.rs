//! Meters: objects of a class of this file whose method adds up what it is given.
//!
//! `losses.update(loss, n)` keeps `loss` as `total += loss` does, if `update` says
//! `self.sum += val * n`.

use crate::front::ast::{self, Expr, Operator, Stmt, StmtFunctionDef};
use crate::model::blocks;
use crate::model::facts::{How, Key};
use crate::model::value::{Arguments, FunctionId, Value};

use super::Interpreter;
use super::binding::is_scaled;
use super::call::range_of;

impl<'a> Interpreter<'a> {
    /// Notes what a method that is called in a loop keeps of its arguments.
    pub(super) fn note_kept_arguments(
        &mut self,
        method: FunctionId,
        node: &'a ast::ExprCall,
        arguments: &Arguments<'a>,
        receiver: &Value<'a>,
    ) {
        if !self.notes_facts() || self.frame.loops.is_empty() {
            return;
        }
        let (Expr::Attribute(callee), Some(function)) = (
            node.func.as_ref(),
            self.declarations.functions.get(method.0),
        ) else {
            return;
        };
        for (position, name) in kept_parameters(function.node) {
            let positional = node.arguments.args.get(position);
            let keyword = node.arguments.find_keyword(name).map(|it| &it.value);
            let value = arguments.get(position, name);
            if let (Some(kept), Some(value)) = (positional.or(keyword), value) {
                self.keep(
                    How::Added,
                    range_of(node),
                    &callee.value,
                    receiver.clone(),
                    (kept, value.clone()),
                    receiver.id,
                );
            }
        }
    }
}

/// The parameters that a method adds to an attribute of its object as they are, and their place
/// behind `self`.
fn kept_parameters(node: &StmtFunctionDef) -> Vec<(usize, &str)> {
    let names: Vec<&str> = node
        .parameters
        .iter()
        .map(|it| it.name().as_str())
        .collect();
    let Some((object, names)) = names.split_first() else {
        return Vec::new();
    };
    let is_kept = |name: &str| {
        node.body.iter().any(|it| keeps(it, object, name)) && !is_bound(&node.body, name)
    };
    let places = names.iter().copied().enumerate();
    places.filter(|(_, name)| is_kept(name)).collect()
}

/// `self.sum += value * n`, `self.all.append(value)`.
fn keeps(statement: &Stmt, object: &str, name: &str) -> bool {
    let is_own = |target: &Expr| {
        Key::of(target).is_some_and(|key| key.name == object && key.attribute.is_some())
    };
    match statement {
        Stmt::AugAssign(node) => {
            node.op == Operator::Add
                && is_own(&node.target)
                && is_scaled(&node.value, Key::name(name))
        }
        Stmt::Expr(node) => match node.value.as_ref() {
            Expr::Call(call) => match (call.func.as_ref(), &*call.arguments.args) {
                (Expr::Attribute(callee), [kept]) => {
                    let is_append = callee.attr.as_str() == "append";
                    is_append && is_own(&callee.value) && Key::of(kept) == Some(Key::name(name))
                }
                _ => false,
            },
            _ => false,
        },
        _ => false,
    }
}

/// Whether a name is bound anew somewhere in a body: it may be a number from then on.
fn is_bound(body: &[Stmt], name: &str) -> bool {
    let is_it = |target: &Expr| Key::of(target) == Some(Key::name(name));
    body.iter().any(|statement| match statement {
        Stmt::Assign(node) => node.targets.iter().any(is_it),
        Stmt::AnnAssign(node) => is_it(&node.target),
        Stmt::AugAssign(node) => is_it(&node.target),
        other => blocks(other).into_iter().any(|block| is_bound(block, name)),
    })
}
