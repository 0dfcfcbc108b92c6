//! Runs over a file in the order it would be executed, with values of which little is known.
//!
//! Three rounds. The first runs the module and every function once, and learns what functions
//! return, what `self` has for attributes, and with what each function is called. The second does
//! the same with that knowledge, where it may matter. The third writes the facts down: the module
//! first, then functions after their callers, so that a function knows whether every caller has
//! gradients off.

mod allocation;
mod arithmetic;
mod attribute;
mod binding;
mod call;
mod expression;
mod flow;
mod frame;
mod gradients;
mod iteration;
mod meter;
mod method;
mod path_call;
mod pipeline;
mod statement;
mod subscript;
mod summary;

use std::collections::BTreeSet;
use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::declarations::{Declarations, Family};
use super::environment::Environment;
use super::facts::{Gradients, Key, Scope};
use super::library;
use super::value::{
    Arguments, ClassId, FunctionId, Kind, Module, ModuleRole, Object, Value, ValueId,
};
use crate::front::ast::{Expr, Stmt};
use crate::front::{Ranged, TextRange};

use frame::Frame;
use gradients::is_static;
use summary::{Sites, Summary};

/// Runs over a file.
#[derive(Debug)]
pub(super) struct Interpreter<'a> {
    declarations: Rc<Declarations<'a>>,
    body: &'a [Stmt],
    frame: Frame<'a>,
    /// The module's names after it has run.
    globals: Environment<'a>,
    /// Attributes of `self`, by class.
    attributes: FxHashMap<(ClassId, &'a str), Value<'a>>,
    /// Names that a function sees of the function around it.
    closures: FxHashMap<FunctionId, Rc<Environment<'a>>>,
    /// Attributes of what is imported, by the name of that: `torch.nn` of `torch`.
    paths: FxHashMap<(usize, &'a str), (Rc<str>, Kind<'a>)>,
    summaries: Vec<Summary<'a>>,
    sites: Vec<Sites<'a>>,
    /// Functions that are being run, against recursion.
    running: Vec<FunctionId>,
    /// Off if a statement turns gradients off for the whole program.
    gradients: Gradients,
    uses_torch: bool,
    /// Whether the text speaks of a backward pass.
    has_backward: bool,
    /// Arrays whose memory is taken only when they are written.
    lazy: FxHashSet<ValueId>,
    /// Whether this is the last round.
    is_writing_down: bool,
    /// Second looks at expressions that are being taken, each within the other.
    asides: u32,
}

impl<'a> Interpreter<'a> {
    /// Runs over the file, and gives the scopes: the module's first, then those of the functions
    /// in the order of the text.
    pub(super) fn run(
        declarations: Rc<Declarations<'a>>,
        body: &'a [Stmt],
        text: &str,
    ) -> Vec<Scope<'a>> {
        let functions = declarations.functions.len();
        let uses_torch = declarations.uses_torch();
        let mut interpreter = Self {
            declarations,
            body,
            frame: Frame::default(),
            globals: Environment::default(),
            attributes: FxHashMap::default(),
            closures: FxHashMap::default(),
            paths: FxHashMap::default(),
            summaries: vec![Summary::default(); functions],
            sites: vec![Sites::default(); functions],
            running: Vec::new(),
            gradients: Gradients::On,
            uses_torch,
            has_backward: ["backward", "autograd"].iter().any(|it| text.contains(it)),
            lazy: FxHashSet::default(),
            is_writing_down: false,
            asides: 0,
        };
        interpreter.learn();
        if is_worth_a_second_look(text) {
            interpreter.learn();
        }
        interpreter.write_down()
    }

    /// One round of learning.
    fn learn(&mut self) {
        for summary in &mut self.summaries {
            summary.is_known = false;
        }
        self.run_module();
        for index in 0..self.summaries.len() {
            self.summarise(FunctionId(index));
        }
    }

    fn write_down(&mut self) -> Vec<Scope<'a>> {
        self.is_writing_down = true;
        let sites = std::mem::replace(
            &mut self.sites,
            vec![Sites::default(); self.summaries.len()],
        );
        let parameters: Vec<_> = sites.into_iter().map(|site| site.parameters).collect();
        let mut scopes: Vec<Scope<'a>> = Vec::with_capacity(self.summaries.len() + 1);
        scopes.push(self.run_module());
        let mut functions: Vec<Option<Scope<'a>>> = self.summaries.iter().map(|_| None).collect();
        let callers: Vec<&[FunctionId]> = self.summaries.iter().map(|it| &it.callers[..]).collect();
        for next in after_callers(&callers) {
            let known = parameters.get(next).cloned().unwrap_or_default();
            let scope = self.run_function(FunctionId(next), &known);
            if let Some(slot) = functions.get_mut(next) {
                *slot = Some(scope);
            }
        }
        scopes.extend(functions.into_iter().flatten());
        scopes
    }

    /// Whether facts are written down for the rules. Before the last round nobody would read them.
    fn notes_facts(&self) -> bool {
        self.is_writing_down && self.frame.is_recording()
    }

    fn run_module(&mut self) -> Scope<'a> {
        self.frame = Frame::module(self.gradients);
        self.frame.is_traced = self.is_writing_down || self.has_backward;
        self.block(self.body);
        let frame = std::mem::take(&mut self.frame);
        self.globals = frame.environment;
        frame.scope
    }

    /// Runs one function, with what is known of its parameters, and gives its facts.
    fn run_function(&mut self, id: FunctionId, known: &[(&'a str, Value<'a>)]) -> Scope<'a> {
        let declarations = Rc::clone(&self.declarations);
        let Some(function) = declarations.functions.get(id.0) else {
            return Scope::default();
        };
        let mut frame = Frame::function(id, function.class, self.entry_gradients(id));
        frame.is_traced = self.is_writing_down || self.has_backward;
        frame.outer = self.closures.get(&id).cloned();
        for parameter in &function.node.parameters {
            let name = parameter.name().as_str();
            let known = known.iter().find(|(it, _)| *it == name);
            let range = parameter.name().range();
            let kind = match known {
                Some((_, value)) => value.kind.clone(),
                None => self.annotated(name, parameter.annotation(), range),
            };
            let value = Value::made(kind, range);
            frame.environment.set(Key::name(name), value);
        }
        if let Some(class) = function.class
            && let Some(first) = function.node.parameters.iter().next()
            && !is_static(function.node)
        {
            let value = self.instance(class);
            frame
                .environment
                .set(Key::name(first.name().as_str()), value);
        }
        let outside = std::mem::replace(&mut self.frame, frame);
        self.running.push(id);
        self.block(&function.node.body);
        self.running.pop();
        let frame = std::mem::replace(&mut self.frame, outside);
        frame.scope
    }

    /// What the annotation of a parameter promises.
    fn annotated(&self, name: &str, annotation: Option<&Expr>, range: TextRange) -> Kind<'a> {
        let path = annotation.and_then(|annotation| self.declarations.path(annotation));
        match path.as_deref() {
            Some("torch.nn.Module") => Kind::Module(Module {
                class: None,
                role: if library::is_loss_name(name) {
                    ModuleRole::Loss
                } else {
                    ModuleRole::Layer
                },
            }),
            Some(path) if library::object_class(path) == Some(library::LOADER) => {
                Kind::Object(Rc::new(Object {
                    class: library::LOADER.into(),
                    made_by: "DataLoader".into(),
                    arguments: Arguments {
                        has_more: true,
                        ..Arguments::default()
                    },
                    receiver: None,
                    element: Value::UNKNOWN,
                    depth: 0,
                    range,
                }))
            }
            Some("tensorflow.data.Dataset") => Self::pipeline_of_parameter(annotation),
            _ => Kind::Unknown,
        }
    }

    /// An object of a class of this file.
    fn instance(&self, class: ClassId) -> Value<'a> {
        let family = self.declarations.classes.get(class.0).map(|it| it.family);
        let kind = match family {
            Some(Family::TorchModule | Family::LightningModule) => Kind::Module(Module {
                class: Some(class),
                role: self.role_of(class),
            }),
            _ => Kind::Instance(class),
        };
        Value { kind, id: None }
    }

    /// A class of the file that calls itself a loss is one.
    fn role_of(&self, class: ClassId) -> ModuleRole {
        let name = self
            .declarations
            .classes
            .get(class.0)
            .map_or("", |it| it.node.name.as_str());
        if name.ends_with("Loss") || name.ends_with("Criterion") {
            ModuleRole::Loss
        } else {
            ModuleRole::Layer
        }
    }
}

/// Whether a file trains or evaluates something, or feeds such a thing, so that what one method
/// learns of `self`, or the module of its constants, matters to another. Most files of a library
/// do not, and need one round less.
fn is_worth_a_second_look(text: &str) -> bool {
    const WORDS: [&str; 7] = [
        "backward",
        "eval()",
        "oader",
        "retain_graph",
        ".shuffle(",
        ".prefetch(",
        ".cache(",
    ];
    WORDS.iter().any(|word| text.contains(word))
}

/// The functions in the order in which they run: each time the first all of whose callers have run.
/// What is left calls itself in a circle, and of that the first runs.
fn after_callers(callers: &[&[FunctionId]]) -> Vec<usize> {
    let mut callees = vec![Vec::new(); callers.len()];
    let mut waits_for = vec![0_usize; callers.len()];
    for (index, callers) in callers.iter().enumerate() {
        for caller in callers.iter().filter(|caller| caller.0 != index) {
            if let Some(callees) = callees.get_mut(caller.0) {
                callees.push(index);
                waits_for[index] += 1;
            }
        }
    }
    let is_ready = |index: &usize| waits_for[*index] == 0;
    let mut ready: BTreeSet<usize> = (0..callers.len()).filter(is_ready).collect();
    let mut open: BTreeSet<usize> = (0..callers.len()).collect();
    let mut order = Vec::with_capacity(callers.len());
    while let Some(next) = ready.pop_first().or_else(|| open.first().copied()) {
        open.remove(&next);
        order.push(next);
        for callee in &callees[next] {
            waits_for[*callee] -= 1;
            if waits_for[*callee] == 0 && open.contains(callee) {
                ready.insert(*callee);
            }
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(callers: &[&[usize]]) -> Vec<usize> {
        let callers: Vec<Vec<FunctionId>> = callers
            .iter()
            .map(|callers| callers.iter().copied().map(FunctionId).collect())
            .collect();
        let callers: Vec<&[FunctionId]> = callers.iter().map(Vec::as_slice).collect();
        after_callers(&callers)
    }

    #[test]
    fn functions_run_after_their_callers_and_circles_in_the_order_of_the_text() {
        assert_eq!(order(&[]), Vec::<usize>::new());
        assert_eq!(order(&[&[], &[], &[]]), [0, 1, 2]);
        assert_eq!(order(&[&[2], &[0], &[]]), [2, 0, 1]);
        assert_eq!(order(&[&[0], &[0, 1]]), [0, 1]);
        assert_eq!(order(&[&[1], &[0], &[1]]), [0, 1, 2]);
        assert_eq!(order(&[&[1, 1], &[2], &[1], &[]]), [3, 0, 1, 2]);
    }
}
