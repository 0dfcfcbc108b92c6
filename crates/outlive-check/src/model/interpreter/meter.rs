//! Meters: objects of a class of this file whose method adds up what it is given.
//!
//! `losses.update(loss, n)` keeps `loss` as `total += loss` does, if `update` says
//! `self.sum += val * n`.

use crate::front::ast::{self, Expr, Operator, Stmt, StmtFunctionDef};
use crate::model::blocks;
use crate::model::facts::{How, Key};
use crate::model::value::{Arguments, ClassId, FunctionId, Value};

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
        let Some(class) = function.class else {
            return;
        };
        let kept = kept_parameters(function.node);
        for Kept {
            position,
            name,
            attribute,
        } in kept
        {
            if self.is_let_go(class, method, attribute) {
                continue;
            }
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

    /// Whether another method lets go of what an attribute holds. Of `reset` it is seen who calls it.
    fn is_let_go(&self, class: ClassId, keeper: FunctionId, attribute: &str) -> bool {
        let class = self.declarations.classes.get(class.0);
        let methods = class.into_iter().flat_map(|class| &class.methods);
        let functions = methods
            .filter(|it| **it != keeper)
            .filter_map(|it| self.declarations.functions.get(it.0));
        let mut others = functions.map(|it| it.node).filter(|it| {
            let name = it.name.as_str();
            name != "__init__" && !name.contains("reset")
        });
        others.any(|node| {
            let object = node.parameters.iter().next().map(|it| it.name().as_str());
            object.is_some_and(|name| {
                let attribute = Some(attribute);
                lets_go(&node.body, Key { name, attribute })
            })
        })
    }
}

/// A parameter that a method adds to an attribute of its object as it is.
struct Kept<'a> {
    /// Its place behind `self`.
    position: usize,
    name: &'a str,
    attribute: &'a str,
}

fn kept_parameters(node: &StmtFunctionDef) -> Vec<Kept<'_>> {
    let names: Vec<&str> = node
        .parameters
        .iter()
        .map(|it| it.name().as_str())
        .collect();
    let Some((object, names)) = names.split_first() else {
        return Vec::new();
    };
    let places = names.iter().copied().enumerate();
    let kept = places.filter_map(|(position, name)| {
        let attribute = node.body.iter().find_map(|it| keeper(it, object, name))?;
        let kept = Kept {
            position,
            name,
            attribute,
        };
        (!is_bound(&node.body, name)).then_some(kept)
    });
    kept.collect()
}

/// The attribute of `self.sum += value * n` and `self.all.append(value)`.
fn keeper<'a>(statement: &'a Stmt, object: &str, name: &str) -> Option<&'a str> {
    let own = |target: &'a Expr| Key::of(target).filter(|key| key.name == object)?.attribute;
    match statement {
        Stmt::AugAssign(node) => {
            let is_sum = node.op == Operator::Add && is_scaled(&node.value, Key::name(name));
            own(&node.target).filter(|_| is_sum)
        }
        Stmt::Expr(node) => {
            let call = node.value.as_call_expr()?;
            let callee = call.func.as_attribute_expr()?;
            let [kept] = &*call.arguments.args else {
                return None;
            };
            let is_append = callee.attr.as_str() == "append";
            let is_it = Key::of(kept) == Some(Key::name(name));
            own(&callee.value).filter(|_| is_append && is_it)
        }
        _ => None,
    }
}

/// Whether something in a body sets this anew or empties it.
fn lets_go(body: &[Stmt], key: Key<'_>) -> bool {
    body.iter().any(|statement| match statement {
        Stmt::Assign(node) => node.targets.iter().any(|it| Key::of(it) == Some(key)),
        Stmt::Delete(_) => true,
        Stmt::Expr(node) => {
            let call = node.value.as_call_expr();
            let callee = call.and_then(|call| call.func.as_attribute_expr());
            callee.is_some_and(|callee| {
                let name = callee.attr.as_str();
                Key::of(&callee.value) == Some(key) && matches!(name, "clear" | "pop" | "popleft")
            })
        }
        other => blocks(other).into_iter().any(|block| lets_go(block, key)),
    })
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
