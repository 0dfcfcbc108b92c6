//! Which statement of a loop keeps what one of its lines makes.

use super::names::{assigned, is_number, mentions, mentions_any, takes_history};
use super::{Found, Keeping, Turning};
use crate::front::Ranged;
use crate::front::ast::{Expr, Stmt, StmtFunctionDef};

/// Methods that put their argument into what they are called on.
const KEEPING_METHODS: [&str; 9] = [
    "append",
    "appendleft",
    "add",
    "extend",
    "insert",
    "update",
    "setdefault",
    "put",
    "put_nowait",
];

impl Keeping {
    fn by(statement: &Stmt) -> Self {
        Self {
            range: statement.range(),
            is_whole: !takes_history(statement),
        }
    }
}

/// The statement that keeps it, in the same loop.
pub(super) fn keeper(found: &Found<'_>) -> Option<Keeping> {
    match found.turning? {
        Turning::Collection(_) => Some(Keeping::by(found.statement)),
        Turning::Generator(_) => None,
        Turning::Loop(turning) => {
            if keeps(found.statement) {
                return Some(Keeping::by(found.statement));
            }
            let body = match turning {
                Stmt::For(it) => &it.body,
                Stmt::While(it) => &it.body,
                _ => return None,
            };
            let mut followed = Followed {
                names: assigned(found.statement),
                is_whole: !takes_history(found.statement),
            };
            keeper_of(&mut followed, body)
        }
    }
}

/// The statement of its function that puts it into something that was there before.
pub(super) fn outliving(found: &Found<'_>) -> Option<Keeping> {
    let Stmt::FunctionDef(function) = found.body else {
        return None;
    };
    let own = own_names(function);
    let outlives = |statement: &Stmt| {
        let root = kept_in(statement).and_then(root_of);
        keeps(statement) && root.is_some_and(|name| !own.contains(&name.to_owned()))
    };
    if outlives(found.statement) {
        return Some(Keeping::by(found.statement));
    }
    let names = assigned(found.statement);
    let mut all = Vec::new();
    flatten(&function.body, &mut all);
    let later = all.into_iter().find(|statement| {
        let is_later = statement.start() > found.statement.start();
        is_later && outlives(statement) && mentions_any(statement, &names)
    });
    later.map(Keeping::by)
}

/// The names that a function makes itself. What is an argument was made outside, as `self` is.
fn own_names(function: &StmtFunctionDef) -> Vec<String> {
    let mut all = Vec::new();
    flatten(&function.body, &mut all);
    let plain = all
        .into_iter()
        .filter(|statement| !matches!(statement, Stmt::AugAssign(_)));
    plain.flat_map(assigned).collect()
}

fn flatten<'a>(body: &'a [Stmt], all: &mut Vec<&'a Stmt>) {
    for statement in body {
        all.push(statement);
        for inner in bodies(statement) {
            flatten(inner, all);
        }
    }
}

/// What a keeping statement puts something into.
fn kept_in(statement: &Stmt) -> Option<&Expr> {
    match statement {
        Stmt::Expr(it) => match &*it.value {
            Expr::Call(call) => match &*call.func {
                Expr::Attribute(method) => Some(&method.value),
                _ => None,
            },
            _ => None,
        },
        Stmt::AugAssign(it) => Some(&it.target),
        Stmt::Assign(it) => it.targets.first(),
        _ => None,
    }
}

/// `a` of `a.b[c].d`.
fn root_of(expression: &Expr) -> Option<&str> {
    match expression {
        Expr::Name(name) => Some(name.id.as_str()),
        Expr::Attribute(it) => root_of(&it.value),
        Expr::Subscript(it) => root_of(&it.value),
        _ => None,
    }
}

/// What is followed: the names of a value, and whether they all have what belongs to it.
struct Followed {
    names: Vec<String>,
    is_whole: bool,
}

/// Follows names through a body in the order of its text, to the first statement that keeps one.
fn keeper_of(followed: &mut Followed, body: &[Stmt]) -> Option<Keeping> {
    for statement in body {
        if keeps(statement) && mentions_any(statement, &followed.names) {
            let mut keeping = Keeping::by(statement);
            keeping.is_whole &= followed.is_whole;
            return Some(keeping);
        }
        for inner in bodies(statement) {
            if let Some(found) = keeper_of(followed, inner) {
                return Some(found);
            }
        }
        if let Stmt::Assign(it) = statement
            && followed.names.iter().any(|name| mentions(&it.value, name))
        {
            followed.names.extend(assigned(statement));
            followed.is_whole &= !takes_history(statement);
        }
    }
    None
}

/// The bodies inside a statement that run in the same turn of a loop.
fn bodies(statement: &Stmt) -> Vec<&[Stmt]> {
    match statement {
        Stmt::If(it) => {
            let others = it.elif_else_clauses.iter();
            let others = others.map(|clause| clause.body.as_slice());
            std::iter::once(it.body.as_slice()).chain(others).collect()
        }
        Stmt::With(it) => vec![&it.body],
        Stmt::For(it) => vec![&it.body, &it.orelse],
        Stmt::While(it) => vec![&it.body, &it.orelse],
        Stmt::Try(it) => vec![&it.body, &it.orelse, &it.finalbody],
        _ => Vec::new(),
    }
}

/// Whether a statement makes something hold more than before.
fn keeps(statement: &Stmt) -> bool {
    match statement {
        Stmt::Expr(it) => match &*it.value {
            Expr::Call(call) => match &*call.func {
                Expr::Attribute(method) => {
                    let is_number = call.arguments.args.iter().all(is_number);
                    KEEPING_METHODS.contains(&method.attr.as_str()) && !is_number
                }
                _ => false,
            },
            _ => false,
        },
        Stmt::AugAssign(it) => !is_number(&it.value),
        Stmt::Assign(it) => it.targets.iter().any(|target| match target {
            Expr::Subscript(_) => !is_number(&it.value),
            // `frame = pd.concat([frame, rows])` grows with every turn.
            Expr::Name(name) => collects(&it.value, name.id.as_str()),
            _ => false,
        }),
        _ => false,
    }
}

/// Whether an expression makes something of a name and of more.
fn collects(value: &Expr, name: &str) -> bool {
    match value {
        Expr::BinOp(it) => mentions(&it.left, name) || mentions(&it.right, name),
        Expr::Call(call) => call.arguments.args.iter().any(|argument| match argument {
            Expr::List(_) | Expr::Tuple(_) => mentions(argument, name),
            _ => false,
        }),
        _ => false,
    }
}
