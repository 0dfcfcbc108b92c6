//! The notebook a run belongs to: its kernel is one of the run's processes.

use serde::Deserialize;

use crate::facts::ProcessFacts;

/// What a notebook's kernel writes down about itself: `kernel.json` in the run's folder.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Notebook {
    /// Its process.
    pub pid: u32,
    /// Jupyter's name of the kernel.
    #[serde(default)]
    pub kernel_id: Option<String>,
    /// The notebook: a path as a rule.
    #[serde(default)]
    pub session: Option<String>,
}

impl Notebook {
    /// Whether this process is the kernel.
    pub const fn is_kernel(&self, process: &ProcessFacts) -> bool {
        self.pid == process.id.pid
    }
}
