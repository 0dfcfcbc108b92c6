//! The size of arrays that are made of nothing: zeros, random numbers, ranges.

use super::{axis, dtype_after, shape_of, variadic};
use crate::model::extent::{Dtype, Extent};
use crate::model::value::{Arguments, Kind, Value};

/// The size of what calling this makes.
pub(super) fn of_call(path: &str, name: &str, arguments: &Arguments<'_>) -> Option<Extent> {
    if arguments.has_more {
        return None;
    }
    if name.ends_with("_like") {
        let like = arguments.positional.first()?.extent()?;
        let position = if name == "full_like" { 2 } else { 1 };
        let dtype = dtype_after(arguments, position, like.dtype)?;
        return Some(like.with_dtype(dtype));
    }
    let (package, _) = path.rsplit_once('.')?;
    match package {
        "torch" => of_torch(name, arguments),
        "numpy" | "jax.numpy" => of_numpy(name, arguments, usual(package)),
        "numpy.random" => of_numpy_random(name, arguments),
        "jax.random" => {
            let of_shape = matches!(name, "normal" | "uniform" | "truncated_normal");
            let shape = shape_of(arguments.get(1, "shape").filter(|_| of_shape)?)?;
            let dtype = dtype_after(arguments, 2, Dtype::FLOAT32)?;
            Some(Extent { shape, dtype })
        }
        "tensorflow" | "tensorflow.compat.v1" => of_tensorflow(name, arguments),
        "tensorflow.random" => {
            let of_shape = matches!(name, "normal" | "uniform" | "truncated_normal");
            let shape = shape_of(arguments.get(0, "shape").filter(|_| of_shape)?)?;
            let dtype = dtype_after(arguments, 3, Dtype::FLOAT32)?;
            Some(Extent { shape, dtype })
        }
        _ => None,
    }
}

/// What a library makes unless told otherwise: its floats, its whole numbers.
fn usual(package: &str) -> (Dtype, Dtype) {
    if package == "numpy" {
        (Dtype::FLOAT64, Dtype::INT64)
    } else {
        (Dtype::FLOAT32, Dtype::INT32)
    }
}

fn of_torch(name: &str, arguments: &Arguments<'_>) -> Option<Extent> {
    // The data type is by name only.
    let dtype = |usual| dtype_after(arguments, usize::MAX, usual);
    let shape = match name {
        "zeros" | "ones" | "empty" | "rand" | "randn" => match arguments.named("size") {
            Some(size) => shape_of(size)?,
            None => whole(&variadic(arguments)?)?,
        },
        "full" => {
            let shape = shape_of(arguments.get(0, "size")?)?;
            let dtype = dtype(fill_type(
                arguments,
                (Dtype::FLOAT32, Dtype::INT64),
                "fill_value",
            ))?;
            return Some(Extent { shape, dtype });
        }
        "normal" => shape_of(arguments.get(2, "size")?)?,
        "eye" => square(arguments, "n", "m")?,
        "linspace" | "logspace" => vec![axis(arguments.get(2, "steps")?)?],
        "randperm" => {
            let shape = vec![axis(arguments.positional.first()?)?];
            let dtype = dtype(Dtype::INT64)?;
            return Some(Extent { shape, dtype });
        }
        "randint" => {
            let by_position = arguments.positional.last();
            let shape = shape_of(arguments.named("size").or(by_position)?)?;
            let dtype = dtype(Dtype::INT64)?;
            return Some(Extent { shape, dtype });
        }
        "arange" | "range" => {
            return arange(arguments, (Dtype::FLOAT32, Dtype::INT64), usize::MAX);
        }
        _ => return None,
    };
    let dtype = dtype(Dtype::FLOAT32)?;
    Some(Extent { shape, dtype })
}

fn of_numpy(name: &str, arguments: &Arguments<'_>, usual: (Dtype, Dtype)) -> Option<Extent> {
    let (shape, position, usual) = match name {
        "zeros" | "ones" | "empty" => (shape_of(arguments.get(0, "shape")?)?, 1, usual.0),
        "full" => {
            let usual = fill_type(arguments, usual, "fill_value");
            (shape_of(arguments.get(0, "shape")?)?, 2, usual)
        }
        "eye" | "tri" => (square(arguments, "N", "M")?, 3, usual.0),
        "identity" => (square(arguments, "n", "")?, 1, usual.0),
        "linspace" | "logspace" | "geomspace" => {
            let count = arguments.get(2, "num").map_or(Some(50), axis)?;
            (vec![count], 5, usual.0)
        }
        "arange" => return arange(arguments, usual, 3),
        _ => return None,
    };
    let dtype = dtype_after(arguments, position, usual)?;
    Some(Extent { shape, dtype })
}

fn of_numpy_random(name: &str, arguments: &Arguments<'_>) -> Option<Extent> {
    let size = |position| shape_of(arguments.get(position, "size")?);
    let by_name = |usual| match arguments.named("dtype") {
        None => Some(usual),
        Some(value) => super::dtype_of(value),
    };
    let (shape, usual) = match name {
        "rand" | "randn" => (whole(&variadic(arguments)?)?, Dtype::FLOAT64),
        "random"
        | "random_sample"
        | "sample"
        | "ranf"
        | "standard_normal"
        | "standard_exponential" => (size(0)?, Dtype::FLOAT64),
        "normal" | "uniform" | "laplace" | "logistic" | "gumbel" | "lognormal" | "beta"
        | "gamma" => (size(2)?, Dtype::FLOAT64),
        "exponential" | "rayleigh" | "chisquare" | "standard_t" | "pareto" => {
            (size(1)?, Dtype::FLOAT64)
        }
        "poisson" | "geometric" => (size(1)?, Dtype::INT64),
        "binomial" | "randint" | "integers" => (size(2)?, Dtype::INT64),
        "permutation" => (vec![axis(arguments.positional.first()?)?], Dtype::INT64),
        _ => return None,
    };
    let dtype = by_name(usual)?;
    Some(Extent { shape, dtype })
}

fn of_tensorflow(name: &str, arguments: &Arguments<'_>) -> Option<Extent> {
    let usual = (Dtype::FLOAT32, Dtype::INT32);
    let (shape, position, usual) = match name {
        "zeros" | "ones" => (shape_of(arguments.get(0, "shape")?)?, 1, usual.0),
        "fill" => {
            let dtype = fill_type(arguments, usual, "value");
            (shape_of(arguments.get(0, "dims")?)?, 2, dtype)
        }
        "eye" => (square(arguments, "num_rows", "num_columns")?, 3, usual.0),
        "range" => return arange(arguments, usual, 3),
        _ => return None,
    };
    let dtype = dtype_after(arguments, position, usual)?;
    Some(Extent { shape, dtype })
}

fn whole(axes: &[i64]) -> Option<Vec<u64>> {
    axes.iter().map(|axis| u64::try_from(*axis).ok()).collect()
}

/// The type of an array that is filled with one value.
fn fill_type(arguments: &Arguments<'_>, usual: (Dtype, Dtype), name: &str) -> Dtype {
    match arguments.get(1, name).map(|it| &it.kind) {
        Some(Kind::Int(_)) => usual.1,
        Some(Kind::Bool(_)) => Dtype::BOOL,
        _ => usual.0,
    }
}

fn square(arguments: &Arguments<'_>, rows: &str, columns: &str) -> Option<Vec<u64>> {
    let rows = axis(arguments.get(0, rows)?)?;
    let columns = match arguments.named(columns).or(arguments.positional.get(1)) {
        Some(value) if matches!(value.kind, Kind::None | Kind::Dtype(_)) => rows,
        Some(value) => axis(value)?,
        None => rows,
    };
    Some(vec![rows, columns])
}

fn arange(arguments: &Arguments<'_>, usual: (Dtype, Dtype), position: usize) -> Option<Extent> {
    let given = &arguments.positional;
    let bounds: Option<Vec<i64>> = given.iter().map(Value::as_int).collect();
    let length = match bounds?.as_slice() {
        [stop] => *stop,
        [start, stop] => stop.checked_sub(*start)?,
        [start, stop, step] if *step > 0 => stop.checked_sub(*start)?.checked_div(*step)?,
        _ => return None,
    };
    let has_float = given.iter().any(|it| matches!(it.kind, Kind::Float(_)));
    let usual = if has_float { usual.0 } else { usual.1 };
    let dtype = dtype_after(arguments, position, usual)?;
    let shape = vec![u64::try_from(length).ok()?];
    Some(Extent { shape, dtype })
}
