//! The size of what TensorFlow's functions make, folded from their arguments.

use super::extent::{Dtype, Extent};
use super::size;
use super::value::{Arguments, Object, Value};

/// The channels of a picture of which nothing else is known.
const COLOURS: u64 = 3;

const UINT8: Dtype = Dtype {
    name: "uint8",
    size: 1,
};

/// The size of what calling this makes.
pub(super) fn size_of_call(path: &str, arguments: &Arguments<'_>) -> Option<Extent> {
    let (package, name) = path.rsplit_once('.')?;
    if package.rsplit('.').next() == Some("image") {
        return of_picture(name, arguments);
    }
    let first = arguments.positional.first();
    match name {
        "cast" => {
            let dtype = size::dtype_of(arguments.get(1, "dtype")?)?;
            Some(first?.extent()?.with_dtype(dtype))
        }
        "reshape" | "ensure_shape" => {
            let shape = size::shape_of(arguments.get(1, "shape")?)?;
            let dtype = dtype_of(first?)?;
            Some(Extent { shape, dtype })
        }
        "random_crop" => cropped(arguments),
        "expand_dims" => {
            let mut extent = first?.extent()?.clone();
            extent.shape.push(1);
            Some(extent)
        }
        "clip_by_value" | "identity" | "abs" | "square" | "constant" | "convert_to_tensor"
        | "squeeze" | "multiply" | "subtract" | "add" | "divide" => first?.extent().cloned(),
        _ => size::of_call(path, arguments),
    }
}

fn of_picture(name: &str, arguments: &Arguments<'_>) -> Option<Extent> {
    let first = arguments.positional.first();
    match name {
        "resize" | "resize_images" => {
            let size = arguments.get(1, "size")?;
            let [height, width] = size::shape_of(size)?.try_into().ok()?;
            let keeps_type = arguments.named("method").is_some();
            let dtype = if keeps_type { UINT8 } else { Dtype::FLOAT32 };
            let dtype = first
                .filter(|_| keeps_type)
                .and_then(dtype_of)
                .unwrap_or(dtype);
            Some(picture(height, width, first, dtype))
        }
        "resize_with_pad" | "resize_image_with_pad" => padded(arguments, first, Dtype::FLOAT32),
        "resize_with_crop_or_pad" | "resize_image_with_crop_or_pad" => {
            padded(arguments, first, dtype_of(first?)?)
        }
        "random_crop" => cropped(arguments),
        "convert_image_dtype" => {
            let dtype = size::dtype_of(arguments.get(1, "dtype")?)?;
            Some(first?.extent()?.with_dtype(dtype))
        }
        "rgb_to_grayscale" => with_channels(first?.extent()?, 1),
        "grayscale_to_rgb" => with_channels(first?.extent()?, 3),
        _ if keeps_size(name) => first?.extent().cloned(),
        _ => None,
    }
}

fn keeps_size(name: &str) -> bool {
    let name = name.trim_start_matches("stateless_");
    name.starts_with("random_")
        || name.starts_with("flip_")
        || name.starts_with("adjust_")
        || matches!(name, "per_image_standardization" | "rot90")
}

fn padded(arguments: &Arguments<'_>, first: Option<&Value<'_>>, dtype: Dtype) -> Option<Extent> {
    let axis = |value: &Value<'_>| u64::try_from(value.as_int()?).ok();
    let height = axis(arguments.get(1, "target_height")?)?;
    let width = axis(arguments.get(2, "target_width")?)?;
    Some(picture(height, width, first, dtype))
}

fn picture(height: u64, width: u64, from: Option<&Value<'_>>, dtype: Dtype) -> Extent {
    let channels = from.and_then(channels_of).unwrap_or(COLOURS);
    let shape = vec![height, width, channels];
    Extent { shape, dtype }
}

fn cropped(arguments: &Arguments<'_>) -> Option<Extent> {
    let shape = size::shape_of(arguments.get(1, "size")?)?;
    let dtype = dtype_of(arguments.positional.first()?)?;
    Some(Extent { shape, dtype })
}

fn with_channels(extent: &Extent, channels: u64) -> Option<Extent> {
    let mut extent = extent.clone();
    *extent.shape.last_mut()? = channels;
    Some(extent)
}

/// How many channels a picture has.
fn channels_of(value: &Value<'_>) -> Option<u64> {
    if let Some(extent) = value.extent() {
        return match extent.shape.as_slice() {
            [.., _, _, channels] => Some(*channels),
            _ => None,
        };
    }
    let object = value.as_object()?;
    if object.made_by.starts_with("decode_") {
        let channels = object.arguments.get(1, "channels")?;
        return u64::try_from(channels.as_int()?).ok().filter(|it| *it > 0);
    }
    channels_of(object.arguments.positional.first()?)
}

/// The type of the elements of what a function of TensorFlow made, where its shape is not known.
fn dtype_of(value: &Value<'_>) -> Option<Dtype> {
    if let Some(extent) = value.extent() {
        return Some(extent.dtype);
    }
    let object = value.as_object()?;
    dtype_of_object(object)
}

fn dtype_of_object(object: &Object<'_>) -> Option<Dtype> {
    let given = |position, name| size::dtype_of(object.arguments.get(position, name)?);
    match &*object.made_by {
        "cast" | "convert_image_dtype" => given(1, "dtype"),
        "decode_raw" => given(1, "out_type"),
        "resize" | "resize_with_pad" => Some(Dtype::FLOAT32),
        name if name.starts_with("decode_") => {
            let given = object.arguments.named("dtype").and_then(size::dtype_of);
            given.or(Some(UINT8))
        }
        "reshape" | "expand_dims" | "squeeze" => dtype_of(object.arguments.positional.first()?),
        _ => None,
    }
}
