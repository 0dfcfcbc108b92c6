//! Pipelines of `tf.data` as chains of steps: what is in a batch, how many elements there are.

use std::rc::Rc;

use super::extent::{Dtype, Extent};
use super::library::TF_DATASET;
use super::size;
use super::value::{Arguments, Array, Kind, Object, Value};

/// Methods that put several elements into one.
const BATCHES: [&str; 4] = ["batch", "padded_batch", "ragged_batch", "map_and_batch"];

/// Functions of Keras that read a folder into a pipeline of batches.
const READS_BATCHES: [&str; 4] = [
    "image_dataset_from_directory",
    "text_dataset_from_directory",
    "audio_dataset_from_directory",
    "timeseries_dataset_from_array",
];

/// Methods after which an element has nothing to do with a batch before.
const STARTS_ANEW: [&str; 6] = [
    "unbatch",
    "flat_map",
    "interleave",
    "window",
    "rebatch",
    "group_by_window",
];

/// Whether the elements of a pipeline are batches.
#[derive(Clone, Debug)]
pub enum Batch<'a> {
    /// They are not.
    None,
    /// They are, since this step.
    By(Rc<Object<'a>>),
    /// A step of unknown effect is in between.
    Unknown,
}

/// Whether the elements of this pipeline are batches.
pub fn batch<'a>(pipeline: &Rc<Object<'a>>) -> Batch<'a> {
    for step in steps(pipeline) {
        match step_name(&step) {
            name if BATCHES.contains(&name) => return Batch::By(step),
            name if STARTS_ANEW.contains(&name) => return Batch::None,
            "apply" => return Batch::Unknown,
            name if step.receiver.is_none() && is_read_in_batches(name, &step) => {
                return Batch::By(step);
            }
            _ => {}
        }
    }
    Batch::None
}

/// The steps of a pipeline, the last first.
pub fn steps<'a>(pipeline: &Rc<Object<'a>>) -> impl Iterator<Item = Rc<Object<'a>>> + use<'a> {
    std::iter::successors(Some(Rc::clone(pipeline)), |step| {
        step.receiver.as_ref()?.as_object().cloned()
    })
}

/// What a step does: the name of its method, or of the function in `apply(function(…))`.
pub fn step_name<'s>(step: &'s Object<'_>) -> &'s str {
    let applied = step.arguments.positional.first();
    match applied.and_then(Value::as_object) {
        Some(applied) if &*step.made_by == "apply" => &applied.made_by,
        _ => &step.made_by,
    }
}

/// The arguments of a step, also of the function in `apply(function(…))`.
pub fn step_arguments<'s, 'a>(step: &'s Object<'a>) -> &'s Arguments<'a> {
    let applied = step.arguments.positional.first();
    match applied.and_then(Value::as_object) {
        Some(applied) if &*step.made_by == "apply" => &applied.arguments,
        _ => &step.arguments,
    }
}

/// How many members a batch of this step has.
pub fn batch_size(step: &Object<'_>) -> Option<u64> {
    let arguments = step_arguments(step);
    let given = match step_name(step) {
        "map_and_batch" => arguments.get(1, "batch_size"),
        name if READS_BATCHES.contains(&name) || name == "load" => arguments.named("batch_size"),
        "make_csv_dataset" => arguments.get(1, "batch_size"),
        _ => arguments.get(0, "batch_size"),
    };
    match given {
        Some(given) => u64::try_from(given.as_int()?).ok(),
        None if step_name(step) == "timeseries_dataset_from_array" => Some(128),
        None => READS_BATCHES.contains(&step_name(step)).then_some(32),
    }
}

/// The bytes of one element, a whole batch if it is one; at least so many.
pub fn bytes(pipeline: &Rc<Object<'_>>) -> Option<u64> {
    let mut bytes = value_bytes(&pipeline.element)?;
    for step in steps(pipeline) {
        let name = step_name(&step);
        if STARTS_ANEW.contains(&name) {
            break;
        }
        let reads = step.receiver.is_none() && is_read_in_batches(name, &step);
        if reads || BATCHES.contains(&name) {
            bytes = bytes.saturating_mul(batch_size(&step)?);
        }
    }
    Some(bytes)
}

/// How many elements a pipeline has at most, if that folds.
pub fn length(pipeline: &Rc<Object<'_>>) -> Option<u64> {
    let mut steps: Vec<_> = steps(pipeline).collect();
    let source = steps.pop()?;
    let mut length = source_length(&source);
    while let Some(step) = steps.pop() {
        let first = step.arguments.positional.first().and_then(Value::as_int);
        let first = first.and_then(|it| u64::try_from(it).ok());
        length = match step_name(&step) {
            "map" | "cache" | "prefetch" | "shuffle" | "filter" | "skip" | "shard"
            | "with_options" | "enumerate" | "ignore_errors" => length,
            "take" => match (length, first) {
                (Some(length), Some(first)) => Some(length.min(first)),
                (length, first) => length.or(first),
            },
            "batch" | "padded_batch" | "ragged_batch" => {
                length.zip(batch_size(&step)).and_then(|(length, size)| {
                    length.checked_next_multiple_of(size)?.checked_div(size)
                })
            }
            _ => None,
        };
    }
    length
}

/// The bytes of a value and its members, as far as they fold; nothing if none do.
pub fn value_bytes(value: &Value<'_>) -> Option<u64> {
    bytes_within(value, 0)
}

/// People nest less than this; members of members may be shared, and be counted without end.
const DEEPEST: u32 = 4;

fn bytes_within(value: &Value<'_>, depth: u32) -> Option<u64> {
    if depth > DEEPEST {
        return None;
    }
    let own = value.extent().map(Extent::bytes);
    let members = value.members().iter();
    let members = members.filter_map(|member| bytes_within(member, depth + 1));
    own.into_iter().chain(members).reduce(u64::saturating_add)
}

/// Whether this is not one pipeline but several in a tuple or dict: the splits of a data set.
pub(super) fn is_several(object: &Object<'_>) -> bool {
    let is_source = object.receiver.is_none() && &*object.class == TF_DATASET;
    let subset = object.arguments.named("subset").and_then(Value::as_text);
    is_source && (&*object.made_by == "load" || subset == Some("both"))
}

/// One element of a pipeline that this function opens.
pub(super) fn opened<'a>(name: &str, arguments: &Arguments<'a>) -> Value<'a> {
    let first = arguments.positional.first();
    let element = match name {
        "from_tensor_slices" => arguments.get(0, "tensors").map(sliced),
        "from_tensors" => arguments.get(0, "tensors").cloned(),
        "range" => Some(plain(Kind::Number)),
        "from_generator" => arguments
            .named("output_signature")
            .or(arguments.positional.get(3))
            .map(specified),
        "zip" => arguments.get(0, "datasets").map(zipped),
        "image_dataset_from_directory" => picture(arguments),
        "audio_dataset_from_directory" => sound(arguments),
        _ => first.and(None),
    };
    element.unwrap_or(Value::UNKNOWN)
}

fn is_read_in_batches(name: &str, source: &Object<'_>) -> bool {
    let size = source.arguments.named("batch_size").map(|it| &it.kind);
    match name {
        "load" => size.is_some_and(|size| !matches!(size, Kind::None)),
        "make_csv_dataset" => true,
        _ => READS_BATCHES.contains(&name) && !matches!(size, Some(Kind::None)),
    }
}

fn source_length(source: &Object<'_>) -> Option<u64> {
    let arguments = &source.arguments;
    match &*source.made_by {
        "range" if arguments.positional.len() == 1 => {
            u64::try_from(arguments.positional.first()?.as_int()?).ok()
        }
        "from_tensor_slices" => rows(arguments.get(0, "tensors")?),
        "from_tensors" => Some(1),
        _ => None,
    }
}

fn rows(value: &Value<'_>) -> Option<u64> {
    match value.extent() {
        Some(extent) => extent.shape.first().copied(),
        None => value.members().iter().find_map(rows),
    }
}

/// What one row of arrays is.
pub fn sliced<'a>(value: &Value<'a>) -> Value<'a> {
    if let Some(extent) = value.extent() {
        let shape = extent.shape.iter().skip(1).copied().collect();
        return array(Extent {
            shape,
            dtype: extent.dtype,
        });
    }
    match &value.kind {
        Kind::Sequence(members) if members.iter().all(Value::is_plain) => plain(Kind::Number),
        Kind::Sequence(members) => plain(Kind::Sequence(members.iter().map(sliced).collect())),
        _ => Value::UNKNOWN,
    }
}

/// What `tf.TensorSpec` says.
fn specified<'a>(value: &Value<'a>) -> Value<'a> {
    if let Kind::Sequence(members) = &value.kind {
        return plain(Kind::Sequence(members.iter().map(specified).collect()));
    }
    let spec = value
        .as_object()
        .filter(|it| it.class.ends_with(".TensorSpec"));
    let extent = spec.and_then(|spec| {
        let shape = size::shape_of(spec.arguments.get(0, "shape")?)?;
        let dtype = spec.arguments.get(1, "dtype").and_then(size::dtype_of);
        let dtype = dtype.unwrap_or(Dtype::FLOAT32);
        Some(Extent { shape, dtype })
    });
    extent.map_or(Value::UNKNOWN, array)
}

fn zipped<'a>(datasets: &Value<'a>) -> Value<'a> {
    let elements = datasets.members().iter().map(|dataset| {
        let object = dataset.as_object();
        object.map_or(Value::UNKNOWN, |object| object.element.clone())
    });
    plain(Kind::Sequence(elements.collect()))
}

fn picture<'a>(arguments: &Arguments<'a>) -> Option<Value<'a>> {
    let mut shape = match arguments.named("image_size") {
        Some(size) => size::shape_of(size)?,
        None => vec![256, 256],
    };
    shape.push(match arguments.named("color_mode").map(Value::as_text) {
        None | Some(Some("rgb")) => 3,
        Some(Some("rgba")) => 4,
        Some(Some("grayscale")) => 1,
        _ => return None,
    });
    Some(labelled(shape, arguments))
}

fn sound<'a>(arguments: &Arguments<'a>) -> Option<Value<'a>> {
    let mut shape = size::shape_of(arguments.named("output_sequence_length")?)?;
    shape.push(1);
    Some(labelled(shape, arguments))
}

fn labelled<'a>(shape: Vec<u64>, arguments: &Arguments<'a>) -> Value<'a> {
    let dtype = Dtype::FLOAT32;
    let value = array(Extent { shape, dtype });
    let mode = arguments.named("label_mode").map(|it| &it.kind);
    if matches!(mode, Some(Kind::None)) {
        return value;
    }
    plain(Kind::Sequence([value, plain(Kind::Number)].into()))
}

fn array<'a>(extent: Extent) -> Value<'a> {
    plain(Kind::Array(Array {
        library: "tensorflow",
        extent: Some(Rc::new(extent)),
    }))
}

fn plain(kind: Kind<'_>) -> Value<'_> {
    Value { kind, id: None }
}
