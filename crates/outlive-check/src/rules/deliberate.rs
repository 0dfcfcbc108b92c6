//! Places where a large request is meant, or where none is made: the body of a `try` that expects
//! to run out of memory, and the contexts in which tensors have no memory.

use crate::front::ast::{ExceptHandler, Expr, Stmt, StmtFunctionDef, StmtTry, StmtWith};
use crate::front::{Ranged, TextRange};
use crate::model::{File, blocks};

/// Contexts in which a tensor has no memory, or in which a failure is expected.
const CONTEXTS: [&str; 11] = [
    "\"meta\"",
    "'meta'",
    "init_empty_weights",
    "FakeTensorMode",
    "zero.Init",
    "no_init_weights",
    "pytest.raises",
    "assertRaises",
    "assertRaisesRegex",
    "contextlib.suppress",
    "eval_shape",
];

/// The ranges of such places.
#[derive(Debug, Default)]
pub(super) struct Deliberate {
    ranges: Vec<TextRange>,
}

impl Deliberate {
    /// Finds them.
    pub(super) fn read(file: &File<'_>) -> Self {
        let mut places = Self::default();
        places.block(file, file.tree.body());
        places
    }

    /// Whether a place is in one of them.
    pub(super) fn covers(&self, range: TextRange) -> bool {
        self.ranges.iter().any(|it| it.contains_range(range))
    }

    fn block(&mut self, file: &File<'_>, body: &[Stmt]) {
        for statement in body {
            match statement {
                Stmt::Try(node) if expects_exhaustion(file, node) => {
                    self.ranges.extend(node.body.iter().map(Ranged::range));
                }
                Stmt::With(node) if is_without_memory(file, node) => self.ranges.push(node.range),
                Stmt::FunctionDef(node) if is_marked(file, node) => self.ranges.push(node.range),
                _ => {}
            }
            match statement {
                Stmt::FunctionDef(node) => self.block(file, &node.body),
                Stmt::ClassDef(node) => self.block(file, &node.body),
                other => blocks(other).iter().for_each(|it| self.block(file, it)),
            }
        }
    }
}

/// Whether a handler is there for running out of memory: by its type, or by what it looks for in
/// the message.
fn expects_exhaustion(file: &File<'_>, node: &StmtTry) -> bool {
    node.handlers.iter().any(|handler| {
        let ExceptHandler::ExceptHandler(handler) = handler;
        let text = handler.type_.as_deref().map_or("", |it| file.text(it));
        let is_named = ["MemoryError", "OutOfMemory", "ResourceExhausted"]
            .iter()
            .any(|name| text.contains(name));
        is_named || file.text(handler).to_ascii_lowercase().contains("memory")
    })
}

fn is_without_memory(file: &File<'_>, node: &StmtWith) -> bool {
    node.items.iter().any(|item| {
        let text = file.text(&item.context_expr);
        CONTEXTS.iter().any(|context| text.contains(context))
    })
}

/// A function whose decorator speaks of memory, or that is never run.
fn is_marked(file: &File<'_>, node: &StmtFunctionDef) -> bool {
    node.decorator_list.iter().any(|decorator| {
        let callee = match &decorator.expression {
            Expr::Call(call) => call.func.as_ref(),
            other => other,
        };
        let text = file.text(callee).to_ascii_lowercase();
        ["memory", "bigmem", "largetensor", "skip", "oom"]
            .iter()
            .any(|word| text.contains(word))
    })
}
