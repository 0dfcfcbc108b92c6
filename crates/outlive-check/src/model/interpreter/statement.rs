//! Statements, one by one.

use std::rc::Rc;

use crate::front::ast::{self, Expr, Stmt};
use crate::front::{Ranged, TextRange};
use crate::model::facts::{Destination, Key, Return};
use crate::model::value::{Container, ContainerShape, Kind, Value};

use super::Interpreter;

impl<'a> Interpreter<'a> {
    pub(super) fn block(&mut self, body: &'a [Stmt]) {
        for statement in body {
            if self.frame.has_ended {
                return;
            }
            self.frame.statement = statement.range();
            self.statement(statement);
        }
    }

    fn statement(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::FunctionDef(node) => self.define_function(node),
            Stmt::ClassDef(node) => self.define_class(node),
            Stmt::Return(node) => self.return_value(node.range, node.value.as_deref()),
            Stmt::Assign(node) => self.assign(node),
            Stmt::AugAssign(node) => self.add_to(node),
            Stmt::AnnAssign(node) => {
                if let Some(value) = &node.value {
                    let value = self.value(value);
                    self.bind(&node.target, value, node.range);
                }
            }
            Stmt::For(node) => self.for_loop(node),
            Stmt::While(node) => self.while_loop(node),
            Stmt::If(node) => self.branch(node),
            Stmt::With(node) => self.with(node),
            Stmt::Try(node) => self.attempt(node),
            Stmt::Match(node) => {
                self.value(&node.subject);
                let blocks = node.cases.iter().map(|case| &case.body[..]).collect();
                self.alternatives(blocks, true);
            }
            Stmt::Delete(node) => {
                for key in node.targets.iter().filter_map(Key::of) {
                    self.frame.environment.remove(key);
                }
            }
            Stmt::Raise(node) => {
                let parts = [&node.exc, &node.cause];
                parts.into_iter().flatten().for_each(|it| {
                    self.value(it);
                });
                self.frame.has_ended = true;
            }
            Stmt::Assert(node) => {
                self.value(&node.test);
            }
            // Most are descriptions.
            Stmt::Expr(node) if node.value.is_string_literal_expr() => {}
            Stmt::Expr(node) => {
                self.value(&node.value);
            }
            Stmt::Break(_) | Stmt::Continue(_) => self.frame.has_ended = true,
            _ => {}
        }
    }

    fn define_function(&mut self, node: &'a ast::StmtFunctionDef) {
        for decorator in &node.decorator_list {
            self.value(&decorator.expression);
        }
        let Some(id) = self.declarations.function_of(node) else {
            return;
        };
        if self.frame.function.is_some() {
            let closure = Rc::new(self.frame.environment.clone());
            self.closures.insert(id, closure);
        }
        let value = Value::made(Kind::Function(id), node.name.range());
        self.frame
            .environment
            .set(Key::name(node.name.as_str()), value);
    }

    fn define_class(&mut self, node: &'a ast::StmtClassDef) {
        let Some(id) = self.declarations.class_of(node) else {
            return;
        };
        for statement in &node.body {
            if let Stmt::Assign(assign) = statement
                && let [Expr::Name(name)] = assign.targets.as_slice()
            {
                let value = self.value(&assign.value);
                self.attributes.insert((id, name.id.as_str()), value);
            }
        }
        let value = Value::made(Kind::Class(id), node.name.range());
        self.frame
            .environment
            .set(Key::name(node.name.as_str()), value);
    }

    pub(super) fn return_value(&mut self, range: TextRange, value: Option<&'a Expr>) {
        if let Some(value) = value {
            let value = self.value(value);
            self.frame.escape(&value, Destination::Returned);
            if self.frame.is_recording() {
                let context = self.frame.context();
                let fact = Return {
                    range,
                    value,
                    context,
                };
                self.frame.scope.returns.push(fact);
            }
        }
        self.frame.has_ended = true;
    }
}

/// The last name of what a call calls.
pub(super) fn callee_name(call: &ast::ExprCall) -> &str {
    match call.func.as_ref() {
        Expr::Name(name) => name.id.as_str(),
        Expr::Attribute(attribute) => attribute.attr.as_str(),
        _ => "",
    }
}

/// An empty list, dict or set.
pub(super) fn container<'a>(shape: ContainerShape, range: TextRange) -> Value<'a> {
    Value::made(Kind::Container(Container { shape }), range)
}
