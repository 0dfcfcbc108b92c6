//! Calls of methods of objects that are not of this file.

use std::rc::Rc;

use crate::front::ast::{self, Expr};
use crate::front::last_name;
use crate::model::facts::{How, Key};
use crate::model::library::{self, TF_DATASET, TF_DATASET_METHODS};
use crate::model::size;
use crate::model::value::{Arguments, Array, History, Kind, Module, ModuleRole, Tensor, Value};

use super::Interpreter;
use super::call::range_of;
use super::expression::plain;

/// Methods that put their argument into the object.
const PUTS: [&str; 6] = ["append", "extend", "insert", "add", "appendleft", "put"];

/// Who runs a backward pass on its argument: `accelerator.backward(loss)`.
const RUNS_BACKWARD: [&str; 9] = [
    "accelerator",
    "fabric",
    "engine",
    "strategy",
    "amp",
    "self",
    "trainer",
    "scaler",
    "booster",
];

/// Methods of a tensor that give the same values in another form.
const SAME_IN_ANOTHER_FORM: [&str; 24] = [
    "mean",
    "sum",
    "to",
    "cpu",
    "cuda",
    "float",
    "double",
    "half",
    "squeeze",
    "unsqueeze",
    "view",
    "reshape",
    "clone",
    "contiguous",
    "type",
    "requires_grad_",
    "flatten",
    "bfloat16",
    "cuda",
    "permute",
    "transpose",
    "t",
    "div",
    "mul",
];

impl<'a> Interpreter<'a> {
    pub(super) fn call_method(
        &mut self,
        receiver: &Value<'a>,
        name: &'a str,
        arguments: &Arguments<'a>,
        node: &'a ast::ExprCall,
    ) -> Value<'a> {
        let range = range_of(node);
        let Expr::Attribute(callee) = node.func.as_ref() else {
            return Value::made(Kind::Unknown, range);
        };
        let is_same = SAME_IN_ANOTHER_FORM.contains(&name);
        self.frame.derive(range, receiver, is_same);
        for argument in arguments.all() {
            self.frame.derive(range, argument, false);
        }
        if name.ends_with("backward")
            && self.backward(receiver, name, arguments, &callee.value, node)
        {
            return plain(Kind::None);
        }
        if PUTS.contains(&name) {
            self.put(receiver, name, arguments, &callee.value, node);
        }
        match &receiver.kind {
            Kind::Tensor(tensor) => self.tensor_method(tensor, receiver, name, arguments, node),
            Kind::Array(array) => array_method(array, name, arguments, node),
            Kind::Module(_) if library::RETURNS_SELF.contains(&name) => receiver.clone(),
            Kind::Object(object) => {
                let class = Rc::clone(&object.class);
                self.object_method(&class, receiver, name, arguments, node)
            }
            Kind::Unknown => self.unknown_method(receiver, name, arguments, &callee.value, node),
            Kind::Sequence(members) if name == "index" && members.is_empty() => plain(Kind::Number),
            _ => Value::made(Kind::Unknown, range),
        }
    }

    /// Notes a backward pass, if that is what the method does.
    fn backward(
        &mut self,
        receiver: &Value<'a>,
        name: &str,
        arguments: &Arguments<'a>,
        object: &Expr,
        node: &'a ast::ExprCall,
    ) -> bool {
        if !matches!(name, "backward" | "manual_backward" | "_backward") {
            return false;
        }
        let retains = ["retain_graph", "create_graph"].iter().any(|name| {
            arguments
                .named(name)
                .is_some_and(|it| it.as_bool() != Some(false))
        });
        let first = arguments.positional.first();
        let owner = last_name(object).to_ascii_lowercase();
        let on_argument = name == "manual_backward"
            || RUNS_BACKWARD.iter().any(|it| owner.contains(it))
            || matches!(receiver.kind, Kind::Module(_) | Kind::Object(_));
        let from = match first {
            Some(first) if on_argument => first.id,
            None if on_argument && owner == "self" => None,
            _ => receiver.id,
        };
        self.note_backward(range_of(node), from, retains);
        true
    }

    /// `losses.append(loss)`.
    fn put(
        &mut self,
        receiver: &Value<'a>,
        name: &str,
        arguments: &Arguments<'a>,
        keeper: &'a Expr,
        node: &'a ast::ExprCall,
    ) {
        let position = usize::from(name == "insert");
        let (Some(value), Some(kept)) = (
            arguments.positional.get(position),
            node.arguments.args.get(position),
        ) else {
            return;
        };
        // Of an object that is not known, `add` may do anything: meters add up numbers.
        let is_container = matches!(receiver.kind, Kind::Container(_));
        if matches!(name, "add" | "put") && !is_container || self.is_of_library_class(receiver) {
            return;
        }
        self.frame.put_into(receiver, value);
        let kept = (kept, value.clone());
        self.keep(
            How::Appended,
            range_of(node),
            keeper,
            receiver.clone(),
            kept,
            receiver.id,
        );
    }

    /// Whether a value is an object of an imported class of which nothing is known:
    /// `CumulativeAverage()` has an `append` that adds up.
    fn is_of_library_class(&self, value: &Value<'a>) -> bool {
        let Some(id) = value.id.filter(|_| value.is_unknown()) else {
            return false;
        };
        let mut calls = self.frame.scope.calls.iter();
        calls.any(|call| {
            let is_class = call.path.as_deref().is_some_and(library::is_class);
            range_of(call.node) == id.range() && is_class
        })
    }

    fn tensor_method(
        &mut self,
        tensor: &Tensor,
        receiver: &Value<'a>,
        name: &str,
        arguments: &Arguments<'a>,
        node: &'a ast::ExprCall,
    ) -> Value<'a> {
        let range = range_of(node);
        match name {
            "item" | "tolist" => return plain(Kind::Number),
            "numpy" => {
                let extent = tensor.extent.clone();
                let library = "numpy";
                return Value::made(Kind::Array(Array { library, extent }), range);
            }
            "max" | "min" | "sort" | "topk" | "median" | "mode" => {
                let has_axis = arguments.all().next().is_some();
                let mut all = arguments.clone();
                all.positional.insert(0, receiver.clone());
                return self.values_and_indices(name, has_axis, &all, range);
            }
            _ => {}
        }
        let history = if library::WITHOUT_HISTORY.contains(&name) {
            History::None
        } else if name == "requires_grad_" {
            History::Unknown
        } else {
            self.history_of(std::iter::once(receiver).chain(arguments.all()))
        };
        let made = Tensor {
            history,
            extent: size::of_method(tensor.extent.as_deref(), name, arguments).map(Rc::new),
            on_host: name == "cpu" || (tensor.on_host && !matches!(name, "cuda" | "to")),
        };
        Value::made(Kind::Tensor(made), range)
    }

    fn object_method(
        &mut self,
        class: &str,
        receiver: &Value<'a>,
        name: &str,
        arguments: &Arguments<'a>,
        node: &'a ast::ExprCall,
    ) -> Value<'a> {
        let range = range_of(node);
        if class == TF_DATASET && TF_DATASET_METHODS.contains(&name) {
            return self.pipeline(name, arguments, Some(receiver), range);
        }
        if matches!(name, "item" | "tolist") {
            return plain(Kind::Number);
        }
        // `rng = np.random.default_rng()`: its methods have the names of the functions.
        if class.starts_with("numpy.random.")
            && let Some(extent) = size::of_call(&format!("numpy.random.{name}"), arguments)
        {
            let (library, extent) = ("numpy", Some(Rc::new(extent)));
            return Value::made(Kind::Array(Array { library, extent }), range);
        }
        Value::made(Kind::Unknown, range)
    }

    fn unknown_method(
        &mut self,
        receiver: &Value<'a>,
        name: &'a str,
        arguments: &Arguments<'a>,
        object: &'a Expr,
        node: &'a ast::ExprCall,
    ) -> Value<'a> {
        let range = range_of(node);
        if let Some(id) = self.declarations.only_method_named(name) {
            // Whose method it is, is not known; that it may be called from here is.
            self.note_mode(id);
        }
        match name {
            "item" | "tolist" => return plain(Kind::Number),
            "numpy" => {
                let (library, extent) = ("numpy", None);
                return Value::made(Kind::Array(Array { library, extent }), range);
            }
            "scale" => {
                // `scaler.scale(loss)` is the loss, as far as histories go.
                if let Some(first) = arguments.positional.first() {
                    return first.clone();
                }
            }
            _ => {}
        }
        if library::WITHOUT_HISTORY.contains(&name) && self.uses_torch {
            let mut value = Value::tensor(History::None, range);
            if name == "size" || name == "dim" || name == "numel" {
                value.kind = Kind::Unknown;
            }
            return value;
        }
        if self.proves_module(name, arguments) {
            self.learn_module(object);
            if library::RETURNS_SELF.contains(&name) {
                return self.value_quietly(object);
            }
        }
        if library::is_loss_name(name) {
            return self.loss_by_name(arguments, range);
        }
        if name == "cpu" {
            let tensor = Tensor {
                history: receiver.history(),
                extent: None,
                on_host: true,
            };
            return Value::made(Kind::Tensor(tensor), range);
        }
        Value::made(Kind::Unknown, range)
    }

    fn proves_module(&self, name: &str, arguments: &Arguments<'a>) -> bool {
        let is_proof = match name {
            "eval" | "parameters" | "named_parameters" | "named_modules" => {
                arguments.all().next().is_none() && !arguments.has_more
            }
            "train" => arguments.all().all(|it| it.as_bool().is_some()) && !arguments.has_more,
            _ => false,
        };
        is_proof && self.uses_torch
    }

    /// From here on the name is a module.
    fn learn_module(&mut self, object: &'a Expr) {
        let Some(key) = Key::of(object) else { return };
        let module = Kind::Module(Module {
            class: None,
            role: ModuleRole::Layer,
        });
        let id = self.value_quietly(object).id;
        let value = Value { kind: module, id };
        if let (Some(attribute), Some(class)) = (key.attribute, self.frame.class)
            && self.is_self(key.name)
        {
            self.attributes.insert((class, attribute), value.clone());
        }
        self.frame.environment.set(key, value);
    }
}

fn array_method<'a>(
    array: &Array,
    name: &str,
    arguments: &Arguments<'a>,
    node: &ast::ExprCall,
) -> Value<'a> {
    if matches!(name, "item" | "tolist") {
        return plain(Kind::Number);
    }
    let extent = size::of_method(array.extent.as_deref(), name, arguments).map(Rc::new);
    let library = array.library;
    Value::made(Kind::Array(Array { library, extent }), range_of(node))
}
