//! Calls: who is called, with what, and what comes back.

use std::rc::Rc;

use crate::front::TextRange;
use crate::front::ast::{self, Expr};
use crate::model::declarations::Family;
use crate::model::extent::Dtype;
use crate::model::facts::{Call, Destination, Key};
use crate::model::library;
use crate::model::value::{
    Arguments, ClassId, ContainerShape, FunctionId, History, Kind, Module, ModuleRole, Value,
};

use super::Interpreter;
use super::expression::plain;
use super::gradients::is_static;
use super::statement::{callee_name, container};

/// Functions and methods that look at a value and do not keep it.
const ONLY_LOOK: [&str; 54] = [
    "enumerate",
    "zip",
    "sorted",
    "list",
    "tuple",
    "range",
    "sum",
    "min",
    "max",
    "reversed",
    "iter",
    "next",
    "any",
    "all",
    "set",
    "dict",
    "map",
    "filter",
    "float",
    "abs",
    "print",
    "len",
    "str",
    "repr",
    "format",
    "isinstance",
    "type",
    "id",
    "hasattr",
    "info",
    "debug",
    "warning",
    "error",
    "log",
    "add_scalar",
    "add_scalars",
    "add_image",
    "add_histogram",
    "write",
    "set_postfix",
    "set_description",
    "set_postfix_str",
    "set_description_str",
    "log_metric",
    "log_metrics",
    "plot",
    "scatter",
    "hist",
    "imshow",
    "title",
    "round",
    "bool",
    "append",
    "extend",
];

impl<'a> Interpreter<'a> {
    pub(super) fn call(&mut self, node: &'a ast::ExprCall) -> Value<'a> {
        let range = range_of(node);
        let (callee, receiver) = self.callee(&node.func);
        let arguments = self.arguments(&node.arguments);
        let name = callee_name(node);
        let result = match &callee.kind {
            Kind::Path(path) => {
                let path = Rc::clone(path);
                self.call_path(&path, &arguments, range, node)
            }
            Kind::Function(id) => self.call_function(*id, &arguments, range, false),
            Kind::Method(class, id) => self.call_method_of(*class, *id, &arguments, range),
            Kind::Class(class) => self.construct(*class, &arguments, range),
            Kind::Module(module) => self.run_module_of(*module, &callee, &arguments, range),
            _ => match &receiver {
                Some(receiver) => self.call_method(receiver, name, &arguments, node),
                None => self.call_builtin(name, &arguments, node),
            },
        };
        if let (Kind::Method(_, method), Some(receiver)) = (&callee.kind, &receiver) {
            self.note_kept_arguments(*method, node, &arguments, receiver);
        }
        if result.extent().is_some() {
            self.note_made(&callee, receiver.as_ref(), name, &arguments, &result);
        }
        self.note_call(node, &callee, receiver, name, arguments, &result);
        result
    }

    /// What is called, and the object it is taken of.
    fn callee(&mut self, callee: &'a Expr) -> (Value<'a>, Option<Value<'a>>) {
        let Expr::Attribute(node) = callee else {
            return (self.value(callee), None);
        };
        if let Some(known) = Key::of(callee).and_then(|key| self.frame.environment.get(key)) {
            let known = known.clone();
            return (known, None);
        }
        let base = self.value(&node.value);
        let value = self.attribute_of(&base, node.attr.as_str(), node.range);
        match value.kind {
            Kind::Path(_) | Kind::Method(..) | Kind::Module(_) | Kind::Function(_) => {
                (value, Some(base))
            }
            _ => (Value::UNKNOWN, Some(base)),
        }
    }

    /// The full name of what is called, if it is imported.
    pub(super) fn callee_path(&self, callee: &'a Expr) -> Option<Rc<str>> {
        self.declarations.path(callee)
    }

    fn arguments(&mut self, node: &'a ast::Arguments) -> Arguments<'a> {
        let mut arguments = Arguments::default();
        for argument in &node.args {
            if let Expr::Starred(starred) = argument {
                self.value(&starred.value);
                arguments.has_more = true;
            } else {
                let value = self.argument(argument);
                arguments.positional.push(value);
            }
        }
        for keyword in &node.keywords {
            let value = self.argument(&keyword.value);
            match &keyword.arg {
                Some(name) => arguments.named.push((name.as_str(), value)),
                None => arguments.has_more = true,
            }
        }
        arguments
    }

    /// An argument; `float`, `int` and `bool` are data types there.
    fn argument(&mut self, argument: &'a Expr) -> Value<'a> {
        let value = self.value(argument);
        match argument {
            Expr::Name(name) if value.is_unknown() && value.id.is_none() => {
                Dtype::of_python(name.id.as_str()).map_or(value, |dtype| plain(Kind::Dtype(dtype)))
            }
            _ => value,
        }
    }

    fn note_call(
        &mut self,
        node: &'a ast::ExprCall,
        callee: &Value<'a>,
        receiver: Option<Value<'a>>,
        name: &'a str,
        arguments: Arguments<'a>,
        result: &Value<'a>,
    ) {
        let is_known = matches!(
            callee.kind,
            Kind::Path(_) | Kind::Function(_) | Kind::Method(..) | Kind::Module(_)
        );
        if !is_known && !ONLY_LOOK.contains(&name) {
            for argument in arguments.all() {
                self.frame.escape(argument, Destination::Passed);
            }
        }
        if !self.notes_facts() {
            return;
        }
        let call = Call {
            node,
            statement: self.frame.statement,
            path: path_of(callee),
            function: function_of(callee),
            receiver,
            name,
            arguments,
            callee: callee.kind.clone(),
            result: result.clone(),
            context: self.frame.context(),
        };
        self.frame.scope.calls.push(call);
    }

    /// A method of a class of this file.
    pub(super) fn call_method_of(
        &mut self,
        class: ClassId,
        id: FunctionId,
        arguments: &Arguments<'a>,
        range: TextRange,
    ) -> Value<'a> {
        let family = self.declarations.classes.get(class.0).map(|it| it.family);
        let is_forward = self.declarations.name_of(id) == "forward";
        if is_forward && family == Some(Family::TorchModule) {
            let role = self.role_of(class);
            let module = Module {
                class: Some(class),
                role,
            };
            return self.run_module_of(module, &Value::UNKNOWN, arguments, range);
        }
        let function = self.declarations.functions.get(id.0).map(|it| it.node);
        let has_self = function.is_some_and(|node| !is_static(node));
        self.call_function(id, arguments, range, has_self)
    }

    /// An object of a class of this file.
    fn construct(
        &mut self,
        class: ClassId,
        arguments: &Arguments<'a>,
        range: TextRange,
    ) -> Value<'a> {
        if let Some(init) = self.declarations.method(class, "__init__") {
            self.call_function(init, arguments, range, true);
        }
        let value = self.instance(class);
        Value::made(value.kind, range)
    }

    /// `model(x)`.
    fn run_module_of(
        &mut self,
        module: Module,
        callee: &Value<'a>,
        arguments: &Arguments<'a>,
        range: TextRange,
    ) -> Value<'a> {
        for argument in arguments.all() {
            self.frame.derive(range, argument, false);
        }
        self.frame.derive(range, callee, false);
        if let Some(forward) = module
            .class
            .and_then(|class| self.declarations.method(class, "forward"))
        {
            let returned = self.call_function(forward, arguments, range, true);
            if let Some(known) = forward_result(returned) {
                return known;
            }
        }
        match module.role {
            ModuleRole::Loss => Value::tensor(self.history_of(arguments.all()), range),
            ModuleRole::Layer => Value::tensor(self.if_recorded(), range),
            ModuleRole::Recurrent => {
                let part = || Value {
                    kind: Value::tensor(self.if_recorded(), range).kind,
                    id: None,
                };
                let parts = [part(), part()];
                Value::made(Kind::Sequence(parts.into()), range)
            }
        }
    }

    /// A function without a module: Python's own, or one that is not known.
    fn call_builtin(
        &mut self,
        name: &'a str,
        arguments: &Arguments<'a>,
        node: &'a ast::ExprCall,
    ) -> Value<'a> {
        let range = range_of(node);
        for argument in arguments.all() {
            self.frame.derive(range, argument, false);
        }
        let first = arguments.positional.first();
        match name {
            "float" | "int" | "len" | "str" | "bool" | "round" | "repr" | "hash" | "ord" | "id"
            | "isinstance" | "hasattr" | "print" | "format" => number_of(name, first),
            "list" | "sorted" if first.is_none() => container(ContainerShape::List, range),
            "dict" if first.is_none() => container(ContainerShape::Dict, range),
            "set" if first.is_none() => container(ContainerShape::Set, range),
            "deque" => container(ContainerShape::List, range),
            "sum" | "max" | "min" | "abs" => self.reduced(first, range),
            "tuple" | "list" => match first {
                Some(first) if !first.members().is_empty() => {
                    Value::made(first.kind.clone(), range)
                }
                _ => Value::made(Kind::Unknown, range),
            },
            _ if library::is_loss_name(name) => self.loss_by_name(arguments, range),
            _ => Value::made(Kind::Unknown, range),
        }
    }

    /// `sum(losses)`, `abs(x)`.
    fn reduced(&mut self, first: Option<&Value<'a>>, range: TextRange) -> Value<'a> {
        let Some(first) = first else {
            return Value::made(Kind::Unknown, range);
        };
        match &first.kind {
            Kind::Tensor(_) => Value::tensor(self.history_of(std::iter::once(first)), range),
            Kind::Sequence(members) if members.iter().all(Value::is_plain) => plain(Kind::Number),
            _ if first.is_plain() => plain(Kind::Number),
            _ => Value::made(Kind::Unknown, range),
        }
    }

    /// `criterion(output, target)` where nothing but the name is known: with a tensor that carries
    /// a history it gives one back.
    pub(super) fn loss_by_name(&self, arguments: &Arguments<'a>, range: TextRange) -> Value<'a> {
        match self.history_of(arguments.all()) {
            History::Unknown => Value::made(Kind::Unknown, range),
            History::None if arguments.all().next().is_none() => Value::made(Kind::Unknown, range),
            history => Value::tensor(history, range),
        }
    }
}

/// `float(x)` of a known number is that number.
fn number_of<'a>(name: &str, first: Option<&Value<'a>>) -> Value<'a> {
    match (name, first.map(|value| &value.kind)) {
        ("int", Some(Kind::Int(value))) => plain(Kind::Int(*value)),
        ("int", Some(Kind::Float(value))) if value.abs() < 1e15 => plain(Kind::Int(*value as i64)),
        ("float", Some(Kind::Int(value))) => plain(Kind::Float(*value as f64)),
        ("float", Some(Kind::Float(value))) => plain(Kind::Float(*value)),
        ("len", Some(Kind::Sequence(members))) => plain(Kind::Int(members.len() as i64)),
        _ => plain(Kind::Number),
    }
}

fn path_of(callee: &Value<'_>) -> Option<Rc<str>> {
    match &callee.kind {
        Kind::Path(path) => Some(Rc::clone(path)),
        _ => None,
    }
}

fn function_of(callee: &Value<'_>) -> Option<FunctionId> {
    match callee.kind {
        Kind::Function(id) | Kind::Method(_, id) => Some(id),
        _ => None,
    }
}

/// The place of a call.
pub(super) fn range_of(node: &ast::ExprCall) -> TextRange {
    use crate::front::Ranged;
    node.range()
}

/// What the `forward` of this file says of its result, if it says more than a library's would:
/// that it has no history, or that it is a tuple.
fn forward_result(returned: Value<'_>) -> Option<Value<'_>> {
    match &returned.kind {
        Kind::Tensor(tensor) if tensor.history == History::None => Some(returned),
        Kind::Sequence(_) | Kind::Number | Kind::Container(_) => Some(returned),
        _ => None,
    }
}
