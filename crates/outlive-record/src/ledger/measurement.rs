//! What a measurement of the tree found, and the limit that bounds it.

/// Which limit is the tightest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Source {
    /// None was found.
    #[default]
    Unknown,
    /// The memory cgroup at this place of the chain.
    Cgroup(u32),
    /// What the machine has available.
    Machine,
    /// The user's own `--limit`.
    Limit,
    /// A block of the program, `outlive.guard`.
    Block,
    /// `RLIMIT_AS`.
    AddressSpace,
    /// `RLIMIT_DATA`.
    Data,
}

impl Source {
    /// Its number in the file.
    pub const fn number(self) -> u32 {
        match self {
            Self::Unknown => 0,
            Self::Machine => 1,
            Self::Limit => 2,
            Self::Block => 3,
            Self::AddressSpace => 4,
            Self::Data => 5,
            Self::Cgroup(level) => level.wrapping_add(16),
        }
    }

    /// The source with this number.
    pub const fn from_number(number: u32) -> Self {
        match number {
            1 => Self::Machine,
            2 => Self::Limit,
            3 => Self::Block,
            4 => Self::AddressSpace,
            5 => Self::Data,
            16.. => Self::Cgroup(number.wrapping_sub(16)),
            _ => Self::Unknown,
        }
    }
}

/// What a measurement found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Measurement {
    /// Bytes the tree may still use; negative when it is over its budget.
    pub headroom: i64,
    /// Bytes it may use in all.
    pub budget: u64,
    /// The limit behind it.
    pub source: Source,
    /// `CLOCK_MONOTONIC` nanoseconds.
    pub time: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_survive_the_file() {
        for source in [
            Source::Unknown,
            Source::Machine,
            Source::Limit,
            Source::Block,
            Source::AddressSpace,
            Source::Data,
            Source::Cgroup(0),
            Source::Cgroup(7),
        ] {
            assert_eq!(Source::from_number(source.number()), source);
        }
    }
}
