//! What the interpreter writes down of a scope, for the rules to read.
//!
//! A scope is the module (all cells of a notebook together) or one function. Everything is in the
//! order in which it would run; what stands in a loop is written down once.

use std::rc::Rc;

use super::extent::Extent;
use super::value::{Arguments, FunctionId, Kind, ModuleRole, Value, ValueId};
use crate::front::TextRange;
use crate::front::ast::{Expr, ExprCall};

/// The facts of one scope.
#[derive(Debug, Default)]
pub struct Scope<'a> {
    /// The function, or `None` for the module.
    pub function: Option<FunctionId>,
    /// Loops and comprehensions.
    pub loops: Vec<Loop<'a>>,
    /// Calls, innermost first.
    pub calls: Vec<Call<'a>>,
    /// What is added to something older.
    pub keeps: Vec<Keep<'a>>,
    /// Assignments to names, attributes and items.
    pub bindings: Vec<Binding<'a>>,
    /// Arrays and tensors of known size, where they are made.
    pub allocations: Vec<Allocation>,
    /// Where a backward pass starts.
    pub backwards: Vec<Backward>,
    /// `return` and `yield`.
    pub returns: Vec<Return<'a>>,
    /// Which value was made of which.
    pub(super) edges: Vec<Edge>,
    /// Values whose members or attributes went somewhere the interpreter does not follow.
    pub(super) escapes: Vec<Escape>,
}

/// The number of a loop in its scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LoopId(pub usize);

/// A loop.
#[derive(Debug)]
pub struct Loop<'a> {
    /// Its kind.
    pub kind: LoopKind,
    /// The whole statement or comprehension.
    pub range: TextRange,
    /// `for x in xs` without the body.
    pub header: TextRange,
    /// The loop around it.
    pub parent: Option<LoopId>,
    /// The names it binds in each round.
    pub targets: Vec<&'a str>,
    /// What it runs over, without `enumerate`, `tqdm`, `zip` and the like.
    pub over: Vec<Value<'a>>,
    /// The same as written.
    pub over_text: Vec<&'a Expr>,
    /// The number of rounds, if it folds.
    pub rounds: Option<u64>,
    /// Whether gradients are recorded in it.
    pub gradients: Gradients,
}

/// The kinds of loops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoopKind {
    /// `for`.
    For,
    /// `while`.
    While,
    /// `[x for …]`, `{…}`, or a generator.
    Comprehension,
}

/// Whether operations are recorded for a backward pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gradients {
    /// They are: at module level, or in a function that is called so in this file.
    On,
    /// Nothing in this file turns them off, and nothing calls the function either.
    Open,
    /// They are not: `no_grad`, `inference_mode`, by context, decorator or every caller.
    Off,
    /// It depends, or a context manager of unknown effect is around.
    Unknown,
}

/// Where something happens.
#[derive(Clone, Debug)]
pub struct Context {
    /// The loops around it, outermost first.
    pub loops: Rc<[LoopId]>,
    /// Whether gradients are recorded.
    pub gradients: Gradients,
    /// The `except` clause around it.
    pub handler: Option<TextRange>,
    /// Whether it is in the body of a `lambda`, and runs at another time.
    pub is_deferred: bool,
}

/// A call.
#[derive(Debug)]
pub struct Call<'a> {
    /// The call.
    pub node: &'a ExprCall,
    /// The statement it stands in.
    pub statement: TextRange,
    /// What is called, if it is imported: `torch.nn.Linear`.
    pub path: Option<Rc<str>>,
    /// What is called, if it is of this file.
    pub function: Option<FunctionId>,
    /// The object whose method is called.
    pub receiver: Option<Value<'a>>,
    /// The last name of what is called: `append`.
    pub name: &'a str,
    /// With what.
    pub arguments: Arguments<'a>,
    /// What is called, evaluated.
    pub callee: Kind<'a>,
    /// What comes back.
    pub result: Value<'a>,
    /// Where.
    pub context: Context,
}

/// A value that is put into, or added to, something that was there before.
#[derive(Debug)]
pub struct Keep<'a> {
    /// How.
    pub how: How,
    /// The statement, or the call.
    pub range: TextRange,
    /// What keeps it: `total_loss`, `self.losses`, `history["loss"]`.
    pub keeper: &'a Expr,
    /// The name, and attribute of that name, behind the keeper: `history`, `self.losses`.
    pub key: Option<Key<'a>>,
    /// The keeper before.
    pub before: Value<'a>,
    /// What is kept.
    pub kept: &'a Expr,
    /// The same, evaluated.
    pub value: Value<'a>,
    /// The keeper afterwards: what is made of it can be followed.
    pub after: Option<ValueId>,
    /// Where.
    pub context: Context,
}

/// How a value is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// `total += loss`, `total = total + loss`.
    Added,
    /// `losses.append(loss)`, `extend`, `insert`, `add`, `losses += [loss]`.
    Appended,
    /// `results[key] = value`.
    Stored,
    /// The element of a comprehension.
    Comprehended,
}

/// A name, or an attribute of a name: all that the interpreter follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key<'a> {
    /// `self` in `self.losses`.
    pub name: &'a str,
    /// `losses` in `self.losses`.
    pub attribute: Option<&'a str>,
}

/// An assignment.
#[derive(Debug)]
pub struct Binding<'a> {
    /// What is bound; `None` for items and deeper attributes.
    pub key: Option<Key<'a>>,
    /// The target as written.
    pub target: &'a Expr,
    /// To what.
    pub value: Value<'a>,
    /// The statement.
    pub range: TextRange,
    /// Where.
    pub context: Context,
}

/// An array or tensor of known size that is made: created, copied, or the result of an operation.
#[derive(Debug)]
pub struct Allocation {
    /// The expression that makes it; also names the value.
    pub range: TextRange,
    /// The statement it stands in.
    pub statement: TextRange,
    /// Its size.
    pub extent: Rc<Extent>,
    /// The bytes of the largest array it is made of.
    pub largest_input: u64,
    /// Whether memory is taken only for what is written: `np.zeros`, `np.empty`.
    pub is_lazy: bool,
    /// Where.
    pub context: Context,
}

/// The start of a backward pass.
#[derive(Debug)]
pub struct Backward {
    /// The call.
    pub range: TextRange,
    /// The value it starts from.
    pub from: Option<ValueId>,
    /// Whether the graph is kept: `retain_graph=True`, or unknown.
    pub retains: bool,
    /// Where.
    pub context: Context,
}

/// A value that a function gives back.
#[derive(Debug)]
pub struct Return<'a> {
    /// The statement.
    pub range: TextRange,
    /// The value.
    pub value: Value<'a>,
    /// Where.
    pub context: Context,
}

/// One value was made of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Edge {
    pub made: ValueId,
    pub of: ValueId,
    /// Whether the new value is the old one in another form, so that what is proved of one is
    /// proved of the other: `loss / 4`, `loss.mean()`.
    pub is_whole: bool,
    /// Whether the new value may be the old one after operators and methods: `loss * n`.
    pub is_form: bool,
    /// Whether the new value has a history if the old one has: it is a form of it, and gradients
    /// were on.
    pub hands_on: bool,
}

/// A value went out of sight.
#[derive(Clone, Copy, Debug)]
pub(super) struct Escape {
    pub value: ValueId,
    pub to: Destination,
}

/// Where a value went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Destination {
    /// `return` or `yield`.
    Returned,
    /// Into an attribute or item of an older object.
    Stored,
    /// To a function that is not known.
    Passed,
}

impl Call<'_> {
    /// Whether a torch module of this role is called.
    pub fn is_of_module(&self, role: ModuleRole) -> bool {
        matches!(self.callee, Kind::Module(module) if module.role == role)
    }
}
