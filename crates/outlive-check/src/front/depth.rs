//! How deep the syntax tree of a text will be, known before it is built.
//!
//! The parser builds trees of any depth, but a walk over one, or dropping it, takes stack for each
//! level. So a text is measured first by its tokens: what opens, what chains (`a + b + …`,
//! `a.b.c…`), and what nests to the right (`not not …`, `x if y else …`). For Python the measure is
//! never less than the depth. For other text it hardly ever is, but the parser may read that
//! differently when it recovers from an error; so a tree with errors is measured itself.
//!
//! The parser itself takes any depth. So a short text, which most are, is parsed first and measured
//! by the tokens of that: it need not be taken apart twice, and there is little to build in vain.

use std::mem::ManuallyDrop;

use ruff_python_ast::token::{Token, TokenKind};
use ruff_python_ast::visitor::source_order::{SourceOrderVisitor, TraversalSignal};
use ruff_python_ast::{AnyNodeRef, ModModule};
use ruff_python_parser::lexer::lex;
use ruff_python_parser::{Mode, Parsed};

/// Deeper trees are not built. With a stack of [`STACK_SIZE`](crate::STACK_SIZE) each level may
/// take 16 KiB. Python itself gives up at 200 brackets, at 100 indentations, and, depending on the
/// version, at one to three thousand operators in a row.
const LIMIT: u32 = 1000;

/// What nests to the right takes a level of its own, and one each for `or`, `and` and a comparison
/// around it.
const RIGHT: u32 = 4;
/// A bracket takes a level, and one for what it holds: an argument, a slice, a pair.
const BRACKET: u32 = 2;
/// An f-string takes a level, and one for the piece in braces. Parsing takes quadratic time in
/// these, so they count for more; Python gives up at 150.
const INTERPOLATED: u32 = 6;
/// A block takes a level, and one for a handler, a case or an alternative.
const BLOCK: u32 = 2;

/// A tree that is deeper than this cannot even be dropped in a small stack.
const DROPPED: u32 = 4 * LIMIT;

/// Texts of more bytes are measured before they are parsed.
const SHORT: usize = 32 * 1024;

/// Whether a text may be parsed before it is measured.
pub(super) fn is_short(text: &str) -> bool {
    text.len() <= SHORT
}

/// Whether the tree of a text would be too deep.
pub(super) fn is_too_deep(text: &str, mode: Mode) -> bool {
    // A level takes a byte or more.
    text.len() > LIMIT as usize && measure(text, mode, LIMIT) > LIMIT
}

/// A tree, unless it is too deep: one that was built in spite of errors, or whose text was not
/// measured.
pub(super) fn shallow(parsed: Parsed<ModModule>, is_measured: bool) -> Option<Parsed<ModModule>> {
    let mut depth = Depth::default();
    let kinds = || parsed.tokens().iter().map(Token::kind);
    if !parsed.errors().is_empty() || !is_measured && bound(kinds(), LIMIT) > LIMIT {
        depth.visit_body(&parsed.syntax().body);
    }
    if depth.deepest > DROPPED {
        // It stays in memory: to take it apart would overflow the stack.
        let _kept = ManuallyDrop::new(parsed);
        return None;
    }
    (depth.deepest <= LIMIT).then_some(parsed)
}

/// The depth of a tree, looked at no deeper than needed.
#[derive(Debug, Default)]
struct Depth {
    now: u32,
    deepest: u32,
}

impl<'a> SourceOrderVisitor<'a> for Depth {
    fn enter_node(&mut self, _node: AnyNodeRef<'a>) -> TraversalSignal {
        self.now += 1;
        self.deepest = self.deepest.max(self.now);
        if self.now > DROPPED {
            TraversalSignal::Skip
        } else {
            TraversalSignal::Traverse
        }
    }

    fn leave_node(&mut self, _node: AnyNodeRef<'a>) {
        self.now -= 1;
    }
}

/// An upper bound of the depth of a text's tree, or something above `enough`.
fn measure(text: &str, mode: Mode, enough: u32) -> u32 {
    let mut lexer = lex(text, mode);
    let kinds = std::iter::from_fn(|| Some(lexer.next_token()));
    bound(
        kinds.take_while(|kind| *kind != TokenKind::EndOfFile),
        enough,
    )
}

/// The same for the tokens of a text.
fn bound(kinds: impl Iterator<Item = TokenKind>, enough: u32) -> u32 {
    let mut measure = Measure::default();
    for kind in kinds.chain([TokenKind::EndOfFile]) {
        measure.add(kind);
        let open = measure.brackets.len() as u32;
        if measure.deepest > enough || open > enough {
            return measure.deepest.max(open);
        }
    }
    measure.deepest
}

/// What is known at a token.
#[derive(Debug, Default)]
struct Measure {
    /// The open brackets, of which the statement itself is the first.
    brackets: Vec<Bracket>,
    blocks: u32,
    deepest: u32,
    last: Option<TokenKind>,
    at_line_start: bool,
}

/// An open bracket: it has elements, and those have operands.
#[derive(Debug, Default)]
struct Bracket {
    /// What closes it.
    end: Option<TokenKind>,
    /// Levels that stay until the bracket is closed.
    whole: u32,
    /// Levels of this element around its operands.
    element: u32,
    /// Levels of this operand: what chains, and the deepest bracket in it.
    operand: u32,
    inside: u32,
    /// The deepest operand of this element, and the deepest element so far.
    operands: u32,
    elements: u32,
    /// Parameter lists of `lambda` that are open: their commas part nothing.
    parameters: u32,
}

impl Measure {
    fn add(&mut self, kind: TokenKind) {
        use TokenKind as T;
        if self.at_line_start && self.begins_statement(kind) {
            self.end_all();
        }
        let is_break = matches!(
            kind,
            T::NonLogicalNewline | T::Newline | T::Indent | T::Dedent
        );
        self.at_line_start = is_break || (self.at_line_start && kind == T::Comment);
        match kind {
            T::Comment | T::NonLogicalNewline => return,
            T::Newline => return self.end_statement(),
            T::EndOfFile => self.end_all(),
            T::Indent => self.blocks += BLOCK,
            T::Dedent => self.blocks = self.blocks.saturating_sub(BLOCK),
            T::Lpar => self.open_bracket(T::Rpar),
            T::Lsqb => self.open_bracket(T::Rsqb),
            T::Lbrace => self.open_bracket(T::Rbrace),
            T::FStringStart => self.open_string(T::FStringEnd),
            T::TStringStart => self.open_string(T::TStringEnd),
            T::Rpar | T::Rsqb | T::Rbrace | T::FStringEnd | T::TStringEnd => {
                // The parser passes over one that closes something else.
                if self.innermost().end == Some(kind) {
                    self.close();
                }
            }
            T::And | T::Or if !self.is_complete() => self.innermost().operand += 1,
            // `*a and *b` is wrong, but is built.
            T::Star | T::DoubleStar if !self.is_complete() => self.innermost().element += RIGHT,
            _ => self.innermost().add(kind),
        }
        self.last = Some(kind);
    }

    /// Whether a line in parentheses begins with a word that no expression can go on with: the
    /// parser then takes them as closed.
    fn begins_statement(&self, kind: TokenKind) -> bool {
        use TokenKind as T;
        let is_statement = match kind {
            T::Def | T::Class | T::Import | T::Return | T::Raise | T::While | T::With => true,
            _ => matches!(kind, T::Try | T::Del | T::Pass | T::Break | T::Assert),
        };
        let may_end = self.is_complete() || self.last == Some(T::Comma);
        let mut open = self.brackets.iter();
        is_statement && may_end && open.all(|one| one.parameters == 0 && one.may_be_left_open())
    }

    /// Whether an operand has just ended. After an operator the parser takes any word as one.
    fn is_complete(&self) -> bool {
        use TokenKind as T;
        match self.last {
            Some(T::Rpar | T::Rsqb | T::Rbrace | T::FStringEnd | T::TStringEnd) => true,
            last => last.is_some_and(is_value),
        }
    }

    fn innermost(&mut self) -> &mut Bracket {
        if self.brackets.is_empty() {
            self.brackets.push(Bracket::default());
        }
        let last = self.brackets.len() - 1;
        &mut self.brackets[last]
    }

    /// A call and a subscript chain: `a()[0]()`. The pieces of an f-string do not.
    fn open_bracket(&mut self, end: TokenKind) {
        let outer = self.innermost();
        let is_string = matches!(
            outer.end,
            Some(TokenKind::FStringEnd | TokenKind::TStringEnd)
        );
        let is_piece = is_string && end == TokenKind::Rbrace;
        if !is_piece {
            outer.operand += BRACKET;
        }
        self.brackets.push(Bracket {
            end: Some(end),
            whole: if is_piece { BRACKET } else { 0 },
            ..Bracket::default()
        });
    }

    fn open_string(&mut self, end: TokenKind) {
        self.innermost();
        self.brackets.push(Bracket {
            end: Some(end),
            whole: INTERPOLATED,
            ..Bracket::default()
        });
    }

    fn close(&mut self) {
        if let Some(closed) = self.brackets.pop() {
            let depth = closed.depth();
            self.deepest = self.deepest.max(depth + self.blocks);
            if let Some(outer) = self.brackets.last_mut() {
                outer.inside = outer.inside.max(depth);
            }
        }
    }

    /// At the end of a line. What is still open may go on: the parser passes over line ends when
    /// it looks for an element of a list.
    fn end_statement(&mut self) {
        let is_whole = |bracket: &Bracket| bracket.end.is_none() && bracket.parameters == 0;
        if self.brackets.iter().all(is_whole) {
            self.end_all();
        }
    }

    fn end_all(&mut self) {
        while !self.brackets.is_empty() {
            self.close();
        }
    }
}

impl Bracket {
    fn add(&mut self, kind: TokenKind) {
        use TokenKind as T;
        match kind {
            T::Comma if self.parameters == 0 => self.end_element(),
            T::Semi if self.end.is_none() && self.parameters == 0 => self.end_element(),
            T::And | T::Or => self.end_operand(),
            T::Lambda => {
                self.parameters += 1;
                self.element += RIGHT;
            }
            T::Colon if self.parameters > 0 => self.parameters -= 1,
            // A tuple can stand behind it, and so another.
            T::Yield | T::From => self.whole += RIGHT,
            // `if x: if y: …` on one line is wrong, but is built.
            _ if self.end.is_none() && is_compound(kind) => self.whole += RIGHT,
            T::If | T::Not | T::Await | T::ColonEqual | T::For | T::Async => {
                self.element += RIGHT;
            }
            T::FStringMiddle | T::TStringMiddle | T::IpyEscapeCommand | T::Unknown => {}
            _ if is_value(kind) => {}
            _ => self.operand += 1,
        }
    }

    fn end_operand(&mut self) {
        self.operands = self.operands.max(self.operand + self.inside);
        self.operand = 0;
        self.inside = 0;
    }

    fn end_element(&mut self) {
        self.end_operand();
        self.elements = self.elements.max(self.element + self.operands);
        self.element = 0;
        self.operands = 0;
    }

    fn may_be_left_open(&self) -> bool {
        matches!(self.end, None | Some(TokenKind::Rpar))
    }

    /// Its depth, once it is closed.
    fn depth(mut self) -> u32 {
        self.end_element();
        self.whole + self.elements + RIGHT
    }
}

fn is_value(kind: TokenKind) -> bool {
    use TokenKind as T;
    match kind {
        T::Name | T::Int | T::Float | T::Complex | T::String => true,
        _ => matches!(kind, T::True | T::False | T::None | T::Ellipsis),
    }
}

/// Whether a statement that begins with it can have others on the same line.
fn is_compound(kind: TokenKind) -> bool {
    use TokenKind as T;
    match kind {
        T::If | T::Elif | T::While | T::For | T::Try | T::Except | T::Finally => true,
        _ => matches!(
            kind,
            T::With | T::Def | T::Class | T::Async | T::Match | T::Case | T::Type
        ),
    }
}

#[cfg(test)]
#[path = "depth_tests.rs"]
mod tests;
