//! The rules, one file each. The file, the rule, its page in `docs/rules` and its test in
//! `tests/cases` have one name.

use crate::Rule;
use crate::front::last_name;

mod autotune_in_container;
mod dataset;
mod decoding;
mod deliberate;
mod duplicate_worker_seeds;
mod escaping_oom_exception;
mod evaluation;
mod figure_never_closed;
mod fixable;
mod frame_grown_in_loop;
mod graph;
mod history;
mod in_memory_cache;
mod inference_with_gradients;
mod intermediate_outlives_loop;
mod kept_history;
mod keras_layer;
mod materialised_loader;
mod model_built_in_loop;
mod oom_handler;
mod optimizer;
mod oversized_buffer;
mod oversized_grid;
mod oversized_layer;
mod oversized_tensor;
mod pipelines;
mod predictions_kept_on_device;
mod python_objects_in_workers;
mod reader;
mod recovery_inside_except;
mod repetition;
mod results_kept_in_loop;
mod retain_graph_in_loop;
mod retained_cell_output;
mod retained_graph_accumulation;
mod retained_graph_append;
mod retraced_function;
mod rounds;
mod session_not_closed;
mod shuffle_after_batch;
mod torch_layer;
mod traced;
mod unbounded_array_cache;
mod undetached_recurrent_state;
mod uneven_padding_in_replicas;
mod unguarded_decode;
pub(crate) mod unused_suppression;
mod variable_in_traced_function;
mod worker_loader;

/// Every rule, in the order of the codes.
pub static ALL: &[&Rule] = &[
    &retained_graph_accumulation::RULE,
    &retained_graph_append::RULE,
    &inference_with_gradients::RULE,
    &retain_graph_in_loop::RULE,
    &undetached_recurrent_state::RULE,
    &predictions_kept_on_device::RULE,
    &results_kept_in_loop::RULE,
    &recovery_inside_except::RULE,
    &escaping_oom_exception::RULE,
    &shuffle_after_batch::RULE,
    &in_memory_cache::RULE,
    &oversized_buffer::RULE,
    &autotune_in_container::RULE,
    &unguarded_decode::RULE,
    &materialised_loader::RULE,
    &duplicate_worker_seeds::RULE,
    &python_objects_in_workers::RULE,
    &oversized_tensor::RULE,
    &oversized_layer::RULE,
    &oversized_grid::RULE,
    &session_not_closed::RULE,
    &model_built_in_loop::RULE,
    &retraced_function::RULE,
    &variable_in_traced_function::RULE,
    &intermediate_outlives_loop::RULE,
    &retained_cell_output::RULE,
    &figure_never_closed::RULE,
    &frame_grown_in_loop::RULE,
    &unbounded_array_cache::RULE,
    &uneven_padding_in_replicas::RULE,
    &unused_suppression::RULE,
];
