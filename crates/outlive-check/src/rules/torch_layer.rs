//! How many weights a layer of torch has, folded from its arguments.

use crate::model::facts::Call;
use crate::model::value::{Arguments, Kind, Value};

use super::oversized_layer::Weights;

/// The weights of the layer that this call makes, if it makes one and its size folds.
pub(super) fn torch_weights<'s, 'a>(call: &'s Call<'a>) -> Option<Weights<'s, 'a>> {
    let name = call.path.as_deref()?.strip_prefix("torch.nn.")?;
    let arguments = &call.arguments;
    if arguments.has_more || is_without_memory(arguments) {
        return None;
    }
    let (count, text) = count(name, arguments)?;
    let size = match arguments.named("dtype").map(|it| &it.kind) {
        None | Some(Kind::None) => 4,
        Some(Kind::Dtype(dtype)) => dtype.size,
        Some(_) => return None,
    };
    Some(Weights {
        call,
        count,
        size,
        text,
    })
}

fn is_without_memory(arguments: &Arguments<'_>) -> bool {
    let device = arguments.named("device").and_then(Value::as_text);
    device.is_some_and(|device| device.starts_with("meta"))
}

fn count(name: &str, arguments: &Arguments<'_>) -> Option<(u64, String)> {
    let number = |position, name| whole(arguments.get(position, name)?);
    let count = match name {
        "Linear" => number(0, "in_features")?.checked_mul(number(1, "out_features")?)?,
        "Embedding" | "EmbeddingBag" => {
            number(0, "num_embeddings")?.checked_mul(number(1, "embedding_dim")?)?
        }
        "Bilinear" => number(0, "in1_features")?
            .checked_mul(number(1, "in2_features")?)?
            .checked_mul(number(2, "out_features")?)?,
        "Conv1d" | "ConvTranspose1d" => convolution(arguments, 1, name)?,
        "Conv2d" | "ConvTranspose2d" => convolution(arguments, 2, name)?,
        "Conv3d" | "ConvTranspose3d" => convolution(arguments, 3, name)?,
        "LSTM" => recurrent(arguments, 4)?,
        "GRU" => recurrent(arguments, 3)?,
        "RNN" => recurrent(arguments, 1)?,
        _ => return None,
    };
    let (into, out) = (number(0, "in_features"), number(1, "out_features"));
    let text = match (name, into, out) {
        ("Linear", Some(into), Some(out)) => format!("{into} inputs, {out} outputs"),
        ("Embedding" | "EmbeddingBag", Some(rows), Some(width)) => {
            format!("{rows} rows of {width}")
        }
        _ => format!("`{name}`"),
    };
    Some((count, text))
}

fn convolution(arguments: &Arguments<'_>, axes: u32, name: &str) -> Option<u64> {
    let into = whole(arguments.get(0, "in_channels")?)?;
    let out = whole(arguments.get(1, "out_channels")?)?;
    let kernel = arguments.get(2, "kernel_size")?;
    let window = match kernel.members() {
        [] => whole(kernel)?.checked_pow(axes)?,
        members => members
            .iter()
            .map(whole)
            .try_fold(1_u64, |product, axis| product.checked_mul(axis?))?,
    };
    let position = if name.starts_with("ConvT") { 7 } else { 6 };
    let groups = arguments.get(position, "groups").map_or(Some(1), whole)?;
    into.checked_mul(out)?
        .checked_mul(window)?
        .checked_div(groups)
}

fn recurrent(arguments: &Arguments<'_>, gates: u64) -> Option<u64> {
    let into = whole(arguments.get(0, "input_size")?)?;
    let hidden = whole(arguments.get(1, "hidden_size")?)?;
    let first = hidden.checked_mul(into.checked_add(hidden)?)?;
    first.checked_mul(gates)
}

fn whole(value: &Value<'_>) -> Option<u64> {
    u64::try_from(value.as_int()?).ok()
}
