//! The crates and their arrows equal the table in `ARCHITECTURE.md`: a new arrow changes that file
//! in the same commit.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;

use super::Problem;
use super::metadata::{self, Package};
use super::tree::Tree;

const DOCUMENT: &str = "ARCHITECTURE.md";
/// First cells of the table's head.
const HEAD: &str = "| crate | uses |";

type Graph = BTreeMap<String, BTreeSet<String>>;

/// Compares what cargo builds with what the document says.
pub(super) fn check(tree: &Tree) -> Result<Vec<Problem>> {
    let text = tree.file(DOCUMENT).map_or("", |file| file.text.as_str());
    Ok(compare(
        &of_workspace(&metadata::packages()?),
        &of_document(text),
    ))
}

fn compare(built: &Graph, written: &Graph) -> Vec<Problem> {
    let names: BTreeSet<&String> = built.keys().chain(written.keys()).collect();
    names
        .into_iter()
        .filter(|name| built.get(*name) != written.get(*name))
        .map(|name| {
            let shown = |graph: &Graph| match graph.get(name) {
                None => "no such crate".to_owned(),
                Some(uses) if uses.is_empty() => "uses none".to_owned(),
                Some(uses) => {
                    let uses: Vec<&str> = uses.iter().map(String::as_str).collect();
                    format!("uses {}", uses.join(", "))
                }
            };
            let message = format!(
                "`{name}`: table says {}, cargo says {}",
                shown(written),
                shown(built)
            );
            Problem::in_file(DOCUMENT, message)
        })
        .collect()
}

fn of_workspace(packages: &BTreeMap<String, Package>) -> Graph {
    let is_ours = |name: &String| packages.get(name).is_some_and(|package| package.is_ours);
    packages
        .values()
        .filter(|package| package.is_ours)
        .map(|package| {
            let uses = package
                .uses
                .iter()
                .filter(|name| is_ours(name))
                .cloned()
                .collect();
            (package.name.clone(), uses)
        })
        .collect()
}

/// Rows of the table: names in backticks in the first cell and in the second.
fn of_document(text: &str) -> Graph {
    text.lines()
        .skip_while(|line| !line.starts_with(HEAD))
        .skip(2)
        .take_while(|line| line.starts_with('|'))
        .filter_map(|line| {
            let mut cells = line.trim_matches('|').split('|');
            let name = backticked(cells.next()?).into_iter().next()?;
            Some((name, backticked(cells.next()?).into_iter().collect()))
        })
        .collect()
}

fn backticked(cell: &str) -> Vec<String> {
    cell.split('`')
        .skip(1)
        .step_by(2)
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "\
# Title

| crate | uses | runs in |
|---|---|---|
| `a` | – | tool |
| `b` | `a` | tool |

| other | table |
";

    fn graph(rows: &[(&str, &[&str])]) -> Graph {
        let set = |uses: &[&str]| uses.iter().map(|&name| name.to_owned()).collect();
        rows.iter()
            .map(|&(name, uses)| (name.to_owned(), set(uses)))
            .collect()
    }

    #[test]
    fn the_table_is_read() {
        assert_eq!(of_document(TABLE), graph(&[("a", &[]), ("b", &["a"])]));
    }

    #[test]
    fn an_arrow_that_is_not_in_the_table_is_reported() {
        let built = graph(&[("a", &["b"]), ("b", &["a"]), ("c", &[])]);
        let found = compare(&built, &of_document(TABLE));
        let found: Vec<String> = found
            .iter()
            .map(|problem| problem.message.clone())
            .collect();
        assert_eq!(
            found,
            [
                "`a`: table says uses none, cargo says uses b",
                "`c`: table says no such crate, cargo says uses none",
            ]
        );
    }
}
