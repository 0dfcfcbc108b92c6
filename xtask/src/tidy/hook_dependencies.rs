//! What goes into other people's processes is counted by hand.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;

use super::Problem;
use super::metadata::{self, Package};
use super::tree::Tree;

const HOOK: &str = "outlive-hook";
/// Everything the hook library links, directly or not.
const ALLOWED: [&str; 2] = ["libc", "outlive-record"];

/// The hook's dependencies, followed to the end, equal the list.
pub(super) fn check(_tree: &Tree) -> Result<Vec<Problem>> {
    Ok(check_with(&metadata::packages()?))
}

fn check_with(packages: &BTreeMap<String, Package>) -> Vec<Problem> {
    let found = reachable(packages, HOOK);
    let allowed: BTreeSet<&str> = ALLOWED.into();
    let added = found.difference(&allowed).map(|name| {
        let message = format!("Uses `{name}`, which may not enter other people's processes");
        Problem::in_file("crates/outlive-hook/Cargo.toml", message)
    });
    let gone = allowed.difference(&found).map(|name| {
        let message = format!("Does not use `{name}` any more: take it off the list");
        Problem::in_file("crates/outlive-hook/Cargo.toml", message)
    });
    added.chain(gone).collect()
}

fn reachable<'a>(packages: &'a BTreeMap<String, Package>, start: &str) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    let mut open: Vec<&str> = vec![start];
    while let Some(package) = open.pop().and_then(|name| packages.get(name)) {
        for name in &package.uses {
            if found.insert(name.as_str()) {
                open.push(name);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, uses: &[&str]) -> (String, Package) {
        let uses = uses.iter().map(|&name| name.to_owned()).collect();
        (
            name.to_owned(),
            Package {
                name: name.to_owned(),
                uses,
                ..Package::default()
            },
        )
    }

    #[test]
    fn a_dependency_of_a_dependency_counts() {
        let packages = BTreeMap::from([
            package(HOOK, &["libc", "outlive-record"]),
            package("outlive-record", &["memchr"]),
            package("libc", &[]),
            package("memchr", &[]),
        ]);
        let found = check_with(&packages);
        assert_eq!(found.len(), 1);
        assert!(found[0].message.contains("`memchr`"), "{}", found[0]);
    }

    #[test]
    fn a_needless_entry_of_the_list_is_reported() {
        let packages = BTreeMap::from([package(HOOK, &["libc"]), package("libc", &[])]);
        assert!(
            check_with(&packages)[0]
                .message
                .contains("`outlive-record`")
        );
    }
}
