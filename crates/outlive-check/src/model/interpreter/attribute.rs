//! Attributes: of libraries, of `self`, of tensors and arrays.

use std::rc::Rc;

use crate::front::TextRange;
use crate::front::ast::{self, Expr};
use crate::model::extent::{Dtype, Extent};
use crate::model::facts::Key;
use crate::model::library;
use crate::model::value::{Array, History, Kind, Tensor, Value};

use super::Interpreter;
use super::expression::plain;

impl<'a> Interpreter<'a> {
    pub(super) fn attribute(&mut self, node: &'a ast::ExprAttribute) -> Value<'a> {
        let name = node.attr.as_str();
        if let Expr::Name(base) = node.value.as_ref() {
            let key = Key {
                name: base.id.as_str(),
                attribute: Some(name),
            };
            if let Some(value) = self.frame.environment.get(key) {
                return value.clone();
            }
        }
        let base = self.value(&node.value);
        self.attribute_of(&base, name, node.range)
    }

    pub(super) fn attribute_of(
        &mut self,
        base: &Value<'a>,
        name: &'a str,
        range: TextRange,
    ) -> Value<'a> {
        match &base.kind {
            Kind::Path(path) => {
                // The path is kept with its attribute, so that no other gets its address.
                let key = (Rc::as_ptr(path).addr(), name);
                let known = self.paths.entry(key);
                let (_, kind) =
                    known.or_insert_with(|| (Rc::clone(path), path_attribute(path, name)));
                plain(kind.clone())
            }
            Kind::Module(module) => match module.class {
                Some(class) => self.member(class, name, base, range),
                None => self.derived(base, Kind::Unknown, range),
            },
            Kind::Instance(class) => self.member(*class, name, base, range),
            Kind::Tensor(tensor) => {
                let kind = tensor_attribute(tensor, name);
                self.derived(base, kind, range)
            }
            Kind::Array(array) => {
                let kind = array_attribute(array, name);
                self.derived(base, kind, range)
            }
            _ => self.derived(base, Kind::Unknown, range),
        }
    }

    /// `self.something`.
    fn member(
        &mut self,
        class: crate::model::value::ClassId,
        name: &'a str,
        base: &Value<'a>,
        range: TextRange,
    ) -> Value<'a> {
        if let Some(method) = self.declarations.method(class, name) {
            return plain(Kind::Method(class, method));
        }
        let mut next = Some(class);
        for _ in 0..8 {
            let Some(class) = next else { break };
            if let Some(value) = self.attributes.get(&(class, name)) {
                return value.clone();
            }
            let bases = self.declarations.classes.get(class.0).map(|it| &it.bases);
            next = bases.and_then(|bases| {
                bases
                    .iter()
                    .find_map(|base| self.declarations.class_named(base))
            });
        }
        self.derived(base, Kind::Unknown, range)
    }
}

fn path_attribute<'a>(path: &str, name: &str) -> Kind<'a> {
    let full = library::canonical(&format!("{path}.{name}"));
    let root = full.split('.').next().unwrap_or_default();
    if matches!(root, "torch" | "numpy" | "tensorflow" | "jax")
        && let Some(dtype) = Dtype::named(name)
        && full.matches('.').count() <= 2
    {
        return Kind::Dtype(default_width(root, dtype));
    }
    if matches!(name, "pi" | "e" | "inf" | "nan") {
        return Kind::Number;
    }
    Kind::Path(full)
}

/// `np.float` and `np.int` are Python's own, of eight bytes; torch's `float` has four.
fn default_width(root: &str, dtype: Dtype) -> Dtype {
    match (root, dtype.name) {
        ("numpy", "float") => Dtype::FLOAT64,
        ("numpy", "int") => Dtype::INT64,
        _ => dtype,
    }
}

fn array_attribute<'a>(array: &Array, name: &str) -> Kind<'a> {
    let Some(extent) = &array.extent else {
        return Kind::Unknown;
    };
    match name {
        "shape" => shape_tuple(extent),
        "size" => Kind::Int(i64::try_from(extent.elements()).unwrap_or(i64::MAX)),
        "T" => Kind::Array(Array {
            library: array.library,
            extent: extent.transposed().map(Rc::new),
        }),
        _ => Kind::Unknown,
    }
}

fn shape_tuple<'a>(extent: &Extent) -> Kind<'a> {
    let axes = extent.shape.iter();
    Kind::Sequence(axes.map(|axis| plain(Kind::Int(*axis as i64))).collect())
}

fn tensor_attribute<'a>(tensor: &Tensor, name: &str) -> Kind<'a> {
    if name == "data" {
        return Kind::Tensor(Tensor {
            history: History::None,
            ..tensor.clone()
        });
    }
    if name == "shape"
        && let Some(extent) = &tensor.extent
    {
        return shape_tuple(extent);
    }
    if matches!(name, "T" | "mT") {
        let extent = tensor.extent.as_ref().and_then(|it| it.transposed());
        return Kind::Tensor(Tensor {
            extent: extent.filter(|it| it.shape.len() == 2).map(Rc::new),
            ..tensor.clone()
        });
    }
    if library::PLAIN_ATTRIBUTES.contains(&name) {
        return Kind::Unknown;
    }
    Kind::Tensor(Tensor {
        extent: None,
        ..tensor.clone()
    })
}
