//! `except` clauses that run when memory has run out, and the statements in them that do.

use std::ops::ControlFlow;

use crate::front::ast::visitor::{Visitor, walk_expr, walk_stmt};
use crate::front::ast::{
    BoolOp, CmpOp, ExceptHandler, ExceptHandlerExceptHandler, Expr, ExprCall, Stmt,
    StmtFunctionDef, StmtTry, UnaryOp,
};
use crate::model::{File, blocks};

/// A clause that handles memory that ran out.
#[derive(Debug)]
pub(super) struct OomHandler<'a> {
    /// The statement it belongs to.
    pub attempt: &'a StmtTry,
    /// The clause.
    pub clause: &'a ExceptHandlerExceptHandler,
    /// The function it stands in.
    pub function: Option<&'a StmtFunctionDef>,
    /// What runs when memory has run out: all of the clause, or where it asked for that.
    pub blocks: Vec<&'a [Stmt]>,
}

/// Words of the messages of exceptions that mean it.
const WORDS: [&str; 4] = [
    "out of memory",
    "outofmemory",
    "allocate memory",
    "resource_exhausted",
];

/// Names of exceptions that mean it.
const NAMES: [&str; 4] = [
    "OutOfMemoryError",
    "MemoryError",
    "ResourceExhaustedError",
    "OutOfMemoryException",
];

/// All such clauses of a file, in the order of the text.
pub(super) fn oom_handlers<'a>(file: &File<'a>) -> Vec<OomHandler<'a>> {
    let mut found = Vec::new();
    let text = file.source.text();
    let may_have = || {
        let mut parts = ["emory", "EMORY", "xhausted", "XHAUSTED"].iter();
        text.contains("oom") || names_it(text) || parts.any(|it| text.contains(it)) && says_so(text)
    };
    if text.contains("except") && may_have() {
        walk(file, file.tree.body(), None, &mut found);
    }
    found
}

/// The calls in these statements, innermost first, without those of functions defined there.
pub(super) fn calls_in(body: &[Stmt]) -> Vec<&ExprCall> {
    let mut calls = Calls { found: Vec::new() };
    for statement in body {
        calls.visit_stmt(statement);
    }
    calls.found
}

struct Calls<'a> {
    found: Vec<&'a ExprCall>,
}

impl<'a> Visitor<'a> for Calls<'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        if !matches!(statement, Stmt::FunctionDef(_) | Stmt::ClassDef(_)) {
            walk_stmt(self, statement);
        }
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        if matches!(expression, Expr::Lambda(_)) {
            return;
        }
        walk_expr(self, expression);
        if let Expr::Call(call) = expression {
            self.found.push(call);
        }
    }
}

impl OomHandler<'_> {
    /// Whether the clause lets go of what the exception holds.
    pub(super) fn lets_go(&self, file: &File<'_>) -> bool {
        let text = file.slice(self.clause.range);
        let frees = [
            "__traceback__ = None",
            "with_traceback(None)",
            "clear_frames(",
        ];
        frees.iter().any(|it| text.contains(it))
    }
}

fn walk<'a>(
    file: &File<'a>,
    body: &'a [Stmt],
    function: Option<&'a StmtFunctionDef>,
    found: &mut Vec<OomHandler<'a>>,
) {
    for statement in body {
        match statement {
            Stmt::FunctionDef(node) => walk(file, &node.body, Some(node), found),
            Stmt::ClassDef(node) => walk(file, &node.body, function, found),
            _ => {
                if let Stmt::Try(attempt) = statement {
                    found.extend(handlers_of(file, attempt, function));
                }
                for block in blocks(statement) {
                    walk(file, block, function, found);
                }
            }
        }
    }
}

fn handlers_of<'a>(
    file: &File<'a>,
    attempt: &'a StmtTry,
    function: Option<&'a StmtFunctionDef>,
) -> Vec<OomHandler<'a>> {
    let clauses = attempt.handlers.iter();
    let handlers = clauses.map(|ExceptHandler::ExceptHandler(clause)| {
        let blocks = match &clause.type_ {
            Some(caught) if is_out_of_memory(caught) => vec![&clause.body[..]],
            _ => blocks_that_ask(file, &clause.body),
        };
        OomHandler {
            attempt,
            clause,
            function,
            blocks,
        }
    });
    handlers.filter(|it| !it.blocks.is_empty()).collect()
}

/// Whether everything that is caught means that memory ran out.
fn is_out_of_memory(caught: &Expr) -> bool {
    match caught {
        Expr::Tuple(node) => node.elts.iter().all(is_out_of_memory),
        other => NAMES.contains(&super::last_name(other)),
    }
}

/// The blocks that run only if the exception says that memory ran out.
fn blocks_that_ask<'a>(file: &File<'a>, body: &'a [Stmt]) -> Vec<&'a [Stmt]> {
    let mut found = Vec::new();
    for (index, statement) in body.iter().enumerate() {
        let Stmt::If(node) = statement else {
            for block in blocks(statement) {
                found.extend(blocks_that_ask(file, block));
            }
            continue;
        };
        let answer = asks(file, &node.test);
        match answer {
            Some(true) => found.push(&node.body[..]),
            _ => found.extend(blocks_that_ask(file, &node.body)),
        }
        for clause in &node.elif_else_clauses {
            let asked = clause.test.as_ref().map(|test| asks(file, test));
            match asked {
                Some(Some(true)) => found.push(&clause.body[..]),
                None if answer == Some(false) => found.push(&clause.body[..]),
                _ => found.extend(blocks_that_ask(file, &clause.body)),
            }
        }
        if answer == Some(false) && ends(&node.body) {
            found.extend(body.get(index + 1..));
            break;
        }
    }
    found.retain(|block| !block.is_empty());
    found
}

/// Whether the exception is one of memory where this is true (`Some(true)`) or where it is false
/// (`Some(false)`).
fn asks(file: &File<'_>, test: &Expr) -> Option<bool> {
    match test {
        Expr::UnaryOp(node) if node.op == UnaryOp::Not => {
            asks(file, &node.operand).map(|answer| !answer)
        }
        Expr::BoolOp(node) => {
            let answers: Vec<_> = node.values.iter().map(|it| asks(file, it)).collect();
            let decisive = match node.op {
                BoolOp::Or if answers.contains(&Some(false)) => Some(false),
                BoolOp::And | BoolOp::Or => Some(true),
            };
            answers.contains(&decisive).then_some(decisive).flatten()
        }
        Expr::Compare(node) if node.ops.contains(&CmpOp::NotIn) => {
            mentions(file, test).then_some(false)
        }
        Expr::Compare(_) | Expr::Call(_) => mentions(file, test).then_some(true),
        _ => None,
    }
}

/// Whether a test has to do with memory that ran out.
fn mentions(file: &File<'_>, test: &Expr) -> bool {
    let text = file.text(test);
    if names_it(text) || has_such_literal(test) {
        return true;
    }
    let Expr::Call(call) = test else {
        return false;
    };
    let name = super::last_name(&call.func);
    let is_called_so = {
        let name = name.to_ascii_lowercase();
        name.split('_').any(|part| part == "oom") || name.contains("out_of_memory")
    };
    is_called_so || {
        let mut functions = file.declarations.functions.iter();
        functions.any(|function| {
            let body = || file.slice(function.node.range);
            function.node.name.as_str() == name && (names_it(body()) || says_so(body()))
        })
    }
}

fn has_such_literal(expression: &Expr) -> bool {
    struct Literals(ControlFlow<()>);
    impl<'a> Visitor<'a> for Literals {
        fn visit_expr(&mut self, expression: &'a Expr) {
            match expression {
                Expr::StringLiteral(node) if says_so(node.value.to_str()) => {
                    self.0 = ControlFlow::Break(());
                }
                _ => walk_expr(self, expression),
            }
        }
    }
    let mut literals = Literals(ControlFlow::Continue(()));
    literals.visit_expr(expression);
    literals.0.is_break()
}

fn names_it(text: &str) -> bool {
    NAMES.iter().any(|name| text.contains(name))
}

fn says_so(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    WORDS.iter().any(|word| text.contains(word))
}

/// Whether the statement after these cannot be reached.
fn ends(body: &[Stmt]) -> bool {
    matches!(
        body.last(),
        Some(Stmt::Raise(_) | Stmt::Return(_) | Stmt::Continue(_) | Stmt::Break(_))
    )
}
