//! The weights of one layer, with their gradients and the state of the optimizer, exceed memory.

use crate::front::Ranged;
use crate::model::File;
use crate::model::extent::bytes_text;
use crate::model::facts::Call;
use crate::{Finding, Level, Note, Rule};

use super::deliberate::Deliberate;
use super::keras_layer::keras_weights;
use super::optimizer::Optimizer;
use super::torch_layer::torch_weights;

/// `OL402`.
pub(super) static RULE: Rule = Rule {
    code: "OL402",
    name: "oversized_layer",
    cause: "oversized_layer",
    level: Level::Error,
    summary: "One layer's weights, gradients and optimizer state are larger than memory",
    page: include_str!("../../../../docs/rules/oversized_layer.md"),
    find,
};

/// A layer whose weights are known.
#[derive(Debug)]
pub(super) struct Weights<'s, 'a> {
    /// The call that makes the layer.
    pub call: &'s Call<'a>,
    /// How many numbers.
    pub count: u64,
    /// Bytes of each.
    pub size: u64,
    /// What the layer takes in and gives out, in words.
    pub text: String,
}

fn find(file: &File<'_>, found: &mut Vec<Finding>) {
    let mut layers: Vec<Weights<'_, '_>> = Vec::new();
    for scope in &file.scopes {
        layers.extend(scope.calls.iter().filter_map(torch_weights));
        layers.extend(keras_weights(scope));
    }
    // No optimizer keeps more than three numbers for each weight and its gradient.
    let least = file.settings.budget() / 2 / 5;
    layers.retain(|layer| layer.count.saturating_mul(layer.size) >= least);
    if layers.is_empty() {
        return;
    }
    let optimizer = Optimizer::of_file(file);
    let deliberate = Deliberate::read(file);
    for layer in &layers {
        if !deliberate.covers(layer.call.node.range()) {
            found.extend(finding(file, layer, &optimizer));
        }
    }
}

fn finding(file: &File<'_>, layer: &Weights<'_, '_>, optimizer: &Optimizer) -> Option<Finding> {
    let budget = file.settings.budget();
    let weights = layer.count.saturating_mul(layer.size);
    let bytes = weights.saturating_mul(optimizer.copies);
    let level = match bytes {
        _ if bytes >= budget => Level::Error,
        _ if bytes >= budget / 2 => Level::Warning,
        _ => return None,
    };
    let range = layer.call.node.range();
    let what = file.short(range);
    let (taken, there) = (bytes_text(bytes), bytes_text(budget));
    let mut witness = vec![Note {
        range,
        text: format!(
            "{}: {} weights, {} bytes each, are {}",
            layer.text,
            layer.count,
            layer.size,
            bytes_text(weights)
        ),
    }];
    witness.extend(optimizer.made.map(|range| Note {
        range,
        text: format!("{} with {}", times(optimizer.copies), optimizer.parts),
    }));
    Some(Finding {
        rule: &RULE,
        level,
        range,
        message: format!(
            "`{what}` takes {taken} with {}; there are {there}",
            optimizer.parts
        ),
        witness,
        help: "Make the input smaller before this layer (pooling, strides, a convolution), or \
               split the layer into two with a narrow middle"
            .to_owned(),
        fix: None,
        bytes: Some(bytes),
        region: layer.call.statement,
    })
}

fn times(copies: u64) -> String {
    match copies {
        1 => "once".to_owned(),
        2 => "twice that".to_owned(),
        more => format!("{more} times that"),
    }
}
