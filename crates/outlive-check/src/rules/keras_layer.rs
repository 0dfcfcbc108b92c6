//! How many weights the layers of a Keras model have: shapes are followed from the input through
//! the layers, in a list, by `add`, or from call to call.

use std::collections::{HashMap, HashSet};

use crate::front::ast::Expr;
use crate::front::{Ranged, TextRange};
use crate::model::facts::{Call, Scope};
use crate::model::library::KERAS_MODEL;
use crate::model::value::{Arguments, Kind, Value, ValueId};

use super::oversized_layer::Weights;

type Shape = Vec<u64>;

/// The weights of the layers of a scope.
pub(super) fn keras_weights<'s, 'a>(scope: &'s Scope<'a>) -> Vec<Weights<'s, 'a>> {
    let mut layers = Layers {
        calls: HashMap::new(),
        shapes: HashMap::new(),
        begun: HashSet::new(),
        weights: Vec::new(),
    };
    if !scope.calls.iter().any(|call| is_keras(call)) {
        return Vec::new();
    }
    for call in &scope.calls {
        layers.calls.insert(call.node.range(), call);
        layers.read(call);
    }
    layers.weights
}

fn is_keras(call: &Call<'_>) -> bool {
    call.path
        .as_deref()
        .is_some_and(|path| path.starts_with("keras.layers."))
}

struct Layers<'s, 'a> {
    calls: HashMap<TextRange, &'s Call<'a>>,
    /// The shape of what a value holds; of a model that is built by `add`, what it gives so far.
    shapes: HashMap<ValueId, Shape>,
    /// Models that have a layer.
    begun: HashSet<ValueId>,
    weights: Vec<Weights<'s, 'a>>,
}

impl<'s, 'a> Layers<'s, 'a> {
    fn read(&mut self, call: &'s Call<'a>) {
        let result = ValueId::at(call.node.range());
        match call.path.as_deref() {
            Some("keras.Input" | "keras.layers.Input") => {
                let shape = call.arguments.get(0, "shape").and_then(shape_of);
                self.shapes.extend(shape.map(|shape| (result, shape)));
            }
            Some("keras.Sequential" | "keras.models.Sequential") => {
                if let Some(Expr::List(list)) = call.node.arguments.args.first() {
                    let mut shape = None;
                    for (index, layer) in list.elts.iter().enumerate() {
                        shape = self.layer(layer.range(), shape, index == 0);
                    }
                    self.begun.insert(result);
                    self.shapes.extend(shape.map(|shape| (result, shape)));
                }
            }
            _ => self.applied(call, result),
        }
    }

    /// `model.add(Dense(10))` and `Dense(10)(x)`.
    fn applied(&mut self, call: &'s Call<'a>, result: ValueId) {
        let receiver = call.receiver.as_ref();
        let is_model = |value: &Value<'_>| {
            value
                .as_object()
                .is_some_and(|object| &*object.class == KERAS_MODEL)
        };
        if call.name == "add"
            && let Some(model) = receiver.filter(|it| is_model(it)).and_then(|it| it.id)
            && let Some(layer) = call.node.arguments.args.first()
        {
            let before = self.shapes.remove(&model);
            let is_first = self.begun.insert(model);
            let after = self.layer(layer.range(), before, is_first);
            self.shapes.extend(after.map(|shape| (model, shape)));
        } else if let Expr::Call(layer) = call.node.func.as_ref() {
            let input = call.arguments.positional.first().and_then(|it| it.id);
            let before = input.and_then(|id| self.shapes.get(&id).cloned());
            let after = self.layer(layer.range(), before, false);
            self.shapes.extend(after.map(|shape| (result, shape)));
        }
    }

    /// Notes the weights of a layer, and gives the shape of what comes out of it. Only of the first
    /// one Keras asks what goes in.
    fn layer(&mut self, range: TextRange, shape: Option<Shape>, is_first: bool) -> Option<Shape> {
        let call = *self.calls.get(&range)?;
        let path = call.path.as_deref()?;
        if matches!(path, "keras.Input" | "keras.layers.Input") {
            return call.arguments.get(0, "shape").and_then(shape_of);
        }
        let name = path.strip_prefix("keras.layers.")?.rsplit('.').next()?;
        let own = call.arguments.named("input_shape").and_then(shape_of);
        let dim = call
            .arguments
            .named("input_dim")
            .filter(|_| name == "Dense");
        let own = own.or_else(|| dim.and_then(shape_of));
        let shape = own.filter(|_| is_first).or(shape);
        let count = count(name, &call.arguments, shape.as_deref());
        if let Some(count) = count {
            let width = shape.as_ref().and_then(|shape| shape.last());
            let text = width.map_or_else(|| format!("`{name}`"), |it| format!("{it} inputs"));
            let size = 4;
            self.weights.push(Weights {
                call,
                count,
                size,
                text,
            });
        }
        after(name, &call.arguments, shape?)
    }
}

fn count(name: &str, arguments: &Arguments<'_>, shape: Option<&[u64]>) -> Option<u64> {
    let first = arguments.positional.first();
    match name {
        "Dense" => {
            let units = whole(arguments.named("units").or(first)?)?;
            shape?.last()?.checked_mul(units)
        }
        "Embedding" => {
            let rows = whole(arguments.get(0, "input_dim")?)?;
            rows.checked_mul(whole(arguments.get(1, "output_dim")?)?)
        }
        "Conv1D" | "Conv2D" | "Conv3D" => {
            let filters = whole(arguments.get(0, "filters")?)?;
            let axes = shape?.len().checked_sub(1)?;
            let window = window(arguments.get(1, "kernel_size")?, axes)?;
            let window = window.into_iter().try_fold(1_u64, u64::checked_mul)?;
            shape?.last()?.checked_mul(filters)?.checked_mul(window)
        }
        _ => None,
    }
}

/// The shape of what comes out of a layer.
fn after(name: &str, arguments: &Arguments<'_>, mut shape: Shape) -> Option<Shape> {
    match name {
        "Flatten" => Some(vec![shape.into_iter().try_fold(1, u64::checked_mul)?]),
        "Dense" => {
            *shape.last_mut()? = whole(arguments.get(0, "units")?)?;
            Some(shape)
        }
        "Conv1D" | "Conv2D" | "Conv3D" => {
            let axes = shape.len().checked_sub(1)?;
            let window = window(arguments.get(1, "kernel_size")?, axes)?;
            let strides = window_or(arguments.get(2, "strides"), axes, vec![1; axes])?;
            let mut after = slid(&shape, &window, &strides, arguments.get(3, "padding"))?;
            after.push(whole(arguments.get(0, "filters")?)?);
            Some(after)
        }
        "MaxPooling1D" | "MaxPooling2D" | "MaxPooling3D" | "AveragePooling2D" | "MaxPool2D" => {
            let axes = shape.len().checked_sub(1)?;
            let window = window_or(arguments.get(0, "pool_size"), axes, vec![2; axes])?;
            let strides = window_or(arguments.get(1, "strides"), axes, window.clone())?;
            let mut after = slid(&shape, &window, &strides, arguments.get(2, "padding"))?;
            after.push(*shape.last()?);
            Some(after)
        }
        "GlobalAveragePooling2D"
        | "GlobalMaxPooling2D"
        | "GlobalAveragePooling1D"
        | "GlobalMaxPooling1D" => Some(vec![*shape.last()?]),
        "Reshape" => shape_of(arguments.get(0, "target_shape")?),
        "Activation" | "BatchNormalization" | "Dropout" | "GaussianNoise"
        | "LayerNormalization" | "LeakyReLU" | "ReLU" | "Rescaling" | "Softmax"
        | "SpatialDropout2D" | "PReLU" | "ELU" | "RandomFlip" | "RandomRotation" | "RandomZoom" => {
            Some(shape)
        }
        _ => None,
    }
}

/// The axes that a window leaves when it slides over them.
fn slid(
    shape: &[u64],
    window: &[u64],
    strides: &[u64],
    padding: Option<&Value<'_>>,
) -> Option<Shape> {
    let is_same = match padding {
        None => false,
        Some(padding) => padding.as_text()?.eq_ignore_ascii_case("same"),
    };
    let axes = shape.iter().zip(window).zip(strides);
    axes.map(|((axis, window), stride)| {
        if *stride == 0 {
            None
        } else if is_same {
            Some(axis.div_ceil(*stride))
        } else {
            Some(axis.checked_sub(*window)? / stride + 1)
        }
    })
    .collect()
}

fn window(value: &Value<'_>, axes: usize) -> Option<Vec<u64>> {
    match value.members() {
        [] => Some(vec![whole(value)?; axes]),
        members if members.len() == axes => members.iter().map(whole).collect(),
        _ => None,
    }
}

fn window_or(value: Option<&Value<'_>>, axes: usize, usual: Vec<u64>) -> Option<Vec<u64>> {
    match value {
        None => Some(usual),
        Some(value) if matches!(value.kind, Kind::None) => Some(usual),
        Some(value) => window(value, axes),
    }
}

fn shape_of(value: &Value<'_>) -> Option<Shape> {
    match value.members() {
        [] => Some(vec![whole(value)?]),
        members => members.iter().map(whole).collect(),
    }
}

fn whole(value: &Value<'_>) -> Option<u64> {
    u64::try_from(value.as_int()?).ok()
}
