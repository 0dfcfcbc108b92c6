//! Names in statements: what they assign, mention and call.

use crate::front::ast::visitor::{self, Visitor};
use crate::front::ast::{Expr, Stmt};
use crate::front::{Ranged, TextRange};

/// Functions and methods that make a number of what they are given, or forget its history.
const REDUCING: [&str; 6] = ["item", "float", "int", "len", "bool", "str"];
/// Methods and functions whose result has no history.
const TAKING: [&str; 6] = ["detach", "item", "numpy", "tolist", "float", "int"];
/// Functions that open a C library.
const OPENERS: [&str; 6] = [
    "CDLL",
    "PyDLL",
    "WinDLL",
    "LoadLibrary",
    "dlopen",
    "load_library",
];

/// The plain names that a statement gives a value.
pub(super) fn assigned(statement: &Stmt) -> Vec<String> {
    let mut names = Vec::new();
    match statement {
        Stmt::Assign(it) => it.targets.iter().for_each(|it| plain(it, &mut names)),
        Stmt::AnnAssign(it) => plain(&it.target, &mut names),
        Stmt::AugAssign(it) => plain(&it.target, &mut names),
        Stmt::For(it) => plain(&it.target, &mut names),
        _ => {}
    }
    names
}

/// Whether a statement gives names a value that is made of them, with its history.
pub(super) fn carries_state(statement: &Stmt) -> bool {
    let Stmt::Assign(it) = statement else {
        return false;
    };
    let names = assigned(statement);
    !takes_history(statement) && names.iter().any(|name| mentions(&it.value, name))
}

fn plain(target: &Expr, names: &mut Vec<String>) {
    match target {
        Expr::Name(name) => names.push(name.id.to_string()),
        Expr::Tuple(it) => it.elts.iter().for_each(|part| plain(part, names)),
        Expr::List(it) => it.elts.iter().for_each(|part| plain(part, names)),
        Expr::Starred(it) => plain(&it.value, names),
        _ => {}
    }
}

/// Whether an expression reads a name, and not only a number of it.
pub(super) fn mentions(expression: &Expr, name: &str) -> bool {
    let mut search = Mention {
        name,
        is_found: false,
    };
    search.visit_expr(expression);
    search.is_found
}

/// Whether a statement reads one of these names, other than to put more into it.
pub(super) fn mentions_any(statement: &Stmt, names: &[String]) -> bool {
    let value = match statement {
        Stmt::Assign(it) => &it.value,
        Stmt::AugAssign(it) => &it.value,
        Stmt::Expr(it) => match &*it.value {
            Expr::Call(call) => {
                let arguments = &call.arguments.args;
                let reads = |name: &String| arguments.iter().any(|it| mentions(it, name));
                return names.iter().any(reads);
            }
            other => return names.iter().any(|name| mentions(other, name)),
        },
        _ => return false,
    };
    names.iter().any(|name| mentions(value, name))
}

struct Mention<'n> {
    name: &'n str,
    is_found: bool,
}

impl<'a> Visitor<'a> for Mention<'_> {
    fn visit_expr(&mut self, expression: &'a Expr) {
        match expression {
            Expr::Name(name) => self.is_found |= name.id.as_str() == self.name,
            // A number of it is kept, not the thing itself.
            Expr::Call(call) if is_reducing(&call.func) => {}
            _ => visitor::walk_expr(self, expression),
        }
    }
}

/// Whether an expression is a number of something, and not the thing itself.
pub(super) fn is_number(expression: &Expr) -> bool {
    match expression {
        Expr::Call(call) => is_reducing(&call.func),
        Expr::NumberLiteral(_) | Expr::StringLiteral(_) => true,
        _ => false,
    }
}

/// Whether a statement takes the history of a tensor away from it.
pub(super) fn takes_history(statement: &Stmt) -> bool {
    let calls = calls(statement, statement.range());
    calls.iter().any(|call| {
        let last = call.rsplit('.').next().unwrap_or_default();
        TAKING.contains(&last)
    })
}

fn is_reducing(function: &Expr) -> bool {
    match function {
        Expr::Name(name) => REDUCING.contains(&name.id.as_str()),
        Expr::Attribute(it) => it.attr.as_str() == "item",
        _ => false,
    }
}

/// What the part of a statement on a line calls, innermost last.
pub(super) fn calls(statement: &Stmt, line: TextRange) -> Vec<String> {
    let mut search = Calls {
        line,
        calls: Vec::new(),
    };
    search.visit_stmt(statement);
    search.calls
}

struct Calls {
    line: TextRange,
    calls: Vec<String>,
}

impl<'a> Visitor<'a> for Calls {
    fn visit_expr(&mut self, expression: &'a Expr) {
        let on_line = self.line.intersect(expression.range());
        if on_line.is_none_or(TextRange::is_empty) {
            return;
        }
        if let Expr::Call(call) = expression {
            self.calls.extend(dotted(&call.func));
        }
        visitor::walk_expr(self, expression);
    }
}

/// `a.b.c`; `.c` where something else than names stands before.
fn dotted(expression: &Expr) -> Option<String> {
    match expression {
        Expr::Name(name) => Some(name.id.to_string()),
        Expr::Attribute(it) => {
            let before = match &*it.value {
                Expr::Name(_) | Expr::Attribute(_) => dotted(&it.value).unwrap_or_default(),
                _ => String::new(),
            };
            Some(format!("{before}.{}", it.attr))
        }
        _ => None,
    }
}

/// Names that stand for C libraries anywhere in a program.
pub(super) fn foreign_libraries(body: &[Stmt]) -> Vec<String> {
    let mut search = Libraries(Vec::new());
    search.visit_body(body);
    search.0
}

struct Libraries(Vec<String>);

impl<'a> Visitor<'a> for Libraries {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        if let Stmt::Assign(it) = statement
            && let Expr::Call(call) = &*it.value
            && dotted(&call.func).is_some_and(|call| opens_library(&call))
        {
            self.0.extend(assigned(statement));
        }
        visitor::walk_stmt(self, statement);
    }
}

fn opens_library(call: &str) -> bool {
    call.rsplit('.')
        .next()
        .is_some_and(|it| OPENERS.contains(&it))
}

/// Whether a call is of a member of one of these names.
pub(super) fn is_member(call: &str, names: &[String]) -> bool {
    let first = call.split_once('.').map(|(first, _)| first);
    first.is_some_and(|first| names.iter().any(|name| name == first))
}
