//! A Keras model is built and fitted anew in every round of a loop.

use crate::front::Ranged;
use crate::model::File;
use crate::model::facts::{Call, Scope};
use crate::model::library::KERAS_MODEL;
use crate::model::value::{ClassId, Kind};
use crate::{Finding, Level, Note, Rule};

use super::rounds::{is_many, is_surely_many, loops_around};

/// `OL502`.
pub(super) static RULE: Rule = Rule {
    code: "OL502",
    name: "model_built_in_loop",
    cause: "variables_created_in_loop",
    level: Level::Warning,
    summary: "A Keras model is built and fitted anew in every round of a loop",
    page: include_str!("../../../../docs/rules/model_built_in_loop.md"),
    find,
};

/// Methods that compile the step of training.
const FITS: [&str; 3] = ["fit", "fit_generator", "train_on_batch"];

fn find(file: &File<'_>, found: &mut Vec<Finding>) {
    // With another backend than TensorFlow there is no graph to keep.
    if file.source.text().contains("KERAS_BACKEND") {
        return;
    }
    let trains = functions_that_train(file);
    for scope in &file.scopes {
        for call in &scope.calls {
            let fit = fit_of(file, scope, call);
            let trains = call
                .function
                .is_some_and(|id| trains.get(id.0) == Some(&true));
            if fit.is_none() && !trains {
                continue;
            }
            let loops = loops_around(scope, &call.context);
            let Some(around) = loops.last().filter(|_| is_many(&loops)) else {
                continue;
            };
            let fit = fit.filter(|fit| around.range.contains_range(fit.node.range()));
            if fit.is_some() || trains {
                let level = if is_surely_many(&loops) {
                    Level::Warning
                } else {
                    Level::Info
                };
                found.push(Finding {
                    level,
                    ..finding(file, call, fit, around)
                });
            }
        }
    }
}

/// For each function, whether a call of it builds a model and fits it.
fn functions_that_train(file: &File<'_>) -> Vec<bool> {
    let count = file.declarations.functions.len();
    let mut trains = vec![false; count];
    // Each round learns of one more level of calls.
    for _ in 0..4 {
        for scope in &file.scopes {
            let Some(id) = scope.function else { continue };
            let does = scope.calls.iter().any(|call| {
                let callee = call
                    .function
                    .is_some_and(|it| trains.get(it.0) == Some(&true));
                callee || fit_of(file, scope, call).is_some()
            });
            if let Some(slot) = trains.get_mut(id.0) {
                *slot |= does;
            }
        }
    }
    trains
}

/// If a call gives a new model of Keras: the call that fits it in the same scope.
fn fit_of<'s, 'a>(file: &File<'a>, scope: &'s Scope<'a>, call: &Call<'a>) -> Option<&'s Call<'a>> {
    let is_model = match &call.result.kind {
        Kind::Object(object) => &*object.class == KERAS_MODEL,
        Kind::Instance(class) => is_keras_model(file, *class),
        _ => false,
    };
    let id = call
        .result
        .id
        .filter(|id| is_model && id.range() == call.node.range())?;
    scope.calls.iter().find(|fit| {
        let receiver = fit.receiver.as_ref().and_then(|it| it.id);
        receiver == Some(id) && FITS.contains(&fit.name)
    })
}

/// Whether a class of this file is a model, and not a layer.
fn is_keras_model(file: &File<'_>, class: ClassId) -> bool {
    let mut next = Some(class);
    for _ in 0..8 {
        let Some(class) = next.and_then(|id| file.declarations.classes.get(id.0)) else {
            return false;
        };
        let is_model = |base: &str| {
            matches!(
                base,
                "keras.Model"
                    | "keras.models.Model"
                    | "keras.Sequential"
                    | "keras.models.Sequential"
            )
        };
        if class.bases.iter().any(|base| is_model(base)) {
            return true;
        }
        let mut bases = class.bases.iter();
        next = bases.find_map(|base| file.declarations.class_named(base));
    }
    false
}

fn finding(
    file: &File<'_>,
    call: &Call<'_>,
    fit: Option<&Call<'_>>,
    around: &crate::model::facts::Loop<'_>,
) -> Finding {
    let name = file.short(&*call.node.func);
    let mut witness = vec![Note {
        range: around.header,
        text: "each round makes a new one".to_owned(),
    }];
    if let Some(fit) = fit {
        witness.push(Note {
            range: fit.node.range(),
            text: "TensorFlow compiles and keeps a training step for it".to_owned(),
        });
    }
    Finding {
        rule: &RULE,
        level: Level::Warning,
        range: call.node.range(),
        message: format!(
            "Each round builds and fits a new Keras model through `{name}(…)`, of which TensorFlow keeps about 10 MB even after `clear_session()`"
        ),
        witness,
        help: "Build it once and set its weights back, or run each round in a process of its own"
            .to_owned(),
        fix: None,
        bytes: None,
        region: around.range,
    }
}
