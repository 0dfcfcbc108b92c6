//! Which rules offer a change, and of which kind at best. The cases of a rule show it: `fixed` and
//! `fixed-unsafe` blocks (`tests/fixable.rs` compares).

use crate::{Applicability, Rule};

/// Rules with changes that may be made unasked.
const SAFE: &[&str] = &[
    "escaping_oom_exception",
    "retained_graph_accumulation",
    "retained_graph_append",
    "unused_suppression",
];
/// Rules whose changes must be asked for.
const UNSAFE: &[&str] = &[
    "inference_with_gradients",
    "intermediate_outlives_loop",
    "materialised_loader",
    "predictions_kept_on_device",
    "retain_graph_in_loop",
    "retraced_function",
    "shuffle_after_batch",
    "undetached_recurrent_state",
];

impl Rule {
    /// The best that the rule offers; `None` if all it can do is to tell.
    pub fn fix(&self) -> Option<Applicability> {
        if SAFE.contains(&self.name) {
            Some(Applicability::Safe)
        } else if UNSAFE.contains(&self.name) {
            Some(Applicability::Unsafe)
        } else {
            None
        }
    }
}
