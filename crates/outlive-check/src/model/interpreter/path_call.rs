//! Calls of imported functions and classes.

use std::rc::Rc;

use crate::front::TextRange;
use crate::front::ast::{self, Expr};
use crate::model::facts::Destination;
use crate::model::library;
use crate::model::size;
use crate::model::tensorflow;
use crate::model::value::{
    Arguments, Array, Container, ContainerShape, History, Kind, Module, Object, Tensor, Value,
};

use super::Interpreter;
use super::expression::plain;

/// No person makes one object of more, one after the other; what came before them is forgotten.
const DEEPEST_OBJECT: u32 = 64;

impl<'a> Interpreter<'a> {
    pub(super) fn call_path(
        &mut self,
        path: &Rc<str>,
        arguments: &Arguments<'a>,
        range: TextRange,
        node: &'a ast::ExprCall,
    ) -> Value<'a> {
        for argument in arguments.all() {
            self.frame.derive(range, argument, false);
        }
        let (package, name) = path.rsplit_once('.').unwrap_or(("", path));
        if let Some(role) = library::module_role(path) {
            return Value::made(Kind::Module(Module { class: None, role }), range);
        }
        if let Some(class) = library::object_class(path) {
            if class == library::TF_DATASET {
                return self.pipeline(name, arguments, None, range);
            }
            return Self::object(class, name, arguments, None, range);
        }
        match package.split('.').next().unwrap_or_default() {
            "torch" | "torchvision" => self.call_torch(path, package, name, arguments, node),
            "numpy" | "jax" | "tensorflow" => Self::call_array(path, name, arguments, range),
            "collections" | "copy" | "functools" | "math" | "itertools" => {
                self.call_standard(name, arguments, range)
            }
            "keras" if name == "preprocess_input" => self.first_or_unknown(arguments, range),
            "accelerate" | "tqdm" => self.first_or_unknown(arguments, range),
            "pickle" | "json" | "matplotlib" | "sklearn" | "scipy" | "wandb" | "mlflow"
            | "pandas" | "seaborn" | "joblib" | "csv" | "logging" | "os" => {
                Value::made(Kind::Unknown, range)
            }
            _ => {
                for argument in arguments.all() {
                    self.frame.escape(argument, Destination::Passed);
                }
                if library::is_loss_name(name) {
                    return self.loss_by_name(arguments, range);
                }
                Value::made(Kind::Unknown, range)
            }
        }
    }

    /// An object that a library makes.
    pub(super) fn object(
        class: &str,
        made_by: &str,
        arguments: &Arguments<'a>,
        receiver: Option<Value<'a>>,
        range: TextRange,
    ) -> Value<'a> {
        Self::made_object(class, made_by, arguments, receiver, Value::UNKNOWN, range)
    }

    /// An object of known elements.
    pub(super) fn made_object(
        class: &str,
        made_by: &str,
        arguments: &Arguments<'a>,
        receiver: Option<Value<'a>>,
        element: Value<'a>,
        range: TextRange,
    ) -> Value<'a> {
        let parts = receiver.iter().chain(arguments.all());
        let depth = parts.map(depth_of).max().unwrap_or_default();
        let is_deep = depth >= DEEPEST_OBJECT;
        let object = Object {
            class: class.into(),
            made_by: made_by.into(),
            arguments: if is_deep {
                Arguments::default()
            } else {
                arguments.clone()
            },
            receiver: receiver.filter(|_| !is_deep),
            element: if is_deep { Value::UNKNOWN } else { element },
            depth: depth % DEEPEST_OBJECT,
            range,
        };
        Value::made(Kind::Object(Rc::new(object)), range)
    }

    fn call_torch(
        &mut self,
        path: &str,
        package: &str,
        name: &str,
        arguments: &Arguments<'a>,
        node: &'a ast::ExprCall,
    ) -> Value<'a> {
        let range = super::call::range_of(node);
        let first = arguments.positional.first();
        match path {
            "torch.set_grad_enabled" | "torch.autograd.set_grad_enabled" => {
                let statement = self.frame.statement;
                // As a statement it switches; as a context manager `with` asks for its effect.
                if statement == range {
                    self.set_gradients(node);
                }
                return Value::made(Kind::Unknown, range);
            }
            "torch.autograd.backward" | "torch.autograd.grad" => {
                let retains = ["retain_graph", "create_graph"].iter().any(|name| {
                    arguments
                        .named(name)
                        .is_some_and(|it| it.as_bool() != Some(false))
                });
                self.note_backward(range, first.and_then(|it| it.id), retains);
                return Value::made(Kind::Unknown, range);
            }
            "torch.nn.DataParallel"
            | "torch.nn.parallel.DataParallel"
            | "torch.nn.parallel.DistributedDataParallel"
            | "torch.compile"
            | "torch.jit.script"
            | "torch.nn.SyncBatchNorm.convert_sync_batchnorm" => {
                return self.first_or_unknown(arguments, range);
            }
            "torch.autograd.Variable" => return self.first_or_unknown(arguments, range),
            "torch.max" | "torch.min" | "torch.sort" | "torch.topk" | "torch.median"
            | "torch.mode" => {
                return self.values_and_indices(
                    name,
                    arguments.all().count() > 1,
                    arguments,
                    range,
                );
            }
            // What is made on a device depends on its name, if that is known.
            "torch.device" => {
                let name = first.and_then(Value::as_text);
                return name.map_or_else(
                    || Value::made(Kind::Unknown, range),
                    |name| plain(Kind::Text(name)),
                );
            }
            _ => {}
        }
        if matches!(
            package,
            "torch" | "torch.nn.functional" | "torch.linalg" | "torch.special"
        ) {
            return self.torch_operation(path, name, arguments, range);
        }
        Value::made(Kind::Unknown, range)
    }

    fn torch_operation(
        &mut self,
        path: &str,
        name: &str,
        arguments: &Arguments<'a>,
        range: TextRange,
    ) -> Value<'a> {
        let extent = size::of_call(path, arguments).map(Rc::new);
        let history = if library::WITHOUT_HISTORY.contains(&name) {
            History::None
        } else if library::CREATORS.contains(&name) || name == "tensor" {
            match arguments.named("requires_grad").map(Value::as_bool) {
                None | Some(Some(false)) => History::None,
                _ => History::Unknown,
            }
        } else if name.starts_with(|first: char| first.is_ascii_uppercase()) || is_no_tensor(name) {
            return Value::made(Kind::Unknown, range);
        } else {
            self.history_of_contents(arguments)
        };
        let tensor = Tensor {
            history,
            extent,
            on_host: false,
        };
        Value::made(Kind::Tensor(tensor), range)
    }

    /// As [`Self::history_of`]; what is in a list is not known, unless it is a display.
    fn history_of_contents(&self, arguments: &Arguments<'a>) -> History {
        let history = self.history_of(arguments.all());
        let has_container = arguments.all().any(|it| {
            matches!(
                it.kind,
                Kind::Container(_) | Kind::Instance(_) | Kind::Object(_)
            )
        });
        if history == History::None
            && has_container
            && self.frame.gradients != crate::model::facts::Gradients::Off
        {
            return History::Unknown;
        }
        history
    }

    /// `torch.max(x, 1)`: values with a history, and indices without.
    pub(super) fn values_and_indices(
        &mut self,
        name: &str,
        has_axis: bool,
        arguments: &Arguments<'a>,
        range: TextRange,
    ) -> Value<'a> {
        let history = self.history_of(arguments.all());
        let is_pair = has_axis || matches!(name, "sort" | "topk" | "mode");
        if !is_pair {
            return Value::tensor(history, range);
        }
        let part = |history| Value {
            kind: Value::tensor(history, range).kind,
            id: None,
        };
        let parts = [part(history), part(History::None)];
        Value::made(Kind::Sequence(parts.into()), range)
    }

    fn call_array(
        path: &str,
        name: &str,
        arguments: &Arguments<'a>,
        range: TextRange,
    ) -> Value<'a> {
        let library = match path.split('.').next() {
            Some("numpy") => "numpy",
            Some("jax") => "jax",
            _ => "tensorflow",
        };
        let extent = match library {
            "tensorflow" => tensorflow::size_of_call(path, arguments),
            _ => size::of_call(path, arguments),
        };
        let extent = extent.map(Rc::new);
        let is_class = name.starts_with(|first: char| first.is_ascii_uppercase());
        let is_random_source = matches!(name, "default_rng" | "RandomState" | "PRNGKey");
        if extent.is_some() || (library == "numpy" && !is_class && !is_random_source) {
            return Value::made(Kind::Array(Array { library, extent }), range);
        }
        Self::object(path, name, arguments, None, range)
    }

    fn call_standard(
        &mut self,
        name: &str,
        arguments: &Arguments<'a>,
        range: TextRange,
    ) -> Value<'a> {
        let shape = match name {
            "deque" => {
                let bound = arguments.get(1, "maxlen");
                match bound.map(|it| &it.kind) {
                    None | Some(Kind::None) => ContainerShape::List,
                    _ => ContainerShape::Bounded,
                }
            }
            "defaultdict" | "OrderedDict" | "Counter" => ContainerShape::Dict,
            "deepcopy" | "copy" => return self.first_or_unknown(arguments, range),
            "prod" => {
                let factors = arguments
                    .positional
                    .first()
                    .map(Value::members)
                    .unwrap_or_default();
                let known: Option<Vec<i64>> = factors.iter().map(Value::as_int).collect();
                let product =
                    known.and_then(|known| known.into_iter().try_fold(1_i64, i64::checked_mul));
                return plain(product.map_or(Kind::Number, Kind::Int));
            }
            "ceil" | "floor" | "sqrt" | "log" | "exp" | "isnan" => return plain(Kind::Number),
            _ => return Value::made(Kind::Unknown, range),
        };
        Value::made(Kind::Container(Container { shape }), range)
    }

    /// A wrapper gives what it wraps.
    fn first_or_unknown(&mut self, arguments: &Arguments<'a>, range: TextRange) -> Value<'a> {
        match arguments.positional.first() {
            Some(first) => {
                self.frame.derive(range, first, true);
                Value::made(first.kind.clone(), range)
            }
            None => Value::made(Kind::Unknown, range),
        }
    }

    fn set_gradients(&mut self, node: &'a ast::ExprCall) {
        let constant = node.arguments.args.first();
        if let Some(Expr::BooleanLiteral(literal)) = constant {
            self.switch_gradients(literal.value);
        } else {
            self.frame.gradients = crate::model::facts::Gradients::Unknown;
        }
    }
}

/// Functions of torch that give no tensor.
fn is_no_tensor(name: &str) -> bool {
    matches!(
        name,
        "load"
            | "save"
            | "manual_seed"
            | "device"
            | "is_tensor"
            | "get_default_dtype"
            | "no_grad"
            | "set_default_dtype"
            | "set_num_threads"
            | "numel"
            | "initial_seed"
            | "enable_grad"
            | "inference_mode"
            | "autocast"
            | "is_grad_enabled"
            | "set_default_tensor_type"
    )
}

/// How many objects a value was made of, one after the other.
fn depth_of(value: &Value<'_>) -> u32 {
    let own = value.as_object().map(|object| object.depth + 1);
    let members = value.members().iter().filter_map(Value::as_object);
    let members = members.map(|object| object.depth + 1);
    own.into_iter().chain(members).max().unwrap_or_default()
}
