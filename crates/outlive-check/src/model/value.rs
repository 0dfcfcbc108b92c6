//! What is known of a value: its kind, and where it was made.

use std::rc::Rc;

pub use super::arguments::Arguments;
use super::extent::{Dtype, Extent};
use crate::front::ast::ExprLambda;
use crate::front::{TextRange, TextSize};

/// Names a value by the place of the expression that made it: the same in every round of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ValueId(TextSize, TextSize);

impl ValueId {
    /// The value that the expression at this place makes.
    pub fn at(range: TextRange) -> Self {
        Self(range.start(), range.end())
    }

    /// A member of the tuple that the call at this place returns. No expression is empty, so none
    /// has its number.
    pub fn member(call: TextRange, index: usize) -> Self {
        let at = call.start() + TextSize::new(index as u32);
        Self(at, at)
    }

    /// Something that the call at this place makes, and keeps to itself.
    pub fn within(call: TextRange) -> Self {
        Self(call.end(), call.end())
    }

    /// The place of that expression.
    pub fn range(self) -> TextRange {
        TextRange::new(self.0, self.1)
    }
}

/// A value, as far as it is known.
#[derive(Clone, Debug)]
pub struct Value<'a> {
    /// What it is.
    pub kind: Kind<'a>,
    /// Where it was made, if in this scope.
    pub id: Option<ValueId>,
}

/// What a value is.
#[derive(Clone, Debug)]
pub enum Kind<'a> {
    /// Anything: rules are silent.
    Unknown,
    /// `None`.
    None,
    /// `True` or `False`.
    Bool(bool),
    /// A known integer.
    Int(i64),
    /// A known float.
    Float(f64),
    /// A known string.
    Text(&'a str),
    /// A Python number, value unknown: `float(x)`, `.item()`, `len(x)`.
    Number,
    /// A tuple or list display with known members.
    Sequence(Rc<[Value<'a>]>),
    /// A data type: `torch.float16`, `np.uint8`, `"int8"` is still text.
    Dtype(Dtype),
    /// Something imported, by its full name: a module, function or class of a library.
    Path(Rc<str>),
    /// A function of this file.
    Function(FunctionId),
    /// A `lambda`.
    Lambda(&'a ExprLambda),
    /// A class of this file.
    Class(ClassId),
    /// A method of this file with the object it belongs to.
    Method(ClassId, FunctionId),
    /// An object of a class of this file that is no torch module.
    Instance(ClassId),
    /// A tensor of torch, or what a torch module returned.
    Tensor(Tensor),
    /// An array of NumPy, TensorFlow or JAX.
    Array(Array),
    /// A torch module that can be called.
    Module(Module),
    /// A list, dict or set that began empty or with unknown members.
    Container(Container),
    /// An object that a library made.
    Object(Rc<Object<'a>>),
    /// An exception that a handler has bound.
    Exception,
}

/// A tensor of torch.
#[derive(Clone, Debug)]
pub struct Tensor {
    /// Whether it holds on to the operations that made it.
    pub history: History,
    /// Its size, if it folds.
    pub extent: Option<Rc<Extent>>,
    /// Whether it was brought to the host: `.cpu()`.
    pub on_host: bool,
}

/// Whether a tensor holds on to the operations that made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum History {
    /// Proved: it came out of a module or of an operation on such a tensor, with gradients on.
    Carried,
    /// Proved: it was detached, or made with gradients off.
    None,
    /// Not known.
    Unknown,
}

/// An array outside torch.
#[derive(Clone, Debug)]
pub struct Array {
    /// `numpy`, `tensorflow` or `jax`.
    pub library: &'static str,
    /// Its size, if it folds.
    pub extent: Option<Rc<Extent>>,
}

/// A torch module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Module {
    /// Its class, if it is of this file.
    pub class: Option<ClassId>,
    /// What it does, where that matters.
    pub role: ModuleRole,
}

/// What a module does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModuleRole {
    /// A model or layer.
    Layer,
    /// A loss: its result has a history only if an argument has.
    Loss,
    /// A recurrent layer: takes and returns a state.
    Recurrent,
}

/// A list, dict, set or queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Container {
    /// What kind.
    pub shape: ContainerShape,
}

/// The kinds of containers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContainerShape {
    /// `[]`, `list()`, a list comprehension.
    List,
    /// `{}`, `dict()`, `defaultdict(list)`.
    Dict,
    /// `set()`.
    Set,
    /// Something that drops old members itself: `deque(maxlen=…)`.
    Bounded,
}

/// An object that a library made.
#[derive(Clone, Debug)]
pub struct Object<'a> {
    /// Its type by our names, see `library.rs`: `torch.utils.data.DataLoader`,
    /// `tensorflow.data.Dataset`, `torch.optim.Optimizer`; otherwise the path that was called.
    pub class: Rc<str>,
    /// The last name of what was called: `DataLoader`, `from_tensor_slices`, `batch`.
    pub made_by: Rc<str>,
    /// With which arguments.
    pub arguments: Arguments<'a>,
    /// The object whose method made it: chains such as `dataset.map(f).batch(32)`.
    pub receiver: Option<Value<'a>>,
    /// One element of it, if it is a pipeline; of a batch, one member.
    pub element: Value<'a>,
    /// How many objects it was made of, one after the other.
    pub depth: u32,
    /// The call.
    pub range: TextRange,
}

/// The number of a function among those of its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FunctionId(pub usize);

/// The number of a class among those of its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClassId(pub usize);

impl<'a> Value<'a> {
    /// A value of which nothing is known.
    pub const UNKNOWN: Self = Self {
        kind: Kind::Unknown,
        id: None,
    };

    /// A value that the expression at this place makes.
    pub fn made(kind: Kind<'a>, range: TextRange) -> Self {
        Self {
            kind,
            id: Some(ValueId::at(range)),
        }
    }

    /// A tensor of which only this is known.
    pub fn tensor(history: History, range: TextRange) -> Self {
        let tensor = Tensor {
            history,
            extent: None,
            on_host: false,
        };
        Self::made(Kind::Tensor(tensor), range)
    }

    /// Whether nothing is known of it.
    pub fn is_unknown(&self) -> bool {
        matches!(self.kind, Kind::Unknown)
    }

    /// The integer it is.
    pub fn as_int(&self) -> Option<i64> {
        match self.kind {
            Kind::Int(value) => Some(value),
            Kind::Float(value) if value.fract() == 0.0 && value.abs() < 1e15 => Some(value as i64),
            _ => None,
        }
    }

    /// The truth value it is.
    pub fn as_bool(&self) -> Option<bool> {
        match self.kind {
            Kind::Bool(value) => Some(value),
            Kind::None => Some(false),
            Kind::Int(value) => Some(value != 0),
            _ => None,
        }
    }

    /// The text it is.
    pub fn as_text(&self) -> Option<&'a str> {
        match self.kind {
            Kind::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The full name of the imported thing it is.
    pub fn as_path(&self) -> Option<&str> {
        match &self.kind {
            Kind::Path(path) => Some(path),
            _ => None,
        }
    }

    /// The object of a library it is.
    pub fn as_object(&self) -> Option<&Rc<Object<'a>>> {
        match &self.kind {
            Kind::Object(object) => Some(object),
            _ => None,
        }
    }

    /// The tensor it is.
    pub fn as_tensor(&self) -> Option<&Tensor> {
        match &self.kind {
            Kind::Tensor(tensor) => Some(tensor),
            _ => None,
        }
    }

    /// The members it is known to have.
    pub fn members(&self) -> &[Value<'a>] {
        match &self.kind {
            Kind::Sequence(members) => members,
            _ => &[],
        }
    }

    /// What is known of its history, as far as it is a tensor.
    pub fn history(&self) -> History {
        match &self.kind {
            Kind::Tensor(tensor) => tensor.history,
            Kind::Unknown | Kind::Path(_) | Kind::Lambda(_) => History::Unknown,
            _ => History::None,
        }
    }

    /// Its size, if it is an array or tensor whose size folds.
    pub fn extent(&self) -> Option<&Extent> {
        match &self.kind {
            Kind::Tensor(tensor) => tensor.extent.as_deref(),
            Kind::Array(array) => array.extent.as_deref(),
            _ => None,
        }
    }

    /// Whether it is surely a number, text or the like, and nothing large can hang on it.
    pub fn is_plain(&self) -> bool {
        matches!(
            self.kind,
            Kind::None
                | Kind::Bool(_)
                | Kind::Int(_)
                | Kind::Float(_)
                | Kind::Text(_)
                | Kind::Number
                | Kind::Dtype(_)
        )
    }

    /// What is known where two ways meet.
    #[must_use]
    pub fn joined(&self, other: &Self) -> Self {
        let id = self.id.or(other.id);
        if self.is_same_kind(other) {
            return Self {
                kind: self.kind.clone(),
                id,
            };
        }
        let kind = match (&self.kind, &other.kind) {
            (Kind::Tensor(one), Kind::Tensor(two)) => Kind::Tensor(Tensor {
                history: if one.history == two.history {
                    one.history
                } else {
                    History::Unknown
                },
                extent: common(one.extent.as_ref(), two.extent.as_ref()),
                on_host: one.on_host && two.on_host,
            }),
            (Kind::Array(one), Kind::Array(two)) if one.library == two.library => {
                Kind::Array(Array {
                    library: one.library,
                    extent: common(one.extent.as_ref(), two.extent.as_ref()),
                })
            }
            (one, two) if self.is_plain() && other.is_plain() && is_number(one, two) => {
                Kind::Number
            }
            // The same object, of which one way has learned more.
            (Kind::Unknown, known) | (known, Kind::Unknown)
                if id.is_some() && self.id == other.id =>
            {
                known.clone()
            }
            // `model = None` before `model = Net()`: what is used is the object.
            (Kind::None, known) | (known, Kind::None) => known.clone(),
            _ => Kind::Unknown,
        };
        Self { kind, id }
    }

    fn is_same_kind(&self, other: &Self) -> bool {
        match (&self.kind, &other.kind) {
            (Kind::Unknown, Kind::Unknown)
            | (Kind::None, Kind::None)
            | (Kind::Number, Kind::Number)
            | (Kind::Exception, Kind::Exception) => true,
            (Kind::Bool(one), Kind::Bool(two)) => one == two,
            (Kind::Int(one), Kind::Int(two)) => one == two,
            (Kind::Float(one), Kind::Float(two)) => one.to_bits() == two.to_bits(),
            (Kind::Text(one), Kind::Text(two)) => one == two,
            (Kind::Path(one), Kind::Path(two)) => one == two,
            (Kind::Dtype(one), Kind::Dtype(two)) => one == two,
            (Kind::Function(one), Kind::Function(two)) => one == two,
            (Kind::Class(one), Kind::Class(two)) | (Kind::Instance(one), Kind::Instance(two)) => {
                one == two
            }
            (Kind::Module(one), Kind::Module(two)) => one == two,
            (Kind::Container(one), Kind::Container(two)) => one == two,
            (Kind::Object(one), Kind::Object(two)) => one.class == two.class,
            _ => false,
        }
    }
}

fn is_number(one: &Kind<'_>, two: &Kind<'_>) -> bool {
    let number = |kind: &Kind<'_>| {
        matches!(
            kind,
            Kind::Int(_) | Kind::Float(_) | Kind::Number | Kind::Bool(_)
        )
    };
    number(one) && number(two)
}

fn common(one: Option<&Rc<Extent>>, two: Option<&Rc<Extent>>) -> Option<Rc<Extent>> {
    one.filter(|one| Some(*one) == two).cloned()
}
