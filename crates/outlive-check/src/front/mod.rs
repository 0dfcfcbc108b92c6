//! The only module that knows the Python parser.
//!
//! Its crates promise no stable interface, so their versions are pinned, and everything else takes
//! the syntax tree from here.

mod depth;

pub use ruff_python_ast as ast;
pub use ruff_text_size::{Ranged, TextRange, TextSize};

use ruff_python_ast::token::TokenKind;
use ruff_python_ast::{Expr, ModModule, Stmt};
use ruff_python_parser::{Mode, ParseOptions, Parsed};

use crate::quoted::visible;
use crate::{Source, SourceKind};

/// A parsed file.
#[derive(Debug)]
pub struct Tree {
    /// Nothing if it would be too deep to be walked.
    parsed: Option<Parsed<ModModule>>,
}

/// A place that is not Python.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// Where.
    pub range: TextRange,
    /// What the parser says of it.
    pub message: String,
}

impl Tree {
    /// Parses a source. Errors leave holes in the tree, not in what follows: a notebook is parsed
    /// cell by cell.
    pub fn parse(source: &Source) -> Self {
        let text = source.text();
        let whole = [TextRange::up_to(TextSize::of(text))];
        let cells: Vec<TextRange> = source.cells().iter().map(|cell| cell.range).collect();
        let (mode, ranges) = match source.kind() {
            SourceKind::Python => (Mode::Module, whole.as_slice()),
            SourceKind::Notebook => (Mode::Ipython, cells.as_slice()),
        };
        // The tokens of a short script are taken from the parser; those of cells do not fit
        // together.
        let is_measured = source.kind() == SourceKind::Notebook || !depth::is_short(text);
        let is_too_deep = |range: &TextRange| depth::is_too_deep(&text[*range], mode);
        if is_measured && ranges.iter().any(is_too_deep) {
            return Self { parsed: None };
        }
        let options = ParseOptions::from(mode);
        let ranges = ranges.iter().copied();
        let parsed = ruff_python_parser::parse_cells_unchecked(text, ranges, &options);
        Self {
            parsed: depth::shallow(parsed, is_measured),
        }
    }

    /// Whether it was left out because it is nested too deeply; it is empty then.
    pub fn is_too_deep(&self) -> bool {
        self.parsed.is_none()
    }

    /// The statements.
    pub fn body(&self) -> &[Stmt] {
        let parsed = self.parsed.as_ref();
        parsed.map_or(&[], |parsed| &parsed.syntax().body)
    }

    /// What is not Python.
    pub fn errors(&self) -> impl Iterator<Item = SyntaxError> {
        let errors = self.parsed.as_ref().map_or(&[][..], Parsed::errors);
        errors.iter().map(|error| SyntaxError {
            range: error.location,
            message: visible(&error.error.to_string()),
        })
    }

    /// The comments, in order.
    pub fn comments(&self) -> impl Iterator<Item = TextRange> {
        let tokens = self.parsed.iter().flat_map(|parsed| parsed.tokens().iter());
        tokens
            .filter(|token| token.kind().is_comment())
            .map(Ranged::range)
    }

    /// The statements as they are written, in order: each from its first word to the end of its
    /// line, without the block below it.
    pub fn logical_lines(&self) -> Vec<TextRange> {
        let tokens = self.parsed.iter().flat_map(|parsed| parsed.tokens().iter());
        let mut lines = Vec::new();
        let mut start = None;
        for token in tokens {
            match token.kind() {
                TokenKind::Comment
                | TokenKind::NonLogicalNewline
                | TokenKind::Indent
                | TokenKind::Dedent => {}
                TokenKind::Newline => {
                    let first = start.take().unwrap_or(token.start());
                    lines.push(TextRange::new(first, token.start()));
                }
                _ => start = start.or(Some(token.start())),
            }
        }
        lines
    }
}

/// Whether a text is Python without any error.
pub(crate) fn is_python(text: &str) -> bool {
    let is_measured = !depth::is_short(text);
    if is_measured && depth::is_too_deep(text, Mode::Module) {
        return false;
    }
    let options = ParseOptions::from(Mode::Module);
    let whole = [TextRange::up_to(TextSize::of(text))];
    let parsed = ruff_python_parser::parse_cells_unchecked(text, whole, &options);
    depth::shallow(parsed, is_measured).is_some_and(|parsed| parsed.errors().is_empty())
}

/// The last name of an expression: `model` in `self.model`.
pub(crate) fn last_name(expression: &Expr) -> &str {
    match expression {
        Expr::Name(name) => name.id.as_str(),
        Expr::Attribute(attribute) => attribute.attr.as_str(),
        Expr::Call(call) => last_name(&call.func),
        Expr::Subscript(subscript) => last_name(&subscript.value),
        _ => "",
    }
}
