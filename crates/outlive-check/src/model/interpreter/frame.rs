//! The run of one scope: its names, and what is around the statement that runs.

use std::rc::Rc;

use crate::front::TextRange;
use crate::front::ast::Expr;
use crate::model::environment::Environment;
use crate::model::facts::{Context, Destination, Edge, Escape, Gradients, Loop, LoopId, Scope};
use crate::model::value::{ClassId, FunctionId, Value, ValueId};

/// The run of one scope.
#[derive(Debug)]
pub(super) struct Frame<'a> {
    pub function: Option<FunctionId>,
    pub class: Option<ClassId>,
    pub environment: Environment<'a>,
    /// The names of the function around this one.
    pub outer: Option<Rc<Environment<'a>>>,
    pub gradients: Gradients,
    pub loops: Rc<[LoopId]>,
    pub handler: Option<TextRange>,
    pub is_deferred: bool,
    pub statement: TextRange,
    /// The right side of the assignment that runs.
    pub assigned: Option<&'a Expr>,
    /// Greater than zero in the first round of a loop, in which nothing is written down.
    pub quiet: u32,
    /// Whether it matters what is made of what: in the rounds of learning only to find what a
    /// backward pass runs through.
    pub is_traced: bool,
    /// Whether this way has ended: `return`, `raise`, `break`, `continue`.
    pub has_ended: bool,
    pub scope: Scope<'a>,
}

impl Default for Frame<'_> {
    fn default() -> Self {
        Self::module(Gradients::On)
    }
}

impl<'a> Frame<'a> {
    /// The module, before it runs.
    pub(super) fn module(gradients: Gradients) -> Self {
        Self {
            function: None,
            class: None,
            environment: Environment::default(),
            outer: None,
            gradients,
            loops: [].into(),
            handler: None,
            is_deferred: false,
            statement: TextRange::default(),
            assigned: None,
            quiet: 0,
            is_traced: true,
            has_ended: false,
            scope: Scope::default(),
        }
    }

    /// A function, before it runs.
    pub(super) fn function(id: FunctionId, class: Option<ClassId>, gradients: Gradients) -> Self {
        let mut frame = Self::module(gradients);
        frame.function = Some(id);
        frame.class = class;
        frame.scope.function = Some(id);
        frame
    }

    /// What is around the statement that runs.
    pub(super) fn context(&self) -> Context {
        Context {
            loops: Rc::clone(&self.loops),
            gradients: self.gradients,
            handler: self.handler,
            is_deferred: self.is_deferred,
        }
    }

    /// Goes into a loop.
    pub(super) fn enter(&mut self, id: LoopId) {
        self.loops = self.loops.iter().copied().chain([id]).collect();
    }

    /// Whether facts are written down.
    pub(super) fn is_recording(&self) -> bool {
        self.quiet == 0
    }

    /// The number of a loop; the second round finds the number that the first gave.
    pub(super) fn loop_id(&mut self, make: impl FnOnce() -> Loop<'a>, range: TextRange) -> LoopId {
        let known = self.scope.loops.iter().position(|it| it.range == range);
        LoopId(known.unwrap_or_else(|| {
            self.scope.loops.push(make());
            self.scope.loops.len() - 1
        }))
    }

    /// Notes that a value was made of another, and of what is known to be in that.
    pub(super) fn derive(&mut self, made: TextRange, of: &Value<'a>, is_whole: bool) {
        self.derive_with(made, of, is_whole, is_whole);
    }

    /// The same for an operator, whose result has the history of its operands.
    pub(super) fn derive_by_operator(&mut self, made: TextRange, of: &Value<'a>, is_whole: bool) {
        self.derive_with(made, of, is_whole, true);
    }

    fn derive_with(&mut self, made: TextRange, of: &Value<'a>, is_whole: bool, is_form: bool) {
        if !self.is_traced {
            return;
        }
        let made = ValueId::at(made);
        // What is computed with gradients off has no history, whatever it is made of.
        let is_on = self.gradients != Gradients::Off;
        if let Some(of) = of.id
            && of != made
        {
            let edge = Edge {
                made,
                of,
                is_whole: is_whole && is_on,
                is_form,
                hands_on: is_form && is_on,
            };
            self.scope.edges.push(edge);
        }
        for member in of.members() {
            if let Some(of) = member.id {
                let edge = Edge {
                    made,
                    of,
                    is_whole: false,
                    is_form: false,
                    hands_on: false,
                };
                self.scope.edges.push(edge);
            }
        }
    }

    /// Notes that a name that is read may be any of several values.
    pub(super) fn note_others(&mut self, name: &str, value: &Value<'a>) {
        let Some(made) = value.id.filter(|_| self.is_traced) else {
            return;
        };
        for of in self.environment.others(name) {
            self.scope.edges.push(Edge {
                made,
                of: *of,
                is_whole: false,
                is_form: true,
                hands_on: true,
            });
        }
    }

    /// Joins names with those of another way, and notes what may be the one or the other now.
    pub(super) fn join(&mut self, into: &mut Environment<'a>, other: &Environment<'a>) {
        let either = into.join(other);
        for (made, of) in either.into_iter().filter(|_| self.is_traced) {
            self.scope.edges.push(Edge {
                made,
                of,
                is_whole: false,
                is_form: true,
                hands_on: true,
            });
        }
    }

    /// Notes that a value is in a container now.
    pub(super) fn put_into(&mut self, container: &Value<'a>, member: &Value<'a>) {
        if let Some(container) = container.id {
            self.derive(container.range(), member, false);
        }
    }

    /// Notes that a value went out of sight.
    pub(super) fn escape(&mut self, value: &Value<'a>, to: Destination) {
        if !self.is_traced {
            return;
        }
        let members = value.members().iter().filter_map(|member| member.id);
        for value in value.id.into_iter().chain(members) {
            self.scope.escapes.push(Escape { value, to });
        }
    }
}
