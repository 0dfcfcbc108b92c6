//! The peak of a run: one definition for the list, the one line at the end and the explanation.

use outlive_diagnose::facts::{Change, RunFacts};

/// Highest memory of the whole tree, as its limit sees it.
///
/// Looks may come too late or not at all, so the tree is never smaller than one of its processes;
/// and where the kernel killed at a limit, its own counter saw more than any look.
pub(crate) fn of_tree(facts: &RunFacts) -> u64 {
    let largest = facts.processes.iter().map(|it| it.peak_resident).max();
    let killed = |change: Option<Change>| change.is_some_and(|change| change.rise() > 0);
    let at_kill = facts
        .cgroups
        .iter()
        .filter(|cgroup| cgroup.own && killed(cgroup.oom_kill))
        .filter_map(|cgroup| Some(cgroup.peak?.min(cgroup.limit?)))
        .max();
    facts
        .peak_memory
        .max(largest.unwrap_or(0))
        .max(at_kill.unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::of_tree;
    use outlive_diagnose::facts::{CgroupFacts, Change, ProcessFacts, RunFacts};

    #[test]
    fn the_tree_is_never_smaller_than_one_process_or_than_the_kernel_saw_it() {
        let mut facts = RunFacts {
            peak_memory: 10,
            ..RunFacts::default()
        };
        assert_eq!(of_tree(&facts), 10);
        facts.processes = vec![ProcessFacts {
            peak_resident: 30,
            ..ProcessFacts::default()
        }];
        assert_eq!(of_tree(&facts), 30);
        let mut cgroup = CgroupFacts {
            own: true,
            limit: Some(50),
            peak: Some(52),
            ..CgroupFacts::default()
        };
        facts.cgroups = vec![cgroup.clone()];
        assert_eq!(of_tree(&facts), 30, "the counter sees cache too");
        cgroup.oom_kill = Some(Change {
            before: 0,
            after: 1,
        });
        facts.cgroups = vec![cgroup];
        assert_eq!(of_tree(&facts), 50);
    }
}
