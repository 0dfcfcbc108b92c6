//! What stands around a line of a program: asked after a death, when it is known that memory grew
//! there. Findings speak without that knowledge and are silent where they are not sure; here the
//! question is only which loop turned and which statement kept what it made.

mod keeping;
mod names;

use crate::Source;
use crate::front::ast::visitor::{self, Visitor};
use crate::front::ast::{ExceptHandler, Expr, Stmt};
use crate::front::{Ranged, TextRange, Tree};

/// What is known of a line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// The function around it; outside of any, the outermost statement.
    pub body: Option<TextRange>,
    /// The innermost loop around it in the same function.
    pub in_loop: Option<Loop>,
    /// The statement of that loop that keeps what the line makes.
    pub keeper: Option<Keeping>,
    /// The statement of the same function that puts it where it outlives the call: into an
    /// attribute, or into something that was made outside.
    pub outliving: Option<Keeping>,
    /// Whether it is in an `except` clause.
    pub in_handler: bool,
    /// Whether it makes something new of what it made in the turn before.
    pub carries_state: bool,
    /// What the line calls, as it is written: `torch.cat`, `self.model`, `.append`.
    pub calls: Vec<String>,
    /// Whether it calls a function of a C library directly.
    pub calls_foreign_code: bool,
}

/// A loop around a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loop {
    /// All of it.
    pub range: TextRange,
    /// Whether it is a comprehension, which keeps all it makes.
    pub is_comprehension: bool,
}

/// A statement that keeps something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keeping {
    /// Where.
    pub range: TextRange,
    /// Whether it is kept as it was made, with what belongs to it: not `x.detach()`.
    pub is_whole: bool,
}

/// Looks at the line, or the part of one, in this range.
pub fn surroundings(source: &Source, line: TextRange) -> Surroundings {
    let tree = Tree::parse(source);
    let mut search = Search {
        line,
        body: None,
        turning: None,
        in_handler: false,
        found: None,
    };
    search.visit_body(tree.body());
    let Some(found) = search.found else {
        return Surroundings::default();
    };
    let calls = names::calls(found.statement, line);
    let foreign = names::foreign_libraries(tree.body());
    Surroundings {
        body: Some(found.body.range()),
        in_loop: found.turning.map(|turning| Loop {
            range: turning.range(),
            is_comprehension: matches!(turning, Turning::Collection(_)),
        }),
        keeper: keeping::keeper(&found),
        outliving: keeping::outliving(&found),
        in_handler: found.in_handler,
        carries_state: names::carries_state(found.statement),
        calls_foreign_code: calls.iter().any(|call| names::is_member(call, &foreign)),
        calls,
    }
}

/// A loop of any kind.
#[derive(Clone, Copy, Debug)]
enum Turning<'a> {
    /// `for` or `while`.
    Loop(&'a Stmt),
    /// A comprehension whose results are all kept.
    Collection(&'a Expr),
    /// A generator, whose results are not.
    Generator(&'a Expr),
}

impl Turning<'_> {
    fn range(self) -> TextRange {
        match self {
            Self::Loop(statement) => statement.range(),
            Self::Collection(expression) | Self::Generator(expression) => expression.range(),
        }
    }
}

/// The innermost statement on the line, and the loop it is in.
#[derive(Clone, Copy, Debug)]
struct Found<'a> {
    statement: &'a Stmt,
    body: &'a Stmt,
    turning: Option<Turning<'a>>,
    in_handler: bool,
}

struct Search<'a> {
    line: TextRange,
    body: Option<&'a Stmt>,
    turning: Option<Turning<'a>>,
    in_handler: bool,
    found: Option<Found<'a>>,
}

impl Search<'_> {
    fn is_on_line(&self, range: TextRange) -> bool {
        self.line.intersect(range).is_some_and(|it| !it.is_empty())
    }
}

impl<'a> Visitor<'a> for Search<'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        if !self.is_on_line(statement.range()) {
            return;
        }
        let outer = (self.body, self.turning, self.in_handler);
        match statement {
            // A body runs when it is called, whatever stands around its definition.
            Stmt::FunctionDef(_) | Stmt::ClassDef(_) => {
                (self.body, self.turning, self.in_handler) = (None, None, false);
            }
            Stmt::For(_) | Stmt::While(_) => self.turning = Some(Turning::Loop(statement)),
            _ => {}
        }
        let body = *self.body.get_or_insert(statement);
        self.found = Some(Found {
            statement,
            body,
            turning: self.turning,
            in_handler: self.in_handler,
        });
        if matches!(statement, Stmt::ClassDef(_)) {
            self.body = None;
        }
        visitor::walk_stmt(self, statement);
        (self.body, self.turning, self.in_handler) = outer;
    }

    fn visit_except_handler(&mut self, handler: &'a ExceptHandler) {
        let outer = self.in_handler;
        self.in_handler = true;
        visitor::walk_except_handler(self, handler);
        self.in_handler = outer;
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        if !self.is_on_line(expression.range()) {
            return;
        }
        let outer = self.turning;
        let turning = match expression {
            Expr::ListComp(_) | Expr::SetComp(_) | Expr::DictComp(_) => {
                Some(Turning::Collection(expression))
            }
            Expr::Generator(_) => Some(Turning::Generator(expression)),
            _ => None,
        };
        if let (Some(turning), Some(found)) = (turning, &mut self.found) {
            found.turning = Some(turning);
            self.turning = Some(turning);
        }
        visitor::walk_expr(self, expression);
        self.turning = outer;
    }
}

#[cfg(test)]
mod tests;
