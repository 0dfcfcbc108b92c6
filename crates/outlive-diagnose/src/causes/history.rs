//! Whether what a model computes is kept with its autograd history: gradients are on unless
//! something in the functions around turns them off.

use super::inquiry::Inquiry;
use crate::cause::CauseId;
use crate::place::Line;

/// What turns gradients off.
const WITHOUT_GRADIENTS: [&str; 3] = ["no_grad", "inference_mode", "set_grad_enabled"];

/// What is kept, if it has its history; `None` where the source is not known or speaks against it.
pub(crate) fn kept(inquiry: &Inquiry<'_>, frames: &[Line]) -> Option<CauseId> {
    let users = frames.iter().filter(|line| line.is_users());
    let mut bodies = Vec::new();
    let mut keeps_history = None;
    for line in users {
        let program = inquiry.program(line)?;
        let around = program.around(line)?;
        bodies.push(program.text_of(around.body?));
        let keeping = around.keeper.or(around.outliving);
        keeps_history = keeps_history.or(keeping.map(|it| it.is_whole));
    }
    let says = |words: &[&str]| {
        let mut bodies = bodies.iter();
        bodies.any(|body| words.iter().any(|word| body.contains(word)))
    };
    if !keeps_history? || says(&WITHOUT_GRADIENTS) {
        return None;
    }
    let evaluates = says(&[".eval("]) && !says(&["backward("]);
    Some(if evaluates {
        CauseId::InferenceWithGradients
    } else {
        CauseId::AutogradHistoryKept
    })
}
