//! What the library calls below a line say of the memory they took.

use crate::place::Line;

/// What memory was taken for. Of several that fit a stack the first of these says most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Nature {
    /// One picture of many, one array of many.
    Grid,
    /// Steps of a recurrent network.
    Recurrent,
    /// Weights of a layer.
    Layer,
    /// Gradients, or the state of an optimizer.
    Training,
    /// A session of `TensorFlow`.
    Session,
    /// Elements of an input pipeline.
    Pipeline,
    /// Variables of `TensorFlow`.
    Variable,
    /// What a model computes.
    Forward,
}

/// A part of a library's file, how its function ends, and what they are for.
const FRAMES: &[(&str, &str, Nature)] = &[
    ("torchvision/utils.py", "make_grid", Nature::Grid),
    ("torchvision/utils.py", "save_image", Nature::Grid),
    ("torch/nn/modules/rnn.py", ".forward", Nature::Recurrent),
    ("torch/nn/modules/", ".__init__", Nature::Layer),
    ("torch/nn/modules/", ".initialize_parameters", Nature::Layer),
    ("/layers/layer.py", ".add_weight", Nature::Layer),
    ("torch/optim/", "", Nature::Training),
    ("torch/autograd/", "backward", Nature::Training),
    ("torch/_tensor.py", "backward", Nature::Training),
    ("tensorflow/python/client/session.py", "", Nature::Session),
    ("tensorflow/python/data/", "", Nature::Pipeline),
    ("ops/resource_variable_ops.py", "", Nature::Variable),
    ("tensorflow/python/ops/variables.py", "", Nature::Variable),
    ("torch/nn/modules/", ".forward", Nature::Forward),
    ("torch/nn/functional.py", "", Nature::Forward),
];

/// Functions by the last part of their name, where they have no frames of their own.
const CALLS: &[(&str, Nature)] = &[
    ("make_grid", Nature::Grid),
    ("stack", Nature::Grid),
    ("cat", Nature::Grid),
    ("concatenate", Nature::Grid),
    ("vstack", Nature::Grid),
    ("hstack", Nature::Grid),
    ("backward", Nature::Training),
    ("Session", Nature::Session),
    ("InteractiveSession", Nature::Session),
    ("Variable", Nature::Variable),
    ("get_variable", Nature::Variable),
];

/// What frames are for, innermost first; those above the user's own line are not asked.
pub(crate) fn of_frames(frames: &[Line]) -> Option<Nature> {
    let below = frames.iter().take_while(|frame| !frame.is_users());
    below.filter_map(of_frame).min()
}

fn of_frame(frame: &Line) -> Option<Nature> {
    let fits = |file: &str, function: &str| {
        frame.file.contains(file) && frame.function.ends_with(function)
    };
    let known = FRAMES
        .iter()
        .find(|(file, function, _)| fits(file, function));
    known.map(|(.., nature)| *nature)
}

/// What a line's calls are for.
pub(crate) fn of_calls(calls: &[String]) -> Option<Nature> {
    calls.iter().find_map(|call| {
        let last = call.rsplit('.').next()?;
        let known = CALLS.iter().find(|(name, _)| *name == last);
        known.map(|(_, nature)| *nature)
    })
}

#[cfg(test)]
mod tests {
    use super::{Nature, of_calls, of_frames};
    use crate::place::Line;

    fn frames(all: &[(&str, &str)]) -> Vec<Line> {
        let line = |&(file, function): &(&str, &str)| Line {
            file: format!("/v/lib/python3.12/site-packages/{file}"),
            line: Some(1),
            function: function.to_owned(),
            cell: None,
        };
        let mut lines: Vec<Line> = all.iter().map(line).collect();
        lines.push(Line {
            file: "/home/a/train.py".to_owned(),
            line: Some(1),
            function: String::new(),
            cell: None,
        });
        lines.extend(frames_above());
        lines
    }

    /// A program that somebody else's function runs.
    fn frames_above() -> Vec<Line> {
        vec![Line {
            file: "/v/lib/python3.12/site-packages/torch/optim/sgd.py".to_owned(),
            line: Some(1),
            function: "step".to_owned(),
            cell: None,
        }]
    }

    #[test]
    fn library_frames_say_what_memory_is_for() {
        let grid = frames(&[
            ("torchvision/utils.py", "make_grid"),
            ("torch/utils/_contextlib.py", "f"),
        ]);
        assert_eq!(of_frames(&grid), Some(Nature::Grid));
        let layer = frames(&[("torch/nn/modules/linear.py", "Linear.__init__")]);
        assert_eq!(of_frames(&layer), Some(Nature::Layer));
        let plain = frames(&[("torch/nn/modules/linear.py", "Linear.forward")]);
        assert_eq!(of_frames(&plain), Some(Nature::Forward));
        let nothing = frames(&[("numpy/_core/numeric.py", "ones")]);
        assert_eq!(of_frames(&nothing), None);
        let adam = frames(&[("torch/optim/adam.py", "Adam._init_group")]);
        assert_eq!(of_frames(&adam), Some(Nature::Training));
        let lstm = frames(&[
            ("torch/nn/modules/rnn.py", "LSTM.forward"),
            ("torch/nn/modules/module.py", "Module._call_impl"),
            ("torch/nn/modules/container.py", "Sequential.forward"),
        ]);
        assert_eq!(of_frames(&lstm), Some(Nature::Recurrent));
    }

    #[test]
    fn calls_say_it_where_there_are_no_frames() {
        let of = |call: &str| of_calls(&["features.append".to_owned(), call.to_owned()]);
        assert_eq!(of("torch.stack"), Some(Nature::Grid));
        assert_eq!(of("tf.compat.v1.Session"), Some(Nature::Session));
        assert_eq!(of("torch.rand"), None);
    }
}
