//! The size of what a library's function makes, folded from its arguments.
//!
//! Nothing is guessed: where a shape, a data type or a device is not known, neither is the size.

mod creator;
mod item;

use super::extent::{Dtype, Extent};
use super::value::{Arguments, Kind, Value};

pub(super) use item::{Index, of_items};

/// Functions that give an array of the shape of their argument.
const ELEMENTWISE: [&str; 38] = [
    "abs",
    "absolute",
    "arccos",
    "arcsin",
    "arctan",
    "ceil",
    "clamp",
    "clip",
    "copy",
    "cos",
    "cosh",
    "cumprod",
    "cumsum",
    "exp",
    "expm1",
    "fabs",
    "floor",
    "log",
    "log10",
    "log1p",
    "log2",
    "negative",
    "nan_to_num",
    "reciprocal",
    "relu",
    "round",
    "sigmoid",
    "sign",
    "sin",
    "sinh",
    "softmax",
    "sort",
    "sqrt",
    "square",
    "tan",
    "tanh",
    "clone",
    "flip",
];

/// Functions of two arrays, element by element.
const PAIRWISE: [&str; 13] = [
    "add", "divide", "fmod", "hypot", "maximum", "minimum", "mod", "mul", "multiply", "pow",
    "power", "sub", "subtract",
];

/// Methods that give the same memory in another form.
const VIEWS: [&str; 17] = [
    "contiguous",
    "cpu",
    "cuda",
    "data",
    "detach",
    "flatten",
    "from_numpy",
    "numpy",
    "permute",
    "ravel",
    "requires_grad_",
    "reshape",
    "squeeze",
    "swapaxes",
    "transpose",
    "unsqueeze",
    "view",
];

/// Whether what is made shares the memory of what it is made of, or may do so.
pub(super) fn is_view(name: &str) -> bool {
    VIEWS.contains(&name) || matches!(name, "t" | "to" | "asarray" | "as_tensor" | "type")
}

/// The size of what calling this makes.
pub(super) fn of_call(path: &str, arguments: &Arguments<'_>) -> Option<Extent> {
    if is_elsewhere(arguments) {
        return None;
    }
    let name = path.rsplit('.').next()?;
    let first = arguments.positional.first();
    match name {
        "matmul" | "mm" | "bmm" | "dot" => product_of(arguments),
        "outer" | "ger" => outer(arguments),
        "cdist" => distances(arguments),
        "from_numpy" | "asarray" | "as_tensor" | "ascontiguousarray" => {
            let extent = first?.extent()?;
            Some(extent.with_dtype(dtype_after(arguments, 1, extent.dtype)?))
        }
        "tile" => tiled(first?.extent()?, arguments.get(1, "reps")?),
        _ if ELEMENTWISE.contains(&name) => first?.extent().cloned(),
        _ if PAIRWISE.contains(&name) => {
            let (one, two) = (first?, arguments.positional.get(1)?);
            match (one.extent(), two.extent()) {
                (Some(one), Some(two)) => one.broadcast(two),
                (Some(one), None) if two.is_plain() => Some(one.clone()),
                (None, Some(two)) if one.is_plain() => Some(two.clone()),
                _ => None,
            }
        }
        _ => creator::of_call(path, name, arguments),
    }
}

/// Whether nothing is allocated, or not all of the shape: it is written into something older, has
/// no memory, or is sparse.
fn is_elsewhere(arguments: &Arguments<'_>) -> bool {
    let is_meta = |it: &Value<'_>| it.as_text().is_some_and(|text| text.starts_with("meta"));
    arguments.named("device").is_some_and(is_meta)
        || arguments.named("out").is_some()
        || arguments.named("layout").is_some()
}

/// The size of what a method of an array of this size gives.
pub(super) fn of_method(
    extent: Option<&Extent>,
    name: &str,
    arguments: &Arguments<'_>,
) -> Option<Extent> {
    let extent = extent?;
    if is_elsewhere(arguments) {
        return None;
    }
    let first = arguments.positional.first();
    let to = match name {
        "astype" | "type" | "to" | "view" if first.is_some_and(is_dtype) => dtype_of(first?)?,
        "to" if arguments.has_more => return None,
        "to" if first.is_some_and(|it| it.as_text().is_some_and(|text| text == "meta")) => {
            return None;
        }
        "to" => dtype_after(arguments, 1, extent.dtype)?,
        "astype" => dtype_of(arguments.named("dtype")?)?,
        "float" => Dtype::FLOAT32,
        "double" => Dtype::FLOAT64,
        "half" | "bfloat16" => Dtype::named("float16")?,
        "long" => Dtype::INT64,
        "cuda" | "cpu" | "numpy" | "detach" | "contiguous" | "requires_grad_" => extent.dtype,
        "reshape" | "view" => return reshaped(extent, arguments),
        "t" => return extent.transposed(),
        "transpose" if arguments.all().next().is_none() => return extent.transposed(),
        "flatten" | "ravel" if arguments.all().next().is_none() => {
            let shape = vec![extent.elements()];
            return Some(Extent {
                shape,
                dtype: extent.dtype,
            });
        }
        "unsqueeze" => return unsqueezed(extent, first?.as_int()?),
        "matmul" | "mm" | "dot" | "bmm" => return extent.product(first?.extent()?),
        _ if ELEMENTWISE.contains(&name) => extent.dtype,
        _ if PAIRWISE.contains(&name) => {
            let other = first?;
            return match other.extent() {
                Some(other) => extent.broadcast(other),
                None => other.is_plain().then(|| extent.clone()),
            };
        }
        _ => return None,
    };
    Some(extent.with_dtype(to))
}

fn product_of(arguments: &Arguments<'_>) -> Option<Extent> {
    let one = arguments.positional.first()?.extent()?;
    let two = arguments.positional.get(1)?.extent()?;
    one.product(two)
}

fn outer(arguments: &Arguments<'_>) -> Option<Extent> {
    let one = arguments.positional.first()?.extent()?;
    let two = arguments.positional.get(1)?.extent()?;
    let shape = vec![one.elements(), two.elements()];
    let dtype = one.dtype;
    Some(Extent { shape, dtype })
}

/// All distances between the rows of two matrices.
fn distances(arguments: &Arguments<'_>) -> Option<Extent> {
    let one = arguments.positional.first()?.extent()?;
    let two = arguments.positional.get(1)?.extent()?;
    let ([.., rows, _], [.., columns, _]) = (one.shape.as_slice(), two.shape.as_slice()) else {
        return None;
    };
    let mut shape = one.shape.clone();
    shape.truncate(one.shape.len().saturating_sub(2));
    shape.extend([*rows, *columns]);
    let dtype = one.dtype;
    Some(Extent { shape, dtype })
}

fn tiled(extent: &Extent, times: &Value<'_>) -> Option<Extent> {
    let times = shape_of(times)?;
    let longest = times.len().max(extent.shape.len());
    let padded = |axes: &[u64]| -> Vec<u64> {
        let ones = std::iter::repeat_n(1, longest - axes.len());
        ones.chain(axes.iter().copied()).collect()
    };
    let pairs = padded(&extent.shape).into_iter().zip(padded(&times));
    let shape = pairs.map(|(axis, times)| axis.saturating_mul(times));
    Some(Extent {
        shape: shape.collect(),
        dtype: extent.dtype,
    })
}

fn unsqueezed(extent: &Extent, axis: i64) -> Option<Extent> {
    let length = i64::try_from(extent.shape.len()).ok()?;
    let place = if axis < 0 { axis + length + 1 } else { axis };
    let place = usize::try_from(place).ok()?;
    let mut shape = extent.shape.clone();
    if place > shape.len() {
        return None;
    }
    shape.insert(place, 1);
    let dtype = extent.dtype;
    Some(Extent { shape, dtype })
}

fn reshaped(extent: &Extent, arguments: &Arguments<'_>) -> Option<Extent> {
    let wanted = variadic(arguments)?;
    let known = wanted.iter().filter_map(|axis| u64::try_from(*axis).ok());
    let product = known.fold(1_u64, u64::saturating_mul);
    let shape = wanted
        .iter()
        .map(|axis| match axis {
            -1 => extent.elements().checked_div(product),
            axis => u64::try_from(*axis).ok(),
        })
        .collect::<Option<Vec<u64>>>()?;
    let dtype = extent.dtype;
    Some(Extent { shape, dtype })
}

/// `f(2, 3)` and `f((2, 3))`.
fn variadic(arguments: &Arguments<'_>) -> Option<Vec<i64>> {
    if arguments.has_more {
        return None;
    }
    match arguments.positional.as_slice() {
        [] => None,
        [only] if !only.members().is_empty() => only.members().iter().map(Value::as_int).collect(),
        all => all.iter().map(Value::as_int).collect(),
    }
}

pub(super) fn shape_of(value: &Value<'_>) -> Option<Vec<u64>> {
    match &value.kind {
        Kind::Sequence(members) => members.iter().map(axis).collect(),
        _ => Some(vec![axis(value)?]),
    }
}

fn axis(value: &Value<'_>) -> Option<u64> {
    u64::try_from(value.as_int()?).ok()
}

/// The data type asked for by name, or from this position on; the usual one if none is asked for,
/// and nothing if it is not known.
fn dtype_after(arguments: &Arguments<'_>, position: usize, usual: Dtype) -> Option<Dtype> {
    if arguments.has_more {
        return None;
    }
    match arguments.get(position, "dtype") {
        None => Some(usual),
        Some(value) if matches!(value.kind, Kind::None | Kind::Bool(_)) => Some(usual),
        Some(value) => dtype_of(value),
    }
}

fn is_dtype(value: &Value<'_>) -> bool {
    dtype_of(value).is_some()
}

pub(super) fn dtype_of(value: &Value<'_>) -> Option<Dtype> {
    match &value.kind {
        Kind::Dtype(dtype) => Some(*dtype),
        Kind::Text(text) => Dtype::named(text).or_else(|| Dtype::coded(text)),
        _ => None,
    }
}
