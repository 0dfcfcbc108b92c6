//! A file is named for the noun it defines, never for being a drawer.

use anyhow::Result;

use super::Problem;
use super::tree::Tree;

const BANNED: [&str; 7] = [
    "common", "helper", "helpers", "manager", "misc", "util", "utils",
];

/// Reports files and folders with a banned name.
#[expect(clippy::unnecessary_wraps, reason = "all checks have one shape")]
pub(super) fn check(tree: &Tree) -> Result<Vec<Problem>> {
    let is_source = |path: &str| [".rs", ".py", ".c"].iter().any(|end| path.ends_with(end));
    let banned = |part: &str| BANNED.contains(&part.split('.').next().unwrap_or_default());
    Ok(tree
        .files
        .iter()
        .filter(|file| is_source(&file.path) && file.path.split('/').any(banned))
        .map(|file| Problem::in_file(&file.path, "Name it for what it defines"))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drawers_are_reported() {
        let paths = [
            "src/utils.rs",
            "src/helpers/mod.rs",
            "src/stack.rs",
            "docs/common.md",
        ];
        let tree = Tree::of(&paths.map(|path| (path, "")));
        let found = check(&tree).unwrap();
        let found: Vec<&str> = found.iter().map(|problem| problem.path.as_str()).collect();
        assert_eq!(found, ["src/utils.rs", "src/helpers/mod.rs"]);
    }
}
