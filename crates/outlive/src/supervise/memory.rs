//! How much memory there is at all: the machine's, and the tightest limit of a container.

use super::cgroup::Chain;
use super::cgroup_mounts::Level;
use super::machine::Machine;

/// Figures that do not change while a command runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// All of the machine; 0 where the kernel does not say.
    pub machine: u64,
    /// The smallest limit of the cgroups around this process, if it is below the machine's memory.
    pub limit: Option<u64>,
}

impl Memory {
    /// Looks now.
    pub fn of_machine() -> Self {
        let machine = Machine::open().first_look().total;
        let levels = Chain::of_self().levels("self");
        let limit = levels.iter().filter_map(Level::limit).min();
        Self {
            machine,
            limit: limit.filter(|limit| *limit < machine),
        }
    }

    /// What a program can have here.
    pub fn usable(self) -> u64 {
        self.limit.unwrap_or(self.machine)
    }
}
