//! What cargo knows of the workspace: packages, their licences, who uses whom.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::step;
use crate::workspace::cargo;

/// One package.
#[derive(Clone, Debug, Default)]
pub(super) struct Package {
    /// Its name.
    pub(super) name: String,
    /// Licence expression, empty when it states none.
    pub(super) licence: String,
    /// Whether it lies in this repository.
    pub(super) is_ours: bool,
    /// Packages it links or runs at build time; what only tests use is left out.
    pub(super) uses: BTreeSet<String>,
}

/// All packages that a build on this platform takes part of, by name. Two versions of one package
/// count as one, with the needs of both.
pub(super) fn packages() -> Result<BTreeMap<String, Package>> {
    let text = step::output(cargo().args([
        "metadata",
        "--format-version=1",
        "--locked",
        "--filter-platform=x86_64-unknown-linux-gnu",
    ]))?;
    let metadata: Value = serde_json::from_str(&text).context("Cannot read `cargo metadata`")?;
    Ok(parse(&metadata))
}

fn parse(metadata: &Value) -> BTreeMap<String, Package> {
    let mut names = BTreeMap::new();
    let mut packages: BTreeMap<String, Package> = BTreeMap::new();
    for package in list(&metadata["packages"]) {
        let name = text(&package["name"]);
        names.insert(text(&package["id"]), name.clone());
        let entry = packages.entry(name.clone()).or_default();
        entry.name = name;
        entry.licence = text(&package["license"]);
        entry.is_ours = package["source"].is_null();
    }
    for node in list(&metadata["resolve"]["nodes"]) {
        let Some(package) = names
            .get(&text(&node["id"]))
            .and_then(|name| packages.get_mut(name))
        else {
            continue;
        };
        for dependency in list(&node["deps"]) {
            let kinds = list(&dependency["dep_kinds"]);
            let only_tests = kinds.iter().all(|kind| kind["kind"] == "dev");
            if let Some(name) = names.get(&text(&dependency["pkg"])).filter(|_| !only_tests) {
                package.uses.insert(name.clone());
            }
        }
    }
    packages
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_tests_use_is_left_out() {
        let metadata = serde_json::json!({
            "packages": [
                { "id": "a#1", "name": "a", "license": "MIT", "source": null },
                { "id": "b#1", "name": "b", "license": "MIT", "source": "registry" },
                { "id": "c#1", "name": "c", "license": null, "source": "registry" },
            ],
            "resolve": { "nodes": [{ "id": "a#1", "deps": [
                { "pkg": "b#1", "dep_kinds": [{ "kind": null }] },
                { "pkg": "c#1", "dep_kinds": [{ "kind": "dev" }] },
            ]}]},
        });
        let packages = parse(&metadata);
        assert!(packages["a"].is_ours && !packages["b"].is_ours);
        assert_eq!(packages["a"].uses, BTreeSet::from(["b".to_owned()]));
        assert_eq!(packages["c"].licence, "");
    }
}
