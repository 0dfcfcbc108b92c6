//! Loops, branches, contexts and handlers: the ways through a block, and where they meet.

use std::rc::Rc;

use crate::front::ast::{self, Expr, Stmt};
use crate::front::{Ranged, TextRange};
use crate::model::blocks;
use crate::model::environment::Environment;
use crate::model::facts::{Key, Loop, LoopId, LoopKind};
use crate::model::value::{Kind, Value};

use super::Interpreter;
use super::statement::callee_name;

/// Loops nested deeper than this run once: each level doubles the work.
const DEEPEST_DOUBLE_LOOP: usize = 2;

impl<'a> Interpreter<'a> {
    pub(super) fn for_loop(&mut self, node: &'a ast::StmtFor) {
        let iterated = self.value(&node.iter);
        let header = TextRange::new(node.range.start(), node.iter.range().end());
        let id = self.open_loop(
            LoopKind::For,
            node.range,
            header,
            Some((&node.target, &node.iter)),
            &node.body,
        );
        let element = self.element_of(&iterated, &node.iter);
        let target = node.target.as_ref();
        self.repeat(id, &node.body, |interpreter| {
            interpreter.bind_element(target, &element);
        });
        self.block(&node.orelse);
    }

    pub(super) fn while_loop(&mut self, node: &'a ast::StmtWhile) {
        let header = TextRange::new(node.range.start(), node.test.range().end());
        let id = self.open_loop(LoopKind::While, node.range, header, None, &node.body);
        let test = node.test.as_ref();
        self.repeat(id, &node.body, |interpreter| {
            interpreter.value(test);
        });
        self.block(&node.orelse);
    }

    /// Binds the names of a loop, without calling it an assignment.
    pub(super) fn bind_element(&mut self, target: &'a Expr, element: &Value<'a>) {
        self.frame.quiet += 1;
        self.bind(target, element.clone(), target.range());
        self.frame.quiet -= 1;
    }

    pub(super) fn open_loop(
        &mut self,
        kind: LoopKind,
        range: TextRange,
        header: TextRange,
        iteration: Option<(&'a Expr, &'a Expr)>,
        body: &'a [Stmt],
    ) -> LoopId {
        let over_text = iteration.map_or_else(Vec::new, |(_, iterable)| Self::unwrapped(iterable));
        let over = over_text.iter().map(|it| self.value_quietly(it)).collect();
        let rounds = iteration.and_then(|(_, iterable)| self.rounds(iterable));
        let rounds = if runs_once(body) { Some(1) } else { rounds };
        let parent = self.frame.loops.last().copied();
        let gradients = self.frame.gradients;
        let targets = iteration.map_or_else(Vec::new, |(target, _)| names_in(target));
        self.frame.loop_id(
            || Loop {
                kind,
                range,
                header,
                parent,
                targets,
                over,
                over_text,
                rounds,
                gradients,
            },
            range,
        )
    }

    /// Runs the body of a loop: once to see what a later round finds, once to write down.
    fn repeat(&mut self, id: LoopId, body: &'a [Stmt], mut begin: impl FnMut(&mut Self)) {
        let before = self.frame.environment.part();
        let outside = Rc::clone(&self.frame.loops);
        self.frame.enter(id);
        if self.is_writing_down && self.frame.loops.len() <= DEEPEST_DOUBLE_LOOP {
            self.frame.quiet += 1;
            begin(self);
            self.block(body);
            self.frame.has_ended = false;
            self.frame.quiet -= 1;
            self.rejoin(&before);
        }
        begin(self);
        self.block(body);
        self.frame.has_ended = false;
        self.frame.loops = outside;
        self.rejoin(&before);
    }

    /// Joins the names of here with those of another way.
    fn rejoin(&mut self, other: &Environment<'a>) {
        let mut here = std::mem::take(&mut self.frame.environment);
        self.frame.join(&mut here, other);
        self.frame.environment = here;
    }

    /// Joins the way that just ran to those that ran before it.
    fn merge(&mut self, after: &mut Option<Environment<'a>>) {
        let here = self.frame.environment.clone();
        match after {
            Some(after) => self.frame.join(after, &here),
            None => *after = Some(here),
        }
    }

    pub(super) fn branch(&mut self, node: &'a ast::StmtIf) {
        self.value(&node.test);
        let mut blocks = vec![&node.body[..]];
        for clause in &node.elif_else_clauses {
            if let Some(test) = &clause.test {
                self.value(test);
            }
            blocks.push(&clause.body);
        }
        let has_else = node
            .elif_else_clauses
            .last()
            .is_some_and(|clause| clause.test.is_none());
        self.alternatives(blocks, !has_else);
    }

    /// Runs blocks of which one is taken, or perhaps none.
    pub(super) fn alternatives(&mut self, blocks: Vec<&'a [Stmt]>, may_skip: bool) {
        let before = self.frame.environment.part();
        let gradients = self.frame.gradients;
        let mut after: Option<Environment<'a>> = may_skip.then(|| before.clone());
        for block in blocks {
            self.frame.environment = before.clone();
            self.block(block);
            let ended = std::mem::take(&mut self.frame.has_ended);
            if ended {
                continue;
            }
            self.merge(&mut after);
        }
        self.frame.gradients = gradients;
        if let Some(after) = after {
            self.frame.environment = after;
        } else {
            self.frame.environment = before;
            self.frame.has_ended = true;
        }
    }

    pub(super) fn with(&mut self, node: &'a ast::StmtWith) {
        let outside = self.frame.gradients;
        for item in &node.items {
            let value = self.value(&item.context_expr);
            let gradients = self.within(&item.context_expr, &value);
            if let Some(target) = &item.optional_vars {
                let bound = self.entered(&item.context_expr, value);
                self.bind(target, bound, item.range);
            }
            self.frame.gradients = gradients;
        }
        self.block(&node.body);
        self.frame.gradients = outside;
    }

    /// What `as` binds: `amp.scale_loss(loss, …)` gives the loss, most give themselves.
    fn entered(&mut self, context: &'a Expr, value: Value<'a>) -> Value<'a> {
        match context {
            Expr::Call(call) if callee_name(call) == "scale_loss" => {
                match call.arguments.args.first() {
                    Some(first) => self.value_quietly(first),
                    None => value,
                }
            }
            _ => value,
        }
    }

    pub(super) fn attempt(&mut self, node: &'a ast::StmtTry) {
        let before = self.frame.environment.part();
        self.block(&node.body);
        self.block(&node.orelse);
        let ended = std::mem::take(&mut self.frame.has_ended);
        let done = self.frame.environment.clone();
        let mut start = before;
        self.frame.join(&mut start, &done);
        let mut after: Option<Environment<'a>> = (!ended).then_some(done);
        let outside = self.frame.handler;
        for handler in &node.handlers {
            let ast::ExceptHandler::ExceptHandler(handler) = handler;
            self.frame.environment = start.clone();
            if let Some(name) = &handler.name {
                let value = Value::made(Kind::Exception, name.range());
                self.frame.environment.set(Key::name(name.as_str()), value);
            }
            self.frame.handler = Some(handler.range);
            self.block(&handler.body);
            if !std::mem::take(&mut self.frame.has_ended) {
                self.merge(&mut after);
            }
        }
        self.frame.handler = outside;
        let has_ended = after.is_none();
        self.frame.environment = after.unwrap_or(start);
        self.block(&node.finalbody);
        self.frame.has_ended |= has_ended;
    }
}

/// Whether a body ends with `break` or `return`, and nothing in it begins the next round.
fn runs_once(body: &[Stmt]) -> bool {
    matches!(body.last(), Some(Stmt::Break(_) | Stmt::Return(_))) && !continues(body)
}

fn continues(body: &[Stmt]) -> bool {
    body.iter().any(|statement| match statement {
        Stmt::Continue(_) => true,
        Stmt::For(_) | Stmt::While(_) => false,
        other => blocks(other).into_iter().any(continues),
    })
}

fn names_in(target: &Expr) -> Vec<&str> {
    match target {
        Expr::Name(name) => vec![name.id.as_str()],
        Expr::Tuple(node) => node.elts.iter().flat_map(names_in).collect(),
        Expr::List(node) => node.elts.iter().flat_map(names_in).collect(),
        Expr::Starred(node) => names_in(&node.value),
        _ => Vec::new(),
    }
}
