//! What training keeps for each weight of a file's models: the gradient and the optimizer's state.

use crate::front::{Ranged, TextRange};
use crate::model::File;
use crate::model::facts::Call;
use crate::model::value::Value;

/// The optimizer of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Optimizer {
    /// How many times the weights are in memory, with all that belongs to them.
    pub copies: u64,
    /// What that is, in words.
    pub parts: &'static str,
    /// Where it is made.
    pub made: Option<TextRange>,
}

impl Optimizer {
    /// The one of a file that needs least, if there are several; weights alone where there is none
    /// or parts of a model do not learn.
    pub(super) fn of_file(file: &File<'_>) -> Self {
        let alone = Self {
            copies: 1,
            parts: "its weights alone",
            made: None,
        };
        let text = file.source.text();
        let is_partly_frozen = ["requires_grad = False", "requires_grad=False"]
            .iter()
            .chain(&["requires_grad_(False)", "trainable = False", "peft"])
            .any(|word| text.contains(word));
        if is_partly_frozen {
            return alone;
        }
        let calls = file.scopes.iter().flat_map(|scope| &scope.calls);
        let all = calls.filter_map(of_call);
        all.min_by_key(|optimizer| optimizer.copies)
            .unwrap_or(alone)
    }
}

fn of_call(call: &Call<'_>) -> Option<Optimizer> {
    let compiled = call.arguments.named("optimizer");
    let by_text = compiled
        .filter(|_| call.name == "compile")
        .and_then(Value::as_text);
    let path = call.path.as_deref();
    let name = match (path, by_text) {
        (_, Some(text)) => text,
        (Some(path), _) => path
            .strip_prefix("torch.optim.")
            .or_else(|| path.strip_prefix("keras.optimizers."))?,
        _ => return None,
    };
    let (copies, parts) = kept(name, call)?;
    Some(Optimizer {
        copies,
        parts,
        made: Some(call.node.range()),
    })
}

fn kept(name: &str, call: &Call<'_>) -> Option<(u64, &'static str)> {
    let name = name.rsplit('.').next()?.to_ascii_lowercase();
    Some(match name.as_str() {
        "adam" | "adamw" | "nadam" | "radam" | "adamax" => {
            (4, "its gradients and two moments of the optimizer")
        }
        "adadelta" => (4, "its gradients and two averages of the optimizer"),
        "rmsprop" | "adagrad" => (3, "its gradients and one average of the optimizer"),
        "sgd" => {
            let momentum = call.arguments.named("momentum");
            let has_momentum = momentum.is_some_and(|it| match it.kind {
                crate::model::Kind::Float(value) => value > 0.0,
                crate::model::Kind::Int(value) => value > 0,
                _ => false,
            });
            if has_momentum {
                (3, "its gradients and their momentum")
            } else {
                (2, "its gradients")
            }
        }
        _ => return None,
    })
}
