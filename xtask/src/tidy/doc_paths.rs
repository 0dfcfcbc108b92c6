//! Paths that the documents name in backticks exist.

use anyhow::Result;

use super::Problem;
use super::tree::{File, Tree};

/// Signs of a pattern or a placeholder rather than a path.
const NOT_A_PATH: [char; 11] = [' ', '*', '<', '>', '{', '}', '$', '…', '(', ':', '='];

/// Reports paths in Markdown files that lead nowhere.
#[expect(clippy::unnecessary_wraps, reason = "all checks have one shape")]
pub(super) fn check(tree: &Tree) -> Result<Vec<Problem>> {
    let documents = tree.files.iter().filter(|file| file.has_suffix(".md"));
    Ok(documents.flat_map(|file| missing(tree, file)).collect())
}

fn missing(tree: &Tree, file: &File) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut fenced = false;
    for (number, line) in file.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        let quoted = line.split('`').skip(1).step_by(2);
        for path in quoted.filter(|path| !fenced && is_of_repository(tree, path)) {
            if !tree.has(path) {
                let message = format!("`{path}` does not exist");
                problems.push(Problem::at_line(&file.path, number, message));
            }
        }
    }
    problems
}

/// Whether a text reads as a path of this repository: it starts with one of its folders, or is the
/// name of a document.
fn is_of_repository(tree: &Tree, text: &str) -> bool {
    if text.contains(NOT_A_PATH) || text.starts_with('/') {
        return false;
    }
    match text.split_once('/') {
        // Built things have a place in the tree and are not in it.
        Some((folder, rest)) => {
            tree.has(folder)
                && !rest.is_empty()
                && !rest.contains("_lib/")
                && !rest.ends_with("_lib")
        }
        None => text
            .rsplit_once('.')
            .is_some_and(|(_, suffix)| suffix == "md"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_leads_nowhere_is_reported() {
        let text = "`src/a.rs` `src/b.rs` `src/sub/` `src/*.rs` `/proc/1` `and/or`\n\
                    `GONE.md` `README.md`\n```\n`src/c.rs`\n```\n";
        let tree = Tree::of(&[("README.md", text), ("src/a.rs", ""), ("src/sub/x.rs", "")]);
        let found = check(&tree).unwrap();
        let found: Vec<String> = found.iter().map(Problem::to_string).collect();
        let expected = [
            "README.md:1: `src/b.rs` does not exist",
            "README.md:2: `GONE.md` does not exist",
        ];
        assert_eq!(found, expected);
    }
}
