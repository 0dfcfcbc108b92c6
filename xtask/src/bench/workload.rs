//! The workloads and what Outlive may cost on each. Every script lies in `benches/workloads`.

use anyhow::{Context, Result};

/// One program to run bare and under every tool.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Workload {
    /// Name: that of its script, without the ending.
    pub(crate) name: &'static str,
    /// What is started.
    pub(crate) program: Program,
    /// What the whole process may cost, imports and exit included.
    pub(crate) goal: Goal,
    /// Whether it times a loop of its own; the loop alone may cost [`LOOP_GOAL`].
    pub(crate) has_loop: bool,
    /// Whether an instruction counter that slows it fiftyfold still ends within minutes.
    pub(crate) countable: bool,
}

/// What is started.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Program {
    /// A Python script.
    Script,
    /// `true`: a program without Python in it, which only Outlive can run.
    True,
}

/// The most a workload may cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Goal {
    /// As a ratio to the bare run.
    Ratio(f64),
    /// As milliseconds on top of the bare run, for programs too short for a ratio.
    AddedMilliseconds(f64),
}

/// Ratio that the loop alone may cost, on every workload.
pub(crate) const LOOP_GOAL: f64 = 1.01;

/// All workloads, in the order they are run.
pub(crate) const WORKLOADS: [Workload; 9] = [
    script("torch_training", Goal::Ratio(1.01))
        .with_loop()
        .countable(),
    script("object_churn", Goal::Ratio(1.03))
        .with_loop()
        .countable(),
    script("numpy_temporaries", Goal::Ratio(1.02))
        .with_loop()
        .countable(),
    script("tf_data", Goal::Ratio(1.02)).with_loop(),
    script("data_loader", Goal::Ratio(1.02)).with_loop(),
    script("import_torch", Goal::Ratio(1.02)).countable(),
    script("import_tensorflow", Goal::Ratio(1.02)),
    script("start_up", Goal::AddedMilliseconds(30.0)).countable(),
    Workload {
        program: Program::True,
        ..script("true", Goal::AddedMilliseconds(30.0))
    },
];

const fn script(name: &'static str, goal: Goal) -> Workload {
    Workload {
        name,
        program: Program::Script,
        goal,
        has_loop: false,
        countable: false,
    }
}

impl Workload {
    /// The workload of this name.
    pub(crate) fn named(name: &str) -> Result<Self> {
        let known = WORKLOADS.map(|workload| workload.name).join(", ");
        WORKLOADS
            .into_iter()
            .find(|workload| workload.name == name)
            .with_context(|| format!("Unknown workload `{name}`\nhint: there are {known}"))
    }

    const fn with_loop(self) -> Self {
        Self {
            has_loop: true,
            ..self
        }
    }

    const fn countable(self) -> Self {
        Self {
            countable: true,
            ..self
        }
    }
}
