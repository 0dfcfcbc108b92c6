//! The steps of the `tf.data` pipelines of a file, and what comes after each.

use std::collections::HashSet;
use std::rc::Rc;

use crate::front::{Ranged, TextRange};
use crate::model::File;
use crate::model::facts::Call;
use crate::model::library::TF_DATASET;
use crate::model::pipeline::{self, Batch};
use crate::model::value::{Object, Value};

/// A step that is taken here.
pub(super) struct Step<'s, 'a> {
    /// The call.
    pub call: &'s Call<'a>,
    /// What it makes.
    pub made: &'s Rc<Object<'a>>,
    /// What it is called on, for all but the first step.
    pub before: Option<&'s Rc<Object<'a>>>,
}

impl<'s, 'a> Step<'s, 'a> {
    /// What it does.
    pub(super) fn name(&self) -> &'s str {
        pipeline::step_name(self.made)
    }

    /// Its first argument, or that of this name.
    pub(super) fn argument(&self, name: &str) -> Option<&'s Value<'a>> {
        pipeline::step_arguments(self.made).get(0, name)
    }

    /// `shuffle(1000)`, without what it is called on.
    pub(super) fn range(&self) -> TextRange {
        let whole = self.call.node.range();
        match self.call.node.func.as_attribute_expr() {
            Some(callee) => TextRange::new(callee.attr.range().start(), whole.end()),
            None => whole,
        }
    }
}

/// Every step of every pipeline.
pub(super) fn steps<'s, 'a>(file: &'s File<'a>) -> impl Iterator<Item = Step<'s, 'a>> {
    let calls = file.scopes.iter().flat_map(|scope| &scope.calls);
    calls.filter_map(|call| {
        let made = call.result.as_object()?;
        let is_step = &*made.class == TF_DATASET && made.range == call.node.range();
        let before = made.receiver.as_ref().and_then(Value::as_object);
        is_step.then_some(Step { call, made, before })
    })
}

/// The steps after which one of these is taken.
pub(super) fn followed_by(file: &File<'_>, names: &[&str]) -> HashSet<TextRange> {
    let last = steps(file).filter(|step| names.contains(&step.name()));
    let all = last.flat_map(|step| pipeline::steps(step.made).skip(1));
    all.map(|step| step.range).collect()
}

/// The step that made batches of what this step shuffles, if none comes later: batches that are
/// batched again are the elements of the data set, such as sequences of a text.
pub(super) fn batch_before<'a>(
    step: &Step<'_, 'a>,
    batched_later: &HashSet<TextRange>,
) -> Option<Rc<Object<'a>>> {
    let is_shuffle = matches!(step.name(), "shuffle" | "shuffle_and_repeat");
    if !is_shuffle || batched_later.contains(&step.made.range) {
        return None;
    }
    match pipeline::batch(step.before?) {
        Batch::By(by) => Some(by),
        Batch::None | Batch::Unknown => None,
    }
}

/// Steps that make batches.
pub(super) const MAKES_BATCHES: [&str; 5] = [
    "batch",
    "padded_batch",
    "ragged_batch",
    "map_and_batch",
    "rebatch",
];
