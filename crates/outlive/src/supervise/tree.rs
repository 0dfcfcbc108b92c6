//! Which processes belong to the run: everything that descends from the supervisor, which also
//! adopts orphans.

use std::fs;

use super::kept_file::text_of;
use super::process::{self, Stat};

/// All processes below `ancestor`, parents before children, without `except`.
pub(super) fn descendants(ancestor: u32, except: Option<u32>) -> Vec<u32> {
    if fs::exists(format!("/proc/{ancestor}/task/{ancestor}/children")).unwrap_or(false) {
        return collect(ancestor, except, children);
    }
    // A kernel without that file: one pass over everything.
    let parents: Vec<(u32, u32)> = all_processes()
        .filter_map(|pid| Some((pid, Stat::of(pid)?.parent)))
        .collect();
    collect(ancestor, except, |parent| {
        parents
            .iter()
            .filter(|(_, of)| *of == parent)
            .map(|(pid, _)| *pid)
            .collect()
    })
}

/// Every process of the machine that is visible.
pub(super) fn all_processes() -> impl Iterator<Item = u32> {
    numbered_entries("/proc")
}

fn collect(ancestor: u32, except: Option<u32>, children: impl Fn(u32) -> Vec<u32>) -> Vec<u32> {
    let mut found = Vec::new();
    let mut next = Some(ancestor);
    let mut done = 0;
    while let Some(parent) = next {
        found.extend(
            children(parent)
                .into_iter()
                .filter(|pid| Some(*pid) != except),
        );
        next = found.get(done).copied();
        done += 1;
    }
    found
}

/// Children are listed with the thread that made them.
pub(super) fn children(pid: u32) -> Vec<u32> {
    let mut found = Vec::new();
    for thread in numbered_entries(&format!("/proc/{pid}/task")) {
        let text = text_of(process::path(pid, &format!("task/{thread}/children")));
        let text = text.unwrap_or_default();
        found.extend(
            text.split_ascii_whitespace()
                .filter_map(|child| child.parse::<u32>().ok()),
        );
    }
    found
}

fn numbered_entries(folder: &str) -> impl Iterator<Item = u32> {
    fs::read_dir(folder)
        .into_iter()
        .flatten()
        .filter_map(Result::ok)
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descendants_come_after_their_parents() {
        let family = |parent: u32| match parent {
            1 => vec![2, 3],
            3 => vec![4],
            4 => vec![5],
            _ => Vec::new(),
        };
        assert_eq!(collect(1, Some(2), family), [3, 4, 5]);
    }
}
