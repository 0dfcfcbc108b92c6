//! What a file does, as far as it can be known without running it.
//!
//! [`File::scopes`] is what the rules read: for the module and for each function the loops, calls,
//! assignments and backward passes in the order they would happen, each with the values that take
//! part. [`value`] says what can be known of a value, [`facts`] what is written down, [`lineage`]
//! which value was made of which.

mod arguments;
mod declarations;
mod environment;
pub mod extent;
pub mod facts;
mod interpreter;
pub mod library;
pub mod lineage;
pub mod pipeline;
mod size;
mod tensorflow;
pub mod value;

use std::rc::Rc;

pub use declarations::{Class, Declarations, Family, Function, blocks};
pub use value::Kind;

use crate::front::{Ranged, TextRange, Tree};
use crate::quoted::visible;
use crate::{Settings, Source};
use facts::{LoopId, Scope};
use interpreter::Interpreter;
use value::FunctionId;

/// A file, understood.
#[derive(Debug)]
pub struct File<'a> {
    /// Its text.
    pub source: &'a Source,
    /// Its syntax.
    pub tree: &'a Tree,
    /// What the caller wants, and the machine.
    pub settings: &'a Settings,
    /// Functions, classes and imports.
    pub declarations: Rc<Declarations<'a>>,
    /// The module, then the functions in the order of the text.
    pub scopes: Vec<Scope<'a>>,
}

impl<'a> File<'a> {
    /// Understands a file.
    pub(crate) fn new(source: &'a Source, tree: &'a Tree, settings: &'a Settings) -> Self {
        let declarations = Rc::new(Declarations::read(tree.body()));
        let scopes = Interpreter::run(Rc::clone(&declarations), tree.body(), source.text());
        Self {
            source,
            tree,
            settings,
            declarations,
            scopes,
        }
    }

    /// The text of a piece of syntax.
    pub fn text(&self, node: impl Ranged) -> &'a str {
        self.slice(node.range())
    }

    /// The text of a range.
    pub fn slice(&self, range: TextRange) -> &'a str {
        let text = self.source.text();
        text.get(range.start().to_usize()..range.end().to_usize())
            .unwrap_or_default()
    }

    /// The text of a piece of syntax on one line, shortened for a message.
    pub fn short(&self, node: impl Ranged) -> String {
        const LONGEST: usize = 48;
        let text = self.text(node);
        let one_line = visible(&text.split_whitespace().collect::<Vec<_>>().join(" "));
        if one_line.chars().count() <= LONGEST {
            return one_line;
        }
        let head: String = one_line.chars().take(LONGEST - 1).collect();
        format!("{head}…")
    }

    /// The line of a place, for a witness.
    pub fn line(&self, range: TextRange) -> u32 {
        self.source.position(range.start()).line
    }

    /// The facts of a function.
    pub fn scope_of(&self, function: FunctionId) -> Option<&Scope<'a>> {
        // The module's are the first.
        let scope = self.scopes.get(function.0 + 1)?;
        (scope.function == Some(function)).then_some(scope)
    }

    /// The function that a scope is.
    pub fn function(&self, scope: &Scope<'a>) -> Option<&Function<'a>> {
        self.declarations.functions.get(scope.function?.0)
    }
}

impl<'a> Scope<'a> {
    /// The loop of this number.
    pub fn loop_at(&self, id: LoopId) -> Option<&facts::Loop<'a>> {
        self.loops.get(id.0)
    }
}
