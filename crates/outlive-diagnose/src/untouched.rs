//! Mapped memory that was never touched: it is recorded as held, but no page of it exists.
//!
//! Libraries map tens of mebibytes when they are imported and use a few of them. Where the lines
//! add up to more than the process can have had, the surplus is taken off such mappings, largest
//! first; what is left of them is an estimate.

use std::collections::HashMap;

use outlive_record::kind::stack_flag;
use outlive_record::read::{Recording, Stack};

use crate::holders::Moment;
use crate::memory::Memory;

/// Bytes of each stack that cannot have existed, at the end and at the peak.
#[derive(Debug, Default)]
pub(crate) struct Untouched {
    at_end: HashMap<u32, i64>,
    at_peak: HashMap<u32, i64>,
}

impl Untouched {
    /// Compares what is recorded with all that the process can have had.
    pub(crate) fn of(recording: &Recording<'_>, memory: &Memory) -> Self {
        let surplus_at = |moment: Moment, bytes: fn(&Stack) -> i64| {
            surplus(recording, bytes, |recorded| memory.most(moment, recorded))
        };
        Self {
            at_end: surplus_at(Moment::End, |stack| stack.live_bytes),
            at_peak: surplus_at(Moment::Peak, |stack| stack.at_peak_bytes),
        }
    }

    /// The stack without what cannot have existed.
    pub(crate) fn take_off(&self, mut stack: Stack) -> Stack {
        if let Some(bytes) = self.at_peak.get(&stack.id) {
            stack.at_peak_bytes -= bytes;
            stack.flags |= stack_flag::SAMPLED;
        }
        if let Some(bytes) = self.at_end.get(&stack.id) {
            stack.live_bytes -= bytes;
            stack.estimated_bytes = stack.live_bytes;
        }
        stack
    }
}

fn surplus(
    recording: &Recording<'_>,
    bytes: impl Fn(&Stack) -> i64,
    most: impl Fn(u64) -> Option<u64>,
) -> HashMap<u32, i64> {
    // Shared memory may be another process's pages, so it is left out of the sum.
    let recorded: u64 = recording
        .stacks()
        .filter(|stack| stack.flags & stack_flag::SHARED == 0)
        .map(|stack| bytes(&stack).max(0) as u64)
        .fold(0, u64::saturating_add);
    let most = most(recorded).unwrap_or(u64::MAX);
    let mut surplus = i128::from(recorded) - i128::from(most);
    if surplus <= 0 {
        return HashMap::new();
    }
    let mut mapped: Vec<(i64, u32)> = recording
        .stacks()
        .filter(is_plain_mapping)
        .map(|stack| (bytes(&stack), stack.id))
        .filter(|(bytes, _)| *bytes > 0)
        .collect();
    mapped.sort_unstable_by(|left, right| right.cmp(left));
    let mut taken = HashMap::new();
    for (bytes, id) in mapped {
        if surplus <= 0 {
            break;
        }
        let part = surplus.min(i128::from(bytes));
        surplus -= part;
        taken.insert(id, part as i64);
    }
    taken
}

const fn is_plain_mapping(stack: &Stack) -> bool {
    let kinds = stack_flag::MAPPED | stack_flag::ARENA | stack_flag::SHARED;
    stack.flags & kinds == stack_flag::MAPPED
}
